internal import CKernels

/// Rows of 64 samples: what goes into a ``Diffuser`` and a ``FeedbackNetwork``, and comes out of them.
///
///     rows[0, frame] = sample
///     rows.blend(0, into: &samples, at: done, share: mix, count: count)
///
/// Threads: any.
public struct SampleRows: ~Copyable, Sendable {
    /// The samples of a row.
    public static var length: Int { @_noLocks @_noAllocation @inlinable get { 64 } }
    /// The number of rows.
    public let count: Int
    @usableFromInline var samples: RenderMemory<Float>

    /// Creates silent rows. It allocates.
    ///
    /// Threads: control.
    public init(_ count: Int) {
        self.count = count
        samples = RenderMemory(repeating: 0, count: count * SampleRows.length)
    }

    /// One sample of a row.
    @inlinable public subscript(row: Int, frame: Int) -> Float {
        @_noLocks @_noAllocation get { samples.value(at: row &* SampleRows.length &+ frame) }
        @_noLocks @_noAllocation set { samples.put(newValue, at: row &* SampleRows.length &+ frame) }
    }

    /// The address of a row.
    @_noLocks @_noAllocation
    @unsafe func address(_ row: Int) -> UnsafeMutablePointer<Float> {
        precondition(row >= 0 && row < count)
        return unsafe samples.memory.base + row &* SampleRows.length
    }

    /// Makes the first samples of a row silent.
    @_noLocks @_noAllocation
    public mutating func clear(_ row: Int, count: Int) {
        precondition(count >= 0 && count <= SampleRows.length)
        unsafe address(row).clearSamples(count: count)
    }

    /// Multiplies the first samples of a row.
    @_noLocks @_noAllocation
    public mutating func scale(_ row: Int, by gain: Float, count: Int) {
        precondition(count >= 0 && count <= SampleRows.length)
        let samples = unsafe address(row)
        for i in 0..<count { unsafe samples[i] *= gain }
    }

    /// Multiplies the first samples of a row by a number on its way.
    ///
    /// - Parameter frame: The number of the first frame in its block.
    @_noLocks @_noAllocation
    package mutating func scale(_ row: Int, by gain: Ramp, frame: Int, count: Int) {
        precondition(count >= 0 && count <= SampleRows.length)
        if gain.start == 1 && gain.slope == 0 { return }
        let samples = unsafe address(row)
        for i in 0..<count { unsafe samples[i] *= gain.value(at: frame &+ i) }
    }

    /// Adds the first samples of another row to those of a row.
    @_noLocks @_noAllocation
    public mutating func add(_ other: borrowing SampleRows, row: Int, to target: Int, count: Int) {
        precondition(count >= 0 && count <= SampleRows.length)
        unsafe address(target).addSamples(from: other.address(row), count: count)
    }

    /// Mixes samples with a row: the more of the row, the less of the samples.
    ///
    /// - Parameters:
    ///   - row: The row.
    ///   - samples: The samples.
    ///   - first: The place of the first of them, which is a frame of the slice.
    ///   - share: The share of the row, 0…1.
    ///   - count: The number of samples.
    @_noLocks @_noAllocation
    public func blend(_ row: Int, into samples: inout MutableSpan<Float>, at first: Int, share: Glide, count: Int) {
        precondition(count >= 0 && count <= SampleRows.length && first >= 0 && count <= samples.count &- first)
        guard let start = unsafe samples.address() else { return }
        let (source, target) = unsafe (address(row), start + first)
        if share.isFlat {
            let (share, rest) = (share.end, 1 - share.end)
            for i in 0..<count { unsafe target[i] = target[i] * rest + source[i] * share }
        } else {
            for i in 0..<count {
                let share = share[first &+ i]
                unsafe target[i] = target[i] * (1 - share) + source[i] * share
            }
        }
    }

    /// Adds two of a network's outputs to a row and the next one, and brings these together.
    ///
    /// - Parameters:
    ///   - late: The outputs, of which `lanes` are added.
    ///   - width: 0 makes the two one, 1 leaves them.
    ///   - frame: The number of the first frame in its block.
    @_noLocks @_noAllocation
    package mutating func widen(
        _ row: Int, adding late: borrowing SampleRows, lanes: (Int, Int), width: Ramp, frame: Int, count: Int
    ) {
        precondition(count >= 0 && count <= SampleRows.length && late.count >= 8)
        precondition(lanes.0 >= 0 && lanes.0 < 8 && lanes.1 >= 0 && lanes.1 < 8)
        unsafe kernel_widen(
            late.address(0), lanes.0, lanes.1, width.start, width.slope, Int32(truncatingIfNeeded: frame), address(row),
            address(row &+ 1), count)
    }
}

/// A number that goes in a straight line through the 64 frames of a block.
package struct Ramp: Sendable, BitwiseCopyable {
    /// The value at the first frame.
    package var start: Float
    /// The change from frame to frame.
    package var slope: Float

    /// Creates a number that stays.
    @_noLocks @_noAllocation
    package init(_ value: Float) {
        start = value
        slope = 0
    }

    /// Creates a number that reaches another at the first frame of the next block.
    @_noLocks @_noAllocation
    package init(from start: Float, to end: Float) {
        self.start = start
        slope = (end - start) * (1 / Float(SampleRows.length))
    }

    /// Goes on from where it ends to another value, or is there at once.
    @_noLocks @_noAllocation
    package mutating func lead(to value: Float, isJump: Bool) {
        self = isJump ? Ramp(value) : Ramp(from: self.value(at: SampleRows.length), to: value)
    }

    /// The value at a frame of the block.
    @_noLocks @_noAllocation
    package func value(at frame: Int) -> Float { start + slope * Float(Int32(truncatingIfNeeded: frame)) }
}
