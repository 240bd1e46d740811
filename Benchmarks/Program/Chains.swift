import CBench
import RenderStack

/// W3: many modules that do little.
enum Chains {
    /// A thousand gains in a row.
    static func gains(_ count: Int) throws -> Renderer {
        let gains = (0..<count).map { _ in Gain(Score.gain) }
        let source = Level(1)
        return try Renderer(channels: 1, layout: StackLayout(slots: 4, channels: 1, frames: 512)) { context in
            context.run(source)
            context.run(gains)
            context.output()
        }
    }

    /// A thousand constant sources, mixed.
    static func sources(_ count: Int) throws -> Renderer {
        let sources = (0..<count).map { _ in Level(Score.constant) }
        return try Renderer(channels: 1, layout: StackLayout(slots: 4, channels: 1, frames: 512)) { context in
            context.push(channels: 1)
            context.add(sources)
            context.output()
        }
    }

    @safe final class TunedLine: Line {
        let name: String
        private let tuned: Tuned
        private let numbers: [Float]
        private let sums: Bool
        private let (buffer, sum) = (Floats(4_096), Floats(4_096))

        init(_ tuned: Tuned, count: Int, sums: Bool) {
            name = tuned.name
            self.tuned = tuned
            self.sums = sums
            numbers = Array(repeating: sums ? Score.constant : Score.gain, count: count)
        }

        func render(frames: Int) {
            unsafe numbers.withUnsafeBufferPointer { numbers in
                let count = Int32(numbers.count)
                if sums {
                    unsafe tuned.kernels.pointee.sources(
                        numbers.baseAddress, count, buffer.start, sum.start, Int32(frames))
                } else {
                    for frame in 0..<frames { unsafe sum.start[frame] = 1 }
                    unsafe tuned.kernels.pointee.gains(numbers.baseAddress, count, sum.start, Int32(frames))
                }
            }
        }

        var left: [Float] { sum.array }
        var right: [Float] { sum.array }
    }
}

/// Pushes a constant: the least that a source can do.
final class Level: Generator {
    let value: Parameter
    init(_ value: Float) { self.value = Parameter(value, in: 0...1) }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        let level = value.current(context)
        var samples = context.pushMono()
        Signal.fill(&samples, with: level)
    }
}
