import Foundation
import RenderStack
import RenderStackTesting
import TestSupport
import Testing

@testable import LV2Hosting

/// Pushes 1, 2, 3 … in a channel, and 1,000 more in the next.
final class Count: Generator {
    let channels: Int
    let factor: Float
    let plus: Float
    init(channels: Int = 1, factor: Float = 1, plus: Float = 0) {
        self.plus = plus
        self.channels = channels
        self.factor = factor
    }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        context.push(channels: channels)
        let first = context.sampleTime + 1
        var top = context.top
        for channel in 0..<channels {
            var samples = top[channel]
            for i in samples.indices { samples[i] = (Float(first + Int64(i)) + Float(channel) * 1_000) * factor + plus }
        }
    }
}

/// Renders generators and a plug-in behind them.
func played(
    _ generators: [Count], _ plugin: LV2Plugin, channels: Int = 2, frames: Int = 512, cycle: Int = 64,
    rate: Double = 48_000, then effect: ClosureModule? = nil, _ prepare: (Renderer) throws -> Void = { _ in }
) throws -> (sound: [[Float]], renderer: Renderer) {
    let renderer = try Renderer(sampleRate: rate, channels: channels) { context in
        for generator in generators { context.run(generator) }
        context.run(plugin)
        if let effect { context.run(effect) }
        context.output()
    }
    try prepare(renderer)
    return (render(renderer, frames: frames, cycles: [cycle]), renderer)
}

