import Foundation
import RenderCore
import RenderStack
import Synchronization
import TestSupport
import Testing

/// A renderer on a thread that renders as live outputs do, without a device.
private final class Live: Sendable {
    private let isOver = Atomic<Bool>(false)
    let last = Atomic<UInt32>(0)

    init(_ renderer: Renderer) {
        let thread = Thread { [self] in
            var block = AudioBlock(channels: 1, frames: 64)
            while !isOver.load(ordering: .relaxed) {
                renderer.render(into: &block)
                last.store(block[0, 63].bitPattern, ordering: .relaxed)
                Thread.sleep(forTimeInterval: 0.001)
            }
            isOver.store(false, ordering: .releasing)
        }
        thread.start()
    }

    var sample: Float { Float(bitPattern: last.load(ordering: .relaxed)) }

    /// Returns whether the last sample of a cycle comes to be a value.
    func comes(to value: Float) -> Bool {
        for _ in 0..<5_000 {
            if sample == value { return true }
            Thread.sleep(forTimeInterval: 0.002)
        }
        return false
    }

    func end() {
        isOver.store(true, ordering: .relaxed)
        while isOver.load(ordering: .acquiring) { Thread.sleep(forTimeInterval: 0.001) }
    }
}

@Suite struct LV2LiveTests {
    private func live(_ plugin: LV2Plugin, input: Float) throws -> Live {
        let constant = Constant(input)
        return Live(
            try Renderer(channels: 1) { context in
                context.run(constant)
                context.run(plugin)
                context.output()
            })
    }

    @Test("live, a worker's answer comes from a thread beside the audio")
    func worker() throws {
        let live = try live(try TestBundle.plugin("works"), input: 0.25)
        #expect(live.comes(to: 0.5))
        live.end()
    }

    @Test("a plug-in that plays can be saved, restored and loaded with presets over and over")
    func states() throws {
        let keeps = try TestBundle.plugin("keeps")
        let live = try live(keeps, input: 1)
        let (short, preset) = (try keeps.save(), try #require(keeps.presets.first))
        for _ in 0..<100 {
            try keeps.load(preset)
            _ = try keeps.save()
            try keeps.restore(short)
        }
        #expect(live.comes(to: 7))
        try keeps.load(preset)
        #expect(live.comes(to: 21))
        live.end()
    }

    @Test("the renderer resets a plug-in that makes an infinite sample while it plays")
    func reset() throws {
        let gain = try TestBundle.plugin("gain")
        let peak = try TestBundle.plugin("peak")
        let constant = Constant(1)
        let live = Live(
            try Renderer(channels: 1) { context in
                context.run(constant)
                context.run(gain)
                context.run(peak)
                context.output()
            })
        gain["by"]?.value = 4
        #expect(live.comes(to: 4))
        // It makes no number of this, is muted, and reset.
        gain["by"]?.value = 0.25
        #expect(live.comes(to: 0))
        // It has forgotten the 4.
        gain["by"]?.value = 0.5
        #expect(live.comes(to: 0.5))
        live.end()
    }

    @Test("MIDI goes through a plug-in on its frames, long messages too")
    func midi() throws {
        let octave = try TestBundle.plugin("octave")
        let synth = try TestBundle.plugin("synth")
        let renderer = try Renderer(channels: 1) { context in
            context.run(octave)
            context.run(synth)
            context.output()
        }
        var sysex = SIMD16<UInt8>()
        for (index, byte) in [0xF0, 1, 2, 3, 0xF7].enumerated() { sysex[index] = UInt8(byte) }
        let events: [[MIDIEvent]] = [
            [
                MIDIEvent(frame: 5, .noteOn(channel: 0, note: 48, velocity: 9)),
                MIDIEvent(frame: 40, .noteOff(channel: 0, note: 48, velocity: 9)),
            ],
            [
                MIDIEvent(
                    frame: 20, .systemExclusive(MIDIChunk(bytes: sysex, count: 5, isFirst: true, isLast: true)))
            ],
        ]
        let inputs = [octave.midiInput, synth.midiInput]
        let lists = UnsafeMutablePointer<CycleSupply.Events>.allocate(capacity: 3)
        for (index, list) in events.enumerated() {
            let memory = UnsafeMutablePointer<MIDIEvent>.allocate(capacity: 16)
            (lists + index).initialize(
                to: CycleSupply.Events(
                    identity: Unmanaged.passUnretained(inputs[index]).toOpaque(), events: memory, capacity: 16))
            for event in list { lists[index].add(event) }
        }
        (lists + 2).initialize(
            to: CycleSupply.Events(
                identity: Unmanaged.passUnretained(octave.midiOutput).toOpaque(), events: .allocate(capacity: 16),
                capacity: 16))
        var supply = CycleSupply()
        (supply.received, supply.receivedCount) = (lists, 2)
        (supply.sent, supply.sentCount) = (lists + 2, 1)
        supply.frameCount = 64
        var sound = [Float](repeating: 0, count: 64)
        sound.withUnsafeMutableBufferPointer { sound in
            var channel = sound.baseAddress!
            withUnsafeMutablePointer(to: &channel) { channel in
                withUnsafeMutablePointer(to: &supply) { supply in
                    renderer.render(
                        frames: 64, into: UnsafeBufferPointer(start: UnsafePointer(channel), count: 1), hostTime: 0,
                        isOffline: true, supply: supply)
                }
            }
        }
        let sent = (0..<lists[2].count).map { lists[2].events[$0] }
        #expect(
            sent == [
                MIDIEvent(frame: 5, .noteOn(channel: 0, note: 60, velocity: 9)),
                MIDIEvent(frame: 40, .noteOff(channel: 0, note: 60, velocity: 9)),
            ])
        // The synth shows the length of a long message; left and right are summed into one channel.
        let expected: [Float] = (0..<64).map { frame in frame < 20 ? 0 : 0.078125 }
        #expect(sound == expected)
        #expect(inputs.count == 2)
    }
}
