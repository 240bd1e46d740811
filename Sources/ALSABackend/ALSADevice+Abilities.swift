internal import CALSA
internal import Glibc

extension ALSADevice {
    /// The abilities of a device; the library converts other formats, if it can.
    ///
    /// Threads: control.
    public struct Abilities: Sendable, Hashable, CustomStringConvertible {
        /// Frames per second, from the least to the most.
        public let rates: ClosedRange<Int>
        /// The usual rates that it has.
        public let usualRates: [Int]
        /// Channels.
        public let channels: ClosedRange<Int>
        /// Formats, the best first.
        public let formats: [ALSAFormat]
        /// Frames in a period.
        public let periods: ClosedRange<Int>

        /// A line for a terminal.
        public var description: String {
            func range(_ range: ClosedRange<Int>) -> String {
                range.count == 1 ? "\(range.lowerBound)" : "\(range.lowerBound) to \(range.upperBound)"
            }
            let formats = formats.map(\.description).joined(separator: ", ")
            return "\(range(rates)) Hz, \(range(channels)) channels; \(formats)"
        }
    }

    /// Asks a device for its abilities. It opens the device for a moment.
    ///
    /// - Parameters:
    ///   - name: The device.
    ///   - isCapture: `true` to ask about recording.
    /// - Throws: ``ALSAError``.
    public static func abilities(of name: String, isCapture: Bool = false) throws(ALSAError) -> Abilities {
        let messages = ALSAMessages()
        defer { messages.end() }
        var opened: OpaquePointer?
        let error = unsafe snd_pcm_open(
            &opened, name, isCapture ? SND_PCM_STREAM_CAPTURE : SND_PCM_STREAM_PLAYBACK, SND_PCM_NONBLOCK)
        guard error == 0, let pcm = unsafe opened else { throw .opening(name, -error) }
        defer { unsafe snd_pcm_close(pcm) }
        var made: OpaquePointer?
        guard unsafe snd_pcm_hw_params_malloc(&made) == 0, let parameters = unsafe made else {
            throw .failed(name: name, what: "answer", error: ENOMEM)
        }
        defer { unsafe snd_pcm_hw_params_free(parameters) }
        let answer = unsafe snd_pcm_hw_params_any(pcm, parameters)
        guard answer >= 0 else { throw .failed(name: name, what: "answer", error: -answer) }
        var (least, most): (UInt32, UInt32) = (0, 0)
        unsafe snd_pcm_hw_params_get_rate_min(parameters, &least, nil)
        unsafe snd_pcm_hw_params_get_rate_max(parameters, &most, nil)
        let rates = Int(least)...max(Int(least), Int(most))
        unsafe snd_pcm_hw_params_get_channels_min(parameters, &least)
        unsafe snd_pcm_hw_params_get_channels_max(parameters, &most)
        let channels = Int(least)...max(Int(least), Int(most))
        let formats = ALSAFormat.allCases.filter {
            unsafe snd_pcm_hw_params_test_format(pcm, parameters, $0.code) == 0
        }
        let usual = usualRates.filter { unsafe snd_pcm_hw_params_test_rate(pcm, parameters, UInt32($0), 0) == 0 }
        var (shortest, longest): (snd_pcm_uframes_t, snd_pcm_uframes_t) = (0, 0)
        unsafe snd_pcm_hw_params_get_period_size_min(parameters, &shortest, nil)
        unsafe snd_pcm_hw_params_get_period_size_max(parameters, &longest, nil)
        let first = Int(clamping: shortest)
        return Abilities(
            rates: rates, usualRates: usual, channels: channels, formats: formats,
            periods: first...max(first, Int(clamping: longest)))
    }

    private static var usualRates: [Int] {
        [
            8000, 11_025, 16_000, 22_050, 32_000, 44_100, 48_000, 88_200, 96_000, 176_400, 192_000, 352_800, 384_000,
        ]
    }
}
