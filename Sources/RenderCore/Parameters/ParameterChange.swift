/// Another value of a parameter.
@safe final class ParameterChange: Change, @unchecked Sendable {
    // Unchecked because a change has one owner at a time: see ``Change``.
    private let parameter: ParameterHandle
    private let value: Float
    /// The value with its version, once it has one.
    private var word: UInt64?

    init(_ parameter: ParameterHandle, _ value: Float) {
        parameter.retain()
        self.parameter = parameter
        self.value = value
        super.init()
    }

    /// Returns the value to which the transaction open on this thread will set a parameter.
    static func staged(_ parameter: ParameterHandle) -> Float? {
        let newest = unsafe Transaction.current?.newest(of: UInt(bitPattern: parameter.cell))
        return (newest as? ParameterChange)?.value
    }

    override var cell: UInt { unsafe UInt(bitPattern: parameter.cell) }

    override func stamp() { word = unsafe parameter.details.pointee.request(value) }

    override func show() {
        unsafe parameter.publish(word ?? parameter.details.pointee.request(value))
    }

    override func letGo(_ end: End) { parameter.release() }
}
