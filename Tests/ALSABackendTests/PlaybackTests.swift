import Glibc
import RenderStack
import Synchronization
import TestSupport
import Testing

@testable import ALSABackend

extension ALSATests {
    @Suite struct PlaybackTests {
        @Test("Every frame is played once, in order, after a buffer of silence", arguments: ALSAAccess.allCases)
        func frames(_ access: ALSAAccess) throws {
            let card = try Card("card0", accesses: [access])
            let player = try Player(card)
            try player.output.start()
            #expect(player.output.state == .running)
            #expect(player.output.configuration?.access == access)
            #expect(player.play(100))
            player.output.stop()
            #expect(player.output.state == .stopped)
            let played = card.played()
            #expect(played[0].count == 6400)
            #expect(played[0].prefix(256).allSatisfy { $0 == 0 })
            let expected = (0..<Int64(6144)).map { FrameCounter.sample($0) }
            #expect(Array(played[0].dropFirst(256)) == expected)
            #expect(Array(played[1].dropFirst(256)) == expected.map { $0 + 0.5 })
            #expect(player.renderer.faultCount == 0)
        }

        @Test("It starts again where it stopped; stopping and starting twice is once")
        func again() throws {
            let card = try Card("card0")
            let player = try Player(card)
            for turn in 1...5 {
                try player.output.start()
                try player.output.start()
                #expect(player.play(10))
                player.output.stop()
                player.output.stop()
                #expect(card.ask(.isOpen) == 0)
                #expect(player.renderer.sampleTime == Int64(turn * 10 * 64))
            }
        }

        @Test("The configuration says what the card gave, and an event says how that differs from the request")
        func negotiation() async throws {
            let card = try Card("card1", formats: [.int16], rates: 44_100...44_100, channels: 4...8)
            let player = try Player(card)
            try player.output.start()
            let got = try #require(player.output.configuration)
            #expect(got.sampleRate == 44_100)
            #expect(got.channelCount == 4)
            #expect(got.format == .int16)
            #expect(got.period == 64)
            #expect(got.bufferSize == 256)
            #expect(player.renderer.sampleRate == 44_100)
            #expect(player.play(3))
            #expect(
                await becomesTrue {
                    player.events.all.contains(.notice("The device runs at 44100.0 Hz and not at 48000.0 Hz."))
                })
            player.output.stop()
        }

        @Test(
            "Each format: samples are those of the formula, and clipped ones are counted",
            arguments: ALSAFormat.allCases)
        func formats(_ format: ALSAFormat) throws {
            let values: [Float] = [0, 0.5, -0.5, 1, -1, 1.5, -2, 0x1p-15, -0x1p-15, 0.123456, .nan, 1e30]
            let writer = SampleWriter(format: format, isDithered: false)
            let bytes = format.byteCount
            var memory = [UInt8](repeating: 0xAA, count: values.count * bytes * 2)
            let clipped = memory.withUnsafeMutableBytes { memory in
                unsafe writer.write(
                    values, count: values.count, to: memory.baseAddress!, step: 2 * bytes, number: 0, numberStep: 1)
            }
            let bits = [ALSAFormat.int32: 32, .int24: 24, .int24Packed: 24, .int16: 16][format]
            for (index, value) in values.enumerated() {
                let sample = memory[(index * 2 * bytes)..<(index * 2 * bytes + bytes)]
                #expect(memory[(index * 2 * bytes + bytes)..<((index * 2 + 2) * bytes)].allSatisfy { $0 == 0xAA })
                let word = sample.reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
                guard let bits else {
                    #expect(word == value.bitPattern)
                    continue
                }
                let scale = Double(sign: .plus, exponent: bits - 1, significand: 1)
                let wanted =
                    value.isNaN ? 0 : max(-scale, min(scale - 1, (Double(value) * scale).rounded(.toNearestOrEven)))
                let shift = UInt32(32 - min(32, 8 * bytes))
                #expect(Int32(bitPattern: word << shift) >> shift == Int32(wanted))
            }
            #expect(clipped == (format == .float32 ? 0 : 4))
            // And back.
            var back = [Float](repeating: 0, count: values.count)
            memory.withUnsafeBytes { memory in
                unsafe writer.read(memory.baseAddress!, step: 2 * bytes, count: values.count, into: &back)
            }
            for (value, returned) in zip(values, back) where abs(value) <= 1 {
                #expect(abs(value - returned) <= (bits == 16 ? 0x1p-15 : 0x1p-22))
            }
        }

        @Test("16 bits are dithered only if asked, and the dither has the variance of a triangle of two steps")
        func dither() {
            let count = 100_000
            let silence = [Float](repeating: 0, count: count)
            for isDithered in [false, true] {
                var memory = [Int16](repeating: 7, count: count)
                memory.withUnsafeMutableBytes { memory in
                    _ = unsafe SampleWriter(format: .int16, isDithered: isDithered).write(
                        silence, count: count, to: memory.baseAddress!, step: 2, number: 0, numberStep: 1)
                }
                if isDithered {
                    // Rounded triangular noise over ±1: P(±1) = 1/8 each.
                    let power = memory.reduce(0.0) { $0 + Double($1) * Double($1) } / Double(count)
                    #expect(abs(power - 0.25) < 0.01)
                    #expect(memory.allSatisfy { abs($0) <= 1 })
                } else {
                    #expect(memory.allSatisfy { $0 == 0 })
                }
            }
        }

