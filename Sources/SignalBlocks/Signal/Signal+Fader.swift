extension Signal {
    /// A gain (or a balance, or a pan) on its way to a target, along a straight line: the state of a smoothed function
    /// from one block to the next.
    ///
    ///     private let state = RenderState(Signal.Fader(1))
    ///     …
    ///     var fader = state.read(context)
    ///     Signal.applySmoothedGain(0.25, fader: &fader, to: &samples)
    ///     state.write(fader, context)
    ///
    /// A ``Glide`` is a parameter's way, made by the engine for one slice; a fader is for modules that keep their own.
    ///
    /// The line is kept as its beginning and the frames since, not as a running sum: blocks of any length, 1 too, give
    /// the same bits, and the last value is exactly the target.
    ///
    /// Threads: any.
    public struct Fader: Sendable, Hashable, BitwiseCopyable {
        /// The value that the fader goes to, or has reached.
        public private(set) var target: Float
        var start: Float
        var step: Float = 0
        var position: Int32 = 0
        var length: Int32 = 0

        /// Creates a fader that stands still at a value.
        @_noLocks @_noAllocation
        public init(_ value: Float) {
            start = value
            target = value
        }

        /// The value that the next frame gets.
        public var value: Float {
            @_noLocks @_noAllocation get { line.origin + line.slope * Signal.float(line.position) }
        }

        /// Frames until the target is reached, 0 when it is.
        public var framesLeft: Int { @_noLocks @_noAllocation get { Int(length &- position) } }

        /// Sets out for a new target from the present value, at a speed per frame, but arrives after `limit` frames at
        /// the latest. A target that it already heads for changes nothing.
        ///
        /// - Parameters:
        ///   - target: The value to go to. One that is not finite is ignored.
        ///   - speed: The change per frame. Zero, or infinity, jumps.
        ///   - limit: The longest way, in frames; 0 jumps.
        @_noLocks @_noAllocation
        public mutating func head(for target: Float, speed: Float, limit: Int) {
            if target == self.target || !target.isFinite { return }
            let from = value
            let frames = Fader.frames(for: abs(target - from), speed: speed, limit: limit)
            self.target = target
            start = from
            position = 0
            length = frames
            // Divided first, so that the way between two very large numbers is not infinite.
            step = frames > 0 ? target / Float(frames) - from / Float(frames) : 0
        }

        /// Sets out for a new target: a full-scale move takes `frames`, and so does every other that is larger than a
        /// 16th; smaller ones take less, in proportion.
        @_noLocks @_noAllocation
        public mutating func head(for target: Float, frames: Int) {
            head(for: target, speed: frames > 0 ? 1 / (16 * Float(frames)) : 0, limit: frames)
        }

        /// Moves on by a block.
        @_noLocks @_noAllocation
        public mutating func advance(by frames: Int) {
            position &+= Int32(truncatingIfNeeded: max(0, min(frames, framesLeft)))
        }

        @_noLocks @_noAllocation
        static func frames(for distance: Float, speed: Float, limit: Int) -> Int32 {
            // This also holds for a `speed` that is not a number.
            guard speed > 0, speed < .infinity, limit > 0, distance > 0 else { return 0 }
            let exact = distance / speed
            let longest = Int32(truncatingIfNeeded: min(limit, 1 << 30))
            if !(exact < Float(longest)) { return longest }
            let whole = Int32(exact)
            return Float(whole) < exact ? whole &+ 1 : whole
        }

        /// One straight piece of the way: the next `count` frames are `origin + slope * (position + i)`.
        struct Line {
            var origin: Float
            var slope: Float
            var position: Int
            var count: Int
        }

        var line: Line {
            @_noLocks @_noAllocation get {
                if position < length {
                    return Line(origin: start, slope: step, position: Int(position), count: framesLeft)
                }
                return Line(origin: target, slope: 0, position: 0, count: .max)
            }
        }
    }

    /// Scales a channel along a fader, without moving the fader on: the same for all channels of a buffer, then
    /// ``Fader/advance(by:)`` once.
    @_noLocks @_noAllocation
    public static func applyGain(along fader: Fader, to buffer: inout MutableSpan<Float>) {
        let line = fader.line
        let moving = min(line.count, buffer.count)
        if line.slope == 0 && line.count == .max { return applyGain(line.origin, to: &buffer) }
        for i in 0..<moving { buffer[i] *= line.origin + line.slope * float(line.position &+ i) }
        if moving == buffer.count || fader.target == 1 { return }
        if abs(fader.target) < silentGain {
            for i in moving..<buffer.count { buffer[i] = 0 }
        } else {
            for i in moving..<buffer.count { buffer[i] *= fader.target }
        }
    }

    /// Scales a channel by a gain that is approached without a click.
    ///
    /// - Parameters:
    ///   - target: The gain to reach.
    ///   - fader: The fader with the present gain: moved on by the length of the channel.
    ///   - frames: The number of frames that a full-scale change takes. Multiply it with the sample rate to be
    ///     independent of that.
    ///   - buffer: The channel.
    @_noLocks @_noAllocation
    public static func applySmoothedGain(
        _ target: Float, fader: inout Fader, frames: Int = 512, to buffer: inout MutableSpan<Float>
    ) {
        fader.head(for: target, frames: frames)
        applyGain(along: fader, to: &buffer)
        fader.advance(by: buffer.count)
    }

    /// Scales two channels by one gain that is approached without a click.
    @_noLocks @_noAllocation
    public static func applySmoothedGain(
        _ target: Float, fader: inout Fader, frames: Int = 512,
        to left: inout MutableSpan<Float>, _ right: inout MutableSpan<Float>
    ) {
        fader.head(for: target, frames: frames)
        applyGain(along: fader, to: &left)
        applyGain(along: fader, to: &right)
        fader.advance(by: max(left.count, right.count))
    }

    /// Scales a channel by a gain that is approached at a given speed.
    ///
    /// - Parameters:
    ///   - target: The gain to reach.
    ///   - fader: The fader with the present gain: moved on by the length of the channel.
    ///   - speed: The change per frame. Zero, or infinity, jumps.
    ///   - limit: The longest way, in frames; 0 jumps.
    ///   - buffer: The channel.
    @_noLocks @_noAllocation
    public static func applyGain(
        _ target: Float, fader: inout Fader, speed: Float, limit: Int, to buffer: inout MutableSpan<Float>
    ) {
        fader.head(for: target, speed: speed, limit: limit)
        applyGain(along: fader, to: &buffer)
        fader.advance(by: buffer.count)
    }
}
