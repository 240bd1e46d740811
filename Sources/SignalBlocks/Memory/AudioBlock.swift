/// Audio in memory of its own: 1 to 64 channels of 32-bit float samples, one run of samples per channel.
///
/// A new block is silent. Its size never changes. It is freed when its owner ends, so keep it out of the render
/// thread's hands or in the state of a module.
///
///     var block = AudioBlock(channels: 2, frames: 512)
///     var left = block[0]
///     for frame in left.indices { left[frame] = 0.5 }
///     block[1, 7] = -1
///     let loudest = block.peak
///
/// When blocks of different widths meet, mono goes to every channel and many channels sum into mono. Otherwise channels
/// meet by number: a channel without a counterpart is silent, or is left out.
///
/// Threads: any.
public struct AudioBlock: ~Copyable, Sendable {
    @usableFromInline package let memory: ChannelMemory
    /// The number of channels, 1 to 64.
    public let channelCount: Int
    /// The number of frames that each channel has.
    public let frameCount: Int

    /// Creates a silent block.
    ///
    /// - Precondition: 1 to 64 channels, and not a negative number of frames.
    ///
    /// Threads: control.
    public init(channels: Int, frames: Int) {
        demand(channels >= 1 && channels <= 64, "AudioBlock has 1 to 64 channels, not \(channels)")
        demand(frames >= 0 && frames <= 1 << 40, "AudioBlock has 0 to 1,099,511,627,776 frames, not \(frames)")
        memory = ChannelMemory(count: channels, frames: frames)
        channelCount = channels
        frameCount = frames
    }

    /// Creates a block with these samples: one array per channel. Behind the end of a shorter one there is silence.
    ///
    /// - Precondition: There are 1…64 channels.
    ///
    /// Threads: control.
    public init(_ channels: [[Float]]) {
        self.init(channels: channels.count, frames: channels.map(\.count).max() ?? 0)
        for (channel, samples) in channels.enumerated() {
            for frame in samples.indices { self[channel, frame] = samples[frame] }
        }
    }

    /// Creates a copy of another block.
    ///
    /// Threads: control.
    public init(copying other: borrowing AudioBlock) {
        self.init(channels: other.channelCount, frames: other.frameCount)
        copy(from: other)
    }

    /// Creates a copy of a part of another block: some of its channels, some of its frames.
    ///
    /// - Precondition: Both ranges lie inside `other`, and there is at least one channel.
    ///
    /// Threads: control.
    public init(copying other: borrowing AudioBlock, channels: Range<Int>, frames: Range<Int>) {
        demand(
            channels.lowerBound >= 0 && channels.upperBound <= other.channelCount && frames.lowerBound >= 0
                && frames.upperBound <= other.frameCount,
            "AudioBlock: channels \(channels), frames \(frames) are not in \(other.channelCount) × \(other.frameCount)")
        self.init(channels: channels.count, frames: frames.count)
        for channel in 0..<channelCount {
            unsafe pointers[channel].copySamples(
                from: other.pointers[channels.lowerBound + channel] + frames.lowerBound, count: frameCount)
        }
    }

    /// The start of each channel, for the renderer and for C libraries, which keep to `channelCount` and `frameCount`.
    @usableFromInline package var pointers: UnsafeMutablePointer<UnsafeMutablePointer<Float>> {
        @_noLocks @_noAllocation get { unsafe memory.channels }
    }
}

// MARK: - Samples

extension AudioBlock {
    /// A channel, to write.
    @inlinable public subscript(_ channel: Int) -> MutableSpan<Float> {
        @_lifetime(&self) @_noLocks @_noAllocation mutating get {
            precondition(channel >= 0 && channel < channelCount)
            let span = unsafe MutableSpan(_unsafeStart: pointers[channel], count: frameCount)
            return unsafe _overrideLifetime(span, mutating: &self)
        }
    }

    /// A part of one channel, to write: at most `frames` frames from `offset` on.
    ///
    /// - Precondition: `offset` lies in `0...frameCount`, and `frames` is not negative.
    @inlinable public subscript(_ channel: Int, from offset: Int, frames frames: Int) -> MutableSpan<Float> {
        @_lifetime(&self) @_noLocks @_noAllocation mutating get {
            precondition(channel >= 0 && channel < channelCount && offset >= 0 && offset <= frameCount && frames >= 0)
            let rest = frameCount &- offset
            let count = frames < rest ? frames : rest
            let span = unsafe MutableSpan(_unsafeStart: pointers[channel] + offset, count: count)
            return unsafe _overrideLifetime(span, mutating: &self)
        }
    }

    /// The sample of a channel at a frame.
    @inlinable public subscript(_ channel: Int, _ frame: Int) -> Float {
        @_noLocks @_noAllocation get {
            precondition(channel >= 0 && channel < channelCount && frame >= 0 && frame < frameCount)
            return unsafe pointers[channel][frame]
        }
        @_noLocks @_noAllocation set {
            precondition(channel >= 0 && channel < channelCount && frame >= 0 && frame < frameCount)
            unsafe pointers[channel][frame] = newValue
        }
    }

