/// The channels of a response. Each leads from a channel of the sound to a channel of the result.
package enum ConvolutionMatrix: Sendable {
    /// One response for every channel.
    case mono
    /// One response for the left channel of each pair, one for the right.
    case stereo
    /// Four responses for each pair: left to left, left to right, right to left, right to right.
    case trueStereo

    /// The matrix of a response with that many channels; `nil` if there is none.
    package init?(responseChannels: Int) {
        switch responseChannels {
        case 1: self = .mono
        case 2: self = .stereo
        case 4: self = .trueStereo
        default: return nil
        }
    }

    /// The number of responses.
    package var responseCount: Int {
        @_noLocks @_noAllocation get {
            switch self {
            case .mono: 1
            case .stereo: 2
            case .trueStereo: 4
            }
        }
    }

    /// The number of channels that lead to a channel.
    @_noLocks @_noAllocation
    func sourceCount(of channel: Int, among channels: Int) -> Int {
        if case .trueStereo = self { return (channel | 1) < channels ? 2 : 1 }
        return 1
    }

    /// Returns a channel that leads to a channel, and its response.
    @_noLocks @_noAllocation
    func path(_ index: Int, to channel: Int) -> (source: Int, response: Int) {
        switch self {
        case .mono: return (channel, 0)
        case .stereo: return (channel, channel & 1)
        case .trueStereo: return ((channel & ~1) &+ index, 2 &* index &+ (channel & 1))
        }
    }
}
