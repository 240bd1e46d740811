import RealtimeWatch
import RenderStack

// The engine's own cycles: clean, also in the first cycle.

let renderCases = [
    clean("render.empty", "renderCycle", prepare: { use { _ in } }, renderCycle),
    clean("render.chord", "renderCycle", prepare: { prepareChord() }, renderCycle),
    clean(
        "render.parameter", "renderCycle",
        prepare: {
            prepareChord()
            gain.level.value = 0.5
        }, renderCycle),
    clean(
        "render.message", "renderCycle",
        prepare: {
            prepareChord()
            try! renderer.messages.send { context in context.reset(tone) }
        }, renderCycle),
    clean(
        "render.transaction", "renderCycle",
        prepare: {
            prepareChord()
            renderer.transaction { gain.level.value = 0.1 }
            try! renderer.transaction(at: .sample(100)) { gain.level.value = 0.2 }
        }, renderCycle),
    clean(
        "render.replaced-loop", "renderCycle",
        prepare: {
            prepareChord()
            try! renderer.replaceLoop { context in
                context.run(toneToo)
                context.output()
            }
        }, renderCycle),
    clean("render.fault", "renderCycle", prepare: { use { context in if rendered { context.pop() } } }, renderCycle),
    clean("render.many-slices", "renderCycle", prepare: { prepareChord() }, renderLongCycle),
    blocks("render.closure-allocates", "allocateInClosure", prepare: { use { _ in allocateInClosure() } }, renderCycle),
]

nonisolated(unsafe) var renderer = Renderer()
nonisolated(unsafe) var output = AudioBlock(channels: 2, frames: 512)
nonisolated(unsafe) var longOutput = AudioBlock(channels: 2, frames: 20_000)
nonisolated(unsafe) var rendered = false
nonisolated(unsafe) var tone = Oscillator(frequency: 440)
nonisolated(unsafe) var toneToo = Oscillator(frequency: 660)
nonisolated(unsafe) var gain = Gain(0.5)
nonisolated(unsafe) var meter = LevelMeter()
nonisolated(unsafe) var tap = BufferTap()

func use(_ loop: @escaping RenderLoop) {
    rendered = false
    renderer = try! Renderer(loop)
    rendered = true
}

func prepareChord() {
    (tone, toneToo) = (Oscillator(frequency: 440), Oscillator(frequency: 660))
    (gain, meter, tap) = (Gain(0.5), LevelMeter(), BufferTap())
    use { [tone, gain, meter, tap] context in
        context.run(tone)
        context.run(gain)
        context.run(meter)
        context.run(tap)
        context.output()
    }
}

@inline(never) func renderCycle() -> Int {
    renderer.render(into: &output, hostTime: 0)
    return 1
}

@inline(never) func renderLongCycle() -> Int {
    longOutput.silence()
    renderer.render(into: &longOutput, hostTime: 0)
    return 2
}

@inline(never) func allocateInClosure() {
    if rendered { full = Array(repeating: 1, count: opaque(50)) }  // HERE
}
