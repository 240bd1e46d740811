import FoundationEssentials
import RenderStack

#if Everything || ALSA
    /// The abilities of one direction of a device, or the reason why it cannot be asked.
    struct Answer: Encodable, CustomStringConvertible {
        let direction: String
        var rates: [Int]?
        var channels: [Int]?
        var formats: [String]?
        var periods: [Int]?
        var problem: String?

        init(_ device: String, isCapture: Bool) {
            direction = isCapture ? "records" : "plays"
            do {
                let abilities = try ALSADevice.abilities(of: device, isCapture: isCapture)
                rates = abilities.usualRates.isEmpty ? [abilities.rates.lowerBound] : abilities.usualRates
                channels = [abilities.channels.lowerBound, abilities.channels.upperBound]
                formats = abilities.formats.map(\.description)
                periods = [abilities.periods.lowerBound, abilities.periods.upperBound]
            } catch {
                problem = "\(error)"
            }
        }

        var description: String {
            if let problem { return "\(direction): not now. \(problem)" }
            func range(_ ends: [Int]?) -> String { Set(ends ?? []).sorted().map(String.init).joined(separator: " to ") }
            let hertz = (rates ?? []).map(String.init).joined(separator: ", ")
            let samples = (formats ?? []).joined(separator: ", ")
            return "\(direction): \(hertz) Hz; channels: \(range(channels)); \(samples); "
                + "periods of \(range(periods)) frames"
        }
    }

    /// All that the report contains.
    struct Report: Encodable {
        struct Device: Encodable {
            let name: String
            let title: String
            let plays: Bool
            let records: Bool
            let isHardware: Bool
            let isDefault: Bool
            let card: String?
            let connection: String
            let inUseBy: String?
            /// The abilities of the hardware, and of the device that programs get if they name none.
            var abilities: [Answer]?
            private let line: String

            init(_ device: ALSADevice) {
                (name, title, plays, records) = (device.name, device.title, device.canPlay, device.canRecord)
                (isHardware, isDefault, card) = (device.isHardware, device.isDefault, device.card)
                (connection, inUseBy, line) = (device.connection.rawValue, device.owner, "\(device)")
                guard isHardware || isDefault else { return }
                abilities =
                    (plays ? [Answer(name, isCapture: false)] : []) + (records ? [Answer(name, isCapture: true)] : [])
            }

            func show() {
                print("  \(line)")
                for answer in abilities ?? [] { print("    \(answer)") }
            }

            enum CodingKeys: CodingKey {
                case name, title, plays, records, isHardware, isDefault, card, connection, inUseBy, abilities
            }
        }

        struct Port: Encodable {
            let address: String
            let client: String
            let name: String
            let sends: Bool
            let receives: Bool
            let isHardware: Bool
            private let line: String

            init(_ port: ALSAMIDIPort) {
                (address, client, name) = (port.address, port.clientName, port.name)
                (sends, receives, isHardware, line) = (port.canSend, port.canReceive, port.isHardware, "\(port)")
            }

            func show() { print("  \(line)") }

            enum CodingKeys: CodingKey { case address, client, name, sends, receives, isHardware }
        }

        struct Check: Encodable {
            let subject: String
            let verdict: String
            let finding: String
            let remedy: String?

            init(_ check: MachineCheck) {
                (subject, verdict, finding, remedy) = (
                    check.subject, check.verdict.rawValue, check.finding, check.remedy
                )
            }

            func show() {
                let mark = ["good": "ok", "note": "--", "advice": "!", "problem": "!!"][verdict] ?? ""
                print("  \(mark)\(String(repeating: " ", count: max(1, 4 - mark.count)))\(subject): \(finding)")
                if let remedy { print("      \(remedy)") }
            }
        }

        /// A device of PipeWire's.
        struct Node: Encodable {
            let name: String
            let title: String
            let plays: Bool
            let records: Bool
            let isDefault: Bool

            func show() {
                let does = [plays ? "plays" : nil, records ? "records" : nil].compactMap(\.self).joined(
                    separator: " and ")
                print("  \(name): \(title); \(does)\(isDefault ? "; the default" : "")")
            }
        }

        /// The devices of PipeWire's, or the reason why there are none.
        struct PipeWire: Encodable {
            var devices: [Node] = []
            var problem: String?

            init() {
                #if Everything || PipeWire
                    do {
                        devices = try PipeWireDevice.all().map { device in
                            Node(
                                name: device.name, title: device.description, plays: device.isSink,
                                records: device.isSource, isDefault: device.isDefault)
                        }
                    } catch {
                        problem = "\(error)"
                    }
                #else
                    problem = "this program was built without PipeWire"
                #endif
            }

            func show() {
                if let problem { return print("PipeWire: not now. \(problem)") }
                print(devices.isEmpty ? "PipeWire runs, and has no device." : "PipeWire's devices:")
                for device in devices { device.show() }
            }
        }

        let devices: [Device]?
        let pipeWire: PipeWire?
        let midi: [Port]?
        /// The output that `AudioOutput` takes, and why.
        let choice: String?
        let checks: [Check]?

        /// For people.
        func show() {
            if let devices {
                let cards = devices.filter(\.isHardware)
                print(cards.isEmpty ? "There is no sound card." : "Sound cards:")
                for device in cards { device.show() }
                let others = devices.filter { !$0.isHardware }
                if !others.isEmpty { print("ALSA's configuration also offers:") }
                for device in others { device.show() }
            }
            pipeWire?.show()
            if let midi {
                print(midi.isEmpty ? "There is no MIDI port." : "MIDI ports:")
                for port in midi { port.show() }
            }
            if let choice { print("A program that does not choose plays on this output: \(choice)") }
            if let checks {
                print("Needed for good sound (ok: as it should be, --: to know, !: an advice, !!: there is no sound):")
                for check in checks { check.show() }
            }
        }
    }

    /// Returns a value as JSON.
    func text(of value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }
#endif
