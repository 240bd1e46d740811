internal import CPluginHost

/// The reason why a plug-in cannot be found, loaded or set.
///
/// Threads: control.
public struct LV2Error: Error, CustomStringConvertible {
    /// A sentence that says what is wrong and what to do.
    public let description: String

    /// Creates an error with a sentence.
    ///
    /// - Parameter description: A sentence that says what is wrong and what to do.
    public init(_ description: String) { self.description = description }

    /// Calls a function of CPluginHost that may write a sentence, and returns its result, or throws the sentence.
    static func calling<Result>(
        _ body: (UnsafeMutablePointer<CChar>) -> Result?
    ) throws(LV2Error) -> Result {
        var text = [CChar](repeating: 0, count: Int(CLV2_ERROR))
        var result: Result?
        unsafe text.withUnsafeMutableBufferPointer { text in
            if let start = text.baseAddress { result = unsafe body(start) }
        }
        if let result { return result }
        let bytes = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        let sentence = String(decoding: bytes, as: UTF8.self)
        let end = sentence.last == "?" ? "" : "."
        throw LV2Error(sentence + end)
    }
}
