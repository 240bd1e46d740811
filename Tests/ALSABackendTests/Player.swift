import Glibc
import RenderStack
import Synchronization
import TestSupport

@testable import ALSABackend

/// An output that plays the number of each frame on a card whose frames move by command.
struct Player {
    let renderer: Renderer
    let output: ALSAOutput
    let card: Card
    let events: Events
    let period: Int
    let periods: Int
    let clock: Clock

    /// The card's frames as a host time.
    final class Clock: Sendable {
        let frames = Atomic<Int64>(0)
        let rate: Double
        init(rate: Double = 48_000) { self.rate = rate }
        var now: Int64 { 1_000_000_000 + Int64((Double(frames.load(ordering: .acquiring)) * 1e9 / rate).rounded()) }
    }

    init(
        _ card: Card, period: Int = 64, periods: Int = 4, channels: Int = 2, patience: Double = 60,
        clockRate: Double = 48_000, ifLost: ALSALossPolicy = .wait, sound: (any Generator)? = nil,
        change: (inout ALSASettings) -> Void = { _ in }
    ) throws {
        self.card = card
        self.period = period
        self.periods = periods
        let counter: any Generator = sound ?? FrameCounter(channels: channels)
        let renderer = try Renderer(channels: channels, counter.play)
        let clock = Clock(rate: clockRate)
        var settings = ALSASettings(
            device: card.name, inputDevice: nil, inputs: [], period: period, periods: periods, isDithered: false,
            priority: 0, lossPolicy: ifLost, compensatesLatency: true)
        settings.patience = Int64(patience * 1e9)
        settings.now = { clock.now }
        settings.watchedPlaces = []
        change(&settings)
        self.renderer = renderer
        self.clock = clock
        output = ALSAOutput(renderer, settings)
        events = Events(output)
    }

    /// Plays so many periods, as fast as the output follows. `false`: it does not.
    func play(_ count: Int) -> Bool {
        for _ in 0..<count {
            guard card.wait(period * periods) else { return false }
            clock.frames.wrappingAdd(Int64(period), ordering: .releasing)
            guard card.move(period) == period else { return false }
        }
        return card.wait(period * periods)
    }

    /// Returns whether the last frames were played at the time that the renderer was given.
    func isOnTime(frames: Int) -> Bool {
        let numbers = card.played()[0].suffix(frames).map { Int64((($0 - 0x1p-18) * 0x1p17).rounded()) }
        guard numbers.count == frames, let next = renderer.nextRenderTime else { return false }
        // The frame that is rendered next is heard then; the last that was played, a frame before now.
        let ahead = Int64((Double(next - clock.now) * clock.rate / 1e9).rounded())
        let last = renderer.sampleTime - ahead - 1
        return numbers == (0..<Int64(frames)).map { (last - Int64(frames) + 1 + $0) & 0xFFFF }
    }

    /// Lets time pass in which nothing is played.
    func passTime(frames: Int) { clock.frames.wrappingAdd(Int64(frames), ordering: .releasing) }
}

/// The numbers of the frames that were played, silence left out, and whether every sample is one.
func frameNumbers(_ samples: [Float]) -> [Int64] {
    samples.filter { $0 != 0 }.map { Int64((($0 - 0x1p-18) * 0x1p17).rounded()) }
}

/// Returns whether numbers go up one by one.
func isConsecutive(_ numbers: [Int64]) -> Bool {
    zip(numbers, numbers.dropFirst()).allSatisfy { $1 == ($0 + 1) & 0xFFFF }
}

extension Generator {
    /// A renderer's loop that plays nothing else.
    var play: @Sendable (inout RenderContext) -> Void {
        { context in
            context.run(self)
            context.output()
        }
    }
}
