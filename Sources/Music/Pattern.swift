/// A function of beats: it says which events begin in a span.
///
/// Threads: control.
public struct Pattern: Sendable {}
