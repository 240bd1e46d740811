internal import CKernels

extension AudioBlock {
    /// Creates a block from samples whose channels take turns, as files and devices have them.
    ///
    /// A last frame that lacks channels is left out.
    ///
    /// - Precondition: There are 1…64 channels.
    ///
    /// Threads: control.
    public init(interleaved samples: [Float], channels: Int) {
        self.init(channels: channels, frames: AudioBlock.frames(in: samples.count, channels: channels))
        for index in 0..<frameCount * channels { self[index % channels, index / channels] = samples[index] }
    }

    /// Creates a block from 16-bit samples whose channels take turns: -32,768 becomes -1.
    ///
    /// A last frame that lacks channels is left out.
    ///
    /// - Precondition: There are 1…64 channels.
    ///
    /// Threads: control.
    public init(interleaved samples: [Int16], channels: Int) {
        self.init(channels: channels, frames: AudioBlock.frames(in: samples.count, channels: channels))
        for index in 0..<frameCount * channels {
            self[index % channels, index / channels] = Float(samples[index]) / 32_768
        }
    }

    /// Returns the samples with channels taking turns.
    ///
    /// Threads: control.
    public func interleaved() -> [Float] {
        unsafe [Float](unsafeUninitializedCapacity: channelCount * frameCount) { buffer, count in
            for channel in 0..<channelCount {
                let samples = samples(channel)
                for frame in samples.indices {
                    unsafe buffer.initializeElement(at: frame * channelCount + channel, to: samples[frame])
                }
            }
            count = channelCount * frameCount
        }
    }

    /// Returns the samples as 16-bit numbers with channels taking turns: to the nearest, ±1 and beyond clipped, no
    /// dither.
    ///
    /// A sample that is not a number becomes 0. Samples that came from 16-bit numbers come back exactly.
    ///
    /// Threads: control.
    public func interleavedInt16() -> [Int16] {
        interleaved().map { sample in
            let scaled = (sample * 32_768).rounded()
            if scaled.isNaN { return 0 }
            return Int16(max(-32_768, min(32_767, scaled)))
        }
    }

    /// Writes frames of 16-bit samples whose channels take turns, one or two of them: to the nearest, beyond ±1 clipped.
    ///
    /// - Returns: The number of samples that were clipped; `nil`, and nothing done, if there are other channels or no
    ///   room.
    package func convert(from first: Int, frames: Int, into samples: UnsafeMutableBufferPointer<Int16>) -> Int? {
        guard first >= 0, frames >= 0, frames <= frameCount - first, samples.count >= frames * channelCount,
            let target = samples.baseAddress
        else { return nil }
        let left = unsafe self.samples(0).base + first
        if channelCount == 1 { return unsafe kernel_to_int16(left, target, frames) }
        if channelCount != 2 { return nil }
        return unsafe kernel_to_int16_pairs(left, self.samples(1).base + first, target, frames)
    }

    /// Takes frames from 16-bit samples whose channels take turns, one or two of them.
    ///
    /// - Returns: `false`, and nothing done, where there are other channels or too few samples.
    package mutating func take(
        _ samples: UnsafeBufferPointer<Int16>, at first: Int, frames: Int
    ) -> Bool {
        guard first >= 0, frames >= 0, frames <= frameCount - first, samples.count >= frames * channelCount,
            channelCount <= 2, let source = samples.baseAddress
        else { return false }
        var span = self[0]
        guard let left = unsafe span.address() else { return false }
        if channelCount == 1 {
            unsafe kernel_from_int16(source, left + first, frames)
            return true
        }
        var other = self[1]
        guard let right = unsafe other.address() else { return false }
        unsafe Kernel.convert(pairs: source, to: left + first, right + first, frames)
        return true
    }

    private static func frames(in count: Int, channels: Int) -> Int {
        demand(channels >= 1 && channels <= 64, "AudioBlock has 1 to 64 channels, not \(channels)")
        return count / channels
    }
}
