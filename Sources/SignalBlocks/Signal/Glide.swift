/// A parameter's value over the frames of a slice: at rest, or on its way.
///
/// A glide is asked by frame and never advanced: `glide[i]` is the value at frame `i` of the slice, computed from the
/// beginning of the glide. So the length of the slices changes nothing, and a loop over it vectorises.
///
/// Threads: any.
public struct Glide: Sendable, BitwiseCopyable {
    // Eight fields of one size, which are copied in two moves: modules have many glides, nearly all at rest.
    @usableFromInline let from: Float
    /// The change in a frame: in octaves if the glide is exponential. Of a smooth glide the whole distance.
    @usableFromInline let step: Float
    /// Frames of the glide that lie before this slice.
    @usableFromInline let elapsed: Int32
    @usableFromInline package let length: Int32
    /// 1 for an exponential glide, 2 for a smooth one, 3 for both; 6 for one whose values are in a ``GlideTable``, 14 for one minus these.
    @usableFromInline let kind: UInt32
    /// A smooth glide's motion at its beginning, in the time of the glide: in octaves if it is exponential. Of a table its
    /// address.
    @usableFromInline let motion: GlideMotion
    /// The value at which the glide ends.
    public let end: Float

    @usableFromInline var isExponential: Bool { @_noLocks @_noAllocation @inlinable get { kind & 1 != 0 } }
    @usableFromInline var isSmooth: Bool { @_noLocks @_noAllocation @inlinable get { kind & 2 != 0 } }

    /// Creates a glide at rest.
    @_noLocks @_noAllocation
    @inlinable public init(_ value: Float) {
        from = value
        step = 0
        elapsed = 0
        length = 0
        kind = 0
        motion = GlideMotion()
        end = value
    }

    /// Creates a glide of `length` frames, `elapsed` of which have passed.
    @_noLocks @_noAllocation
    @inlinable package init(from: Float, to end: Float, elapsed: Int32, length: Int32, isExponential: Bool) {
        self.from = from
        self.end = end
        self.elapsed = elapsed
        self.length = length
        // A ratio beyond all numbers has no logarithm: such a glide is a line.
        let ratio = isExponential && from > 0 && end > 0 ? end / from : 0
        let isExponential = ratio > 0 && ratio < .infinity
        kind = isExponential ? 1 : 0
        motion = GlideMotion()
        if elapsed >= length {
            step = 0
        } else if isExponential {
            step = RenderMath.log2(ratio) / Float(length)
        } else {
            step = (end - from) / Float(length)
        }
    }

    /// Creates a smooth glide: it begins with a motion, and ends with none.
    ///
    /// - Parameter motion: By frames, of a glide that is as exponential as this one.
    @_noLocks @_noAllocation
    package init(
        smoothFrom from: Float, to end: Float, elapsed: Int32, length: Int32, isExponential: Bool,
        motion: GlideMotion
    ) {
        self.from = from
        self.end = end
        self.elapsed = elapsed
        self.length = length
        let ratio = isExponential && from > 0 && end > 0 ? end / from : 0
        let isExponential = ratio > 0 && ratio < .infinity
        kind = (isExponential ? 1 : 0) | (elapsed < length ? 2 : 0)
        self.motion = motion.scaled(by: Float(length))
        step = elapsed < length ? (isExponential ? RenderMath.log2(ratio) : end - from) : 0
    }

    /// Creates a glide whose values are in a ``GlideTable``.
    ///
    /// - Parameters:
    ///   - table: Its address.
    ///   - first: The place in the table of the slice's first frame.
    ///   - count: The number of values from there on, more than 0: those of the slice, and of some frames behind it.
    ///   - end: The value behind the slice, and behind the values of the table.
    @_noLocks @_noAllocation
    package init(table: UInt, from first: Int, count: Int, end: Float) {
        from = GlideTable.value(at: first, in: table)
        self.end = end
        elapsed = Int32(truncatingIfNeeded: first)
        length = Int32(truncatingIfNeeded: first &+ count)
        kind = 6
        step = 0
        motion = GlideMotion(table)
    }

    /// Creates one minus a glide whose values are in a table, or that glide again.
    @_noLocks @_noAllocation
    private init(complementOf other: Glide) {
        (from, end) = (1 - other.from, 1 - other.end)
        (elapsed, length, step, motion) = (other.elapsed, other.length, other.step, other.motion)
        kind = other.kind ^ 8
    }

    private var isInTable: Bool { @_noLocks @_noAllocation get { kind & 4 != 0 } }

    /// The motion at the first frame of the slice, by frames.
    package var motionNow: GlideMotion {
        @_noLocks @_noAllocation get {
            isSmooth && !isInTable
                ? smoothPath.motion(at: Double(elapsed) / Double(length)).scaled(by: 1 / Float(length)) : GlideMotion()
        }
    }

