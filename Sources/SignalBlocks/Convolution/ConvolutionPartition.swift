/// The way in which a response is cut into parts: 64 frames that are multiplied out, then parts of 64 frames, and longer ones
/// behind them (Gardner, Efficient Convolution without Input-Output Delay, 1995).
///
/// A part that lies as far from the beginning as it is long can be computed when its block is complete. The longer ones lie
/// twice as far, so that there is the time of a block to compute them.
package struct ConvolutionPartition: Sendable, Hashable {
    /// The frames that are multiplied out, and the length of the shortest parts.
    package static var step: Int { @_noLocks @_noAllocation get { 64 } }
    /// The number of levels of longer parts.
    package static var longCount: Int { @_noLocks @_noAllocation get { 3 } }

    /// Parts of one length.
    package struct Level: Sendable, Hashable {
        /// The frames in a part.
        package var blockLength: Int
        /// The first frame of the response in the first part.
        package var start: Int
        /// The first frame behind the last part.
        package var end: Int
        /// The number of parts; 0 if there are none.
        package var partCount: Int { max(0, (end - start + blockLength - 1) / blockLength) }
    }

    /// The parts that are computed at once.
    package let short: Level
    /// The parts that are computed a block ahead, always on the render thread.
    package let middle: Level
    /// The parts that are computed a block ahead.
    package let long: [Level]

    /// - Parameter frames: The length of the response.
    package init(frames: Int) {
        func level(_ length: Int, _ start: Int, _ end: Int) -> Level {
            Level(blockLength: length, start: start, end: max(start, min(end, frames)))
        }
        // The longest parts pay where they spare so many shorter ones.
        let last = frames > 262_144 ? 131_072 : frames
        short = level(64, 64, 512)
        middle = level(256, 512, 4_096)
        long = [level(2_048, 4_096, 32_768), level(16_384, 32_768, last), level(65_536, last, frames)]
    }
}
