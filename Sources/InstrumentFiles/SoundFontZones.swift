/// Presets or instruments: each has a range of bags, and each bag a range of generators and of modulators.
struct SoundFontBags {
    let heads: SoundFontList
    let indexAt: Int
    let bags: SoundFontList
    let generators: SoundFontList
    let modulators: SoundFontList

    /// Checks that all ranges lie in their lists, one behind the other.
    func check(_ kind: String) throws(SoundFontFault) {
        func check(
            _ list: SoundFontList, _ offset: Int, _ limit: Int, _ what: String
        ) throws(SoundFontFault) {
            var last = 0
            for index in 0..<list.count {
                let next = list.word(index, at: offset)
                guard next >= last, next < limit else {
                    throw SoundFontFault(
                        reason:
                            "the \(what) \(index) of the \(kind) refers to entry \(next) of \(limit), behind entry \(last)",
                        position: list.place(index) + offset)
                }
                last = next
            }
        }
        try check(heads, indexAt, bags.count, "header")
        try check(bags, 0, generators.count, "zone")
        try check(bags, 2, modulators.count, "zone")
    }

    func zones(_ index: Int) -> Range<Int> {
        heads.word(index, at: indexAt)..<heads.word(index + 1, at: indexAt)
    }

    /// Reads a zone.
    func zone(_ index: Int, _ notices: inout InstrumentNotices) -> SoundFontZone {
        var zone = SoundFontZone()
        for entry in bags.word(index, at: 0)..<bags.word(index + 1, at: 0) {
            let generator = generators.word(entry, at: 0)
            let value = Int16(bitPattern: UInt16(generators.word(entry, at: 2)))
            switch generator {
            case SoundFontGenerator.keyRange: zone.keys = Self.range(value)
            case SoundFontGenerator.velocityRange: zone.velocities = Self.range(value)
            case SoundFontGenerator.instrument, SoundFontGenerator.sampleID:
                zone.target = Int(UInt16(bitPattern: value))
            case 0..<SoundFontGenerator.count:
                // Of two in one zone the last one counts.
                if let place = zone.values.firstIndex(where: { $0.generator == generator }) {
                    zone.values[place].value = value
                } else {
                    zone.values.append((generator, value))
                }
            default: break
            }
        }
        for entry in bags.word(index, at: 2)..<bags.word(index + 1, at: 2) where zone.modulators.count < 64 {
            let source = UInt16(modulators.word(entry, at: 0)), target = UInt16(modulators.word(entry, at: 2))
            let amount = Int16(bitPattern: UInt16(modulators.word(entry, at: 4)))
            let second = UInt16(modulators.word(entry, at: 6)), transform = UInt16(modulators.word(entry, at: 8))
            if target & 0x8000 != 0 || source & 0xFF == 127 || second & 0xFF == 127 {
                notices.add("Modulators that act on modulators are left out.")
            } else if target < UInt16(SoundFontGenerator.count) {
                let modulator = InstrumentModulator(source, target, amount, second, transform: transform)
                // Of two that are the same in one zone the last one counts.
                zone.modulators.removeAll { $0.isSame(modulator) }
                zone.modulators.append(modulator)
            }
        }
        return zone
    }

    private static func range(_ value: Int16) -> (low: UInt8, high: UInt8) {
        let bits = UInt16(bitPattern: value)
        return (UInt8(truncatingIfNeeded: bits), UInt8(truncatingIfNeeded: bits >> 8))
    }
}

/// A zone: what it says, and what it leaves open.
struct SoundFontZone {
    var keys: (low: UInt8, high: UInt8)?
    var velocities: (low: UInt8, high: UInt8)?
    var values: [(generator: Int, value: Int16)] = []
    var modulators: [InstrumentModulator] = []
    /// The instrument of a preset's zone, the sample of an instrument's zone; `nil` in a global one.
    var target: Int?
}

/// Makes regions out of the zones of presets and instruments.
struct SoundFontZones {
    let presets: SoundFontBags
    let instruments: SoundFontBags
    let samples: [SoundFontSample]
    private var pairs = 0
    private var read: [Int: (global: SoundFontZone?, zones: [SoundFontZone])] = [:]

    init(presets: SoundFontBags, instruments: SoundFontBags, samples: [SoundFontSample]) {
        self.presets = presets
        self.instruments = instruments
        self.samples = samples
    }

    func check() throws(SoundFontFault) {
        try presets.check("presets")
        try instruments.check("instruments")
    }

    private static func zones(
        of bags: SoundFontBags, _ index: Int, _ notices: inout InstrumentNotices
    ) -> (global: SoundFontZone?, zones: [SoundFontZone]) {
        var (global, zones) = (SoundFontZone?.none, [SoundFontZone]())
        let range = bags.zones(index)
        for place in range {
            let zone = bags.zone(place, &notices)
            if zone.target != nil { zones.append(zone) } else if place == range.lowerBound { global = zone }
        }
        return (global, zones)
    }

