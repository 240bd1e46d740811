import RenderStack
import Synchronization
import TestSupport
import Testing

/// Renderers, lists and modules inside of one another, more often than anybody means them to be, and the questions for their
/// latency.
@Suite struct LatencyAttackTests {
    @Test("Every module has a latency at every number for a sample rate")
    func rates() async throws {
        var dice = Dice(seed: 1)
        let world = try await World(&dice)
        let rates = [
            .nan, -.nan, .infinity, -.infinity, 0, -0.0, -1, 1e-300, .leastNonzeroMagnitude, 1, 7.5, 999, 48_000,
            1_000_000, 1e9, .greatestFiniteMagnitude, -.greatestFiniteMagnitude,
        ]
        for module in world.modules.now {
            for rate in rates { #expect(module.latency(at: rate) >= 0, "\(module.name) at \(rate)") }
        }
        let renderer = try Renderer { context in
            context.push()
            context.output()
        }
        let others: [any Module] = [
            Compressor(), Gate(), Expander(), MultibandCompressor(), Limiter(), Vibrato(), PitchShift(.fast),
            PitchShift(.quality), TimePitch(renderer), Varispeed(renderer), RateConverter(renderer, sampleRate: 44_100),
            SubRenderer(renderer), ModuleList(chaining: [Limiter()]), try Splitter(Noise()),
        ]
        for module in others {
            for rate in rates { #expect(module.latency(at: rate) >= 0, "\(module.name) at \(rate)") }
        }
        await world.end()
    }

    /// Renderers that each hold all of them, themselves included.
    private static func knot(_ count: Int) throws -> [Renderer] {
        let renderers = (0..<count).map { _ in Renderer() }
        for renderer in renderers {
            let inside = renderers.map { SubRenderer($0) }
            try renderer.replaceLoop { context in
                context.push()
                for module in inside {
                    context.run(module)
                    context.mix(2)
                }
                context.output()
            }
        }
        return renderers
    }

    @Test("Renderers that hold one another and themselves tell their latency, render and can be set up anew")
    func knots() async throws {
        for count in [1, 2, 4, 12] {
            let isOver = await ends {
                let renderers = try Self.knot(count)
                for renderer in renderers {
                    #expect(renderer.latency == 0)
                    renderer.configure(sampleRate: 44_100)
                    // Of many each is rendered on all ways.
                    if count <= 4 { _ = renderer.renderOffline(frames: 64) }
                }
                // They hold one another, and are gone when they let go.
                for renderer in renderers { renderer.removeLoop() }
            }
            #expect(isOver)
        }
    }

    @Test("A renderer that many ways lead to is asked once, and counts in each of them")
    func ladder() async throws {
        let isOver = await ends {
            var renderer = try Renderer { [limiter = Limiter(lookAhead: 0.001)] context in
                context.push()
                context.run(limiter)
                context.output()
            }
            let late = renderer.latency
            #expect(late > 0)
            for _ in 0..<30 {
                let (left, right) = (SubRenderer(renderer), SubRenderer(renderer))
                renderer = try Renderer { context in
                    context.run(left)
                    context.run(right)
                    context.mix(2)
                    context.output()
                }
            }
            #expect(renderer.latency == late)
        }
        #expect(isOver)
    }

    @Test("Lists in lists, 20,000 deep: they are set up, rendered, asked and freed", arguments: [false, true])
    func lists(areChains: Bool) async throws {
        let isOver = await ends {
            var list: ModuleList? = areChains ? ModuleList(chaining: [Gain(0.5)]) : ModuleList(mixing: 1, [Noise()])
            for _ in 0..<20_000 {
                guard let inner = list else { return }
                let next = areChains ? ModuleList(chaining: [inner]) : ModuleList(mixing: 1)
                if !areChains { next.append(inner) }
                list = next
            }
            guard let outer = list else { return }
            #expect(outer.latency(at: 48_000) == 0)
            let renderer = Renderer(channels: 1)
            // The dry run may refuse it, or the render thread may call it a fault.
            try? renderer.replaceLoop { context in
                context.push()
                context.run(outer)
                context.mixAll()
                context.output()
            }
            _ = renderer.renderOffline(frames: 64)
            _ = renderer.latency
            renderer.configure(sampleRate: 44_100)
            renderer.removeLoop()
            list = nil
        }
        #expect(isOver)
        #expect(try await eventsStillCome())
    }

    @Test(
        "An output that is to run for ever does, until the task is cancelled",
        arguments: [
            Duration.seconds(Int64.max), .seconds(Int64.max) + .seconds(Int64.max), .nanoseconds(Int64.max),
        ])
    func forever(duration: Duration) async throws {
        let output = ClockOutput(Renderer())
        let task = Task { try await output.run(for: duration) }
        #expect(await becomesTrue { output.state == .running })
        task.cancel()
        #expect(try await task.value == false)
        let negative = try await output.run(for: .zero - duration)
        #expect(negative)
    }
}
