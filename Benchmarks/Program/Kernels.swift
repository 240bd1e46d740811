import CBench
import RenderStack

/// W4: the parts of the modules, a thousand frames at a time, beside the same in C.
enum Kernels {
    static let frames = 1_024
    /// The time of the echo in frames: between two of them.
    static let delay = 1_000.37

    struct Kernel {
        let name: String
        /// Operations in one call.
        let operations: Double
        let ours: Work
        let tuned: [(name: String, work: Work)]
        /// The largest distance of the results.
        let tolerance: Float
    }

    /// The number of times that a kernel without a renderer is called at once, so that it is that which is timed and
    /// not the call of a closure.
    static let times = 8

    /// Something to call again and again, and its result so far.
    struct Work {
        let run: () -> Void
        let result: () -> [Float]
    }

    /// All of them, or those whose names begin as asked for.
    static func all() throws -> [Kernel] {
        let all = try [
            mixAdd(), mixFour(), fromInteger(), toInteger(), bandpass(channels: 1), bandpass(channels: 8), echo(),
            sine(),
        ]
        guard let wanted = Options.given.text("kernel") else { return all }
        return all.filter { $0.name.hasPrefix(wanted) }
    }

    /// A renderer with buffers of the kernels' length.
    private static func renderer(_ channels: Int = 1, _ loop: @escaping RenderLoop) throws -> Work {
        let layout = StackLayout(slots: 8, channels: max(channels, 2), frames: frames)
        let line = RendererLine("", try Renderer(channels: channels, layout: layout, loop))
        return Work {
            line.render(frames: frames)
        } result: {
            Array(line.left.prefix(frames))
        }
    }

    private static func tuned(_ make: (Tuned) -> Work) -> [(name: String, work: Work)] {
        Tuned.all.map { ($0.name, make($0)) }
    }

    private static func mixAdd() -> Kernel {
        let samples = noise(frames)
        struct Ours: ~Copyable {
            let from: AudioBlock
            var into: AudioBlock
            mutating func run() { for _ in 0..<Kernels.times { Self.add(from, &into) } }
            private static func add(_ from: borrowing AudioBlock, _ into: inout AudioBlock) {
                var output = into[0]
                Signal.accumulate(from.samples(0), into: &output)
            }
        }
        let ours = Box(Ours(from: AudioBlock([samples]), into: AudioBlock(channels: 1, frames: frames)))
        return Kernel(
            name: "mix-add", operations: Double(frames * times),
            ours: Work {
                ours.value.run()
            } result: {
                ours.value.into.array(0)
            },
            tuned: tuned { tuned in
                let (into, from) = (Floats(frames), Floats(frames) { samples[$0] })
                return Work {
                    for _ in 0..<times { unsafe tuned.kernels.pointee.mix_add(into.start, from.start, Int32(frames)) }
                } result: {
                    into.array
                }
            }, tolerance: 0)
    }

    /// Four constants, each pushed by a module, and their sum.
    private static func mixFour() throws -> Kernel {
        let sources = (0..<4).map { Level(0.125 * Float($0 + 1)) }
        let ours = try renderer { context in
            for source in sources { context.run(source) }
            context.mix(4)
            context.output()
        }
        return Kernel(
            name: "four constants mixed, a source", operations: Double(frames * 4), ours: ours,
            tuned: tuned { tuned in
                let (into, sum) = (Floats(frames), Floats(frames))
                let table = Table((0..<4).map { _ in Floats(frames) })
                return Work {
                    for number in 0..<4 {
                        unsafe table.start[number]?.update(repeating: 0.125 * Float(number + 1), count: frames)
                    }
                    unsafe table.start.withMemoryRebound(to: UnsafePointer<Float>?.self, capacity: 4) { from in
                        unsafe tuned.kernels.pointee.mix_four(into.start, from, Int32(frames))
                    }
                    // Onto the output, as the renderer does it too.
                    unsafe sum.start.update(repeating: 0, count: frames)
                    unsafe tuned.kernels.pointee.mix_add(sum.start, into.start, Int32(frames))
                } result: {
                    sum.array
                }
            }, tolerance: 0)
    }