    /// Adds the regions of a preset.
    mutating func flatten(
        preset index: Int, into draft: inout InstrumentDraft, _ notices: inout InstrumentNotices
    ) throws(SoundFontFault) {
        let (global, zones) = Self.zones(of: presets, index, &notices)
        for zone in zones {
            guard let target = zone.target, target < instruments.heads.count - 1 else {
                notices.add("Preset \(index) refers to instrument \(zone.target ?? 0), which is not there.")
                continue
            }
            let instrument = read[target] ?? Self.zones(of: instruments, target, &notices)
            read[target] = instrument
            pairs += instrument.zones.count
            guard pairs <= SoundFont.largestZoneCount else {
                throw SoundFontFault(
                    reason: "preset \(index) brings the zones to more than \(SoundFont.largestZoneCount)",
                    position: presets.heads.place(index))
            }
            for inner in instrument.zones {
                guard let sample = inner.target, sample < samples.count, samples[sample].isThere else {
                    if let sample = inner.target, sample >= samples.count {
                        notices.add("Instrument \(target) refers to sample \(sample), which is not there.")
                    }
                    continue
                }
                guard let keys = Self.common([global?.keys, zone.keys], or: [instrument.global?.keys, inner.keys]),
                    let velocities = Self.common(
                        [global?.velocities, zone.velocities], or: [instrument.global?.velocities, inner.velocities])
                else { continue }
                add(
                    sample, keys, velocities, inner: [instrument.global, inner], outer: [global, zone], into: &draft)
            }
        }
    }

    /// Returns the range that two levels have in common, each with its own range or that of its global zone.
    private static func common(
        _ outer: [(low: UInt8, high: UInt8)?], or inner: [(low: UInt8, high: UInt8)?]
    ) -> (low: UInt8, high: UInt8)? {
        let a = outer.compactMap { $0 }.last ?? (0, 127), b = inner.compactMap { $0 }.last ?? (0, 127)
        let low = max(a.low, b.low), high = min(a.high, b.high)
        return low <= high ? (low, high) : nil
    }

    /// Generators that only an instrument may set.
    private static let ofInstruments: Set<Int> = [0, 1, 2, 3, 4, 12, 45, 46, 47, 50, 54, 57, 58]

    private func add(
        _ sample: Int, _ keys: (low: UInt8, high: UInt8), _ velocities: (low: UInt8, high: UInt8),
        inner: [SoundFontZone?], outer: [SoundFontZone?], into draft: inout InstrumentDraft
    ) {
        var values = (0..<SoundFontGenerator.count).map { Int(SoundFontGenerator.initial($0)) }
        for zone in inner { for (generator, value) in zone?.values ?? [] { values[generator] = Int(value) } }
        // A preset's zone takes the place of its global zone, and is added to the instrument.
        var added = [Int](repeating: 0, count: SoundFontGenerator.count)
        for zone in outer { for (generator, value) in zone?.values ?? [] { added[generator] = Int(value) } }
        for generator in values.indices where !Self.ofInstruments.contains(generator) {
            values[generator] += added[generator]
        }
        var links = InstrumentModulator.defaults
        for zone in inner {
            for link in zone?.modulators ?? [] {
                if let place = links.firstIndex(where: link.isSame) { links[place] = link } else { links.append(link) }
            }
        }
        var more: [InstrumentModulator] = []
        for zone in outer {
            for link in zone?.modulators ?? [] {
                more.removeAll(where: link.isSame)
                more.append(link)
            }
        }
        for link in more {
            if let place = links.firstIndex(where: link.isSame) {
                let sum = Int(links[place].amount) + Int(link.amount)
                links[place].amount = Int16(clamping: sum)
            } else {
                links.append(link)
            }
        }
        links.removeAll { $0.amount == 0 }
        let head = samples[sample]
        var region = InstrumentRegion()
        (region.keys, region.velocities, region.sample) = (keys, velocities, Int32(sample))
        func place(_ base: Int, _ fine: Int, _ coarse: Int) -> Int {
            max(0, min(base - head.start + values[fine] + 32_768 * values[coarse], head.end - head.start))
        }
        var (start, end) = (place(head.start, 0, 4), place(head.end, 1, 12))
        if start > end { (start, end) = (end, start) }
        guard start < end else { return }
        var loop = (place(head.loopStart, 2, 45), place(head.loopEnd, 3, 50))
        if loop.0 > loop.1 { (loop.0, loop.1) = (loop.1, loop.0) }
        loop = (max(start, min(loop.0, end)), max(start, min(loop.1, end)))
        (region.start, region.end) = (Int32(start), Int32(end))
        (region.loopStart, region.loopEnd) = (Int32(loop.0), Int32(loop.1))
        let mode = values[SoundFontGenerator.sampleModes] & 3
        region.loops = mode & 1 == 1 && loop.1 - loop.0 >= 2
        region.loopsUntilRelease = mode == 3
        region.exclusiveClass = Int32(values[SoundFontGenerator.exclusiveClass])
        region.endingClass = region.exclusiveClass
        // The fonts of the field are made for sound cards that attenuate by four tenths of what the format says.
        region.attenuation = 0.4 * Float(values[SoundFontGenerator.attenuation])
        let root = values[SoundFontGenerator.rootKey]
        region.rootPitch = Float(100 * (0...127 ~= root ? root : head.key) - head.correction)
        region.scaleTuning = Float(values[SoundFontGenerator.scaleTuning])
        region.sampleRate = Double(head.rate)
        region.key = 0...127 ~= values[46] ? Int16(values[46]) : -1
        region.velocity = 1...127 ~= values[47] ? Int16(values[47]) : -1
        draft.add(region, values.map { Int16(clamping: $0) }, links)
    }
}
