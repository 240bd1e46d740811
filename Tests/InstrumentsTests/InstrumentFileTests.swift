import Foundation
import RenderStack
import TestSupport
import Testing

@Suite struct InstrumentFileTests {
    private func sentence(_ bytes: [UInt8]) -> String {
        do {
            _ = try SoundFont(bytes: bytes)
            return ""
        } catch { return "\(error)" }
    }

    @Test("Bad SoundFonts get a sentence with the place in the file")
    func damaged() throws {
        let good = FontMaker.sine().bytes
        #expect(sentence([]).contains("begins with “RIFF”"))
        #expect(sentence(Array("RIFF0000WAVE".utf8)).contains("begins with “RIFF”"))
        #expect(sentence(Array(good.prefix(good.count / 2))).contains("and the file has"))
        #expect(sentence(Array(good.prefix(12))).contains("ends before its presets"))
        func place(_ name: String) -> Int {
            good.indices.first { good[$0...].starts(with: Array(name.utf8)) } ?? 0
        }
        var old = good
        old[place("ifil") + 8] = 1
        #expect(sentence(old).contains("version 1"))
        var bag = good
        bag[place("pbag") + 8] = 9
        #expect(sentence(bag).contains("at byte \(place("pbag") + 8), the zone 0 of the presets refers to entry 9"))
        var size = good
        size[place("inst") + 4] -= 1
        #expect(sentence(size).contains("“inst” ends in the middle of an entry"))
        var sample = good
        sample[place("shdr") + 8 + 27] = 0x7F
        #expect(try SoundFont(bytes: sample).notices.first?.contains("is left out") == true)
        var long = good
        long[place("INAM") + 4] = 100
        #expect(sentence(long).contains("“INAM” of 100 bytes goes beyond the end of its list"))
        // A hundred thousand lists without a name, each inside of the one before.
        let nested = (0..<100_000).reversed().flatMap { (depth: Int) -> [UInt8] in
            let name = Array("LIST".utf8)
            return name + FontMaker.long(4 + 12 * depth) + FontMaker.long(0)
        }
        #expect(sentence(FontMaker.chunk("RIFF", Array("sfbk".utf8) + nested)).contains("a list has no name"))
        for path in ["/nowhere/a.sf2", "/", "/dev/zero"] {
            #expect(throws: InstrumentFileError.self) { try SoundFont(path: path) }
        }
    }

    @Test("Any bytes at all get an answer, and what was read can be played")
    func fuzz() throws {
        // One round; for minutes in scripts/soak.
        let isSoak = ProcessInfo.processInfo.environment["RENDERSTACK_SOAK"] != nil
        let seconds = ProcessInfo.processInfo.environment["RENDERSTACK_RANDOM_SECONDS"].flatMap(Double.init) ?? 60
        let end = Date.now + (isSoak ? min(seconds, 600) : 0)
        var seed: UInt64 = 5
        repeat {
            try fuzzFonts(rounds: 400, seed: seed)
            try fuzzTexts(rounds: 400, seed: seed + 1)
            seed += 2
        } while Date.now < end
    }

