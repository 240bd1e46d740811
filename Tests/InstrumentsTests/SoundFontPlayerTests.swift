import Foundation
import RenderStack
import RenderStackTesting
import TestSupport
import Testing

/// Sends messages to a player, each on its frame.
final class FrameSender: Module, @unchecked Sendable {
    // Unchecked because only the render thread writes, while the test waits.
    private let messages: [(frame: Int, message: MIDIMessage)]
    private let player: SoundFontPlayer
    private var next = 0

    var stackEffect: StackEffect { StackEffect(pops: 0, pushes: 0) }

    init(_ messages: [(Int, MIDIMessage)], to player: SoundFontPlayer) {
        let sorted = messages.enumerated().sorted { ($0.element.0, $0.offset) < ($1.element.0, $1.offset) }
        self.messages = sorted.map { ($0.element.0, $0.element.1) }
        self.player = player
    }

    func process(_ context: inout RenderContext) {
        if context.isDryRun { return }
        while next < messages.count {
            let frame = messages[next].frame - Int(context.sampleTime)
            guard frame < context.frameCount else { return }
            _ = player.send(messages[next].message, inFrame: max(frame, 0), context)
            next += 1
        }
    }
}

/// A renderer that plays messages at their frames.
func rendered(
    _ font: SoundFont, _ messages: [(Int, MIDIMessage)], frames: Int, cycles: [Int] = [512], voices: Int = 64,
    quality: SoundFontPlayer.Quality = .standard
) throws -> [[Float]] {
    let player = SoundFontPlayer(font, voices: voices, quality: quality)
    let sender = FrameSender(messages, to: player)
    let renderer = try Renderer(channels: 2) { context in
        context.run(sender)
        context.run(player)
        context.output()
    }
    return render(renderer, frames: frames, cycles: cycles)
}

func on(_ note: UInt8, _ velocity: UInt8 = 127, channel: UInt8 = 0) -> MIDIMessage {
    .noteOn(channel: channel, note: note, velocity: velocity)
}

func off(_ note: UInt8, channel: UInt8 = 0) -> MIDIMessage { .noteOff(channel: channel, note: note, velocity: 64) }

func peak(_ samples: some Sequence<Float>) -> Float { samples.reduce(0) { max($0, abs($1)) } }

@Suite struct SoundFontPlayerTests {
    @Test("A sine has its pitch, its level and its frame, and the bend, the scale and the tuning act")
    func pitch() throws {
        let font = try SoundFont(bytes: FontMaker.sine([(48, 100), (52, 30)]).bytes)
        let amplitude: Double = 20_000 / 32_768 * 0.1909 * 0.5.squareRoot()
        let loud = 20 * log10(amplitude) + 1.505 - 4
        for (note, cents, more) in [
            (UInt8(69), 30.0, [(0, MIDIMessage.controller(channel: 0, number: 7, value: 127))]),
            (81, 1_230, []), (57, -1_170, []), (69, 130, [(0, .bend(channel: 0, value: 4_096))]),
            (
                69, 42.5,
                [
                    (0, .controller(channel: 0, number: 101, value: 0)),
                    (0, .controller(channel: 0, number: 100, value: 1)),
                    (0, .controller(channel: 0, number: 6, value: 72)),
                    (0, .controller(channel: 0, number: 7, value: 127)),
                ]
            ),
        ] {
            let heard = try rendered(font, more + [(1_000, on(note))], frames: 30_000)[0]
            #expect(peak(heard[..<1_000]) == 0 && heard[1_001] != 0)
            let fit = SineFit(heard[10_000...], frequency: 480 * exp2(cents / 1_200) / 48_000, from: 10_000)
            #expect(fit.signalToNoise > 40, "\(note): \(fit.signalToNoise) dB")
            let volume = more.contains { $0.1 == .controller(channel: 0, number: 7, value: 127) } ? 0 : -4.15
            #expect(abs(20 * log10(fit.amplitude) - loud - volume) < 0.1, "\(note): \(20 * log10(fit.amplitude))")
        }
    }

    @Test("However the cycles are cut, every bit is the same", arguments: [SoundFontPlayer.Quality.standard, .fine])
    func cycles(quality: SoundFontPlayer.Quality) throws {
        var maker = FontMaker.sine([
            (5, 40), (6, 30), (7, 200), (8, 7_000), (9, 80), (10, 600), (11, 2_400), (13, 30), (17, 120), (26, -3_000),
            (28, -1_200), (29, 500), (34, -6_000), (36, -1_000), (37, 200), (38, -2_400),
        ])
        maker.instruments[0].append(.init(generators: [(17, -400), (54, 3), (57, 1)], target: 0))
        let font = try SoundFont(bytes: maker.bytes)
        var messages: [(Int, MIDIMessage)] = []
        for step in 0..<40 {
            let note = UInt8(50 + step * 7 % 30)
            messages += [(step * 397, on(note, UInt8(40 + step))), (step * 397 + 1_501, off(note))]
            messages.append((step * 311 + 5, .bend(channel: 0, value: Int16(step * 300 - 6_000))))
            messages.append((step * 401 + 9, .controller(channel: 0, number: 1, value: UInt8(step * 3))))
            if step % 9 == 4 { messages.append((step * 397 + 3, .controller(channel: 0, number: 64, value: 127))) }
            if step % 9 == 7 { messages.append((step * 397 + 3, .controller(channel: 0, number: 64, value: 0))) }
        }
        let first = try rendered(font, messages, frames: 18_000, voices: 12, quality: quality)
        #expect(peak(first[0]) > 0.05)
        for cycles in cycleLengths where cycles != [512] {
            let again = try rendered(font, messages, frames: 18_000, cycles: cycles, voices: 12, quality: quality)
            #expect(again == first, "\(cycles)")
        }
    }

