import ExampleSupport
import RenderStack

#if Everything || ALSA
    /// The options of the command line.
    struct Options {
        var device: String? = "default"
        var input: String?
        var rate = 48_000
        var period = 256
        var periods = 3
        var channels = 2
        var format: ALSAFormat?
        var seconds: Double?
        var midiIn: String?
        var midiOut: String?

        static let formats: [(name: String, format: ALSAFormat)] = [
            ("float", .float32), ("s32", .int32), ("s24", .int24), ("s24_3", .int24Packed), ("s16", .int16),
        ]

        static let usage = """
            Plays two tones (440 and 660 Hz) straight on a sound card, or what comes in. One line per event.

            Usage: \(Terminal.programName) [options]
              --device NAME     the card that plays ("default"); none: only record
              --input NAME      the card that records; what comes in is played
              --rate HZ         frames per second, 1000 to 768000 (48000); converted where the card has others
              --period FRAMES   frames in a cycle, 16 to 65536 (256)
              --periods N       how many of them the card's memory holds, 2 to 64 (3)
              --format F        float, s32, s24 (in 4 bytes), s24_3 (in 3 bytes), s16; the best one if not given
              --channels N      channels, 1 to 64 (2)
              --midi-in NAME    a MIDI port to listen to: a line for each message; hardware: all devices; none: an
                                unconnected port
              --midi-out NAME   a MIDI port to send to: what comes in, or a note every half second
              --seconds N       how long to play; until Ctrl-C if not given
              --help            this text

            The card takes the nearest values that it has; the line "plays:" shows them.

            Exit codes: 0 it played to the end, or until Ctrl-C; 1 it cannot open the device; 2 a wrong option;
            3 it played, but the sound was interrupted; 4 the device was gone at the end.

            To run it on a machine without Swift:
              swift build -c release --static-swift-stdlib --product alsa-play
            That machine needs libasound2, libjack-jackd2-0, libsndfile1, libsoxr0, libebur128-1, libmysofa1 and
            liblilv-0-0.
            """

        init(_ arguments: ArraySlice<String>) {
            var rest = arguments
            while let flag = rest.popFirst() {
                if flag == "--help" || flag == "-h" { Terminal.stop(Self.usage, status: 0) }
                let known = [
                    "--device", "--input", "--rate", "--period", "--periods", "--format", "--channels", "--midi-in",
                    "--midi-out", "--seconds",
                ]
                guard known.contains(flag) else {
                    Terminal.stop("alsa-play: there is no option \(flag); see alsa-play --help", status: 2)
                }
                guard let text = rest.popFirst() else {
                    Terminal.stop("alsa-play: \(flag) needs a value; see alsa-play --help", status: 2)
                }
                take(flag, text)
            }
            if device == nil && input == nil {
                Terminal.stop("alsa-play: neither a device to play nor one to record; see alsa-play --help", status: 2)
            }
        }

        private mutating func take(_ flag: String, _ text: String) {
            switch flag {
            case "--device": device = text == "none" ? nil : text
            case "--input": input = text
            case "--rate": rate = number(flag, text, 1000...768_000)
            case "--period": period = number(flag, text, 16...65_536)
            case "--periods": periods = number(flag, text, 2...64)
            case "--channels": channels = number(flag, text, 1...64)
            case "--midi-in": midiIn = text
            case "--midi-out": midiOut = text
            case "--format":
                guard let found = Self.formats.first(where: { $0.name == text }) else {
                    let names = Self.formats.map(\.name).joined(separator: ", ")
                    Terminal.stop("alsa-play: --format \(text): it must be one of \(names)", status: 2)
                }
                format = found.format
            default:
                guard let value = Double(text), value > 0, value < 1e6 else {
                    Terminal.stop("alsa-play: --seconds \(text): it must be a number above 0", status: 2)
                }
                seconds = value
            }
        }

        private func number(_ flag: String, _ text: String, _ range: ClosedRange<Int>) -> Int {
            guard let number = Int(text), range.contains(number) else {
                Terminal.stop(
                    "alsa-play: \(flag) \(text): it must be \(range.lowerBound) to \(range.upperBound)", status: 2)
            }
            return number
        }

        /// The ports to which the MIDI ports are connected.
        var midiConnect: ALSAMIDIConnect {
            if midiIn == "hardware" || midiOut == "hardware" { return .hardware }
            func names(_ name: String?) -> [String] { name.map { [$0 == "none" ? "" : $0] } ?? [] }
            return .ports(inputs: names(midiIn), outputs: names(midiOut))
        }
    }
#endif
