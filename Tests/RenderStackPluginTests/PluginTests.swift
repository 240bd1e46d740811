import CPluginGuest
import Foundation
import RenderStack
import TestSupport
import Testing

@testable import RenderStackPlugin

@Suite struct PluginTests {
    /// Renders an effect of two channels in blocks, with the sound in and out in the same memory or not.
    private func hosted(_ frames: Int, block: Int, inPlace: Bool) throws -> [[Float]] {
        let host = try Host(warm)
        let sound = [memory(noise(frames, 1)), memory(noise(frames, 2))]
        let out =
            inPlace
            ? sound : [memory([Float](repeating: 9, count: frames)), memory([Float](repeating: 9, count: frames))]
        let controls = memory([18, 3_000, 1, 0])
        for control in 0..<4 { host.connect(4 + control, controls + control) }
        host.descriptor.pointee.activate?(host.instance)
        var done = 0
        while done < frames {
            for channel in 0..<2 {
                host.connect(channel, sound[channel] + done)
                host.connect(2 + channel, out[channel] + done)
            }
            let count = min(block, frames - done)
            host.run(count)
            done += count
        }
        return out.map { Array(UnsafeBufferPointer(start: $0, count: frames)) }
    }

    @Test("a hosted effect gives the bits of the same closure by itself, in blocks of any length, also in place")
    func bits() throws {
        let frames = 5_000
        let drive = Distortion(.tanh), filter = LowPass()
        let player = BufferPlayer(channels: 2)
        player.schedule(Sound(AudioBlock([noise(frames, 1), noise(frames, 2)]), sampleRate: 48_000))
        let renderer = try Renderer { context in
            context.run(player)
            context.run(drive)
            context.run(filter)
            context.output()
        }
        drive.drive.value = 18
        filter.cutoff.value = 3_000
        player.play()
        let alone = render(renderer, frames: frames)
        for (block, inPlace) in [(64, false), (1, false), (1_000, true), (5_000, false), (5_000, true)] {
            #expect(try hosted(frames, block: block, inPlace: inPlace) == alone, "\(block) \(inPlace)")
        }
    }

