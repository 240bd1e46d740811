/// Writes small SoundFonts, so that the repository has none.
struct FontMaker {
    typealias Generators = [(Int, Int)]

    struct Zone {
        var generators: Generators = []
        /// Source, target, amount, second source, transform.
        var modulators: [(Int, Int, Int, Int, Int)] = []
        var target: Int?
    }

    struct Sample {
        var samples: [Int16]
        var loop = 0..<0
        var rate = 48_000
        var key = 69
        var correction = 0
    }

    var samples: [Sample] = []
    var instruments: [[Zone]] = []
    var presets: [(bank: Int, program: Int, zones: [Zone])] = []

    /// A sine of 480 Hz at 48 kHz that loops without end.
    static var sine: Sample {
        Sample(samples: (0..<4_800).map { Int16((20_000 * sine(Double($0) / 100)).rounded()) }, loop: 1_000..<3_000)
    }

    private static func sine(_ turns: Double) -> Double {
        // A series is enough: exact to 1e-9 within half a turn.
        let x = (turns - turns.rounded()) * 2 * Double.pi
        var (term, sum) = (x, x)
        for n in 1..<14 {
            let divisor = (2 * n) * (2 * n + 1)
            term *= -x * x / Double(divisor)
            sum += term
        }
        return sum
    }

    /// One preset that plays the sine with these generators.
    static func sine(_ generators: Generators = [], modulators: [(Int, Int, Int, Int, Int)] = []) -> FontMaker {
        FontMaker(
            samples: [sine],
            instruments: [[Zone(generators: [(54, 1)] + generators, modulators: modulators, target: 0)]],
            presets: [(0, 0, [Zone(target: 0)])])
    }

    var bytes: [UInt8] {
        var (smpl, shdr) = ([UInt8](), [UInt8]())
        for (index, sample) in samples.enumerated() {
            let start = smpl.count / 2
            for value in sample.samples { smpl += Self.word(Int(UInt16(bitPattern: value))) }
            smpl += [UInt8](repeating: 0, count: 92)
            shdr += Self.name("sample \(index)")
            for value in [
                start, start + sample.samples.count, start + sample.loop.lowerBound, start + sample.loop.upperBound,
                sample.rate,
            ] { shdr += Self.long(value) }
            shdr += [UInt8(sample.key), UInt8(bitPattern: Int8(sample.correction))] + Self.word(0) + Self.word(1)
        }
        shdr += Self.name("EOS") + [UInt8](repeating: 0, count: 26)
        let p = Self.lists(presets.map(\.zones), operator: 41)
        let i = Self.lists(instruments, operator: 53)
        var (phdr, inst) = ([UInt8](), [UInt8]())
        for (index, preset) in presets.enumerated() {
            phdr += Self.name("preset \(index)") + Self.word(preset.program) + Self.word(preset.bank)
            phdr += Self.word(p.starts[index]) + [UInt8](repeating: 0, count: 12)
        }
        phdr += Self.name("EOP") + Self.word(0) + Self.word(0) + Self.word(p.starts.last ?? 0)
        phdr += [UInt8](repeating: 0, count: 12)
        for index in i.starts.indices { inst += Self.name("instrument \(index)") + Self.word(i.starts[index]) }
        let pdta =
            Self.chunk("phdr", phdr) + Self.chunk("pbag", p.bags) + Self.chunk("pmod", p.modulators)
            + Self.chunk("pgen", p.generators) + Self.chunk("inst", inst) + Self.chunk("ibag", i.bags)
            + Self.chunk("imod", i.modulators) + Self.chunk("igen", i.generators) + Self.chunk("shdr", shdr)
        let info = Self.chunk("ifil", Self.word(2) + Self.word(4)) + Self.chunk("INAM", Array("test\0\0".utf8))
        return Self.chunk(
            "RIFF",
            Array("sfbk".utf8) + Self.chunk("LIST", Array("INFO".utf8) + info)
                + Self.chunk("LIST", Array("sdta".utf8) + Self.chunk("smpl", smpl))
                + Self.chunk("LIST", Array("pdta".utf8) + pdta))
    }

    private static func lists(
        _ items: [[Zone]], operator number: Int
    ) -> (starts: [Int], bags: [UInt8], generators: [UInt8], modulators: [UInt8]) {
        var (starts, bags, generators, modulators) = ([Int](), [UInt8](), [UInt8](), [UInt8]())
        for zones in items {
            starts.append(bags.count / 4)
            for zone in zones {
                bags += word(generators.count / 4) + word(modulators.count / 10)
                for (generator, value) in zone.generators { generators += word(generator) + word(value & 0xFFFF) }
                if let target = zone.target { generators += word(number) + word(target) }
                for (source, target, amount, second, transform) in zone.modulators {
                    modulators += [source, target, amount & 0xFFFF, second, transform].flatMap(word)
                }
            }
        }
        starts.append(bags.count / 4)
        bags += word(generators.count / 4) + word(modulators.count / 10)
        return (starts, bags, generators + long(0), modulators + [UInt8](repeating: 0, count: 10))
    }

    static func chunk(_ name: String, _ body: [UInt8]) -> [UInt8] {
        Array(name.utf8) + long(body.count) + body + (body.count % 2 == 1 ? [0] : [])
    }

    private static func name(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8.prefix(19))
        return bytes + [UInt8](repeating: 0, count: 20 - bytes.count)
    }

    static func word(_ value: Int) -> [UInt8] { [UInt8(value & 255), UInt8(value >> 8 & 255)] }
    static func long(_ value: Int) -> [UInt8] { word(value & 0xFFFF) + word(value >> 16 & 0xFFFF) }
}
