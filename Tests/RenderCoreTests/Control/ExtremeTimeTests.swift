import Testing

@testable import RenderCore

@Suite struct ExtremeTimeTests {
    static let durations: [Duration] = [
        .seconds(Int64.max), .seconds(Int64.min), .seconds(1e20), .seconds(-1e20), .nanoseconds(Int64.max), .zero,
    ]

    @Test("A time and a duration may be anything: the sum ends at the largest number", arguments: durations)
    func sums(duration: Duration) throws {
        let times: [RenderTime] = [
            .immediately, .now, .sample(.max), .sample(.min), .sample(.min + 1), .host(.max), .host(.min),
            .host(.min + 1), RenderTime(sampleTime: .max, hostTime: .max),
        ]
        let renderer = Renderer()
        for time in times {
            for sum in [time + duration, time - duration, time + duration + duration, time - duration - duration] {
                _ = (sum.sampleTime, sum.hostTime, sum.description, sum.sampleKey(1e6), sum.hostKey)
                try renderer.schedule(at: sum) { _ in }.cancel()
            }
        }
        #expect((RenderTime.host(.max) + .seconds(1)).hostTime == .max)
        #expect((RenderTime.host(5) + .seconds(Int64.max) - .seconds(Int64.max)).hostTime ?? 0 < 10)
    }

    @Test("A time far ahead does not count as past, nor one long past as ahead")
    func order() throws {
        let seen = Lock<[Int64]>([])
        let renderer = try Renderer { context in
            let times: [RenderTime] = [
                .sample(.max), .sample(.min + 1), .host(.max), .host(.min + 1), .sample(0) + .seconds(Int64.max),
                .sample(0) - .seconds(Int64.max),
            ]
            if !context.isDryRun {
                let found = times.map { context.frames(until: $0) }
                seen.withLock { $0 = found }
            }
        }
        for _ in 0..<2 { _ = renderer.renderOffline(frames: 64) }
        let found = seen.withLock { $0 }
        #expect(found.map { $0 > 0 } == [true, false, true, false, true, false], "\(found)")
    }

    @Test("Seconds that are no time become the nearest that there is")
    func nanoseconds() {
        #expect(HostClock.nanoseconds(.infinity) == .max && HostClock.nanoseconds(-.infinity) == .min)
        #expect(HostClock.nanoseconds(.nan) == 0 && HostClock.nanoseconds(1e300) == .max)
        #expect(HostClock.nanoseconds(1.5) == 1_500_000_000)
    }

    @Test("A number that does not fit becomes the nearest that does")
    func conversions() {
        #expect(Int(saturating: 1e300) == .max && Int(saturating: -1e300) == .min && Int(saturating: .nan) == 0)
        #expect(Int(saturating: 0x1p63) == .max && Int(saturating: -0x1p63) == .min && Int(saturating: -7.9) == -7)
        #expect(Int64.max.addingSaturated(1) == .max && Int64.min.addingSaturated(-1) == .min)
        #expect(Int64.max.subtractingSaturated(-1) == .max && Int64.min.subtractingSaturated(1) == .min)
        #expect(Int64(3).addingSaturated(4) == 7 && Int64(3).subtractingSaturated(4) == -1)
    }

    @Test("A glide of any length does not end the program", arguments: durations)
    func glides(duration: Duration) throws {
        let parameter = ParameterHolder(duration)
        let renderer = try Renderer(sampleRate: 1_000_000) { context in
            context.push(channels: 1)
            context.gain(parameter.value.glide(context))
        }
        _ = renderer.renderOffline(frames: 64)
        parameter.value.value = 1
        _ = renderer.renderOffline(frames: 64)
        #expect(renderer.faultCount == 0)
    }

    private final class ParameterHolder: Sendable {
        let value: Parameter
        init(_ duration: Duration) { value = Parameter(0, in: 0...1, glide: .linear(duration)) }
    }
}
