/// The make of a module, as far as its fields show it: a waveform, a number of lines, a longest time. Two modules with the same
/// shape differ in their parameters and their state alone.
struct ModuleShape: Equatable {
    private let text: String

    init(_ module: any Module) {
        var text = "\(type(of: module))"
        Self.describe(module, depth: 0, &text)
        self.text = text
    }

    private static func describe(_ value: Any, depth: Int, _ text: inout String) {
        for child in Mirror(reflecting: value).children {
            guard let label = child.label, !["id", "token"].contains(label) else { continue }
            let mirror = Mirror(reflecting: child.value)
            switch child.value {
            case is Bool, is Int, is Float, is Double, is String, is Duration: text += " \(label)=\(child.value)"
            case _ where mirror.displayStyle == .enum && mirror.children.isEmpty: text += " \(label)=\(child.value)"
            case _ where (mirror.displayStyle == .struct || mirror.displayStyle == .enum) && depth < 3:
                text += " \(label)("
                describe(child.value, depth: depth + 1, &text)
                text += ")"
            default: break
            }
        }
    }
}