    /// Returns one channel, to read in a loop. ``array(_:)`` returns a copy that has all that an array has.
    @_lifetime(borrow self)
    @_noLocks @_noAllocation
    @inlinable public func samples(_ channel: Int) -> Samples {
        precondition(channel >= 0 && channel < channelCount)
        return unsafe Samples(pointers[channel], count: frameCount, block: self)
    }

    /// Returns a part of one channel, to read: at most `frames` frames from `offset` on.
    ///
    /// - Precondition: `offset` lies in `0...frameCount`, and `frames` is not negative.
    @_lifetime(borrow self)
    @_noLocks @_noAllocation
    @inlinable public func samples(_ channel: Int, from offset: Int, frames: Int) -> Samples {
        precondition(channel >= 0 && channel < channelCount && offset >= 0 && offset <= frameCount && frames >= 0)
        let rest = frameCount &- offset
        let count = frames < rest ? frames : rest
        return unsafe Samples(pointers[channel] + offset, count: count, block: self)
    }

    /// Returns the samples of one channel as an array.
    ///
    /// Threads: control.
    public func array(_ channel: Int) -> [Float] {
        demand(channel >= 0 && channel < channelCount, "AudioBlock has no channel \(channel)")
        return unsafe Array(UnsafeBufferPointer(start: pointers[channel], count: frameCount))
    }
}

extension Samples {
    /// Creates a view. It is not the generic initialiser: in a debug build the checker of `@_noLocks` cannot see into
    /// another file.
    @_lifetime(borrow block)
    @_noLocks @_noAllocation
    @inlinable init(_ start: UnsafeMutablePointer<Float>, count: Int, block: borrowing AudioBlock) {
        unsafe base = UnsafePointer(start)
        self.count = count
    }
}

// MARK: - Whole blocks

extension AudioBlock {
    /// Makes the whole block silent.
    @_noLocks @_noAllocation
    public mutating func silence() {
        silence(from: 0, frames: frameCount)
    }

    /// Makes a part of every channel silent: at most `frames` frames from `offset` on.
    @_noLocks @_noAllocation
    public mutating func silence(from offset: Int, frames: Int) {
        let count = available(frames, from: offset)
        var channel = 0
        while channel < channelCount && count > 0 {
            unsafe (pointers[channel] + offset).clearSamples(count: count)
            channel &+= 1
        }
    }

    /// Overwrites this block with another one, or a part of it with a part of that.
    ///
    /// - Parameters:
    ///   - other: The block that the samples come from; other widths meet by the rule of ``AudioBlock``.
    ///   - sourceOffset: The first frame read.
    ///   - offset: The first frame written.
    ///   - frames: The largest number of frames to copy; frames beyond the end of either block are left out.
    /// - Returns: The number of frames that were written.
    @discardableResult
    @_noLocks @_noAllocation
    public mutating func copy(
        from other: borrowing AudioBlock, sourceOffset: Int = 0, to offset: Int = 0, frames: Int = .max
    ) -> Int {
        let count = other.available(available(frames, from: offset), from: sourceOffset)
        if count > 0 { memory.copy(from: other.memory, at: sourceOffset, to: offset, frames: count) }
        return count
    }

    /// Returns how many of `frames` frames from `offset` on exist: 0 if the offset is outside of the block.
    @_noLocks @_noAllocation
    private func available(_ frames: Int, from offset: Int) -> Int {
        if offset < 0 || offset > frameCount || frames <= 0 { return 0 }
        let rest = frameCount &- offset
        return frames < rest ? frames : rest
    }

    /// Indicates whether every sample is zero. A sample that is not a number is not silence.
    public var isSilent: Bool {
        @_noLocks @_noAllocation get {
            var channel = 0
            while channel < channelCount {
                let samples = unsafe pointers[channel]
                var frame = 0
                while frame < frameCount {
                    if unsafe !(samples[frame] == 0) { return false }
                    frame &+= 1
                }
                channel &+= 1
            }
            return true
        }
    }

    /// The largest magnitude of any sample, 0 in an empty block. Samples that are not a number are passed over.
    public var peak: Float {
        @_noLocks @_noAllocation get {
            var largest = SIMD8<Float>(repeating: 0)
            var rest: Float = 0
            var channel = 0
            while channel < channelCount {
                let samples = samples(channel)
                var frame = 0
                while frame &+ 8 <= frameCount {
                    let vector = samples.vector8(at: frame)
                    let magnitude = vector.replacing(with: -vector, where: vector .< 0)
                    largest.replace(with: magnitude, where: magnitude .> largest)
                    frame &+= 8
                }
                while frame < frameCount {
                    let magnitude = samples[frame].magnitude
                    if magnitude > rest { rest = magnitude }
                    frame &+= 1
                }
                channel &+= 1
            }
            let vectors = largest.max()
            return vectors > rest ? vectors : rest
        }
    }
}
