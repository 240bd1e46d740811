package import RenderCore
internal import Sharing
package import Supply

/// A command to a module that plays voices.
package struct VoiceCommand: BitwiseCopyable, Sendable {
    package enum Action: BitwiseCopyable, Sendable { case play, letGo, bend, press, set, letGoAll, message }

    package var action: Action
    package var voice: Int
    /// The note, the bend, the pressure, or the value of the parameter.
    package var value: Float
    package var velocity: Float = 0
    package var parameter = 0
    /// The MIDI channel whose bend, pressure, pedal and controllers act on the note; -1 for none.
    package var channel = -1
    package var own = InlineArray<16, Float>(repeating: .nan)
    package var message = MIDIMessage.activeSensing

    @_noLocks @_noAllocation
    package init(_ action: Action, _ voice: Int, _ value: Float) {
        self.action = action
        self.voice = voice
        self.value = value
    }

    /// Creates the command to act as a message says, whose numbers are held to their ranges.
    @_noLocks @_noAllocation
    package init(_ message: MIDIMessage) {
        self.init(.message, 0, 0)
        self.message = message.held
    }
}

extension VoiceCommand {
    /// The key whose note the command begins; no number if it begins none.
    package var key: Float {
        @_noLocks @_noAllocation get {
            switch action {
            case .play: return value
            case .message:
                if case .noteOn(_, let key, _) = message { return Float(key) }
                return .nan
            default: return .nan
            }
        }
    }
}

/// Gives a module that plays voices its commands in the order of time: those of control code, of a sequencer and of a MIDI input.
package struct VoiceFeed: ~Copyable, Sendable {
    private let commands = CommandQueue<VoiceCommand>()
    /// Those of a sequencer, which come in the slice that they are for.
    private let sequenced = CommandQueue<VoiceCommand>(capacity: 1_024)
    private let keys: MIDIReader

    /// Creates a feed of an input.
    package init(_ keys: MIDIInput) { self.keys = MIDIReader(keys) }

    /// A place in the commands of a slice.
    package struct Place: BitwiseCopyable, Sendable {
        fileprivate var events: MIDIReader.Events
        fileprivate var frame = 0
        /// The frame of the command that control code has sent; the end of the slice if there is none, -1 if that is to be asked.
        fileprivate var end = -1
        fileprivate var sent: VoiceCommand?
        /// The frame and the command of a sequencer, in the same way.
        fileprivate var playedEnd = -1
        fileprivate var played: VoiceCommand?
    }

    /// A command whose time has come.
    package struct Due: BitwiseCopyable, Sendable {
        package let frame: Int
        package let command: VoiceCommand
    }

    /// Sends a command. Returns `false` if 64 wait for their time; then this one was not taken.
    package borrowing func send(_ command: VoiceCommand, at time: RenderTime) -> Bool {
        commands.send(command, at: time)
    }

    /// Sends a command for a frame of this slice, before the module runs in it. Returns `false` if 1,024 have been sent for it.
    package borrowing func play(_ command: VoiceCommand, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool
    {
        sequenced.send(command, inFrame: frame, context)
    }

    /// Returns the place before the first command of a slice.
    @_noLocks @_noAllocation
    package borrowing func begin() -> Place { Place(events: keys.events) }

    /// Returns the next command of a slice, on its frame; `nil` if there is none any more. Of one frame, the messages of the input
    /// come before the notes of a sequencer, and those before what control code has sent.
    @_noLocks @_noAllocation
    package borrowing func next(_ context: inout RenderContext, _ place: inout Place) -> Due? {
        if place.end < 0 {
            place.end = context.frameCount
            if let due = commands.next(&context, from: place.frame) {
                (place.end, place.sent) = (due.frame, due.command)
            }
        }
        if place.playedEnd < 0 {
            place.playedEnd = context.frameCount
            if let due = sequenced.next(&context, from: place.frame) {
                (place.playedEnd, place.played) = (due.frame, due.command)
            }
        }
        let last = min(place.playedEnd, place.end)
        if let event = place.events.next(context, upTo: last) {
            place.frame = max(event.frame, place.frame)
            return Due(frame: place.frame, command: VoiceCommand(event.message))
        }
        place.frame = last
        if let command = place.played, place.playedEnd <= place.end {
            (place.played, place.playedEnd) = (nil, -1)
            return Due(frame: last, command: command)
        }
        guard let command = place.sent else { return nil }
        (place.sent, place.end) = (nil, -1)
        return Due(frame: last, command: command)
    }
}
