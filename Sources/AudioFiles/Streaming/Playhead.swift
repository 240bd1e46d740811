internal import Synchronization

/// Where a player is, from its render thread to everybody who asks: a few numbers that belong together.
package struct Playhead: ~Copyable, Sendable {
    /// What a player is doing.
    package enum Phase: Sendable {
        case idle, playing, paused
    }

    /// The numbers.
    package struct State: Sendable {
        /// What it is doing.
        package var phase = Phase.idle
        /// The stream that is heard; 0 for none.
        package var stream = 0
        /// The stream that the file was begun with; another one where it goes round in a loop since then.
        package var item = 0
        /// What the stream's frames are.
        package var geometry = StreamGeometry(lower: 0, upper: 0, start: 0, passes: 1, up: 1, down: 1, end: 0)
        /// The stream's next frame.
        package var frame: Int64 = 0
        /// When that is due.
        package var hostTime: Int64 = 0
        /// The length of the last slice, 0 offline: so far the frame can lie in the future.
        package var sliceLength: Int64 = 0
        /// Frames per second of the stream.
        package var sampleRate: Double = 48_000

        /// Nothing is heard.
        @_noLocks @_noAllocation
        package init() {}

        /// The frame of the file at a host time, in a straight line from what was rendered last.
        @_noLocks @_noAllocation
        package func position(at time: Int64) -> Int64 {
            var distance = 0.0
            switch phase {
            case .playing: distance = Double(time &- hostTime) * sampleRate * 1e-9
            case .idle, .paused: break
            }
            // Half a day in each direction is more than any clock is off.
            let limited = distance > 1e10 ? 1e10 : distance < -1e10 ? -1e10 : distance
            let there = frame &+ Int64(limited)
            return geometry.position(at: there < geometry.end ? there : geometry.end)
        }
    }

    private let version = Atomic<Int>(0)
    private let phase = Atomic<Int>(0)
    private let stream = Atomic<Int>(0)
    private let item = Atomic<Int>(0)
    private let frame = Atomic<Int64>(0)
    private let hostTime = Atomic<Int64>(0)
    private let sliceLength = Atomic<Int64>(0)
    private let rate = Atomic<UInt64>(0)
    private let lower = Atomic<Int64>(0)
    private let upper = Atomic<Int64>(0)
    private let start = Atomic<Int64>(0)
    private let passes = Atomic<Int64>(1)
    private let up = Atomic<Int64>(1)
    private let down = Atomic<Int64>(1)
    private let end = Atomic<Int64>(0)

    /// A playhead at rest.
    package init() {}

    /// Says where the player is. The render thread alone.
    ///
    /// - Parameter isSameStream: whether the geometry is that of the last time.
    @_noLocks @_noAllocation
    package func store(_ state: State, isSameStream: Bool) {
        let next = begin()
        phase.store(number(state.phase), ordering: .relaxed)
        stream.store(state.stream, ordering: .relaxed)
        item.store(state.item, ordering: .relaxed)
        frame.store(state.frame, ordering: .relaxed)
        hostTime.store(state.hostTime, ordering: .relaxed)
        sliceLength.store(state.sliceLength, ordering: .relaxed)
        rate.store(state.sampleRate.bitPattern, ordering: .relaxed)
        if !isSameStream { store(state.geometry) }
        version.store(next, ordering: .releasing)
    }

    /// The same where it has only played on since the last time.
    @_noLocks @_noAllocation
    package func store(frame: Int64, hostTime: Int64, sliceLength: Int64) {
        let next = begin()
        self.frame.store(frame, ordering: .relaxed)
        self.hostTime.store(hostTime, ordering: .relaxed)
        self.sliceLength.store(sliceLength, ordering: .relaxed)
        version.store(next, ordering: .releasing)
    }

    /// The version is odd while the numbers change. A fence, so that none of them is seen before it. Returns the version that
    /// comes after them.
    @_noLocks @_noAllocation @inline(__always)
    private func begin() -> Int {
        let version = version.load(ordering: .relaxed)
        self.version.store(version &+ 1, ordering: .relaxed)
        atomicMemoryFence(ordering: .releasing)
        return version &+ 2
    }

    @_noLocks @_noAllocation
    private func store(_ geometry: StreamGeometry) {
        lower.store(geometry.lower, ordering: .relaxed)
        upper.store(geometry.upper, ordering: .relaxed)
        start.store(geometry.start, ordering: .relaxed)
        passes.store(geometry.passes, ordering: .relaxed)
        up.store(geometry.up, ordering: .relaxed)
        down.store(geometry.down, ordering: .relaxed)
        end.store(geometry.end, ordering: .relaxed)
    }

    /// Where the player is. From any thread; on a render thread it gives up after a few tries, with the numbers of two
    /// slices mixed: nothing there may go round and round.
    @_noLocks @_noAllocation
    package func load() -> State {
        var state = State()
        var tries = 0
        while tries < 64 {
            let first = version.load(ordering: .acquiring)
            switch phase.load(ordering: .acquiring) {
            case 1: state.phase = .playing
            case 2: state.phase = .paused
            default: state.phase = .idle
            }
            state.stream = stream.load(ordering: .acquiring)
            state.item = item.load(ordering: .acquiring)
            state.frame = frame.load(ordering: .acquiring)
            state.hostTime = hostTime.load(ordering: .acquiring)
            state.sliceLength = sliceLength.load(ordering: .acquiring)
            state.sampleRate = Double(bitPattern: rate.load(ordering: .acquiring))
            state.geometry = StreamGeometry(
                lower: lower.load(ordering: .acquiring), upper: upper.load(ordering: .acquiring),
                start: start.load(ordering: .acquiring), passes: passes.load(ordering: .acquiring),
                up: up.load(ordering: .acquiring), down: down.load(ordering: .acquiring),
                end: end.load(ordering: .acquiring))
            let last = version.load(ordering: .relaxed)
            if first & 1 == 0 && last == first { break }
            tries &+= 1
        }
        return state
    }

    @_noLocks @_noAllocation
    private func number(_ phase: Phase) -> Int {
        switch phase {
        case .idle: 0
        case .playing: 1
        case .paused: 2
        }
    }
}
