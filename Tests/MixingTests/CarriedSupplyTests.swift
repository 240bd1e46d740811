import Foundation
import RenderStack
import TestSupport
import Testing

@testable import Outputs
@testable import RenderCore
@testable import Supply

/// Inputs, MIDI and transport of an output reach renderers with another clock.
@Suite struct CarriedSupplyTests {
    /// A module that renders with another clock.
    enum Kind: Equatable {
        case converter(Double)
        case varispeed(Float)
        case stretch(rate: Float, cents: Float)
    }

    /// Makes a renderer with such a module, which runs a renderer with a loop of its own.
    private func renderer(_ kind: Kind, _ loop: @escaping RenderLoop) throws -> (outer: Renderer, inner: Renderer) {
        let inner = try Renderer(channels: 1, layout: StackLayout(frames: 300), loop)
        let layout = StackLayout(frames: 1_000)
        switch kind {
        case .converter(let rate):
            let module = RateConverter(inner, sampleRate: rate)
            return (
                try Renderer(channels: 1, layout: layout) {
                    $0.run(module); $0.output()
                }, inner
            )
        case .varispeed(let speed):
            let module = Varispeed(inner)
            module.speed.value = speed
            return (
                try Renderer(channels: 1, layout: layout) {
                    $0.run(module); $0.output()
                }, inner
            )
        case .stretch(let rate, let cents):
            let module = TimePitch(inner)
            (module.rate.value, module.pitch.value) = (rate, cents)
            return (
                try Renderer(channels: 1, layout: layout) {
                    $0.run(module); $0.output()
                }, inner
            )
        }
    }

    /// 1 kHz.
    private static let tone: @Sendable (Int, Int) -> Float = { _, frame in
        Float(0.5 * sin(Double(frame) * 2 * .pi / 48))
    }

    @Test(
        "An input is heard as late as the module says, and unchanged",
        arguments: [
            Kind.converter(48_000), .converter(44_100), .converter(96_000), .converter(11_025), .varispeed(1),
            .varispeed(0.5), .varispeed(2), .varispeed(1.3), .stretch(rate: 1, cents: 0),
        ])
    func delay(_ kind: Kind) throws {
        let input = AudioInput(channels: 1)
        let (outer, inner) = try renderer(kind) { context in
            context.run(input)
            context.output()
        }
        #expect(outer.inputs.map { ObjectIdentifier($0) } == [ObjectIdentifier(input)])
        let late = try #require(outer.latencies(from: input)).upperBound
        let frames = 30_000
        let sound = SupplyDriver(input: input, sound: Self.tone).drive(outer, cycles: [256, 77], frames: frames).sound[
            0]
        #expect(outer.faultCount == 0 && inner.faultCount == 0 && input.isConnected)
        let settled = 20_000..<frames
        func error(_ delay: Double) -> Float {
            var most: Float = 0
            for n in settled {
                let expected = Float(0.5 * sin((Double(n) - delay) * 2 * .pi / 48))
                most = max(most, abs(sound[n] - expected))
            }
            return most
        }
        switch kind {
        case .converter(48_000):
            #expect(late == 0 && sound == (0..<frames).map { Self.tone(0, $0) })
        case .converter, .varispeed(1):
            #expect(error(Double(late)) < 1.2e-3, "\(late)")
        case .stretch:
            let fit = SineFit(sound[settled], frequency: 1.0 / 48, from: settled.lowerBound)
            #expect(error(Double(late)) < 1.2e-3, "\(late), \(fit)")
        case .varispeed(let speed):
            // Its own filter's delay is one of the inner clock.
            let expected = Double(late - 224) + 224 / Double(speed)
            #expect(error(expected) < 1.2e-3, "\(expected)")
        }
    }