        @Test("Host times are those at which a frame is heard: what is queued, and what the card adds")
        func latency() throws {
            for isCompensated in [true, false] {
                let card = try Card("card2")
                card.setDelay(100)
                defer { card.setDelay(0) }
                let player = try Player(card) { $0.compensatesLatency = isCompensated }
                try player.output.start()
                #expect(player.play(10))
                let time = try #require(player.renderer.lastRenderTime)
                player.output.stop()
                // The last cycle was rendered when ten periods had been played: three are queued before it.
                let now = 1_000_000_000 + Int64(640 * 1e9 / 48_000)
                let late = isCompensated ? Int64((3 * 64 + 100) * 1e9 / 48_000) : 0
                #expect(abs(time - now - late) <= 2)
            }
        }

        @Test("Host times are compensated or not while it plays; the latency is read, and told when it changes")
        func switching() async throws {
            let card = try Card("card2")
            card.setDelay(100)
            defer { card.setDelay(0) }
            let player = try Player(card)
            #expect(player.output.playbackLatency == 0 && player.output.compensatesLatency)
            try player.output.start()
            #expect(player.play(10))
            for isCompensated in [true, false, true, false] {
                player.output.compensatesLatency = isCompensated
                #expect(player.play(2))
                let time = try #require(player.renderer.lastRenderTime)
                let late = isCompensated ? Int64((3 * 64 + 100) * 1e9 / 48_000) : 0
                #expect(abs(time - player.clock.now - late) <= 2, "\(isCompensated)")
            }
            #expect(player.output.playbackLatency == 3 * 64 + 100 && player.output.captureLatency == 0)
            // The first is no news, nor is one that wavers a little.
            let start = HostClock.now
            while HostClock.now - start < 700_000_000 { #expect(player.play(1)) }
            card.setDelay(120)
            let second = HostClock.now
            while HostClock.now - second < 700_000_000 { #expect(player.play(1)) }
            let told = player.events.all.filter { if case .latencyChanged = $0 { true } else { false } }
            #expect(told == [])
            card.setDelay(500)
            let news = OutputEvent.latencyChanged(playback: 3 * 64 + 500, capture: 0)
            #expect(await becomesTrue { player.play(1) && player.events.all.contains(news) })
            // A gap is as long as it is, whenever the compensation was switched.
            player.output.compensatesLatency = true
            #expect(player.play(4))
            card.set(.xrun)
            player.output.compensatesLatency = false
            #expect(player.play(8))
            #expect(
                await becomesTrue {
                    player.play(1) && player.events.all.contains { if case .gap = $0 { true } else { false } }
                })
            for case .gap(let frames, _) in player.events.all { #expect(frames <= 256, "\(frames)") }
            player.output.stop()
            #expect(player.output.playbackLatency == 3 * 64 + 500)
        }

        @Test(
            "A card that moves while it is asked how late it is is no later for that", arguments: [false, true])
        func movesWhenAsked(isCapture: Bool) throws {
            let card = try Card("card2", isCapture: isCapture)
            card.setDelay(100)
            defer { card.setDelay(0) }
            let settings = ALSASettings(
                device: "card2", inputDevice: nil, inputs: [], period: 64, periods: 4, isDithered: false, priority: 0,
                lossPolicy: .wait, compensatesLatency: true)
            let stream = try ALSAStream("card2", isCapture: isCapture, rate: 48_000, channels: 2, settings: settings)
            #expect(stream.prepare() == 0)
            if !isCapture { #expect(stream.fillWithSilence() == 0) }
            #expect(stream.start() == 0)
            for _ in 0..<3 {
                card.moveWhenAsked(64)
                stream.measureDelay()
                #expect(stream.extraDelay == 100)
            }
        }

        @Test("A device that is not there, busy, or unsuitable: a sentence says what to do, and nothing runs")
        func refused() throws {
            let card = try Card("card3")
            let output = ALSAOutput(Renderer(), device: "there-is-none")
            let error = #expect(throws: ALSAError.self) { try output.start() }
            #expect(error == .noDevice(name: "there-is-none"))
            #expect(output.state == .stopped)
            card.set(.busy)
            let player = try Player(card)
            let busy = #expect(throws: ALSAError.self) { try player.output.start() }
            #expect(try #require(busy).description.hasPrefix("The sound device \"card3\" is in use"))
            card.set(.none)
            card.allow(formats: [.int16], accesses: [.copiedInterleaved], rates: 48_000...48_000, channels: 2...2)
            let picky = try Player(card) { $0.format = .float32 }
            #expect(throws: ALSAError.unsuitable(name: "card3", what: "32-bit float")) { try picky.output.start() }
            #expect(card.ask(.isOpen) == 0)
        }
    }
}
