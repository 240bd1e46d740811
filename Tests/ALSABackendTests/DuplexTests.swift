import Glibc
import RenderStack
import Synchronization
import TestSupport
import Testing

@testable import ALSABackend

extension ALSATests {
    @Suite struct DuplexTests {
        /// Returns the sample that the simulated card captures.
        static func captured(_ frame: Int, _ channel: Int) -> Float {
            Float((frame + channel * 0x4000) & 0x7FFF) / 32_768
        }

        @Test("One card both ways: what comes in goes out, no frame lost, two buffers later")
        func oneCard() async throws {
            for (format, access) in [
                (ALSAFormat.float32, ALSAAccess.copiedInterleaved), (.float32, .mappedInterleaved),
                (.float32, .copiedPlanar), (.float32, .mappedPlanar),
            ] {
                let card = try Card("card14", formats: [format], accesses: [access])
                let microphone = try Card("card14", isCapture: true, formats: [format], accesses: [access])
                let input = AudioInput(channels: 2)
                let renderer = try Renderer { context in
                    context.run(input)
                    context.output()
                }
                let output = ALSAOutput(renderer, device: "card14", period: 64, periods: 4, priority: 0)
                try output.start()
                let first = microphone.ask(.frames)
                #expect(output.inputConfiguration?.access == access)
                for _ in 0..<50 {
                    #expect(card.wait(256))
                    #expect(microphone.wait(0))
                    #expect(microphone.move(64) == 64)
                    #expect(card.move(64) == 64)
                }
                #expect(card.wait(256))
                output.stop()
                #expect(!input.isConnected || renderer.faultCount == 0)
                let played = card.played()
                for channel in 0..<2 {
                    let expected = (0..<(50 * 64 - 256)).map { Self.captured(first + $0, channel) }
                    #expect(Array(played[channel].dropFirst(256)) == expected)
                }
            }
        }

        @Test("An input that a new loop brings is recorded: the devices are opened anew for it, and the clock goes on")
        func laterInput() async throws {
            let card = try Card("card20", formats: [.float32])
            let microphone = try Card("card20", isCapture: true, formats: [.float32])
            let input = AudioInput(channels: 2, name: "voice")
            let renderer = Renderer()
            let output = ALSAOutput(renderer, device: "card20", period: 64, periods: 4, priority: 0)
            let events = Events(output)
            try output.start()
            defer { output.stop() }
            #expect(output.inputConfiguration == nil)
            for _ in 0..<10 {
                #expect(card.wait(256))
                #expect(card.move(64) == 64)
            }
            let before = renderer.sampleTime
            try renderer.replaceLoop { context in
                context.run(input)
                context.output()
            }
            #expect(
                await becomesTrue {
                    _ = (microphone.move(64), card.move(64))
                    return output.inputConfiguration != nil && input.isConnected
                })
            #expect(renderer.sampleTime > before && renderer.faultCount == 0)
            #expect(await becomesTrue { events.all.contains { "\($0)".contains("that have joined: voice") } })
            #expect(output.state == .running)
        }