    @Test("It keeps the contract of a module, with the sends too", .notSanitized(ContractPart.allocation.isPossible))
    func contract() throws {
        let font = try SoundFont(bytes: FontMaker.sine().bytes)
        for sends in [SoundFontPlayer.Sends.none, .reverbAndChorus] {
            let contract = ModuleContract {
                let player = SoundFontPlayer(font, voices: 4, sends: sends)
                player.send(on(60))
                return player
            }
            .leavingOut(.reset, because: "it is silent after a reset")
            #expect(contract.violations() == [])
        }
    }

    @Test("Envelopes take their times: attack, hold, decay, sustain, release")
    func envelope() throws {
        // 0.1 s, 0.05 s, 96 dB in 1 s, 12 dB below the top, 96 dB in 0.5 s.
        let font = try SoundFont(
            bytes: FontMaker.sine([(34, -3_986), (35, -5_186), (36, 0), (37, 125), (38, -1_200)]).bytes)
        let heard = try rendered(font, [(0, on(69)), (24_000, off(69))], frames: 48_000)[0]
        func level(_ frame: Int) -> Double { 20 * log10(Double(peak(heard[frame..<frame + 100]))) }
        let top = level(6_000)
        #expect(abs(level(2_350) - top + 6) < 0.3)
        #expect(abs(level(7_050) - top) < 0.05)
        #expect(abs(level(7_200 + 2_350) - top + 4.7) < 0.3)
        #expect(abs(level(20_000) - top + 12) < 0.1)
        #expect(abs(level(24_000 + 4_750) - top + 12 + 19.1) < 0.4)
        #expect(heard[45_000...].allSatisfy { $0 == 0 })
    }

    @Test("Zones may raise the level, a wave may not, and what is let go in its attack goes on from there")
    func bounds() throws {
        let plain = try rendered(SoundFont(bytes: FontMaker.sine().bytes), [(0, on(69))], frames: 9_600)[0]
        let raised = try rendered(SoundFont(bytes: FontMaker.sine([(48, -100)]).bytes), [(0, on(69))], frames: 9_600)[0]
        // A hundred centibels of a zone are four decibels, as sound cards have it.
        #expect(abs(20 * log10(Double(peak(raised) / peak(plain))) - 4) < 0.05)
        let tremolo = try SoundFont(bytes: FontMaker.sine([(13, 200), (22, -725)]).bytes)
        let heard = try rendered(tremolo, [(0, on(69))], frames: 24_000)[0]
        #expect(peak(heard) < peak(plain) * 1.001)
        #expect((0..<10).contains { peak(heard[2_400 * $0..<2_400 * $0 + 240]) < peak(plain) / 4 })
        // No filter goes below 1,500 cents, 19.4 Hz: 480 Hz is 55.7 dB down there, and not to be found below -90.
        let dark = try rendered(SoundFont(bytes: FontMaker.sine([(8, 200)]).bytes), [(0, on(69))], frames: 48_000)[0]
        let left = SineFit(dark[24_000...], frequency: 480.0 / 48_000, from: 0).amplitude / Double(peak(plain))
        #expect(abs(20 * log10(left) + 55.7) < 0.3, "\(20 * log10(left))")
        // An octave up in 2 s, on a curve that is at 0.75 after a quarter of the time.
        let sweep = try SoundFont(bytes: FontMaker.sine([(7, 1_200), (26, 1_200), (30, 2_400), (38, 1_200)]).bytes)
        let swept = try rendered(sweep, [(0, on(69)), (24_000, off(69))], frames: 28_800)[0][24_100..<26_500]
        let turns = zip(swept, swept.dropFirst()).count { $0 <= 0 && $1 > 0 }
        #expect((38...42).contains(turns), "\(turns)")
    }

