import Glibc
import RenderStack
import TestSupport
import Testing

@testable import ALSABackend

/// A card's mixer in memory, which libasound reads and writes as it does a card's.
private struct TestMixer {
    private let kind: String
    private let handle: UInt
    private let address: UInt
    private var mixer: UnsafeMutableRawPointer? { UnsafeMutableRawPointer(bitPattern: address) }

    private static let library: String = {
        let source = #filePath.split(separator: "/").dropLast().map { "/\($0)" }.joined() + "/Card/mixer.c"
        guard let made = strdup("/tmp/rs-alsa-mixer-XXXXXX"), mkdtemp(made) != nil else { return "" }
        let library = "\(String(cString: made))/libasound_module_ctl_rsmixer.so"
        free(made)
        let status = system("cc -O1 -Wall -Wextra -Werror -shared -fPIC -DPIC -o '\(library)' '\(source)' -lasound")
        atexit {
            unlink(TestMixer.library)
            rmdir(TestMixer.library.split(separator: "/").dropLast().map { "/\($0)" }.joined())
        }
        return status == 0 ? library : ""
    }()

    init(_ kind: String) throws {
        if let failure = Plugin.failure { throw Card.Failure(what: failure) }
        if Self.library.isEmpty { throw Card.Failure(what: "the mixer does not compile") }
        self.kind = kind
        var text = "ctl_type.rsmixer { lib \"\(Self.library)\" }\n"
        for kind in ["full", "split", "plain", "switch", "empty"] {
            text += "ctl.\(kind) { type rsmixer kind \(kind) }\npcm.\(kind) { type null }\n"
        }
        #expect(Plugin.configure(text: text))
        handle = UInt(bitPattern: dlopen(Self.library, RTLD_NOW))
        typealias Find = @convention(c) (UnsafePointer<CChar>) -> UnsafeMutableRawPointer?
        let find = unsafeBitCast(dlsym(UnsafeMutableRawPointer(bitPattern: handle), "rsmixer_find"), to: Find.self)
        address = UInt(bitPattern: find(kind))
    }

    private func function<F>(_ name: String, _ type: F.Type) -> F {
        unsafeBitCast(dlsym(UnsafeMutableRawPointer(bitPattern: handle), name), to: F.self)
    }

    func values(_ element: Int) -> [Int] {
        typealias Value = @convention(c) (UnsafeMutableRawPointer?, Int32, Int32) -> Int
        let value = function("rsmixer_value", Value.self)
        return [value(mixer, Int32(element), 0), value(mixer, Int32(element), 1)]
    }

    func set(_ element: Int, _ value: Int) {
        function("rsmixer_set", (@convention(c) (UnsafeMutableRawPointer?, Int32, Int) -> Void).self)(
            mixer, Int32(element), value)
    }

    func remove(_ isGone: Bool) {
        function("rsmixer_remove", (@convention(c) (UnsafeMutableRawPointer?, Int32) -> Void).self)(
            mixer, isGone ? 1 : 0)
    }

    var opens: Int {
        Int(function("rsmixer_opens", (@convention(c) (UnsafeMutableRawPointer?) -> Int32).self)(mixer))
    }
}

extension ALSATests {
    @Suite struct HardwareGainTests {
        @Test("The gain of a card is read and set in decibels, to its nearest step, and so is its mute")
        func gains() throws {
            let mixer = try TestMixer("full")
            let speaker = try ALSAGain(of: "full")
            #expect(speaker.control == "Master" && speaker.muteControl == "Master" && speaker.range == -65.25...0)
            #expect(speaker.decibels == 0 && speaker.isMuted == false)
            for (wanted, step) in [(-12.0, 71), (-12.3, 71), (-12.4, 70), (-65.25, 0), (-0.3, 87), (-0.4, 86)] {
                speaker.decibels = wanted
                #expect(mixer.values(1) == [step, step], "\(wanted) dB")
                #expect(speaker.decibels == -65.25 + 0.75 * Double(step))
            }
            // Numbers of any kind are the nearest that the card has, and what is none changes nothing.
            let odd: [(Double?, Int)] = [
                (1e300, 87), (-1e300, 0), (.infinity, 87), (-.infinity, 0), (.nan, 0), (nil, 0), (5, 87), (-100, 0),
            ]
            for (wanted, step) in odd {
                speaker.decibels = wanted
                #expect(mixer.values(1) == [step, step], "\(wanted ?? 0)")
            }
            speaker.isMuted = true
            #expect(mixer.values(2) == [0, 0] && speaker.isMuted == true)
            speaker.isMuted = nil
            #expect(speaker.isMuted == true)
            speaker.isMuted = false
            // Another program sets it too.
            mixer.set(1, 44)
            #expect(speaker.decibels == -32.25 && speaker.isMuted == false)
            // The other control, and the other direction, are left alone.
            #expect(mixer.values(0) == [87, 87] && mixer.values(3) == [8, 8])
            let microphone = try ALSAGain(of: "full", isCapture: true)
            #expect(microphone.control == "Capture" && microphone.range == -12.0...18 && microphone.decibels == 0)
            microphone.decibels = 7.4
            microphone.isMuted = true
            #expect(mixer.values(3) == [13, 13] && mixer.values(4) == [0, 0] && microphone.decibels == 7.5)
            #expect(mixer.values(1) == [44, 44] && mixer.opens == 0)
        }

