import CPluginMemory
import PluginHosting
import RenderStack
import RenderStackTesting
import Synchronization
import TestSupport
import Testing

/// A format that is written here: plug-ins of a few lines, of which one multiplies, one plays notes, one is late, and others do what none
/// should.
private struct Toy: PluginFormat {
    enum Kind: Sendable { case gain, tone, late, beyond, wrong, busy }
    let kind: Kind

    var name: String { "Toy \(kind)" }
    var inputs: Int { kind == .tone ? 0 : 1 }
    var sideInputs: Int { 0 }
    var outputs: Int { kind == .tone ? 2 : 1 }
    var takesTransport: Bool { false }
    var hasLatency: Bool { kind == .late }
    var settable: [PluginControl] {
        if kind == .late { return [] }
        return [("by", 0, { Parameter(1, in: 0...8, glide: .none) })]
    }
    var placeCount: Int { 1 }

    func makeInstance(rate: Double, frames: Int, latency: Int, in memory: PluginMemory) throws -> any PluginInstance {
        if rate == 8_000 { throw LV2Error("It cannot play at 8000 Hz.") }
        return ToyInstance(self, rate: rate, frames: frames, latency: latency, in: memory)
    }

    func handOver(_ old: any PluginInstance, _ values: [Float], to new: [any PluginInstance]) {
        for case let instance as ToyInstance in new {
            instance.state.pointee.kept = (old as? ToyInstance)?.state.pointee.kept ?? 0
        }
    }
}

/// The parts of a plug-in.
private struct ToyState: ~Copyable {
    let kind: Toy.Kind
    let rate: Double
    let capacity: Int
    let controls: UnsafeMutablePointer<Float>
    let inputs, outputs: [UnsafeMutablePointer<Float>]
    let told: Atomic<Int>
    /// The state that the plug-in keeps from one instance to the next.
    var kept: Float = 0
    var past = [Float](repeating: 0, count: 96)
    var place = 0
    var level: Float = 0
    var begins: (frame: Int, level: Float)?

    mutating func render(_ frames: Int) {
        for frame in 0..<frames {
            if let note = begins, note.frame <= frame { (level, begins) = (note.level, nil) }
            for channel in 0..<outputs.count {
                outputs[channel][frame] = kind == .tone ? level : inputs[channel][frame] * controls[0] + kept
            }
        }
        if kind == .beyond { outputs[0][capacity] = 1 }
        if kind == .wrong { outputs[0][0] = .nan }
        guard kind == .late else { return }
        let delay = Int(rate / 1_000)
        told.store(delay, ordering: .relaxed)
        for frame in 0..<frames {
            past[place] = inputs[0][frame]
            outputs[0][frame] = past[(place + 96 - delay) % 96]
            place = (place + 1) % 96
        }
    }
}

private final class ToyInstance: PluginInstance, @unchecked Sendable {
    // Unchecked because the module lets one thread at a time run it.
    let memory: PluginMemory
    let state = UnsafeMutablePointer<ToyState>.allocate(capacity: 1)
    var controls: UnsafeMutablePointer<Float> { state.pointee.controls }
    var code: any PluginCode { ToyCode(state: state) }

    init(_ toy: Toy, rate: Double, frames: Int, latency: Int, in memory: PluginMemory) {
        self.memory = memory
        func add(_ use: cplugin_use, _ count: Int) -> UnsafeMutablePointer<Float> {
            cplugin_memory_add(memory.pointer, use, Int32(count))!
        }
        state.initialize(
            to: ToyState(
                kind: toy.kind, rate: rate, capacity: frames, controls: add(CPLUGIN_OTHER, toy.placeCount),
                inputs: (0..<toy.inputs).map { _ in add(CPLUGIN_INPUT, frames) },
                outputs: (0..<toy.outputs).map { _ in add(CPLUGIN_OUTPUT, frames) }, told: Atomic(latency)))
    }

    deinit {
        state.deinitialize(count: 1)
        state.deallocate()
    }

    func serve() {}
}

private struct ToyCode: PluginCode {
    let state: UnsafeMutablePointer<ToyState>

    var latency: Int { state.pointee.told.load(ordering: .relaxed) }
    func begin(isOffline: Bool) -> Bool { state.pointee.kind != .busy }
    func add(_ event: MIDIEvent) {
        if case .noteOn(_, let note, _) = event.message { state.pointee.begins = (event.frame, Float(note) / 128) }
    }
    func add(_ position: Transport, frames: Int) {}
    func render(frames: Int) { state.pointee.render(frames) }
    func forEachMessage(_ body: (Int, MIDIMessage) -> Void) {}
    func end() {}
    func reset(isOffline: Bool) {
        state.pointee.kept = 1
        for index in 0..<96 { state.pointee.past[index] = 0 }
    }
}

/// The module of such a plug-in.
private final class ToyPlugin: Module {
    let bypass = Parameter(0, in: 0...1)
    let host: HostedPlugin