    private static func fromInteger() -> Kernel {
        let integers = noise(frames).map { Int16($0 * 32_767) }
        struct Ours {
            var into = [Float](repeating: 0, count: Kernels.frames)
            mutating func run(_ from: [Int16]) {
                var output = into.mutableSpan
                for _ in 0..<Kernels.times { Signal.convert(from.span, into: &output) }
            }
        }
        let ours = Box(Ours())
        return Kernel(
            name: "16 bits to float", operations: Double(frames * times),
            ours: Work {
                ours.value.run(integers)
            } result: {
                ours.value.into
            },
            tuned: tuned { tuned in
                let into = Floats(frames)
                return Work {
                    unsafe integers.withUnsafeBufferPointer { from in
                        for _ in 0..<times {
                            unsafe tuned.kernels.pointee.from_int16(from.baseAddress, into.start, Int32(frames))
                        }
                    }
                } result: {
                    into.array
                }
            }, tolerance: 0)
    }

    private static func toInteger() -> Kernel {
        // A hundredth of them beyond full scale.
        let samples = noise(frames).map { $0 * 2.02 }
        struct Ours: ~Copyable {
            let block: AudioBlock
            var into = [Int16](repeating: 0, count: Kernels.frames)
            init(_ samples: [Float]) { block = AudioBlock([samples]) }
            mutating func run() { for _ in 0..<Kernels.times { Self.convert(block, &into) } }
            private static func convert(_ block: borrowing AudioBlock, _ into: inout [Int16]) {
                var output = into.mutableSpan
                _ = Signal.convert(block.samples(0), into: &output)
            }
        }
        let ours = Box(Ours(samples))
        return Kernel(
            name: "float to 16 bits", operations: Double(frames * times),
            ours: Work {
                ours.value.run()
            } result: {
                ours.value.into.map(Float.init)
            },
            tuned: tuned { tuned in
                final class Integers { var all = [Int16](repeating: 0, count: Kernels.frames) }
                let (into, from) = (Integers(), Floats(frames) { samples[$0] })
                return Work {
                    unsafe into.all.withUnsafeMutableBufferPointer { into in
                        for _ in 0..<times {
                            _ = unsafe tuned.kernels.pointee.to_int16(from.start, into.baseAddress, Int32(frames))
                        }
                    }
                } result: {
                    into.all.map(Float.init)
                }
            }, tolerance: 1)
    }

    private static func bandpass(channels: Int) throws -> Kernel {
        let samples = noise(frames)
        let (source, filter) = (Repeated(samples, channels: channels), Bandpass(center: 1_000, octaves: 1))
        let ours = try renderer(channels) { context in
            context.run(source)
            context.run(filter)
            context.output()
        }
        let numbers = Tuned.filter(Score.bandpass(center: 1_000, octaves: 1))
        return Kernel(
            name: channels == 1 ? "band-pass" : "band-pass, \(channels) channels, a channel",
            operations: Double(frames * channels), ours: ours,
            tuned: tuned { tuned in
                let from = Floats(frames) { samples[$0] }
                let into = (0..<channels).map { _ in Floats(frames) }
                let state = Floats(32)
                let (sums, table) = ((0..<channels).map { _ in Floats(frames) }, Table(into))
                return Work {
                    // Our renderer also makes a source's copy, and the sum onto the output.
                    for channel in 0..<channels {
                        unsafe into[channel].start.update(from: from.start, count: frames)
                    }
                    if channels == 1 {
                        unsafe tuned.kernels.pointee.bandpass(numbers, state.start, into[0].start, Int32(frames))
                    } else {
                        unsafe tuned.kernels.pointee.bandpass_eight(numbers, state.start, table.start, Int32(frames))
                    }
                    for channel in 0..<channels {
                        unsafe sums[channel].start.update(repeating: 0, count: frames)
                        unsafe tuned.kernels.pointee.mix_add(sums[channel].start, into[channel].start, Int32(frames))
                    }
                } result: {
                    sums[0].array
                }
            }, tolerance: 2e-5)
    }

