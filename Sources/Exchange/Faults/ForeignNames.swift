/// All names that ``/RenderCore/ForeignCode`` has had. A fault can be asked for its name when the code is gone.
package enum ForeignNames {
    private static let names = Lock<[String]>([])

    package static func number(of name: String) -> Int {
        names.withLock { names in
            if let known = names.firstIndex(of: name) { return known }
            names.append(name)
            return names.count - 1
        }
    }

    static func name(_ number: Int) -> String {
        names.withLock { $0.indices.contains(number) ? $0[number] : "?" }
    }
}