    init(_ kind: Toy.Kind, copies: Int = 2) throws {
        host = try HostedPlugin.load(
            Toy(kind: kind), copies: copies, midiInput: MIDIInput(name: "toy"), midiOutput: MIDIOutput(name: "toy"))
    }

    var stackEffect: StackEffect { host.stackEffect }
    var parameters: [ParameterReference] { host.parameters }
    func latency(at sampleRate: Double) -> Int { host.latency(at: sampleRate) }
    func prepare(_ preparation: Preparation) { host.prepare(preparation) }
    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) { host.process(&context, bypass: bypass) }
    @_noLocks @_noAllocation
    func reset(_ context: inout RenderContext) { host.reset(&context) }
}

/// Renders a generator, if the plug-in takes its sound, and the plug-in behind it.
private func played(
    _ count: Count?, _ plugin: ToyPlugin, channels: Int = 1, frames: Int = 512, rate: Double = 48_000,
    _ prepare: (Renderer) throws -> Void = { _ in }
) throws -> (sound: [[Float]], renderer: Renderer) {
    let renderer = try Renderer(sampleRate: rate, channels: channels) { context in
        if let count { context.run(count) }
        context.run(plugin)
        context.output()
    }
    try prepare(renderer)
    return (render(renderer, frames: frames, cycles: [64]), renderer)
}

@Suite struct PluginFormatTests {
    @Test("a format's control is a parameter, which changes at its frame, and its mono plug-in has copies")
    func parameters() throws {
        let gain = try ToyPlugin(.gain)
        let (sound, renderer) = try played(Count(channels: 3), gain, channels: 3) { renderer in
            try renderer.transaction(at: .sample(100)) { gain.parameters["by"]?.value = 2 }
        }
        #expect(sound[0] == counted(1...512).map { $0 > 100 ? $0 * 2 : $0 })
        #expect(sound[1] == counted(1_001...1_512).map { $0 > 1_100 ? $0 * 2 : $0 })
        #expect(sound[2] == counted(2_001...2_512) && renderer.faultCount == 0)
        #expect(throws: (any Error).self) { try ToyPlugin(.gain, copies: 65) }
    }

    @Test("a note of control code sounds from its frame on")
    func notes() throws {
        let tone = try ToyPlugin(.tone)
        let (sound, renderer) = try played(nil, tone, channels: 2) { _ in
            let isTaken = tone.host.send(.noteOn(channel: 0, note: 64, velocity: 100), at: .sample(100))
            #expect(isTaken)
        }
        #expect(sound[0] == (0..<512).map { $0 < 100 ? 0 : 0.5 } && sound[1] == sound[0] && renderer.faultCount == 0)
    }

    @Test("its latency is the renderer's at each rate, and the bypass fades to the input, which is as late")
    func latency() throws {
        let late = try ToyPlugin(.late)
        #expect(late.latency(at: 48_000) == 48 && late.latency(at: 16_000) == 16)
        let (sound, renderer) = try played(Count(), late, frames: 2_048) { renderer in
            #expect(renderer.latency == 48)
            try renderer.transaction(at: .sample(500)) { late.bypass.value = 1 }
        }
        for frame in 0..<2_048 { #expect(abs(sound[0][frame] - Float(max(0, frame - 47))) < 0.001, "\(frame)") }
        #expect(renderer.latency == 48)
    }

    @Test("what is written beyond the memory is a fault, and so is no number, after which the plug-in is reset")
    func mistakes() throws {
        let beyond = try ToyPlugin(.beyond, copies: 1)
        #expect(try played(Count(), beyond, frames: 128).renderer.faultCount == 2 && beyond.host.overrunCount == 2)
        let wrong = try ToyPlugin(.wrong, copies: 1)
        let muted = try played(Count(), wrong, frames: 128)
        #expect(muted.sound[0].allSatisfy { $0 == 0 } && muted.renderer.faultCount == 2)
    }

    @Test("it is silent while another thread has it, and where it cannot be made, which is said")
    func silence() throws {
        #expect(try played(Count(), try ToyPlugin(.busy)).sound[0].allSatisfy { $0 == 0 })
        let gain = try ToyPlugin(.gain)
        #expect(try played(Count(), gain, rate: 8_000).sound[0].allSatisfy { $0 == 0 })
        #expect(gain.host.problem?.contains("8000") == true)
        #expect(try played(Count(), gain).sound[0] == counted(1...512) && gain.host.problem == nil)
    }

    @Test("its state goes to the instances for another sample rate")
    func state() throws {
        let gain = try ToyPlugin(.gain)
        for case let instance as ToyInstance in gain.host.instances { instance.state.pointee.kept = 5 }
        #expect(try played(Count(), gain, rate: 44_100).sound[0] == counted(1...512).map { $0 + 5 })
    }

    @Test("its modules keep the contract of modules")
    func contract() throws {
        #expect(ModuleContract { try ToyPlugin(.late) }.violations() == [])
    }
}
