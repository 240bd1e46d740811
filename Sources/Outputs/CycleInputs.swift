package import RenderCore
package import Supply

/// The memory of the inputs of an output's cycles.
@safe package struct CycleInputs: ~Copyable, @unchecked Sendable {
    // Unchecked because it alone leads to its memory, but for that of a driver, which vouches for it.

    /// The inputs, in the order of their channels.
    package let all: [AudioInput]
    /// The channels of all inputs.
    package let channelCount: Int
    /// The channels of each when this memory was made: those of a whole device may be others by now.
    private let counts: [Int]
    /// Memory of its own for the sound.
    package var block: AudioBlock
    let channels: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
    let sounds: UnsafeMutablePointer<CycleSupply.Sound>
    let soundCount: Int

    /// - Parameter frames: The frames of the longest cycle; 0 if the driver gives memory of its own, for any number of channels.
    package init(_ inputs: [AudioInput], frames: Int) {
        all = inputs
        counts = inputs.map(\.channelCount)
        channelCount = min(frames > 0 ? 64 : .max, counts.reduce(0, +))
        block = AudioBlock(channels: max(1, min(64, channelCount)), frames: frames)
        unsafe channels = .allocate(capacity: max(1, channelCount))
        for channel in 0..<channelCount {
            unsafe (channels + channel).initialize(to: block.pointers[min(channel, 63)])
        }
        unsafe sounds = .allocate(capacity: max(1, inputs.count))
        var (first, count) = (0, 0)
        for (input, channelCount) in zip(inputs, counts) where first + channelCount <= self.channelCount {
            unsafe (sounds + count).initialize(
                to: CycleSupply.Sound(
                    identity: UnsafeRawPointer(Unmanaged.passUnretained(input).toOpaque()),
                    channels: UnsafePointer(channels + first), channelCount: channelCount, captureTime: 0))
            first += channelCount
            count += 1
        }
        soundCount = count
    }

    deinit {
        unsafe channels.deallocate()
        unsafe sounds.deallocate()
    }

    /// Returns the inputs with those that the renderer has now besides; `nil` if there are none besides. An input that the renderer has
    /// no more keeps its place.
    package static func grown(_ known: [AudioInput], for renderer: Renderer) -> [AudioInput]? {
        let new = renderer.inputs.filter { input in !known.contains { $0 === input } }
        return new.isEmpty ? nil : known + new
    }

    /// Gives the first input of a whole device the channels that the others leave it.
    ///
    /// - Parameter count: The channels of the device; 0 if it does not say.
    package static func settle(_ inputs: [AudioInput], on count: Int) {
        guard count > 0, let whole = inputs.first(where: \.isWholeDevice) else { return }
        whole.settle(channels: count - inputs.reduce(0) { $0 + ($1 === whole ? 0 : $1.channelCount) })
    }

    /// Indicates whether the inputs have the channels that they had when this memory was made.
    package var isCurrent: Bool { counts == all.map(\.channelCount) }
}
