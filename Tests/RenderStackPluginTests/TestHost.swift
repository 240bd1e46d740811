import CPluginGuest
import Foundation
import RenderStack
import TestSupport
import Testing

@testable import RenderStackPlugin

let warm = Plugin(
    uri: "https://renderstack.example/warm", name: "Warm \"and\" soft", category: .distortion, author: "A",
    license: "http://opensource.org/licenses/MIT", presets: [.init("Hot", ["Drive": 24])]
) { rate in
    let drive = Distortion(.tanh), filter = LowPass()
    return .effect(parameters: [drive.drive.named("Drive"), filter.cutoff.named("Cut-off")]) { context in
        context.run(drive)
        context.run(filter)
    }
}

let echo = Plugin(uri: "https://renderstack.example/late", name: "Late", inputs: 1, outputs: 1) { rate in
    let limiter = Limiter()
    return .effect { context in context.run(limiter) }
}

let keys = Plugin(uri: "https://renderstack.example/keys", name: "Keys", inputs: 0, outputs: 1) { rate in
    let keys = MIDIInput(), through = MIDIOutput(), level = Parameter(0, in: 0...1, glide: .none)
    return .generator(midiInput: keys, midiOutput: through) { context in
        context.forEachEvent(from: keys) { event, context in
            if case .noteOn(_, let note, _) = event.message { level.value = Float(note) / 128 }
            context.send(event.message, at: event.frame, to: through)
        }
        context.push(channels: 1)
        let value = level.current(context)
        var top = context.top
        var samples = top[0]
        for i in samples.indices { samples[i] = value }
    }
}

/// Keeps a number as text, which it also puts out.
let keeper = Plugin(uri: "https://renderstack.example/keeper", name: "Keeper", inputs: 0, outputs: 1) { rate in
    let number = Parameter(7, in: 0...1_000, glide: .none), tempo = Parameter(0, in: 0...1_000, glide: .none)
    let state = PluginState(save: { "\(number.value)" }) { text in
        guard let value = Float(text) else { throw LV2Error("\(text) is no number.") }
        number.value = value
    }
    return .generator(state: state) { context in
        context.push(channels: 1)
        tempo.value = Float(context.transport.bars?.beatsPerMinute ?? 0)
        let value = number.current(context) + tempo.value
        var top = context.top
        var samples = top[0]
        for i in samples.indices { samples[i] = value }
    }
}

/// 64 channels, of which the loop turns the order around.
let wide = Plugin(uri: "https://renderstack.example/wide", name: "Wide", inputs: 64, outputs: 64) { rate in
    .effect { context in
        let frames = context.frameCount
        var top = context.top
        for channel in 0..<32 {
            for i in 0..<frames {
                var samples = top[channel]
                let one = samples[i]
                var others = top[63 - channel]
                let other = others[i]
                others[i] = one
                samples = top[channel]
                samples[i] = other
            }
        }
    }
}

/// A host of one instance, by the functions of the descriptor, as a program in C would be.
final class Host {
    let descriptor: UnsafePointer<guest_descriptor>
    let instance: UnsafeMutableRawPointer
    private static let plugins = [warm, echo, keys, keeper, wide]

    init(_ plugin: Plugin, rate: Double = 48_000) throws {
        let index = UInt32(Host.plugins.firstIndex { $0.uri == plugin.uri }!)
        let pointer = try #require(PluginEntry.descriptor(index, of: Host.plugins))
        let descriptor = pointer.assumingMemoryBound(to: guest_descriptor.self)
        self.descriptor = descriptor
        var map = (UnsafeMutableRawPointer?.none, hostMap)
        instance = try withUnsafeMutablePointer(to: &map) { map in
            try "http://lv2plug.in/ns/ext/urid#map".withCString { uri in
                var feature = guest_feature(uri: uri, data: map)
                return try withUnsafePointer(to: &feature) { feature in
                    var list = [Optional(feature), nil]
                    return try #require(descriptor.pointee.instantiate(descriptor, rate, nil, &list))
                }
            }
        }
    }

    deinit { descriptor.pointee.cleanup(instance) }

    func connect<T>(_ port: Int, _ memory: UnsafeMutablePointer<T>) {
        descriptor.pointee.connect_port(instance, UInt32(port), memory)
    }
    func run(_ frames: Int) { descriptor.pointee.run(instance, UInt32(frames)) }
}

/// The numbers that the host of the tests has for URIs: as many as there are characters would not do.
let hostMap: @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<CChar>?) -> UInt32 = { _, uri in
    guard let uri else { return 0 }
    var hash: UInt32 = 2_166_136_261
    for byte in String(cString: uri).utf8 { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
    return hash | 1
}

/// Memory of a channel.
func memory(_ samples: [Float]) -> UnsafeMutablePointer<Float> {
    let memory = UnsafeMutablePointer<Float>.allocate(capacity: samples.count)
    memory.initialize(from: samples, count: samples.count)
    return memory
}

func noise(_ frames: Int, _ seed: UInt64) -> [Float] {
    var generator = SplitMix(state: seed)
    return (0..<frames).map { _ in Float(Double(generator.next() >> 11) * 0x1p-53 - 0.5) }
}
