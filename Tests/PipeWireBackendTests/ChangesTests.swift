import Glibc
import RenderStack
import TestSupport
import Testing

@testable import PipeWireBackend

extension PipeWireTests {
    /// A graph that changes all the time.
    @Suite struct ChangesTests {
        /// The time that it takes: scripts/test asks for a minute in one of its builds, and scripts/soak for an hour.
        private static let seconds =
            getenv("RENDERSTACK_PIPEWIRE_SECONDS").flatMap { Int(String(cString: $0)) } ?? 20

        @Test(
            "Quantum and rate change each second and the daemon is killed each minute: no frame is lost, and the sound is that of rendering offline"
        )
        func changes() async throws {
            let rounds = max(2, Self.seconds / 60)
            let desktop = try Desktop()
            let (renderer, numbers) = try Self.program()
            let output = PipeWireOutput(renderer, name: "changing")
            let events = Events(output)
            try output.start()
            defer { output.stop() }
            var chance = SplitMix(state: 44)
            var (wantedLengths, wantedRates): (Set<Int>, Set<Int>) = ([], [])
            var reference = try Reference()
            var found = Findings()
            for round in 1...rounds {
                #expect(await becomesTrue { output.state == .running && (try? output.deviceNames()) == ["nowhere"] })
                let file = "\(desktop.folder.path)/kept"
                let peer = try desktop.peer("cycles", "changing:output_FL", file, seconds: 300)
                for second in 0..<Self.seconds / rounds {
                    if second % 3 == 2 {
                        let rate = [44_100, 48_000, 96_000][Int(chance.next() % 3)]
                        wantedRates.insert(rate)
                        try desktop.set("clock.force-rate", rate)
                    } else {
                        let length = [16, 64, 100, 256, 777, 1_024, 4_096, 8_192][Int(chance.next() % 8)]
                        wantedLengths.insert(length)
                        try desktop.set("clock.force-quantum", length)
                    }
                    try await Task.sleep(for: .seconds(1))
                }
                peer.signal(SIGTERM)
                #expect(peer.wait().status == 0)
                desktop.endManager()
                desktop.endDaemon()
                #expect(await becomesTrue { output.state == .waiting })
                // PipeWire has asked for as many frames as its clock went on, to the frame; but in a cycle that is late the clock may
                // have gone on before it is read.
                let counts = try #require(output.frameCounts)
                #expect(abs(counts.played - counts.graph) <= 8_192 * events.interruptions, "round \(round): \(counts)")
                found.unequal = counts.played - counts.graph
                #expect(counts.played > 0)
                try found.judge(file, reference: &reference, rates: numbers.rates)
                unlink(file)
                #expect(events.count { if case .lost = $0 { true } else { false } } == round)
                #expect(events.count { $0 == .regained } == round - 1)
                try desktop.startDaemon()
                try desktop.startManager()
            }
            #expect(await becomesTrue { events.count { $0 == .regained } == rounds })
            #expect(found.wrong == nil, "\(found)")
            // A recorder may be late on a busy machine, and then finds the cycle before, or silence.
            #expect(found.frames > 0 && found.goodFrames > found.frames / 4, "\(found)")
            let all = events.all
            #expect(wantedLengths.allSatisfy { all.contains(.bufferSizeChanged(frames: $0)) })
            #expect(wantedRates.subtracting([48_000]).allSatisfy { all.contains(.sampleRateChanged(Double($0))) })
            #expect(renderer.faultCount == 0)
            if Self.seconds >= 60 { print("\(rounds) rounds: \(found)") }
        }

        @Test("A program that renders without a clock draws the output along, and records what rendering offline gives")
        func freewheel() async throws {
            let desktop = try Desktop()
            let (renderer, numbers) = try Self.program()
            let output = PipeWireOutput(renderer, name: "bounces")
            let events = Events(output)
            try output.start()
            defer { output.stop() }
            #expect(await becomesTrue { output.statistics.cycles > 10 })
            let file = "\(desktop.folder.path)/kept"
            let peer = try desktop.peer("cycles", "bounces:output_FL", file, "pipewire.freewheel")
            #expect(await becomesTrue { events.all.contains(.freewheel(true)) })
            let played = try #require(output.frameCounts).played
            #expect(await becomesTrue { (output.frameCounts?.played ?? 0) > played + 96_000 })
            peer.signal(SIGTERM)
            #expect(peer.wait().status == 0)
            #expect(await becomesTrue { events.all.contains(.freewheel(false)) })
            var (reference, found) = (try Reference(), Findings())
            try found.judge(file, reference: &reference, rates: numbers.rates)
            #expect(found.wrong == nil && found.goodFrames > 48_000, "\(found)")
            #expect(renderer.faultCount == 0)
        }

