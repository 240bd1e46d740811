internal import RenderCore

extension LaneVoice {
    /// A sentence about what is wrong with the type of a voice; `nil` if nothing is.
    package static var problem: String? {
        let names = Parameters.allCases.map { "\($0)" }
        if names.count > 16 { return "\(Self.self) has \(names.count) parameters; a voice may have 16" }
        for (index, parameter) in Parameters.allCases.enumerated()
        where parameter.rawValue != index || parameterNumber(parameter) != index {
            return
                "\(Self.self): the parameter \(parameter) is number \(parameter.rawValue), not \(index): they count from 0"
        }
        if !(1...64).contains(Sound.channelCount) {
            return "\(Self.self) sounds on \(Sound.channelCount) channels; it must be 1…64"
        }
        let tables = makeTables()
        let lengths = Set(tables.map(\.count))
        if lengths.count > 1 || lengths.contains(where: { $0 < 2 || $0 > 1 << 20 || $0 & ($0 - 1) != 0 }) {
            let found = lengths.sorted().map(String.init).joined(separator: ", ")
            return
                "\(Self.self): tables of \(found) samples; all must have one length, a power of two from 2 to 1,048,576"
        }
        if tables.contains(where: { $0.contains { !$0.isFinite } }) {
            return "\(Self.self): a table has a sample that is not a number"
        }
        if let field = fieldWithoutLanes(Self(), "\(Self.self)", depth: 0) {
            return
                "\(field): every field of a LaneVoice has eight lanes of 32 bits (Lanes, PhaseLanes, SIMD8<Int32>, or "
                + "structs of these); what all voices share is a parameter, and what never changes a static property"
        }
        // Reflection shows what a type wants to be seen of it; its size is what it is.
        if MemoryLayout<Self>.size % 32 != 0 {
            return "\(Self.self) has \(MemoryLayout<Self>.size) bytes, which are no fields of eight lanes of 32 bits"
        }
        return nil
    }
}

/// Returns the first field that is not of eight lanes of 32 bits.
private func fieldWithoutLanes(_ value: Any, _ name: String, depth: Int) -> String? {
    if value is Lanes || value is PhaseLanes || value is SIMD8<Int32> { return nil }
    if let array = value as? any LaneArray {
        return array.firstElement.flatMap { fieldWithoutLanes($0, name, depth: depth + 1) }
    }
    let mirror = Mirror(reflecting: value)
    guard mirror.displayStyle == .struct || mirror.displayStyle == .tuple, depth < 32 else {
        return "\(name) is \(type(of: value))"
    }
    let children = Array(mirror.children)
    if children.isEmpty && depth > 0 && MemoryLayout.size(ofValue: value) > 0 && !isEmpty(value) {
        return "\(name) is \(type(of: value))"
    }
    for child in children {
        if let field = fieldWithoutLanes(child.value, "\(name).\(child.label ?? "?")", depth: depth + 1) {
            return field
        }
    }
    return nil
}

private func isEmpty<Value>(_ value: Value) -> Bool { MemoryLayout<Value>.size == 0 }

/// An array in a voice. Reflection shows no element of it.
private protocol LaneArray {
    var firstElement: Any? { get }
}

extension InlineArray: LaneArray {
    fileprivate var firstElement: Any? { count > 0 ? self[0] : nil }
}
