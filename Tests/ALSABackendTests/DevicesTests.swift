import Foundation
import Glibc
import Testing

@testable import ALSABackend

extension ALSATests {
    @Suite struct DevicesTests {
        private typealias Device = CardAnswer.Device

        /// A laptop: analogue, and three screens.
        private static let laptop = CardAnswer(
            number: 0, id: "PCH", name: "HDA Intel PCH", driver: "HDA-Intel",
            devices: [
                Device(number: 0, name: "ALC257 Analog", canPlay: true, canRecord: true),
                Device(number: 3, name: "HDMI 0", canPlay: true, canRecord: false),
                Device(number: 7, name: "HDMI 1", canPlay: true, canRecord: false),
            ])
        private static let box = CardAnswer(
            number: 1, id: "Box", name: "Scarlett 2i2 USB", driver: "USB-Audio",
            devices: [Device(number: 0, name: "USB Audio", canPlay: true, canRecord: true)])
        private static let microphone = CardAnswer(
            number: 2, id: "Mic", name: "Blue Yeti", driver: "USB-Audio",
            devices: [Device(number: 0, name: "USB Audio", canPlay: false, canRecord: true, isInUse: true)])

        /// The devices of a usual configuration for a card, and for none.
        private static let general = [
            HintAnswer(name: "null", text: "Discard all samples (playback) or generate zero samples (capture)"),
            HintAnswer(name: "default", text: "Default Audio Device"),
            HintAnswer(name: "pipewire", text: "PipeWire Sound Server"),
        ]
        private static func hints(of id: String, _ device: Int) -> [HintAnswer] {
            [
                HintAnswer(name: "hw:CARD=\(id),DEV=\(device)", text: "Direct hardware device"),
                HintAnswer(name: "plughw:CARD=\(id),DEV=\(device)", text: "Hardware device with all conversions"),
                HintAnswer(name: "dmix:CARD=\(id),DEV=\(device)", text: "Direct sample mixing", direction: .play),
                HintAnswer(name: "dsnoop:CARD=\(id),DEV=\(device)", text: "Direct sample snooping", direction: .record),
            ]
        }

        private func merged(_ cards: [CardAnswer], _ hints: [HintAnswer]) -> [ALSADevice] {
            ALSADevice.merge(cards, hints) { $0 == "hw:CARD=Mic,DEV=0" ? "arecord (process 7)" : nil }
        }

        @Test("Without a card there is what the configuration offers, and no silence")
        func noCard() {
            let devices = merged([], Self.general)
            #expect(devices.map(\.name) == ["default", "pipewire"])
            #expect(devices.map(\.isDefault) == [true, false])
            #expect(devices.allSatisfy { !$0.isHardware && $0.card == nil && $0.canPlay && $0.canRecord })
            #expect(
                "\(devices[0])"
                    == "default: the device that programs use by default (Default Audio Device) (plays and records)")
            #expect("\(devices[1])" == "pipewire: PipeWire Sound Server (plays and records)")
            #expect(merged([], []) == [])
        }

