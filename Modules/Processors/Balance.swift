public import RenderCore

/// Makes one side quieter and leaves the other as it is. Edits the top.
///
/// Mono becomes stereo while the balance is not in the middle. Any number of channels has two sides: 3…8 in the order of
/// a WAV file (left, right, centre, LFE, then pairs; four are two pairs, odd numbers have no LFE), others in pairs; a centre
/// stays as it is. Or say which they are:
///
///     let balance = Balance(0.2, left: [0, 4], right: [1, 5])
///
/// Latency: none. In the middle nothing changes, bit for bit.
///
/// Threads: control.
public final class Balance: Effect {
    /// The position from left (-1) to right (1). A change glides for 10 ms.
    public let position: Parameter

    // A bit for each channel; 0 and 0 if nothing was said.
    private let left: UInt64
    private let right: UInt64

    /// Creates a balance.
    ///
    /// - Parameters:
    ///   - position: -1…1.
    ///   - left: The channels that get quieter to the right.
    ///   - right: The channels that get quieter to the left.
    /// - Precondition: The channels are 0…63.
    public init(_ position: Float = 0, left: [Int] = [], right: [Int] = []) {
        self.position = Parameter(position, in: -1...1)
        demand(
            (left + right).allSatisfy { (0..<64).contains($0) },
            "Balance: channels \(left) on the left and \(right) on the right; they must be 0…63")
        self.left = left.reduce(0) { $0 | 1 << UInt64($1) }
        self.right = right.reduce(0) { $0 | 1 << UInt64($1) }
    }

    /// `true`: the module keeps no memory of the sound.
    public var isRepeatable: Bool { true }

    /// The parameters by name.
    public var parameters: [ParameterReference] { [position.named("position")] }

    /// Weights the top.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        let balance = position.glide(context)
        let channels = context.channelCount()
        if balance.isFlat && balance.end == 0 { return }
        let (left, right) = (left, right)
        if left | right == 0 && channels <= 2 { return context.fade(volume: Glide(1), balance: balance) }
        var top = context.top
        var channel = 0
        while channel < channels {
            let side = side(channel, of: channels)
            if side != 0 {
                var samples = top[channel]
                for i in samples.indices {
                    let tilt = side * balance[i]
                    samples[i] *= 1 - (tilt > 0 ? tilt : 0)
                }
            }
            channel &+= 1
        }
    }

    /// Returns 1 for a channel on the left, -1 for one on the right, 0 for one in the middle.
    @_noLocks @_noAllocation
    private func side(_ channel: Int, of channels: Int) -> Float {
        let (left, right) = (left, right)
        if left | right != 0 {
            let bit: UInt64 = 1 &<< UInt64(truncatingIfNeeded: channel)
            return (left & bit != 0 ? 1 : 0) - (right & bit != 0 ? 1 : 0)
        }
        var place = channel
        switch channels {
        case 3, 5, 7:
            if channel == 2 { return 0 }
            if channel > 2 { place &-= 1 }
        case 6, 8: if channel == 2 || channel == 3 { return 0 }
        default: if channel &+ 1 == channels && channels & 1 == 1 { return 0 }
        }
        return place & 1 == 0 ? 1 : -1
    }
}