    @Test("the plug-in reports its latency, and the bypass fades to the input with the same latency")
    func latency() throws {
        let frames = 8_192
        let host = try Host(echo)
        // Quiet enough for the limiter to leave it alone.
        let sound = noise(frames, 3).map { $0 * 0.5 }
        let (input, out, controls) = (memory(sound), memory([Float](repeating: 0, count: frames)), memory([1, 0]))
        host.connect(2, controls)
        host.connect(3, controls + 1)
        for start in stride(from: 0, to: frames, by: 512) {
            host.connect(0, input + start)
            host.connect(1, out + start)
            controls[0] = start < 4_096 ? 1 : 0
            host.run(512)
        }
        let latency = Int(controls[1])
        #expect(latency > 0)
        for frame in 6_000..<frames { #expect(out[frame] == sound[frame - latency], "\(frame)") }
    }

    @Test("MIDI comes in on its frames and goes out on them")
    func midi() throws {
        let host = try Host(keys)
        let out = memory([Float](repeating: 0, count: 256))
        let (sequence, answer) = (
            UnsafeMutablePointer<UInt64>.allocate(capacity: 512), UnsafeMutablePointer<UInt64>.allocate(capacity: 512)
        )
        let type = hostMap(nil, "http://lv2plug.in/ns/ext/midi#MidiEvent")
        sequence[0] = 4_000
        let capacity = guest_begin_events(sequence, 77)
        for (frame, note) in [(10, 64), (200, 32)] {
            // Outside of `#expect`, which would keep the pointer into the array and not the array.
            let bytes: [UInt8] = [0x90, UInt8(note), 100]
            let isThere = bytes.withUnsafeBufferPointer {
                guest_add_event(sequence, capacity, type, Int64(frame), $0.baseAddress!, 3)
            }
            #expect(isThere)
        }
        answer[0] = 4_000
        host.connect(0, out)
        host.connect(3, sequence)
        host.connect(4, answer)
        host.run(256)
        let expected = (0..<256).map { (frame: Int) -> Float in frame < 10 ? 0 : frame < 200 ? 0.5 : 0.25 }
        #expect((0..<256).map { out[$0] } == expected)
        var cursor: UInt32 = 0
        var (frame, count): (Int64, UInt32) = (0, 0)
        var bytes: UnsafePointer<UInt8>?
        var found: [[Int]] = []
        while guest_next_event(answer, type, &cursor, &frame, &bytes, &count) {
            found.append([Int(frame), Int(bytes![1])])
        }
        #expect(found == [[10, 64], [200, 32]])
        // There is room for no message: none is written.
        answer[0] = 8
        host.run(256)
        #expect(answer[0] & 0xFFFF_FFFF == 8)
    }

    @Test(
        "what a host holds down ends when it deactivates the plug-in, or takes its events away",
        arguments: [true, false])
    func vanishing(deactivates: Bool) throws {
        let host = try Host(keys)
        let out = memory([Float](repeating: 0, count: 256))
        let (sequence, answer) = (
            UnsafeMutablePointer<UInt64>.allocate(capacity: 512), UnsafeMutablePointer<UInt64>.allocate(capacity: 512)
        )
        let type = hostMap(nil, "http://lv2plug.in/ns/ext/midi#MidiEvent")
        func found() -> [[UInt8]] {
            var cursor: UInt32 = 0
            var (frame, count): (Int64, UInt32) = (0, 0)
            var bytes: UnsafePointer<UInt8>?
            var found: [[UInt8]] = []
            while guest_next_event(answer, type, &cursor, &frame, &bytes, &count) {
                found.append([UInt8(frame)] + (0..<Int(count)).map { bytes![$0] })
            }
            return found
        }
        sequence[0] = 4_000
        let capacity = guest_begin_events(sequence, 77)
        for bytes: [UInt8] in [[0x90, 60, 100], [0x93, 61, 100], [0xB0, 64, 127], [0x83, 61, 0]] {
            let isThere = bytes.withUnsafeBufferPointer {
                guest_add_event(sequence, capacity, type, 9, $0.baseAddress!, 3)
            }
            #expect(isThere)
        }
        host.connect(0, out)
        host.connect(3, sequence)
        host.connect(4, answer)
        host.descriptor.pointee.activate?(host.instance)
        answer[0] = 4_000
        host.run(256)
        #expect(found().count == 4)
        // The next block has no events.
        sequence[0] = 4_000
        _ = guest_begin_events(sequence, 77)
        answer[0] = 4_000
        host.run(256)
        #expect(found().isEmpty)
        if deactivates {
            host.descriptor.pointee.deactivate?(host.instance)
            host.descriptor.pointee.activate?(host.instance)
        } else {
            host.descriptor.pointee.connect_port(host.instance, 3, nil)
        }
        for number in 0..<2 {
            answer[0] = 4_000
            host.run(256)
            #expect(found() == (number == 0 ? [[0, 0x80, 60, 64], [0, 0xB0, 64, 0]] : []))
        }
    }

    @Test("a host's position that is no number, or beyond all time, is left out")
    func wildPosition() {
        var words = guest_words(
            object: 1, position: 2, speed: 3, frame: 4, bar: 5, bar_beat: 6, beat_unit: 7, beats_per_bar: 8,
            beats_per_minute: 9, type_float: 10, type_double: 11, type_int: 12, type_long: 13)
        func property(_ key: UInt64, _ value: Double) -> [UInt64] { [key, 8 | 11 << 32, value.bitPattern] }
        var object: [UInt64] = [2 << 32]
        object += property(6, .infinity)
        object += property(5, .nan)
        object += property(7, 1e300)
        object += property(9, 90)
        let size = UInt64(8 * object.count)
        var sequence: [UInt64] = [24 + size, 0, 0, size | 1 << 32]
        sequence += object
        var position = guest_position()
        let isFound = guest_find_position(&sequence, &words, &position)
        #expect(isFound)
        #expect(position.bar_beat == 0 && position.bar == 0 && position.beat_unit == 0)
        #expect(position.beats_per_minute == 90)
    }

    @Test("a thousand instances come and go, also at other rates, and one whose closure fails is none")
    func many() throws {
        for number in 0..<1_000 {
            let host = try Host(warm, rate: number.isMultiple(of: 2) ? 44_100 : 96_000)
            if number.isMultiple(of: 100) {
                let sound = memory(noise(64, 9))
                for port in 0..<4 { host.connect(port, sound) }
                host.run(64)
            }
        }
        let broken = Plugin(uri: "https://renderstack.example/broken", name: "Broken") { _ in
            .effect { context in context.pop(3) }
        }
        // Its stack does not add up: the renderer refuses it, and the host gets no instance.
        let pointer = try #require(PluginEntry.descriptor(0, of: [broken])).assumingMemoryBound(
            to: guest_descriptor.self)
        #expect(pointer.pointee.instantiate(pointer, 48_000, nil, nil) == nil)
        #expect(PluginEntry.descriptor(1, of: [broken]) == nil)
        let good = try #require(PluginEntry.descriptor(0, of: [warm])).assumingMemoryBound(to: guest_descriptor.self)
        for rate in [0, .nan, 1e300] { #expect(good.pointee.instantiate(good, rate, nil, nil) == nil) }
    }

    @Test("the descriptions keep what lv2_validate demands, and quote what Turtle would not understand")
    func description() throws {
        let folder = try TemporaryFolder()
        try PluginEntry.write([warm, echo, keys], library: "x.so", into: folder.path)
        let text = try String(contentsOfFile: folder.path + "/plugins.ttl", encoding: .utf8)
        #expect(text.contains("doap:name \"Warm \\\"and\\\" soft\"") && text.contains("lv2:symbol \"cut_off\""))
        #expect(text.contains("lv2:default 6900.0") || text.contains("lv2:default"))
        #expect(PluginPorts.symbols([]) == [])
        let (said, status) = try Program(
            "lv2_validate", [folder.path + "/manifest.ttl", folder.path + "/plugins.ttl"]
        ).wait()
        #expect(status == 0 && said.contains("Found 0 errors"), "\(said)")
    }
}