    private func fuzzFonts(rounds: Int, seed: UInt64) throws {
        var random = SplitMix(state: seed)
        var maker = FontMaker.sine([(5, 50), (57, 1), (43, 0x7F00)], modulators: [(0x81, 52, 1_200, 0, 0)])
        maker.samples[0].samples.removeLast(4_000)
        maker.samples[0].loop = 100..<700
        maker.instruments[0].append(.init(generators: [(17, 200), (54, 3), (38, -2_000)], target: 0))
        maker.presets.append((128, 0, [.init(generators: [(52, 10)]), .init(target: 0)]))
        let good = maker.bytes
        // The lists are at the end, where a change matters most.
        let lists = good.count - 700..<good.count
        for round in 0..<rounds {
            var bytes = good
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let place = Int.random(in: Bool.random(using: &random) ? lists : 0..<good.count, using: &random)
                bytes[place] = UInt8.random(in: 0...255, using: &random)
            }
            if round % 5 == 0 { bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random)) }
            guard let font = try? SoundFont(bytes: bytes, streamingAbove: round % 3 == 0 ? 0 : 1 << 20) else {
                continue
            }
            let heard = try rendered(
                font,
                [
                    (0, on(60)), (10, on(69, channel: 9)), (20, .bend(channel: 0, value: 8_191)), (300, off(60)),
                    (310, on(127)), (320, on(0)), (330, .controller(channel: 0, number: 1, value: 127)),
                ], frames: 1_500, cycles: [500], voices: 8)
            #expect(heard[0].allSatisfy { $0.isFinite })
        }
    }

    private func fuzzTexts(rounds: Int, seed: UInt64) throws {
        var random = SplitMix(state: seed)
        let folder = try TemporaryFolder()
        try Data(Self.wave(channels: 2, frames: 300)).write(to: URL(fileURLWithPath: "\(folder.path)/a.wav"))
        let good = Array(
            """
            #define $K key
            <control> default_path=./ note_offset=0 <global> ampeg_release=0.1 <group> lovel=1 hivel=127
            <region> sample=a.wav $K=60 loop_mode=loop_continuous loop_start=10 loop_end=200 /* x */ cutoff=500
            <region> sample=a.wav lokey=c4 hikey=g#5 pitch_keycenter=60 trigger=release seq_length=2 // y
            """.utf8)
        for _ in 0..<rounds {
            var bytes = good
            for _ in 0..<Int.random(in: 1...5, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.remove(at: place)
                default: bytes.insert(bytes[Int.random(in: 0..<bytes.count, using: &random)], at: place)
                }
            }
            let text = String(decoding: bytes, as: UTF8.self)
            guard let instrument = try? SFZInstrument(text: text, folder: folder.path) else { continue }
            let player = SoundFontPlayer(instrument, voices: 8)
            for note in [UInt8(0), 60, 72] { player.send(on(note)) }
            let renderer = try Renderer(channels: 2) { context in
                context.run(player)
                context.output()
            }
            #expect(render(renderer, frames: 1_000, cycles: [333])[0].allSatisfy { $0.isFinite })
        }
    }

    /// A sound file of 16 bits: a saw that falls 100 times a second.
    static func wave(channels: Int, frames: Int) -> [UInt8] {
        var data: [UInt8] = []
        for frame in 0..<frames {
            for channel in 0..<channels {
                data += FontMaker.word(Int(UInt16(bitPattern: Int16((240 - frame % 480) * (channel == 0 ? 100 : 50)))))
            }
        }
        let format =
            FontMaker.word(1) + FontMaker.word(channels) + FontMaker.long(48_000)
            + FontMaker.long(96_000 * channels) + FontMaker.word(2 * channels) + FontMaker.word(16)
        return FontMaker.chunk(
            "RIFF", Array("WAVE".utf8) + FontMaker.chunk("fmt ", format) + FontMaker.chunk("data", data))
    }

    @Test("An SFZ instrument has its keys, levels, loops and turns; unknown opcodes are listed with their lines")
    func sfz() throws {
        let folder = try TemporaryFolder()
        try Data(Self.wave(channels: 1, frames: 4_800)).write(to: URL(fileURLWithPath: "\(folder.path)/one.wav"))
        try Data(Self.wave(channels: 2, frames: 4_800)).write(to: URL(fileURLWithPath: "\(folder.path)/two side.wav"))
        try Data("<group> ampeg_release=0.05 humidity=3".utf8).write(to: URL(fileURLWithPath: "\(folder.path)/in.sfz"))
        let text = """
            // A test.
            #define $ROOT pitch_keycenter
            <control> default_path=./
            #include "in.sfz"
            <region> sample=one.wav $ROOT=60 hikey=60 loop_mode=loop_continuous amplitude=70.7946 volume=-3
            <region> sample=two side.wav lokey=c#4 pitch_keycenter=61 cutoff=800 resonance=3 warble_depth=4
            <region> sample=*sine key=90
            """
        let instrument = try SFZInstrument(text: text, folder: folder.path)
        #expect(instrument.regionCount == 3 && instrument.memorySize == 4 * 3 * 4_800)
        #expect(instrument.unknownOpcodes.map(\.name) == ["humidity", "warble_depth"])
        #expect(instrument.unknownOpcodes.last?.line == 6 && instrument.unknownOpcodes[0].file == "in.sfz")
        #expect(instrument.notices.contains { $0.contains("*sine") })
        let player = SoundFontPlayer(instrument)
        let renderer = try Renderer(channels: 2) { context in
            context.run(player)
            context.output()
        }
        player.send(.controller(channel: 0, number: 7, value: 127))
        player.send(on(60))
        let heard = render(renderer, frames: 48_000)
        // Looped, at its own pitch: a saw of 100 Hz, 6 dB down, from 24,000 of 32,768 on.
        let fit = SineFit(heard[0][20_000..<29_600], frequency: 100.0 / 48_000, from: 0)
        #expect(abs(20 * log10(fit.amplitude / (0.7324 * 2 / Double.pi * 0.1909 * 0.70711)) + 6) < 0.1)
        #expect(abs(heard[0][20_000] - heard[0][20_480]) < 1e-4)
        for (bad, line, part) in [
            ("key=3", 1, "before any header"), ("<region> sample=x\n<grou", 2, "does not end"),
            ("<region>\nnonsense", 2, "neither a header nor an opcode"), ("/* <region>", 1, "does not end"),
            ("#include \"none.sfz\"", 1, "there is no file"), ("<region> sample=none.wav", 1, "no region that sounds"),
            ("<region> sample=none.wav key=\(Int.min) hikey=c\(Int.min)", 1, "no region that sounds"),
        ] {
            do {
                _ = try SFZInstrument(text: bad, folder: folder.path)
                Issue.record("\(bad) was read")
            } catch {
                #expect("\(error)".contains(part) && error.line == line, "\(error)")
            }
        }
        try Data("#include \"loop.sfz\"".utf8).write(to: URL(fileURLWithPath: "\(folder.path)/loop.sfz"))
        #expect(throws: InstrumentFileError.self) { try SFZInstrument(path: "\(folder.path)/loop.sfz") }
    }
}