    /// Returns the motion with which another glide can go on from the first frame of the slice: less of it where that
    /// would carry it out of the range.
    ///
    /// - Parameters:
    ///   - isExponential: Indicates whether that glide is.
    ///   - end: The value at which it ends.
    ///   - length: Its frames.
    @_noLocks @_noAllocation
    package func motion(
        isExponential: Bool, to end: Float, in length: Int32, from low: Float, to high: Float
    ) -> GlideMotion {
        var motion = motionNow
        let from = self[0]
        if !isSmooth || self.isExponential != (isExponential && from > 0 && end > 0) { return GlideMotion() }
        for _ in 0..<4 {
            let next = Glide(
                smoothFrom: from, to: end, elapsed: 0, length: length, isExponential: isExponential, motion: motion)
            var isInside = true
            for step in 1..<16 {
                let value = next[Int(length) * step / 16]
                if !(value >= low && value <= high) { isInside = false }
            }
            if isInside { return motion }
            motion = GlideMotion(velocity: 0.5 * motion.velocity, bend: 0.5 * motion.bend)
        }
        return GlideMotion()
    }

    /// The way of a smooth glide, in octaves above the beginning if it is exponential.
    @usableFromInline var smoothPath: GlidePath {
        @_noLocks @_noAllocation get {
            GlidePath(
                from: isExponential ? 0 : Double(from),
                distance: isExponential ? Double(step) : Double(end) - Double(from), motion)
        }
    }

    @_noLocks @_noAllocation
    @usableFromInline @inline(never) func smoothValue(_ position: Int32) -> Float { Float(smoothDouble(position)) }

    @_noLocks @_noAllocation
    private func smoothDouble(_ position: Int32) -> Double {
        if isInTable {
            let value = Double(GlideTable.value(at: Int(position), in: motion.address))
            return kind & 8 != 0 ? 1 - value : value
        }
        let value = smoothPath.value(at: Double(position) / Double(length))
        return isExponential ? Double(from) * RenderMath.exp2(value) : value
    }

    /// Returns the value at a frame of the slice, of a smooth glide with all digits: for decibels, because the steps of
    /// a `Float` in decibels can be heard above a silence of 130 dB.
    @_noLocks @_noAllocation
    package func fine(_ frame: Int) -> Double {
        let position = elapsed &+ Int32(truncatingIfNeeded: frame)
        return isSmooth && position < length ? smoothDouble(position) : Double(self[frame])
    }

    /// One minus the value, for a glide in a straight line or in a table: how far a ``Switch`` is off.
    package var complement: Glide {
        @_noLocks @_noAllocation get {
            if isInTable { return Glide(complementOf: self) }
            return Glide(from: 1 - from, to: 1 - end, elapsed: elapsed, length: length, isExponential: false)
        }
    }

    /// Indicates whether the value is the same, ``end``, in all frames of the slice.
    @inlinable public var isFlat: Bool { @_noLocks @_noAllocation get { elapsed >= length } }

    /// Frames of the slice, and of those after it, until it is at rest.
    package var framesLeft: Int { @_noLocks @_noAllocation get { Int(max(0, length &- elapsed)) } }

    /// Returns the number of frames until a mix has come down to 0 for good: all of them where it does not.
    ///
    /// A bypass begins on that frame, not with the next slice, so that the length of the slices changes nothing.
    @_noLocks @_noAllocation
    @inlinable package func lastFrame(of count: Int) -> Int {
        if end != 0 { return count }
        var frames = isFlat ? 0 : count
        while frames > 0 && self[frames &- 1] == 0 { frames &-= 1 }
        return frames
    }

    /// The value at the first frame of the slice.
    @inlinable public var start: Float { @_noLocks @_noAllocation get { self[0] } }

    /// The value at a frame of the slice.
    @inlinable public subscript(_ frame: Int) -> Float {
        @_noLocks @_noAllocation get {
            let position = elapsed &+ Int32(truncatingIfNeeded: frame)
            if isSmooth { return position < length ? smoothValue(position) : end }
            if isExponential {
                return position < length ? from * RenderMath.exp2(step * Float(position)) : end
            }
            return position < length ? from + step * Float(position) : end
        }
    }

    /// Multiplies samples by the value, frame by frame.
    @_noLocks @_noAllocation
    @inlinable public func apply(to samples: inout MutableSpan<Float>) {
        if isFlat {
            let gain = end
            if gain == 1 { return }
            Signal.scale(&samples, by: gain)
        } else if kind == 2 {
            applySmooth(to: &samples)
        } else {
            for i in samples.indices { samples[i] *= self[i] }
        }
    }

    /// Multiplies samples by the values of a glide that is smooth and not exponential: with the same bits, in packed
    /// sums.
    @_noLocks @_noAllocation
    @usableFromInline func applySmooth(to samples: inout MutableSpan<Float>) {
        let path = smoothPath
        let whole = Double(length)
        let moving = min(samples.count, Int(length &- elapsed))
        for i in 0..<moving {
            let position = Double(elapsed &+ Int32(truncatingIfNeeded: i))
            samples[i] *= Float(path.value(at: position / whole))
        }
        for i in moving..<samples.count { samples[i] *= end }
    }
}