        @Test("Gain and mute may be two controls, without decibels, or one alone")
        func kinds() throws {
            _ = try TestMixer("split")
            let split = try ALSAGain(of: "split")
            // Silence is no gain: the lowest is that of the step above it.
            #expect(split.control == "PCM" && split.muteControl == "Speaker" && split.range == -39.0...0)
            split.decibels = -100
            #expect(split.decibels == -39)
            split.isMuted = true
            #expect(split.isMuted == true)
            let boost = try ALSAGain(of: "split", isCapture: true)
            #expect(boost.control == "Mic Boost" && boost.muteControl == nil && boost.isMuted == nil)
            boost.isMuted = true
            #expect(boost.isMuted == nil && boost.decibels == -12)
            let mixer = try TestMixer("plain")
            let plain = try ALSAGain(of: "plain")
            #expect(plain.range == nil && plain.decibels == nil && plain.isMuted == false)
            plain.decibels = -6
            #expect(plain.decibels == nil && mixer.values(0) == [50, 50])
            let mute = try ALSAGain(of: "switch")
            #expect(mute.control == nil && mute.muteControl == "Master" && mute.decibels == nil)
            mute.isMuted = true
            #expect(mute.isMuted == true)
        }

        @Test("A card without a gain says so, and what to do; one that is pulled out has none meanwhile")
        func none() throws {
            let mixer = try TestMixer("full")
            for (name, isCapture) in [
                ("empty", false), ("switch", true), ("null", false), ("there-is-none", true), ("", false),
                ("a\0b", false),
                ("hw:31", false),
            ] {
                let error = #expect(throws: ALSAError.self) { try ALSAGain(of: name, isCapture: isCapture) }
                #expect(error == .noGain(name: name, isCapture: isCapture), "\(name)")
            }
            #expect("\(ALSAError.noGain(name: "box", isCapture: false))".contains("no gain of its own"))
            let speaker = try ALSAGain(of: "full")
            speaker.decibels = -12
            mixer.remove(true)
            #expect(speaker.decibels == nil && speaker.isMuted == nil)
            speaker.decibels = 0
            speaker.isMuted = true
            #expect(throws: ALSAError.self) { try ALSAGain(of: "full") }
            mixer.remove(false)
            #expect(speaker.decibels == -12 && speaker.isMuted == false)
        }

        @Test("An output gives the gain of its cards, from any thread")
        func output() async throws {
            let mixer = try TestMixer("full")
            let output = ALSAOutput(Renderer(), device: "full")
            let gain = try output.hardwareGain()
            #expect(gain.device == "full" && !gain.isCapture)
            #expect(throws: ALSAError.self) { try output.hardwareGain(isCapture: true) }
            let input = AudioInput(channels: 1)
            let renderer = try Renderer(channels: 1) { context in context.run(input) }
            let recorder = ALSAOutput(renderer, device: nil, inputDevice: "full")
            #expect(try recorder.hardwareGain(isCapture: true).control == "Capture")
            #expect(throws: ALSAError.self) { try recorder.hardwareGain() }
            await withTaskGroup(of: Void.self) { group in
                for thread in 0..<4 {
                    group.addTask {
                        for turn in 0..<50 {
                            gain.decibels = Double(-turn)
                            gain.isMuted = (turn + thread) % 2 == 0
                            #expect(gain.decibels != nil)
                        }
                    }
                }
            }
            #expect(gain.decibels == -49.5 || gain.decibels == -48.75)
            #expect(mixer.opens == 0)
        }
    }
}