        @Test("An input of a whole device has the channels of the card")
        func wholeDevice() async throws {
            let card = try Card("card21", formats: [.float32])
            let microphone = try Card("card21", isCapture: true, formats: [.float32], channels: 2...6)
            let all = AudioInput.wholeDevice()
            let renderer = try Renderer(layout: StackLayout(channels: 8)) { context in
                context.run(all)
                context.output()
            }
            let output = ALSAOutput(renderer, device: "card21", period: 64, periods: 4, priority: 0)
            try output.start()
            defer { output.stop() }
            #expect(all.channelCount == 6 && output.inputConfiguration?.channelCount == 6)
            #expect(
                await becomesTrue {
                    _ = (microphone.move(64), card.move(64))
                    return all.isConnected
                })
            #expect(renderer.faultCount == 0)
        }

        @Test("Recording without playing: every captured frame is rendered once, stamped with its time")
        func inputOnly() async throws {
            let microphone = try Card("card15", isCapture: true, formats: [.int16])
            let first = microphone.ask(.frames)
            let input = AudioInput(channels: 2)
            let tap = RingTap(seconds: 2)
            let renderer = try Renderer { context in
                context.run(input)
                context.run(tap)
                context.pop()
            }
            let output = ALSAOutput(
                renderer, device: nil, inputDevice: "card15", period: 64, periods: 4, priority: 0)
            try output.start()
            for _ in 0..<50 {
                #expect(microphone.wait(0))
                #expect(microphone.move(64) == 64)
            }
            #expect(microphone.wait(0))
            output.stop()
            #expect(renderer.sampleTime == 50 * 64)
            var block = AudioBlock(channels: 2, frames: 50 * 64)
            var done = 0
            while done < 3200 {
                let chunk = tap.ring.read(into: &block, frames: 3200 - done, at: done)
                if chunk.frameCount == 0 { break }
                done += chunk.frameCount
            }
            #expect(done == 3200)
            #expect(block.array(0) == (0..<3200).map { Self.captured(first + $0, 0) })
            #expect(block.array(1) == (0..<3200).map { Self.captured(first + $0, 1) })
        }

        @Test("Recording is turned off and on while it plays")
        func toggle() async throws {
            let card = try Card("card16")
            let microphone = try Card("card16", isCapture: true)
            let input = AudioInput(channels: 2)
            let renderer = try Renderer { context in
                context.run(input)
                context.output()
            }
            let output = ALSAOutput(renderer, device: "card16", period: 64, periods: 4, priority: 0)
            func play(_ count: Int) {
                for _ in 0..<count {
                    #expect(card.wait(256))
                    microphone.move(64)
                    #expect(card.move(64) == 64)
                }
                #expect(card.wait(256))
            }
            try output.start()
            play(10)
            #expect(input.isConnected)
            try output.setInputDevice(nil)
            play(10)
            #expect(!input.isConnected)
            #expect(microphone.ask(.isOpen) == 0)
            try output.setInputDevice("card16")
            play(10)
            #expect(input.isConnected)
            #expect(output.state == .running)
            output.stop()
        }

        @Test("Two cards whose clocks differ: the line neither breaks nor grows", arguments: [-500.0, 500])
        func drift(_ ppm: Double) {
            // The two clocks are counted in frames: hours pass as fast as it computes.
            #if DEBUG
                let (rate, period, seconds) = (1_500.0, 32, 400.0)
            #else
                let (rate, period, seconds) = (48_000.0, 1024, 3600.0)
            #endif
            var follower = DriftFollower(
                channels: 1, captureRate: rate, playbackRate: rate, capturePeriod: period, period: period)
            var source = AudioBlock(channels: 1, frames: 2 * period)
            var output = AudioBlock(channels: 1, frames: period)
            let step = 2 * Double.pi / 48
            var (phase, captured, due) = (0.0, 0, 0.0)
            var (least, most, jump) = (Double.infinity, 0.0, Float(0))
            var last: (Float, Float) = (0, 0)
            let cycles = Int(seconds * rate) / period
            for cycle in 0..<cycles {
                due += Double(period) * (1 + ppm * 1e-6)
                let fresh = Int(due) - captured
                for frame in 0..<fresh {
                    source[0, frame] = Float(RenderMath.sin(phase)) * 0.5
                    phase += step
                    if phase > 2 * Double.pi { phase -= 2 * Double.pi }
                }
                captured += fresh
                follower.push(source, frames: fresh)
                follower.pull(period, into: &output)
                let isSettled = cycle > 300 * Int(rate) / period
                if isSettled {
                    least = min(least, follower.fill)
                    most = max(most, follower.fill)
                }
                // A sine's second difference is its value times a constant: more is a click.
                for frame in 0..<period {
                    let sample = output[0, frame]
                    if isSettled { jump = max(jump, abs(sample - 2 * last.1 + last.0)) }
                    last = (last.1, sample)
                }
            }
            #expect(follower.breakCount == 0)
            // The fill is known to a frame, and the controller answers a frame with so much.
            let fineness = 2 * 2 * Double.pi * 0.01 / rate
            #expect(abs(follower.ratio - (1 + ppm * 1e-6)) < fineness)
            #expect(most - least < 4)
            // 0.5 × (2 − 2 cos(step)).
            #expect(jump < Float(0.5 * step * step * 1.01))
            #expect(jump > Float(0.5 * step * step * 0.9))
        }

        @Test(
            "A start with the wrong fill, and a standstill, are put right by one cut each, and the pitch stays")
        func cuts() {
            let (rate, period) = (48_000.0, 256)
            var follower = DriftFollower(
                channels: 1, captureRate: rate, playbackRate: rate, capturePeriod: period, period: period)
            let source = AudioBlock(channels: 1, frames: 1024)
            var output = AudioBlock(channels: 1, frames: period)
            // The card that records has begun before the other one.
            follower.push(source, frames: 764)
            var farthest = 0.0
            func run(_ cycles: Int, captures: Bool = true) {
                for _ in 0..<cycles {
                    if captures { follower.push(source, frames: period) }
                    follower.pull(period, into: &output)
                    farthest = max(farthest, abs(follower.ratio - 1))
                }
            }
            run(400)
            #expect(follower.breakCount == 0)
            #expect(farthest < 20e-6, "\(farthest)")
            // 200 ms in which nothing is captured.
            run(38, captures: false)
            run(400)
            #expect(follower.breakCount == 1)
            #expect(farthest < 20e-6, "\(farthest)")
            // And as much in which nothing is played.
            for _ in 0..<38 { follower.push(source, frames: period) }
            run(400)
            #expect(follower.breakCount == 2)
            #expect(farthest < 20e-6, "\(farthest)")
        }

        @Test("Two real streams of different clocks: the other card is heard without a break")
        func twoCards() async throws {
            let card = try Card("card17")
            let microphone = try Card("card18", isCapture: true, channels: 1...1)
            let input = AudioInput(channels: 1)
            let renderer = try Renderer(channels: 2) { context in
                context.run(input)
                context.output()
            }
            let output = ALSAOutput(
                renderer, device: "card17", inputDevice: "card18", period: 64, periods: 4, priority: 0)
            let events = Events(output)
            try output.start()
            var due = 0.0
            for _ in 0..<1000 {
                #expect(card.wait(256))
                let before = Int(due)
                due += 64 * 1.0005
                microphone.move(Int(due) - before)
                #expect(card.move(64) == 64)
            }
            #expect(card.wait(256))
            output.stop()
            #expect(events.count { if case .xruns = $0 { true } else { false } } == 0)
            // The card captures a ramp from 0 to 1: it rises by about 1/32768 a frame, and falls once a round.
            let played = card.played()[0].suffix(30_000)
            let rises = zip(played, played.dropFirst()).map { $1 - $0 }
            #expect(rises.count { abs($0 - 1 / 32_768) < 2e-6 } > 29_500)
        }
    }
}