        /// A sound that depends on all its samples before, in every other frame; in the others are the numbers of the frames.
        fileprivate static func program() throws -> (renderer: Renderer, numbers: FrameNumbers) {
            let (tone, filter, numbers) = (Oscillator(.saw, frequency: 220), LowPass(cutoff: 900), FrameNumbers())
            let renderer = try Renderer { context in
                context.run(tone)
                context.run(filter)
                context.run(numbers)
                context.output()
            }
            return (renderer, numbers)
        }

        /// The same program, rendered offline, with another rate from the same frames on.
        private struct Reference {
            private let renderer: Renderer
            private var next = 0
            private var ratesDone = 0
            private var samples: [Float] = []
            private(set) var first = 0

            init() throws { renderer = try ChangesTests.program().renderer }

            /// Renders up to a frame, and forgets what lies before another one.
            mutating func render(from start: Int, to end: Int, rates: [(frame: Int, rate: Double)]) {
                while next < end {
                    if ratesDone < rates.count, rates[ratesDone].frame == next {
                        renderer.configure(sampleRate: rates[ratesDone].rate)
                        ratesDone += 1
                    }
                    let limit = ratesDone < rates.count ? min(end, rates[ratesDone].frame) : end
                    let count = min(limit - next, 1 << 20)
                    samples += renderer.renderOffline(frames: count).array(0)
                    next += count
                    if next - first > 1 << 22, start > first {
                        let done = min(start, next) - first
                        samples.removeFirst(done)
                        first += done
                    }
                }
            }

            subscript(frame: Int) -> Float { samples[frame - first] }
        }

        /// What a recorder has found.
        private struct Findings {
            var cycles = 0
            var frames = 0
            /// Frames that were right, and those of them that followed the ones before.
            var goodFrames = 0
            var followingFrames = 0
            /// Cycles that came too late for the recorder.
            var late = 0
            /// Cycles in which it was not linked.
            var unlinked = 0
            /// Frames that were played beyond those that the clock was read to go on, over all.
            var unequal = 0
            /// The first thing that must not be.
            var wrong: String?

            mutating func judge(_ path: String, reference: inout Reference, rates: [(frame: Int, rate: Double)]) throws
            {
                let floats = try PlayingTests.floats(of: path)
                var place = 0
                /// The number of the next frame, while the recorder is linked.
                var next: Int?
                while place + 4 <= floats.count {
                    let (duration, isLinked) = (floats[place + 2].bitPattern, floats[place + 3].bitPattern != 0)
                    place += 4
                    guard isLinked else {
                        (next, unlinked) = (nil, unlinked + 1)
                        continue
                    }
                    let length = Int(duration)
                    let samples = floats[place..<place + length]
                    place += length
                    cycles += 1
                    frames += length
                    guard let start = FrameNumbers.start(of: samples, near: next ?? reference.first), start >= next ?? 0
                    else {
                        late += 1
                        continue
                    }
                    goodFrames += length
                    if next == start { followingFrames += length }
                    next = start + length
                    reference.render(from: start - (1 << 20), to: start + length, rates: rates)
                    let differs = zip(samples, start...).first { $0 != reference[$1] }
                    if let (sample, frame) = differs, wrong == nil {
                        wrong =
                            "frame \(frame), in a cycle of \(length) from \(start) on, is \(sample), and offline \(reference[frame]); "
                            + "rates: \(rates)"
                    }
                }
            }
        }
    }
}

/// Puts the number of each odd frame in its place, and notes from which frame on there is which rate.
private final class FrameNumbers: Effect {
    private let noted = Guarded<[(frame: Int, rate: Double)]>([])
    var rates: [(frame: Int, rate: Double)] { noted.withLock { $0 } }

    private static func sample(_ frame: Int) -> Float { Float(frame & 0xFF_FFFF) * 0x1p-24 }

    /// Returns the number of the first frame, of those that end in the same 24 bits the one that lies nearest; `nil` if the frames do
    /// not follow each other.
    static func start(of samples: ArraySlice<Float>, near other: Int) -> Int? {
        for offset in 0..<2 {
            let sample = samples[samples.startIndex + 1 - offset]
            guard sample > 0, sample < 1 else { continue }
            let low = Int(sample * 0x1p24) - 1 + offset
            let distance = (low - other) & 0xFF_FFFF
            let start = other + (distance < 1 << 23 ? distance : distance - (1 << 24))
            let isWhole = zip(samples, start...).allSatisfy { $1 % 2 == 0 || $0 == Self.sample($1) }
            if isWhole, start >= 0, (start + 1 - offset) % 2 == 1 { return start }
        }
        return nil
    }

    func process(_ context: inout RenderContext) {
        let (start, rate) = (Int(context.sampleTime), context.sampleRate)
        if !context.isOffline, !context.isDryRun {
            noted.withLock { if $0.last?.rate != rate { $0.append((frame: start, rate: rate)) } }
        }
        var top = context.top
        top.change { sample, frame, _ in (start + frame) % 2 == 1 ? Self.sample(start + frame) : sample }
    }
}
