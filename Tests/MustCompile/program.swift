// The code of a user: modules, a closure, changes from outside, values captured.
import RenderStack

func program() async throws {
    let tone = Oscillator(frequency: 440)
    let gain = Gain(0.5)
    let depth: Float = 0.25
    let master = Parameter(1, in: 0...1)
    let renderer = try Renderer { context in
        context.run(tone)
        context.duplicate()
        context.run(gain)
        context.mix(gains: [0.5, 0.5])
        context.gain(depth)
        context.gain(master.glide(context))
        context.withTop2 { a, b in
            let count = min(a.channelCount, b.channelCount)
            for channel in 0..<count {
                var left = a[channel]
                let right = b.samples(channel)
                for i in left.indices { left[i] += right[i] }
            }
        }
        context.output()
    }
    renderer.transaction {
        tone.frequency.value = 880
        gain.level.value = 0
    }
    try renderer.transaction(at: .now + .milliseconds(5)) { tone.frequency.value = 220 }
    try renderer.messages.send { context in context.reset(tone) }
    try renderer.replaceLoop { context in
        context.run(tone)
        context.output()
    }
    for await event in renderer.events { print(event) }
}
