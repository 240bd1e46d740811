internal import AudioFiles
internal import RenderCore

/// The position of a player, from its render thread to all threads that ask: a few numbers that belong together.
package struct Playhead: ~Copyable, Sendable {
    /// The state of a player.
    package enum Phase: BitwiseCopyable, Sendable {
        case idle, playing, paused
    }

    /// The numbers.
    package struct State: BitwiseCopyable, Sendable {
        // In the order of how often they change: three words, four words, the others.
        /// The stream's next frame.
        package var frame: Int64 = 0
        /// The time at which that frame is due.
        package var hostTime: Int64 = 0
        /// The length of the last slice, 0 offline: so far the frame can lie in the future.
        package var sliceLength: Int64 = 0
        /// The state of the player.
        package var phase = Phase.idle
        /// The stream that is heard; 0 for none.
        package var stream = 0
        /// The stream that the file was begun with; another one where it goes round in a loop since then.
        package var item = 0
        /// Frames per second of the stream.
        package var sampleRate: Double = 48_000
        /// The frames of the file that the stream gives.
        package var geometry = StreamGeometry.nothing

        /// Creates the state in which nothing is heard.
        @_noLocks @_noAllocation
        package init() {}

        /// Returns the frame of the file at a host time, in a straight line from the frames that were rendered last.
        @_noLocks @_noAllocation
        package func position(at time: Int64) -> Int64 {
            let distance = phase == .playing ? Double(time &- hostTime) * sampleRate * 1e-9 : 0
            // Half a day in each direction is more than any clock is off.
            let limited = distance > 1e10 ? 1e10 : distance < -1e10 ? -1e10 : distance
            let there = frame &+ Int64(limited)
            return geometry.position(at: there < geometry.end ? there : geometry.end)
        }
    }

    private let words = PublishedWords(State())

    /// Creates a playhead at rest.
    package init() {}

    /// Says where the player is. The render thread alone.
    ///
    /// - Parameter isSameStream: `true` if the geometry is that of the last time.
    @_noLocks @_noAllocation
    package func store(_ state: State, isSameStream: Bool) {
        var next = state
        unsafe words.store(&next, words: isSameStream ? 7 : .max)
    }

    /// Stores the position only, if the player has just played on since the last time.
    @_noLocks @_noAllocation
    package func store(frame: Int64, hostTime: Int64, sliceLength: Int64) {
        words.store(UInt64(bitPattern: frame), UInt64(bitPattern: hostTime), UInt64(bitPattern: sliceLength))
    }

    /// Returns the position of the player. From any thread. On a render thread, which must not loop for long, it gives
    /// up after a few tries, with the numbers of two slices mixed.
    @_noLocks @_noAllocation
    package func load() -> State {
        var state = State()
        unsafe words.load(to: &state, tries: 64)
        return state
    }
}