    @Test("Voices of a class end each other, pedals hold, notes of no length sound, a stolen voice fades")
    func notes() throws {
        let font = try SoundFont(bytes: FontMaker.sine([(57, 3), (38, -3_000)]).bytes)
        let choked = try rendered(font, [(0, on(69)), (4_800, on(73))], frames: 14_400)[0]
        let fit = SineFit(choked[9_600...], frequency: 480 * exp2(4.0 / 12) / 48_000, from: 9_600)
        #expect(fit.signalToNoise > 40)
        let plain = try SoundFont(bytes: FontMaker.sine([(38, -7_000)]).bytes)
        let pedal = try rendered(
            plain,
            [
                (0, .controller(channel: 0, number: 64, value: 127)), (0, on(69)), (100, off(69)),
                (9_600, .controller(channel: 0, number: 64, value: 0)),
            ], frames: 24_000)[0]
        #expect(peak(pedal[9_000..<9_600]) > 0.05 && peak(pedal[14_400...]) == 0)
        let short = try rendered(plain, [(0, on(69)), (0, off(69))], frames: 4_800)[0]
        #expect(peak(short) > 0.05)
        let notes = (0..<40).map { (step: Int) in (step * 200, on(UInt8(40 + step))) }
        let stolen = try rendered(plain, notes, frames: 9_600, voices: 2)[0]
        let step = zip(stolen, stolen.dropFirst()).map { abs($0 - $1) }.max() ?? 0
        #expect(step < 0.05, "\(step)")
        let silenced = try rendered(
            plain, [(0, on(69)), (4_800, .controller(channel: 0, number: 120, value: 0))], frames: 9_600)[0]
        #expect(peak(silenced[5_200...]) == 0)
    }

    @Test("Banks, programs and drums choose their presets; modulators of the font act")
    func presets() throws {
        var maker = FontMaker.sine()
        maker.instruments = (0..<4).map { [.init(generators: [(54, 1), (51, 12 * $0 - 12)], target: 0)] }
        maker.presets = [
            (0, 0, [.init(target: 0)]), (0, 5, [.init(target: 1)]), (8, 5, [.init(target: 2)]),
            (128, 0, [.init(target: 3)]),
        ]
        let font = try SoundFont(bytes: maker.bytes)
        #expect(font.presets.map(\.bank) == [0, 0, 8, 128])
        let program = MIDIMessage.program(channel: 0, number: 5)
        let bank = MIDIMessage.controller(channel: 0, number: 0, value: 8)
        let none = MIDIMessage.program(channel: 0, number: 99)
        for (messages, octave) in [
            ([(0, on(69))], -1), ([(0, program), (0, on(69))], 0), ([(0, bank), (0, program), (0, on(69))], 1),
            ([(0, on(69, channel: 9))], 2), ([(0, none), (0, on(69))], -1),
        ] as [([(Int, MIDIMessage)], Double)] {
            let heard = try rendered(font, messages, frames: 9_600)[0]
            #expect(SineFit(heard[4_800...], frequency: 480 * exp2(octave) / 48_000, from: 0).signalToNoise > 30)
        }
        // A controller turns the pitch up by an octave.
        let bent = try SoundFont(bytes: FontMaker.sine(modulators: [(0x94, 52, 1_200, 0, 0)]).bytes)
        let heard = try rendered(
            bent, [(0, on(69)), (4_800, .controller(channel: 0, number: 20, value: 127))], frames: 14_400)[0]
        #expect(SineFit(heard[9_600...], frequency: 960.0 / 48_000, from: 0).signalToNoise > 30)
    }

    @Test("Samples from the disk sound as those in memory, bit for bit, looped and not")
    func streaming() throws {
        var maker = FontMaker.sine()
        let long = (0..<150_000).map { Int16(truncatingIfNeeded: ($0 &* 7_919) >> 3) }
        for (loop, mode) in [(0..<0, 0), (40_000..<90_000, 1), (1_000..<20_000, 1), (120_000..<149_000, 1)] {
            maker.samples = [.init(samples: long, loop: loop)]
            maker.instruments = [[.init(generators: [(54, mode), (0, 100)], target: 0)]]
            let memory = try SoundFont(bytes: maker.bytes)
            let disk = try SoundFont(bytes: maker.bytes, streamingAbove: 10_000)
            #expect(disk.memorySize < 70_000 && memory.memorySize >= 300_000)
            let messages = [(0, on(69)), (50, on(76)), (100_000, on(45)), (5, on(93, 20))]
            let expected = try rendered(memory, messages, frames: 200_000)
            for cycles in [[64, 3_000], [512]].prefix(extent(2, inDebug: 1)) {
                #expect(try rendered(disk, messages, frames: 200_000, cycles: cycles) == expected)
            }
        }
    }

    @Test("The sends have their parts of each voice; a MIDI output gets each message on its frame")
    func sends() throws {
        let font = try SoundFont(bytes: FontMaker.sine([(16, 500), (15, 250)]).bytes)
        let player = SoundFontPlayer(font, sends: .reverbAndChorus)
        player.send(.controller(channel: 0, number: 91, value: 0))
        player.send(on(69))
        let levels = (0..<3).map { _ in LevelMeter() }
        let renderer = try Renderer(channels: 2) { context in
            context.run(player)
            context.run(levels[2])
            context.pop()
            context.run(levels[1])
            context.pop()
            context.run(levels[0])
            context.output()
        }
        _ = render(renderer, frames: 48_000)
        let (sound, reverb, chorus) = (levels[0].combined.peak, levels[1].combined.peak, levels[2].combined.peak)
        #expect(abs(sound - reverb - 3.01) < 0.1 && abs(reverb - chorus - 6.02) < 0.1)
    }
}