    private static func echo() throws -> Kernel {
        let samples = noise(frames)
        let source = Repeated(samples, channels: 1)
        let echo = Delay(
            time: Float(delay / Score.sampleRate), feedback: 0.5, cutoff: 24_000, mix: 0.5, maximumTime: 0.1)
        let ours = try renderer { context in
            context.run(source)
            context.run(echo)
            context.output()
        }
        return Kernel(
            name: "echo between two frames", operations: Double(frames), ours: ours,
            tuned: tuned { tuned in
                let exact = Double(Float(delay / Score.sampleRate)) * Score.sampleRate
                let line = TunedEcho(delay: exact, feedback: 0.5, mix: 0.5)
                let (from, into, sum) = (Floats(frames) { samples[$0] }, Floats(frames), Floats(frames))
                return Work {
                    unsafe into.start.update(from: from.start, count: frames)
                    for first in stride(from: 0, to: frames, by: 64) {
                        unsafe tuned.kernels.pointee.echo(line.echo, into.start + first, 64)
                    }
                    unsafe sum.start.update(repeating: 0, count: frames)
                    unsafe tuned.kernels.pointee.mix_add(sum.start, into.start, Int32(frames))
                } result: {
                    sum.array
                }
            }, tolerance: 1e-3)
    }

    private static func sine() throws -> Kernel {
        let tone = Oscillator(frequency: 375, level: 0.5)
        let ours = try renderer { context in
            context.run(tone)
            context.output()
        }
        return Kernel(
            name: "sine", operations: Double(frames), ours: ours,
            tuned: tuned { tuned in
                let (into, sum) = (Floats(frames), Floats(frames))
                var phase: UInt32 = 0
                return Work {
                    phase = unsafe tuned.kernels.pointee.sine(phase, 1 << 25, 0.5, into.start, Int32(frames))
                    unsafe sum.start.update(repeating: 0, count: frames)
                    unsafe tuned.kernels.pointee.mix_add(sum.start, into.start, Int32(frames))
                } result: {
                    sum.array
                }
            }, tolerance: 2e-6)
    }
}

/// A value that is changed in place, from a closure that is called again and again.
final class Box<Value: ~Copyable> {
    var value: Value
    init(_ value: consuming Value) { self.value = value }
}

/// Pointers to channels.
@safe final class Table {
    let start: UnsafeMutablePointer<UnsafeMutablePointer<Float>?>
    private let channels: [Floats]

    init(_ channels: [Floats]) {
        self.channels = channels
        unsafe start = .allocate(capacity: max(1, channels.count))
        for (index, channel) in channels.enumerated() { unsafe (start + index).initialize(to: channel.start) }
    }

    deinit { unsafe start.deallocate() }
}

@safe final class TunedEcho {
    let echo: OpaquePointer
    init(delay: Double, feedback: Float, mix: Float) { unsafe echo = bench_echo_make(delay, feedback, mix) }
    deinit { unsafe bench_echo_free(echo) }
}

/// Pushes the same samples in every slice.
final class Repeated: Generator {
    private let samples: RenderState<RenderMemory<Float>>
    private let channels: Int

    init(_ samples: [Float], channels: Int) {
        self.samples = RenderState(Self.memory(samples))
        self.channels = channels
    }

    private static func memory(_ samples: [Float]) -> RenderMemory<Float> {
        var memory = RenderMemory<Float>(repeating: 0, count: samples.count)
        for index in samples.indices { memory[index] = samples[index] }
        return memory
    }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        context.pushUninitialized(channels: channels)
        let channels = channels
        samples.with(&context) { memory, context in
            var top = context.top
            var channel = 0
            while channel < channels {
                var samples = top[channel]
                var span = memory.span
                Signal.copy(span.samples, into: &samples)
                channel &+= 1
            }
        }
    }
}
