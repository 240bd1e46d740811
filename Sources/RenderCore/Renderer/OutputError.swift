/// The reason why an output cannot start.
///
/// Threads: control.
public struct OutputError: Error, CustomStringConvertible {
    /// A sentence that says what is wrong and what to do.
    public let description: String

    /// Creates an error with a sentence.
    ///
    /// - Parameter description: A sentence that says what is wrong and what to do.
    public init(_ description: String) { self.description = description }
}