        @Test("A laptop's card: its screens only play, and so does what is made of them")
        func laptop() {
            let devices = merged(
                [Self.laptop],
                Self.general + Self.hints(of: "PCH", 0) + Self.hints(of: "PCH", 3) + [
                    HintAnswer(name: "hdmi:CARD=PCH,DEV=3", text: "HDMI Audio Output", direction: .play),
                    HintAnswer(name: "sysdefault:CARD=PCH", text: "Default Audio Device"),
                    HintAnswer(name: "surround51:CARD=PCH,DEV=0", text: "5.1 Surround", direction: .play),
                ])
            #expect(
                devices.map { "\($0)" } == [
                    "hw:CARD=PCH,DEV=0: HDA Intel PCH, ALC257 Analog (plays and records)",
                    "hw:CARD=PCH,DEV=3: HDA Intel PCH, HDMI 0 (a screen or receiver at HDMI or DisplayPort) (plays)",
                    "hw:CARD=PCH,DEV=7: HDA Intel PCH, HDMI 1 (a screen or receiver at HDMI or DisplayPort) (plays)",
                    "default: the device that programs use by default (Default Audio Device) (plays and records)",
                    "plughw:CARD=PCH,DEV=0: HDA Intel PCH, ALC257 Analog: any rate and format, converted "
                        + "(plays and records)",
                    "dmix:CARD=PCH,DEV=0: HDA Intel PCH, ALC257 Analog: shared with other programs (plays)",
                    "dsnoop:CARD=PCH,DEV=0: HDA Intel PCH, ALC257 Analog: shared with other programs (records)",
                    "plughw:CARD=PCH,DEV=3: HDA Intel PCH, HDMI 0: any rate and format, converted (plays)",
                    "dmix:CARD=PCH,DEV=3: HDA Intel PCH, HDMI 0: shared with other programs (plays)",
                    "hdmi:CARD=PCH,DEV=3: HDA Intel PCH, HDMI 0: a screen or receiver at HDMI or DisplayPort (plays)",
                    "sysdefault:CARD=PCH: HDA Intel PCH: the card's default (plays and records)",
                    "surround51:CARD=PCH,DEV=0: HDA Intel PCH, ALC257 Analog: 5.1 speakers (plays)",
                    "pipewire: PipeWire Sound Server (plays and records)",
                ])
            #expect(devices.prefix(3).map(\.connection) == [.other, .hdmi, .hdmi])
            #expect(devices.count { $0.connection == .hdmi } == 5)
        }

        @Test("Boxes at USB, one of them in use, beside the laptop's card")
        func boxes() {
            let devices = merged([Self.laptop, Self.box, Self.microphone], Self.general + Self.hints(of: "Box", 0))
            #expect(devices.count(where: \.isHardware) == 5)
            #expect("\(devices[3])" == "hw:CARD=Box,DEV=0: Scarlett 2i2 USB (USB) (plays and records)")
            #expect(
                "\(devices[4])" == "hw:CARD=Mic,DEV=0: Blue Yeti (USB) (records; in use by arecord (process 7))")
            #expect(devices[3].connection == .usb && devices[3].card == "Box" && devices[3].owner == nil)
            let converting = devices.first { $0.name == "plughw:CARD=Box,DEV=0" }
            #expect(converting?.title == "Scarlett 2i2 USB: any rate and format, converted")
            #expect(converting?.card == "Box" && converting?.connection == .usb)
        }

        @Test("A machine whose cards each have a default has a default too")
        func defaults() {
            let devices = merged(
                [Self.box],
                [HintAnswer(name: "default:CARD=Box"), HintAnswer(name: "usbstream:CARD=Box", text: "Stream")])
            #expect(
                devices.map { "\($0)" } == [
                    "hw:CARD=Box,DEV=0: Scarlett 2i2 USB (USB) (plays and records)",
                    "default: the device that programs use by default (plays and records)",
                    "default:CARD=Box: Scarlett 2i2 USB: the card's default (plays and records)",
                ])
            #expect(devices.map(\.isDefault) == [false, true, false])
        }

        @Test("Names of the user's own configuration, by number, listed twice, and of a card that has gone")
        func ownNames() {
            let devices = merged(
                [Self.laptop, Self.microphone],
                [
                    HintAnswer(name: "studio", text: "All channels of the studio", direction: .play),
                    HintAnswer(name: "studio", text: nil, direction: .record), HintAnswer(name: "bare", text: nil),
                    HintAnswer(name: "plughw:2,0", text: nil),
                    HintAnswer(name: "dmix:Mic", text: nil, direction: .play),
                    HintAnswer(name: "front:CARD=Gone,DEV=0", text: "Gone, Front output", direction: .play),
                ])
            #expect(
                devices.filter { !$0.isHardware }.map { "\($0)" } == [
                    "plughw:2,0: Blue Yeti: any rate and format, converted (records)",
                    "front:CARD=Gone,DEV=0: Gone, Front output (plays)",
                    "studio: All channels of the studio (plays and records)", "bare: bare (plays and records)",
                ])
        }

        @Test("The titles of simulated cards say what they are")
        func simulated() {
            let loop = CardAnswer(
                number: 0, id: "Loopback", name: "Loopback", driver: "Loopback",
                devices: [Device(number: 1, name: "Loopback PCM", canPlay: true, canRecord: true)])
            let dummy = CardAnswer(
                number: 1, id: "Dummy", name: "Dummy", driver: "Dummy",
                devices: [Device(number: 0, name: "Dummy PCM", canPlay: true, canRecord: true)])
            let optical = CardAnswer(
                number: 2, id: "Old", name: "Old Card", driver: "ICE1712",
                devices: [Device(number: 1, name: "IEC958 Playback", canPlay: true, canRecord: false)])
            let devices = merged([loop, dummy, optical], [])
            #expect(devices.map(\.connection) == [.loopback, .dummy, .digital])
            #expect(devices[0].title.hasSuffix("another one records)"))
            #expect(devices[1].title == "Dummy PCM (no card: nothing is heard)")
            #expect(devices[2].title == "Old Card, IEC958 Playback (S/PDIF)")
        }

        @Test("Libasound's own list is what the configuration says")
        func hints() throws {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("rs-hints-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let file = folder.appendingPathComponent("asound.conf")
            try """
            pcm.null { type null hint { show on description "Silence" } }
            pcm.studio { type null hint { show on description "The studio
            by the window" } }
            pcm.hidden { type null hint { show off } }
            defaults.namehint.basic on
            defaults.namehint.extended on
            defaults.namehint.showall off
            """.write(to: file, atomically: false, encoding: .utf8)
            // The tests' configuration is put back; libasound reads it again when the variable changes.
            let before = getenv("ALSA_CONFIG_PATH").map { String(cString: $0) }
            setenv("ALSA_CONFIG_PATH", file.path, 1)
            defer {
                if let before { setenv("ALSA_CONFIG_PATH", before, 1) } else { unsetenv("ALSA_CONFIG_PATH") }
            }
            let devices = ALSADevice.all.filter { !$0.isHardware }
            #expect(devices.map(\.description) == ["studio: The studio, by the window (plays and records)"])
            #expect(!devices.contains { $0.name == "null" || $0.name == "hidden" })
            let abilities = try ALSADevice.abilities(of: "studio")
            #expect(abilities.usualRates.contains(44_100) && abilities.usualRates.contains(192_000))
            #expect(abilities.formats == ALSAFormat.allCases)
            #expect(abilities.periods.lowerBound <= 64 && abilities.periods.upperBound >= 1024)
        }

        @Test("Which card a name speaks of")
        func places() {
            #expect(DeviceOwner.place("front:CARD=Box,DEV=3").map { "\($0)" } == "(card: \"Box\", device: Optional(3))")
            #expect(DeviceOwner.place("dmix:1")?.card == "1")
            #expect(DeviceOwner.place("default") == nil)
        }
    }
}
