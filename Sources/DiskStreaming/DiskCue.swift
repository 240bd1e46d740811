package import RenderCore
internal import Sharing

/// A command on its way to the render thread, in a `ManagedValue`: as long as it can be read, its stream or its take is
/// there. One command of each kind can wait: a newer one is put in the place of the older.
package struct DiskCue: ~Copyable, Sendable {
    /// The command as the render thread takes it.
    package let command: DiskCommand
    private let stream: DiskStream?
    private let take: DiskTake?

    /// Creates the cue of a command with a stream, or of one that needs none.
    ///
    /// - Parameters:
    ///   - number: The number of the command: later ones have greater numbers.
    ///   - time: The time of the command.
    ///   - keepsPlace: `true` if the stream goes on at the frame of the file that is heard when it takes over, and not at
    ///     its first.
    ///   - fade: The number of frames in which one stream fades over to the other, which then goes on in the same pass; 0 if
    ///     the player decides.
    package init(
        _ stream: DiskStream? = nil, number: Int = 0, time: RenderTime = .immediately, keepsPlace: Bool = false,
        fade: Int = 0
    ) {
        self.stream = stream
        take = nil
        command = DiskCommand(
            number: number, time: time, stream: stream?.reference, keepsPlace: keepsPlace, fade: fade)
        stream?.countCue(1)
    }

    /// Creates the cue of a command with a take.
    package init(take: DiskTake, number: Int, time: RenderTime = .immediately) {
        stream = nil
        self.take = take
        command = DiskCommand(number: number, time: time, take: take.reference)
        take.countCue(1)
    }

    deinit {
        stream?.countCue(-1)
        take?.countCue(-1)
    }
}

/// A command as the render thread keeps it, which looks at its cue in every slice before it uses what belongs to it.
package struct DiskCommand: Sendable {
    /// The number of the command: later ones have greater numbers.
    package private(set) var number = 0
    /// The time of the command.
    package private(set) var time = RenderTime.immediately
    /// The stream; none in a command that needs none, or was called off.
    package private(set) var stream: StreamReference?
    /// The take of a recorder.
    package private(set) var take: TakeReference?
    /// Indicates whether the stream goes on at the frame of the file that is heard.
    package private(set) var keepsPlace = false
    /// Frames of the fade to the stream; 0 if the player decides.
    package private(set) var fade = 0
    /// Indicates whether the command is still to be done.
    package var isWaiting = false
    /// Indicates whether the command was seen before its time.
    package var wasAhead = false

    /// Creates a command that was never given.
    package init() {}

    fileprivate init(
        number: Int, time: RenderTime, stream: StreamReference? = nil, take: TakeReference? = nil,
        keepsPlace: Bool = false, fade: Int = 0
    ) {
        self.number = number
        self.time = time
        self.stream = stream
        self.take = take
        self.keepsPlace = keepsPlace
        self.fade = fade
        isWaiting = true
    }

    /// Takes a newer command in the place of this one.
    @_noLocks @_noAllocation
    package mutating func look(at cue: borrowing DiskCue) { if cue.command.number != number { self = cue.command } }
}
