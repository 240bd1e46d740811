import CPluginGuest
import Foundation
import RenderStack
import TestSupport
import Testing

@testable import RenderStackPlugin

/// The text that a host keeps of a plug-in's state.
private struct Kept {
    var key: UInt32
    var type: UInt32
    var text: String
}

private typealias Store =
    @convention(c) (UnsafeMutableRawPointer?, UInt32, UnsafeRawPointer?, Int, UInt32, UInt32) -> Int32

private let storeText: Store = { handle, key, text, size, type, flags in
    let bytes = UnsafeRawBufferPointer(start: text, count: size)
    guard flags == 3, bytes.last == 0 else { return 1 }
    let kept = Kept(key: key, type: type, text: String(decoding: bytes.dropLast(), as: UTF8.self))
    handle!.assumingMemoryBound(to: [Kept].self).pointee.append(kept)
    return 0
}

private typealias Retrieve =
    @convention(c) (
        UnsafeMutableRawPointer?, UInt32, UnsafeMutablePointer<Int>?, UnsafeMutablePointer<UInt32>?,
        UnsafeMutablePointer<UInt32>?
    ) -> UnsafeRawPointer?

private let retrieveText: Retrieve = { handle, key, size, type, _ in
    let kept = handle!.assumingMemoryBound(to: [Kept].self).pointee
    guard let found = kept.first(where: { $0.key == key }) else { return nil }
    size!.pointee = found.text.utf8.count + 1
    type!.pointee = found.type
    return UnsafeRawPointer(strdup(found.text))
}

/// Hosts that behave oddly, and declarations that do.
@Suite struct PluginHostileTests {
    @Test("more messages than cut a cycle, some behind the block's end, come in their order, in long blocks too")
    func manyMessages() throws {
        let host = try Host(keys)
        let frames = 5_000
        let out = memory([Float](repeating: 9, count: frames))
        let sequence = UnsafeMutablePointer<UInt64>.allocate(capacity: 2_048)
        let type = hostMap(nil, "http://lv2plug.in/ns/ext/midi#MidiEvent")
        sequence[0] = 16_000
        let capacity = guest_begin_events(sequence, 77)
        func add(_ note: UInt8, at frame: Int64) {
            let bytes: [UInt8] = [0x90, note, 100]
            let isThere = bytes.withUnsafeBufferPointer {
                guest_add_event(sequence, capacity, type, frame, $0.baseAddress!, 3)
            }
            #expect(isThere)
        }
        for number in 0..<60 { add(UInt8(number + 1), at: Int64(number * 10)) }
        add(64, at: 4_500)
        add(96, at: 1 << 40)
        add(32, at: -1)
        host.connect(0, out)
        host.connect(3, sequence)
        host.run(frames)
        // That of a frame before the block comes first, that of a frame behind it on its last.
        #expect(out[9] == 32.0 / 128 && out[10] == 2.0 / 128 && out[599] == 60.0 / 128 && out[4_499] == 60.0 / 128)
        #expect(out[4_500] == 0.5 && out[4_998] == 0.5 && out[4_999] == 0.75)
    }

