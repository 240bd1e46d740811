internal import RenderCore

/// Makes a device's samples of ours and ours of the device's: one channel at a time, wherever that lies in memory.
struct SampleWriter: Sendable {
    let format: ALSAFormat
    /// Indicates whether 16-bit integers get dither.
    let isDithered: Bool

    /// Writes a channel.
    ///
    /// +1.0, which integers just do not reach, does not count as a clip. A sample that is not a number becomes 0 and
    /// does.
    ///
    /// - Parameters:
    ///   - source: The samples.
    ///   - count: The number of samples.
    ///   - memory: The address for the first one.
    ///   - step: The bytes from one to the next.
    ///   - number: The dither's number of the first sample.
    ///   - numberStep: The step of that number from one sample to the next.
    /// - Returns: The number of samples that were clipped.
    @unsafe func write(
        _ source: UnsafePointer<Float>, count: Int, to memory: UnsafeMutableRawPointer, step: Int, number: Int64,
        numberStep: Int64
    ) -> Int {
        var clipped = 0
        switch format {
        case .float32:
            for i in 0..<count { unsafe (memory + i &* step).storeBytes(of: source[i], as: Float.self) }
        case .int32, .int24:
            let scale = format == .int32 ? 0x1p31 : 0x1p23
            for i in 0..<count {
                let value = unsafe Signal.integer(source[i], scale: scale, clipped: &clipped)
                unsafe (memory + i &* step).storeBytes(of: value, as: Int32.self)
            }
        case .int24Packed:
            for i in 0..<count {
                let value = unsafe Signal.integer(source[i], scale: 0x1p23, clipped: &clipped)
                unsafe (memory + i &* step).storeBytes(of: Int24(value), as: Int24.self)
            }
        case .int16:
            for i in 0..<count {
                let noise = isDithered ? Dither.noise(number &+ Int64(i) &* numberStep) : 0
                let value = unsafe Signal.integer(source[i], scale: 0x1p15, noise: noise, clipped: &clipped)
                unsafe (memory + i &* step).storeBytes(of: Int16(truncatingIfNeeded: value), as: Int16.self)
            }
        }
        return clipped
    }

    /// Reads a channel.
    @unsafe func read(
        _ memory: UnsafeRawPointer, step: Int, count: Int, into output: UnsafeMutablePointer<Float>
    ) {
        switch format {
        case .float32:
            for i in 0..<count { unsafe output[i] = (memory + i &* step).loadUnaligned(as: Float.self) }
        case .int32, .int24:
            // Of 24 bits the highest byte may hold anything.
            let unused: Int32 = format == .int24 ? 8 : 0
            for i in 0..<count {
                unsafe output[i] = Float((memory + i &* step).loadUnaligned(as: Int32.self) &<< unused) * 0x1p-31
            }
        case .int24Packed:
            for i in 0..<count {
                unsafe output[i] = Float((memory + i &* step).loadUnaligned(as: Int24.self).value) * 0x1p-23
            }
        case .int16:
            for i in 0..<count {
                unsafe output[i] = Float((memory + i &* step).loadUnaligned(as: Int16.self)) * 0x1p-15
            }
        }
    }
}
