internal import RenderCore

/// A MIDI message, the port that it came in by or goes out by, and when: in nanoseconds of the host clock.
struct TimedMessage: BitwiseCopyable, Sendable, Hashable {
    var hostTime: Int64
    var port: Int
    var message: MIDIMessage
}