    @Test("the host keeps the state as a text, and lines that the plug-in does not know change nothing")
    func state() throws {
        let host = try Host(keeper)
        let out = memory([Float](repeating: 0, count: 64))
        host.connect(0, out)
        let pointer = try #require(host.descriptor.pointee.extension_data?("http://lv2plug.in/ns/ext/state#interface"))
        let interface = pointer.assumingMemoryBound(to: guest_state_interface.self).pointee
        #expect(host.descriptor.pointee.extension_data?("https://renderstack.example/other") == nil)
        var kept: [Kept] = []
        let isRestored = withUnsafeMutablePointer(to: &kept) { kept in
            #expect(
                interface.save(host.instance, unsafeBitCast(storeText, to: UnsafeMutableRawPointer.self), kept, 0, nil)
                    == 0)
            #expect(kept.pointee.map(\.text) == ["7.0"])
            let retrieve = unsafeBitCast(retrieveText, to: UnsafeMutableRawPointer.self)
            kept.pointee[0].text = "21"
            #expect(interface.restore(host.instance, retrieve, kept, 0, nil) == 0)
            host.run(64)
            #expect(out[63] == 21)
            kept.pointee[0].text = "nonsense"
            #expect(interface.restore(host.instance, retrieve, kept, 0, nil) != 0)
            kept.pointee[0].type += 1
            #expect(interface.restore(host.instance, retrieve, kept, 0, nil) == 0)
            kept.pointee = []
            return interface.restore(host.instance, retrieve, kept, 0, nil) == 0
        }
        host.run(64)
        #expect(isRestored && out[63] == 21)
        #expect(try keeper.description().contains("lv2:extensionData state:interface"))
    }

    @Test("a host tells of its transport what has changed, and the rest stays")
    func position() throws {
        let host = try Host(keeper)
        let out = memory([Float](repeating: 0, count: 64))
        let sequence = UnsafeMutablePointer<UInt64>.allocate(capacity: 64)
        func number(_ word: String) -> UInt64 { UInt64(hostMap(nil, "http://lv2plug.in/ns/ext/" + word)) }
        func tell(_ key: String, _ value: Double) {
            let object: [UInt64] = [
                number("time#Position") << 32, number(key), 8 | number("atom#Double") << 32, value.bitPattern,
            ]
            (sequence[0], sequence[1], sequence[2], sequence[3]) = (56, 0, 0, 32 | number("atom#Object") << 32)
            for (index, word) in object.enumerated() { sequence[4 + index] = word }
            host.run(64)
        }
        host.connect(0, out)
        host.connect(3, sequence)
        tell("time#speed", 1)
        #expect(out[63] == 7)
        tell("time#beatsPerMinute", 90)
        #expect(out[63] == 97)
        tell("time#speed", 0)
        #expect(out[63] == 97)
    }

    @Test("64 channels, and parameters that are no number, do no harm")
    func wideAndWild() throws {
        let host = try Host(wide)
        let sound = (0..<64).map { memory([Float](repeating: Float($0), count: 64)) }
        let out = (0..<64).map { _ in memory([Float](repeating: 0, count: 64)) }
        for channel in 0..<64 {
            host.connect(channel, sound[channel])
            host.connect(64 + channel, out[channel])
        }
        host.run(64)
        for channel in 0..<64 { #expect(out[channel][63] == Float(63 - channel)) }
        let other = try Host(warm)
        let controls = memory([.nan, .infinity, 1])
        for port in 0..<2 {
            other.connect(port, sound[1])
            other.connect(2 + port, out[port])
        }
        for control in 0..<3 { other.connect(4 + control, controls + control) }
        for _ in 0..<10 { other.run(64) }
        #expect((0..<64).allSatisfy { out[0][$0].isFinite && out[1][$0].isFinite })
    }

    @Test("a declaration that no host could use is refused in a sentence")
    func odd() throws {
        func sentence(_ plugins: [Plugin]) throws -> String {
            let folder = try TemporaryFolder()
            do { try PluginEntry.write(plugins, library: "x.so", into: folder.path) } catch { return "\(error)" }
            return ""
        }
        func plugin(
            inputs: Int = 2, presets: [Plugin.Preset] = [], _ names: [String] = [],
            _ loop: @escaping RenderLoop = { _ in }
        ) -> Plugin {
            Plugin(uri: "https://renderstack.example/odd", name: "Odd", inputs: inputs, presets: presets) { _ in
                .effect(parameters: names.map { Parameter(0, in: -1...1).named($0) }, loop)
            }
        }
        #expect(try sentence([]) == "There is no plug-in to write.")
        #expect(
            try sentence([plugin(), plugin()]).contains("Two plug-ins have the URI https://renderstack.example/odd"))
        #expect(try sentence([plugin([""])]).contains("A parameter of Odd has no name"))
        #expect(try sentence([plugin(presets: [.init("", [:])])]).contains("A preset of Odd has no name"))
        #expect(
            try sentence([plugin(presets: [.init("A!", [:]), .init("a?", [:])])]).contains(
                "alike but for signs: A! and a?"))
        #expect(try sentence([plugin(presets: [.init("A", ["Gain": 1])])]).contains("sets Gain, which is no parameter"))
        #expect(
            try sentence([plugin(presets: [.init("A", ["G": .nan])], ["G"])]).contains("sets G to nan; it is -1.0…1.0"))
        #expect(try sentence([plugin(presets: [.init("A", ["G": 2])], ["G"])]).contains("sets G to 2.0"))
        #expect(
            try sentence([plugin(presets: [.init("A", ["G": 1])], ["G", "G"])]).contains("is the name of 2 parameters"))
        // Names of all kinds have symbols of their own.
        #expect(try sentence([plugin(["G", "G", "g!", "é", "1", "Enabled", "latency"])]) == "")
        #expect(
            PluginPorts.symbols(
                ["G", "G", "g!", "é", "1", "Enabled", "latency"].map { Parameter(0, in: 0...1).named($0) })
                == ["g", "g_2", "g_", "_", "_1", "enabled_2", "latency_2"])
        // An effect finds no sound where there is no input; what stays on the stack is heard or refused.
        #expect(try sentence([plugin(inputs: 0)]).contains("output"))
        #expect(try sentence([plugin { $0.pop() }]).contains("output"))
        #expect(try sentence([plugin { $0.push() }]) == "")
    }
}