    @Test(
        "The length of the cycles changes nothing, also while the speed glides",
        arguments: [
            Kind.converter(44_100), .converter(48_000), .converter(8_000), .varispeed(1.7),
            .stretch(rate: 1, cents: 500),
            .stretch(rate: 1.4, cents: 0),
        ])
    func cycles(_ kind: Kind) throws {
        func run(_ cycles: [Int]) throws -> (sound: [[Float]], sent: [MIDIEvent], seen: [SIMD2<Int64>]) {
            let (input, keys, port) = (AudioInput(channels: 1), MIDIInput(), MIDIOutput())
            let heard = MessagePort<SIMD2<Int64>>(capacity: 1_024)
            let (outer, inner) = try renderer(kind) { context in
                context.run(input)
                context.output()
                context.forEachEvent(from: keys) { event, context in
                    heard.send([context.sampleTime + Int64(event.frame), 0])
                    context.send(event.message, at: event.frame, to: port)
                }
            }
            var driver = SupplyDriver(input: input, keys: keys, port: port, sound: Self.tone)
            driver.notes = [0, 100, 101, 999, 5_000, 7_777, 7_777]
            if case .varispeed = kind {
                let module = outer.modules.compactMap { $0 as? Varispeed }[0]
                try outer.transaction(at: .sample(4_000)) { module.speed.value = 0.4 }
            }
            let (sound, sent) = driver.drive(outer, cycles: cycles, frames: 20_000)
            #expect(outer.faultCount == 0 && inner.faultCount == 0)
            var seen: [SIMD2<Int64>] = []
            heard.drain { seen.append($0) }
            return (sound, sent, seen)
        }
        let whole = try run([1_000])
        #expect(whole.sent.count == 7 && whole.seen.count == 7)
        for cycles in [[1], [64], [1_000, 3, 77], [20_000]] {
            let other = try run(cycles)
            #expect(
                (other.sound == whole.sound) as Bool, "\(cycles): \(largestDifference(other.sound[0], whole.sound[0]))")
            #expect(other.seen == whole.seen && other.sent == whole.sent, "\(cycles)")
        }
    }

    @Test(
        "A note sounds with the input that came in with it",
        arguments: [
            Kind.converter(48_000), .converter(44_100), .converter(96_000), .varispeed(1), .varispeed(0.5),
            .varispeed(3),
            .stretch(rate: 1, cents: 0), .stretch(rate: 1, cents: 700),
        ])
    func together(_ kind: Kind) throws {
        let (input, keys, port) = (AudioInput(channels: 1), MIDIInput(), MIDIOutput())
        let (outer, _) = try renderer(kind) { context in
            context.run(input)
            context.output()
            context.forEachEvent(from: keys) { event, context in
                context.send(event.message, at: event.frame, to: port)
            }
        }
        var driver = SupplyDriver(input: input, keys: keys, port: port)
        driver.sound = { _, frame in frame == 3_000 ? 1 : 0 }
        driver.notes = [3_000]
        let (sound, sent) = driver.drive(outer, cycles: [256], frames: 20_000)
        let loudest = sound[0].indices.max { abs(sound[0][$0]) < abs(sound[0][$1]) }
        #expect(sent.count == 1)
        let late = try #require(outer.latencies(from: input)).upperBound
        if case .stretch = kind {
            #expect(abs((sent.first?.frame ?? 0) - (loudest ?? 0)) < 400, "\(sent), \(loudest ?? 0), \(late)")
        } else {
            #expect(abs((sent.first?.frame ?? 0) - (loudest ?? 0)) <= 2, "\(sent), \(loudest ?? 0)")
        }
    }

    @Test(
        "An input is heard at its own pitch through a changed speed, and at that of the module through another pitch",
        arguments: [
            (Kind.varispeed(0.5), 1_000.0), (.varispeed(3), 1_000), (.stretch(rate: 1, cents: 1_200), 2_000),
            (.stretch(rate: 2, cents: 0), 500), (.stretch(rate: 0.5, cents: 0), 2_000),
        ])
    func pitch(_ kind: Kind, _ frequency: Double) throws {
        let input = AudioInput(channels: 1)
        let (outer, _) = try renderer(kind) { context in
            context.run(input)
            context.output()
        }
        let sound = SupplyDriver(input: input, sound: Self.tone).drive(outer, cycles: [512], frames: 96_000).sound[0]
        let fit = SineFit(sound[48_000...], frequency: frequency / 48_000, from: 48_000)
        #expect(fit.amplitude > 0.48, "\(fit.amplitude)")
        let level = sound.suffix(48_000).reduce(0) { max($0, abs($1)) }
        #expect(abs(level - 0.5) < 0.03, "\(level)")
    }

    @Test("The transport inside is where the outer one will be when it is heard, in frames of the inner clock")
    func transport() throws {
        let heard = MessagePort<SIMD2<Int64>>(capacity: 4_096)
        let (outer, _) = try renderer(.converter(96_000)) { context in
            heard.send([context.sampleTime, context.transport.frame])
        }
        _ = SupplyDriver(input: AudioInput()).drive(outer, cycles: [256, 77], frames: 3_000)
        var seen: [SIMD2<Int64>] = []
        heard.drain { seen.append($0) }
        #expect(seen.count > 10)
        // From the first frame that is heard on, the two run side by side.
        for moment in seen.dropFirst(3) {
            #expect(abs(moment[1] - moment[0] - (seen[3][1] - seen[3][0])) <= 2, "\(seen)")
        }
    }

    @Test("An input that a new loop brings is heard soon", arguments: [Kind.converter(44_100), .varispeed(1)])
    func late(_ kind: Kind) async throws {
        let input = AudioInput(channels: 1)
        let (outer, inner) = try renderer(kind) { _ in }
        let driver = SupplyDriver(input: input, sound: Self.tone)
        _ = driver.drive(outer, cycles: [256], frames: 1_000)
        try inner.replaceLoop { context in
            context.run(input)
            context.output()
        }
        #expect(outer.inputs.count == 1)
        #expect(
            await becomesTrue {
                driver.drive(outer, cycles: [256], frames: 1_000).sound[0].contains { abs($0) > 0.1 }
                    && input.isConnected
            })
    }

    @Test("Where no output brings sound the input is silent, and where it comes again it is heard")
    func gap() throws {
        let input = AudioInput(channels: 1)
        let (outer, _) = try renderer(.converter(44_100)) { context in
            context.run(input)
            context.output()
        }
        let driver = SupplyDriver(input: input, sound: Self.tone)
        let first = driver.drive(outer, cycles: [256], frames: 4_800).sound[0]
        let rest = outer.renderOffline(frames: 4_800)
        #expect(!input.isConnected && rest.array(0).suffix(4_000).allSatisfy { $0 == 0 })
        let again = driver.drive(outer, cycles: [256], frames: 4_800).sound[0]
        #expect(first.suffix(2_000).contains { abs($0) > 0.49 } && again.suffix(2_000).contains { abs($0) > 0.49 })
        #expect(again.allSatisfy { abs($0) < 0.52 }, "\(again.map { abs($0) }.max() ?? 0)")
    }

    @Test(
        "Rates that are far apart trap nothing, and leave no sample that is not finite",
        arguments: [1.0, 100, 1_000_000])
    func extremes(rate: Double) throws {
        for outerRate in [48_000.0, 1_000, 1_000_000] {
            let (input, keys, port) = (AudioInput(channels: 1), MIDIInput(), MIDIOutput())
            let (outer, _) = try renderer(.converter(rate)) { context in
                context.run(input)
                context.output()
                context.forEachEvent(from: keys) { event, context in
                    context.send(event.message, at: event.frame, to: port)
                }
            }
            outer.configure(sampleRate: outerRate)
            var driver = SupplyDriver(input: input, keys: keys, port: port, sound: Self.tone)
            driver.notes = [0, 500, 999]
            let sound = driver.drive(outer, cycles: [256, 1_000], frames: 2_000).sound[0]
            #expect(sound.allSatisfy { abs($0) < 1.1 })
            #expect((outer.latencies(from: input)?.lowerBound ?? -1) >= 0)
        }
    }

    @Test("After a rate at which an input is heard in pieces it is as late as the module says again, at once")
    func pieces() throws {
        let input = AudioInput(channels: 1)
        let (outer, _) = try renderer(.stretch(rate: 0.05, cents: 0)) { context in
            context.run(input)
            context.output()
        }
        let module = outer.modules.compactMap { $0 as? TimePitch }[0]
        try outer.transaction(at: .sample(48_000)) { module.rate.value = 1 }
        var driver = SupplyDriver(input: input)
        driver.sound = { $1 == 90_000 ? 1 : 0 }
        let sound = driver.drive(outer, cycles: [256], frames: 110_000).sound[0]
        let loudest = sound.indices.max { abs(sound[$0]) < abs(sound[$1]) } ?? 0
        let late = try #require(outer.latencies(from: input)).upperBound
        // The lateness of the stretch itself depends on the rates before.
        #expect(abs(loudest - 90_000 - late) < 6_000 && abs(sound[loudest]) > 0.5, "\(loudest - 90_000), \(late)")
    }

    @Test("An input of a whole device that has other channels meanwhile is heard in those that it was made with")
    func otherChannels() async throws {
        let input = AudioInput.wholeDevice()
        input.settle(channels: 32)
        let (outer, _) = try renderer(.varispeed(1)) { context in
            context.run(input)
            context.output()
        }
        let driver = SupplyDriver(input: input, sound: Self.tone)
        _ = driver.drive(outer, cycles: [256], frames: 1_000)
        for channels in [2, 64, 1] {
            input.settle(channels: channels)
            #expect(
                await becomesTrue {
                    driver.drive(outer, cycles: [256], frames: 1_000).sound[0].contains { abs($0) > 0.4 }
                })
        }
    }

    @Test("The memory of an output's inputs knows when a whole device has other channels, 64 and more included")
    func current() {
        for (before, after) in [(64, 2), (2, 64), (63, 64), (1, 2)] {
            let (whole, voice) = (AudioInput.wholeDevice(), AudioInput(channels: 8))
            whole.settle(channels: before)
            let memory = CycleInputs([voice, whole], frames: 0)
            let (was, count) = (memory.isCurrent, memory.channelCount)
            whole.settle(channels: after)
            let isStill = memory.isCurrent
            #expect(was && !isStill && count == 8 + before)
        }
        let (whole, voice) = (AudioInput.wholeDevice(), AudioInput(channels: 8))
        CycleInputs.settle([voice, whole], on: 32)
        #expect(whole.channelCount == 24 && voice.channelCount == 8)
        CycleInputs.settle([voice, whole], on: 0)
        CycleInputs.settle([voice], on: 64)
        #expect(whole.channelCount == 24)
        CycleInputs.settle([voice, whole], on: 3)
        #expect(whole.channelCount == 1)
    }

    @Test("Numbers that are none stay in their frames")
    func notANumber() throws {
        let input = AudioInput(channels: 1)
        let (outer, _) = try renderer(.varispeed(0.7)) { context in
            context.run(input)
            context.output()
        }
        var driver = SupplyDriver(input: input)
        driver.sound = { $1 == 1_000 ? .nan : $1 == 1_500 ? .infinity : Self.tone($0, $1) }
        let sound = driver.drive(outer, cycles: [256], frames: 12_000).sound[0]
        #expect(sound.allSatisfy { $0.isFinite } && sound.suffix(4_000).contains { abs($0) > 0.4 })
    }
}