@Suite struct LV2PluginTests {
    @Test("a plug-in is found by its URI, name and folder; else a sentence says what is wrong")
    func finding() throws {
        let path = try TestBundle.path
        let gain = try LV2Plugin(bundle: path, uri: TestBundle.uri("gain"))
        #expect(gain.description.name == "Test gain")
        #expect(try LV2Plugin(uri: TestBundle.uri("gain")).description == gain.description)
        #expect(try LV2Plugin(name: "test GAIN").description == gain.description)
        #expect(gain.name == "Test gain")
        func sentence(_ body: () throws -> Void) -> String {
            do { try body() } catch { return "\(error)" }
            return ""
        }
        #expect(
            sentence { _ = try LV2Plugin(uri: "https://renderstack.example/none") }.contains("No plug-in has the URI"))
        #expect(
            sentence { _ = try LV2Plugin(name: "no such name") }.contains(
                "No plug-in has the URI or the name \"no such"))
        #expect(sentence { _ = try LV2Plugin(bundle: "/nowhere.lv2") }.contains("it has no manifest.ttl"))
        #expect(
            sentence { _ = try LV2Plugin(bundle: path, uri: "https://renderstack.example/x") }.contains(
                "has no plug-in with"))
        #expect(
            sentence { _ = try TestBundle.plugin("demands") }.contains("requires https://renderstack.example/feature"))
        #expect(
            sentence { _ = try TestBundle.plugin("refuses") }.contains(
                "cannot be loaded at 48000 Hz: its library does not make it"))
        #expect(sentence { _ = try TestBundle.plugin("gain", copies: 65) }.contains("there may be 1 to 64"))
    }

    @Test("a description with a feature that is no URI, and a number that is too large, is read")
    func odd() throws {
        // The world is that of the tests, and not the machine's.
        _ = try TestBundle.path
        let folder = try TemporaryFolder()
        let path = folder.path + "/Odd.lv2"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let text = """
            @prefix lv2: <http://lv2plug.in/ns/lv2core#> .
            @prefix doap: <http://usefulinc.com/ns/doap#> .
            <https://renderstack.example/odd> a lv2:Plugin ; lv2:binary <odd.so> ; doap:name "Odd" ;
              lv2:requiredFeature "a word" ;
              lv2:port [ a lv2:InputPort , lv2:ControlPort ; lv2:index 0 ; lv2:symbol "part" ; lv2:name "Part" ;
                lv2:default 1.0e37 ; lv2:minimum 0.0 ; lv2:maximum 1.0e37 ; lv2:portProperty lv2:sampleRate ] .

            """
        try Data(text.utf8).write(to: URL(fileURLWithPath: path + "/manifest.ttl"))
        let description = try LV2Description(bundle: path)
        #expect(description.missingFeature == "a word")
        let part = try #require(description.controls.first)
        #expect(part.isPartOfRate && part.range.upperBound > 9e36)
        #expect(part.parameter().range.upperBound.isFinite)
    }

    @Test("a control has a name, a unit, a range, points and a group, and its parameter sets the plug-in")
    func controls() throws {
        let gain = try TestBundle.plugin("gain")
        let by = try #require(gain.description.controls.first)
        #expect(by.symbol == "by" && by.name == "Factor" && by.group == "Levels" && by.unitName == "coef")
        #expect(by.range == 0...8 && by.initialValue == 1 && by.kind == .number)
        #expect(by.points.map(\.label) == ["off", "twice"] && by.points.map(\.value) == [0, 2])
        #expect(gain.description.controls.map(\.isOutput) == [false, true])
        #expect(try TestBundle.plugin("keeps").description.controls.first?.kind == .integer)
        #expect(gain.parameters.map(\.name) == ["by"] && gain.parameters[0].range == 0...8)
        #expect(gain["none"] == nil)
        gain["by"]?.value = 3
        let (sound, renderer) = try played([Count(channels: 2)], gain)
        #expect(sound[0] == (1...512).map { Float($0) * 3 } && sound[1] == (1...512).map { (Float($0) + 1_000) * 3 })
        #expect(gain.reading("twice") == 6 && gain.reading("by") == nil)
        #expect(renderer.faultCount == 0)
    }

    @Test("a value that is set for a frame reaches the plug-in at that frame")
    func timed() throws {
        let gain = try TestBundle.plugin("gain")
        let (sound, _) = try played([Count()], gain, channels: 1) { renderer in
            try renderer.transaction(at: .sample(100)) { gain["by"]?.value = 2 }
        }
        #expect(sound[0] == counted(1...512).map { $0 > 100 ? $0 * 2 : $0 })
    }

    @Test("channels: mono goes to all inputs, a mono plug-in has copies, the result has the plug-in's channels")
    func channels() throws {
        let swapped = try played([Count(channels: 2)], try TestBundle.plugin("swaps"))
        #expect(swapped.sound[0][0] == 1_001 && swapped.sound[1][0] == 1)
        let mono = try played([Count()], try TestBundle.plugin("swaps"))
        #expect(mono.sound[0] == mono.sound[1] && mono.sound[0][7] == 8)
        let four = try TestBundle.plugin("gain", copies: 3)
        four["by"]?.value = 2
        let copied = try played([Count(channels: 4)], four, channels: 4)
        #expect(copied.sound.map { $0[0] } == [2, 2_002, 4_002, 3_001])
        let less = try TestBundle.plugin("less")
        #expect(less.stackEffect == StackEffect(pops: 2, pushes: 1))
        let keyed = try played([Count(factor: 10), Count()], less, channels: 1)
        #expect(keyed.sound[0] == counted(1...512).map { $0 * -9 })
        for result in [swapped, mono, copied, keyed] { #expect(result.renderer.faultCount == 0) }
    }

    @Test("latency is declared at each rate, and the bypass fades to the input, which is as late")
    func latency() throws {
        let late = try TestBundle.plugin("late")
        #expect(late.latency(at: 48_000) == 48 && late.latency(at: 16_000) == 16)
        let (sound, renderer) = try played([Count()], late, channels: 1, frames: 2_048) { renderer in
            #expect(renderer.latency == 48)
            try renderer.transaction(at: .sample(500)) { late.bypass.value = 1 }
        }
        // The fade goes from the plug-in's sound to the same sound, and is not heard.
        for frame in 0..<2_048 { #expect(abs(sound[0][frame] - Float(max(0, frame - 47))) < 0.001, "\(frame)") }
        #expect(renderer.latency == 48)
        let other = try played([Count()], try TestBundle.plugin("late"), channels: 1, rate: 32_000)
        #expect(other.renderer.latency == 32 && other.sound[0][32] == 1)
    }

    @Test("the bypass of a changed sound is the input, bit for bit, after 10 ms without a step")
    func bypass() throws {
        let gain = try TestBundle.plugin("gain")
        gain["by"]?.value = 0
        let (sound, _) = try played([Count(factor: 0, plus: 1)], gain, channels: 1, frames: 2_048) { renderer in
            try renderer.transaction(at: .sample(100)) { gain.bypass.value = 1 }
        }
        #expect(sound[0][..<100].allSatisfy { $0 == 0 } && sound[0][640...].allSatisfy { $0 == 1 })
        for i in 1..<2_048 { #expect(abs(sound[0][i] - sound[0][i - 1]) < 0.01, "\(i)") }
    }

    @Test("a NaN is muted with a fault that names the plug-in, which is reset")
    func notFinite() async throws {
        let peak = try TestBundle.plugin("peak")
        var found: [Fault] = []
        let count = Count(factor: 0.25 / 100)
        let renderer = try Renderer(sampleRate: 48_000, channels: 1) { context in
            context.run(count)
            context.run(peak)
            context.output()
        }
        let all = Faults(renderer)
        let sound = render(renderer, frames: 512, cycles: [64])[0]
        found = await all.collected(1)
        // Frame 99 is 0.25, in the second slice.
        let step: Float = 0.25 / 100
        #expect(sound[64..<128].allSatisfy { $0 == 0 } && sound[63] == 64 * step)
        #expect(sound[128] == 129 * step)
        #expect(found.first?.kind == .notFinite && found.first?.foreignCode == "Test peak")
    }

    @Test("writing beyond a buffer is found, and a changed rounding undone")
    func beyond() async throws {
        let beyond = try TestBundle.plugin("beyond", copies: 1)
        let count = Count()
        let renderer = try Renderer(sampleRate: 48_000, channels: 1) { context in
            context.run(count)
            context.run(beyond)
            context.output()
        }
        let all = Faults(renderer)
        _ = render(renderer, frames: 128, cycles: [64])
        let found = await all.collected(2)
        #expect(found.reduce(0) { $0 + $1.count } == 2 && found.first?.kind == .wroteBeyond)
        #expect(found.first?.description.contains("\"Test beyond\" in Test beyond wrote beyond") == true)
        #expect(beyond.overrunCount == 2)
        let rounds = try TestBundle.plugin("rounds")
        let third = ClosureModule(.edits) { context in
            var top = context.top
            var samples = top[0]
            for i in samples.indices { samples[i] /= 3 }
        }
        #expect(try played([Count()], rounds, channels: 1, then: third).sound[0] == (1...512).map { Float($0) / 3 })
    }

    @Test("an instrument plays MIDI at its frames, and an effect of MIDI sends it on")
    func midi() throws {
        let synth = try TestBundle.plugin("synth")
        #expect(synth.stackEffect == .generates && synth.description.takesMIDI)
        let (sound, renderer) = try played([], synth) { renderer in
            synth.send(.noteOn(channel: 0, note: 64, velocity: 100), at: .sample(100))
            synth.send(.noteOn(channel: 0, note: 32, velocity: 100), at: .sample(130))
            synth.send(.noteOff(channel: 0, note: 32, velocity: 100), at: .sample(300))
        }
        #expect(sound[0] == (0..<512).map { $0 < 100 ? 0 : $0 < 130 ? 0.5 : $0 < 300 ? 0.25 : 0 })
        #expect(sound[1] == sound[0] && renderer.faultCount == 0)
        let octave = try TestBundle.plugin("octave")
        #expect(octave.stackEffect == StackEffect(pops: 0, pushes: 0) && octave.description.sendsMIDI)
    }

    @Test("the transport comes once, and again where it is not what the plug-in reckons")
    func transport() throws {
        let transport = try TestBundle.plugin("transport")
        let (sound, _) = try played([], transport, channels: 1, frames: 48_000) { renderer in
            renderer.tempo.beatsPerMinute = 90
            try renderer.transaction(at: .sample(24_000)) { renderer.tempo.beatsPerMinute = 180 }
        }
        #expect(sound[0][100] == 1 && sound[0][23_999] == 1 && sound[0][24_000] == 2 && sound[0][47_999] == 2)
        #expect(transport.reading("speed") == 1 && transport.reading("tempo") == 180)
    }

    @Test("a worker answers at once offline, and the options say the longest slice")
    func worker() throws {
        let (sound, renderer) = try played([Count()], try TestBundle.plugin("works"), channels: 1)
        // The answer to a run comes after it, so that the next one has it: twice that one's first sample.
        for slice in 1..<8 { #expect(sound[0][slice * 64] == Float((slice - 1) * 64 + 1) * 2) }
        let longest = try played([Count()], try TestBundle.plugin("tells"), channels: 1).sound[0][0]
        #expect(longest >= 64 && renderer.faultCount == 0)
    }

    @Test("presets and states are loaded, also while it plays, and go to other sample rates along")
    func states() throws {
        let gain = try TestBundle.plugin("gain")
        #expect(gain.presets.map(\.name) == ["Loud"])
        try gain.load(gain.presets[0])
        #expect(gain["by"]?.value == 4)
        let keeps = try TestBundle.plugin("keeps")
        let before = try keeps.save()
        try keeps.load(try #require(keeps.presets.first))
        #expect(try played([Count()], keeps, channels: 1).sound[0][0] == 21)
        #expect(try played([Count()], keeps, channels: 1, rate: 44_100).sound[0][0] == 21)
        let long = try keeps.save()
        try keeps.restore(before)
        #expect(try played([Count()], keeps, channels: 1).sound[0][0] == 7)
        let other = try TestBundle.plugin("keeps")
        try other.restore(LV2State(text: long.text))
        #expect(try played([Count()], other, channels: 1).sound[0][0] == 21)
        #expect(throws: LV2Error.self) { try gain.restore(long) }
        #expect(throws: LV2Error.self) { try gain.restore(LV2State(text: "nonsense")) }
        // The parameters are in the program's snapshot.
        let snapshot = ParameterSnapshot(gain.parameters)
        gain["by"]?.value = 1
        snapshot.restore(to: gain.parameters)
        #expect(gain["by"]?.value == 4)
    }

    @Test("an effect keeps the contract of modules")
    func contract() throws {
        _ = try TestBundle.path
        let contract = ModuleContract {
            let late = try TestBundle.plugin("late")
            return late
        }
        #expect(contract.violations() == [])
    }
}

/// The faults of a renderer, as they come.
private final class Faults {
    private let events: AsyncStream<RenderEvent>

    init(_ renderer: Renderer) { events = renderer.events }

    func collected(_ count: Int) async -> [Fault] {
        var found: [Fault] = []
        for await event in events {
            if case .fault(let fault) = event { found.append(fault) }
            if found.reduce(0, { $0 + $1.count }) >= count { break }
        }
        return found
    }
}
