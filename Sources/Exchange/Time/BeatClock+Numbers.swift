// A clock as numbers, and the reverse, to the last bit.

extension BeatClock {
    /// The clock as 23 numbers: the frame, the part of a frame and the beat from which it is reckoned, the first beat there; the tempo and
    /// the metre that the program has set; seven of the tempo and its ramp; seven of the bars; and the place in a map. The map itself,
    /// the sample rate, and what leads besides the program are left out.
    package var numbers: [Double] {
        [Double(frame), lead, beat, first, ownBeatsPerMinute, Double(ownMetre.beatsPerBar), Double(ownMetre.beatType)]
            + piece.numbers + bars.numbers + [Double(mapIndex), mapOrigin]
    }

    /// Creates a clock of its ``numbers``; `nil` if no clock has such.
    package init?(_ numbers: [Double], sampleRate: Double) {
        guard numbers.count == 23, numbers[0].magnitude <= 0x1p53, numbers[0] == numbers[0].rounded(.down),
            numbers[1].magnitude <= 1e18, numbers[2].magnitude <= 1e10, numbers[3].magnitude <= 1e10,
            TempoPiece.range.contains(numbers[4]), (1...1_024).contains(numbers[5]), (1...1_024).contains(numbers[6]),
            let piece = TempoPiece(Array(numbers[7..<14])), let bars = BarLines(Array(numbers[14..<21])),
            (0...0x1p31).contains(numbers[21]), numbers[22].magnitude <= 1e10
        else { return nil }
        self.init(sampleRate: sampleRate)
        (frame, lead, beat, first) = (Int64(numbers[0]), numbers[1], numbers[2], numbers[3])
        (ownBeatsPerMinute, ownMetre) = (numbers[4], Metre(Int(numbers[5]), Int(numbers[6])))
        (self.piece, self.bars) = (piece, bars)
        (mapIndex, mapOrigin) = (Int(numbers[21]), numbers[22])
    }
}

extension TempoPiece {
    /// The tempos that there are; those of a ramp may be rounded.
    fileprivate static let range = 0.999e-3...1.001e4

    fileprivate var numbers: [Double] { [first, before, after, beats, minutes, slope, isExponential ? 1 : 0] }

    fileprivate init?(_ numbers: [Double]) {
        let tempo = TempoPiece.range
        guard tempo.contains(numbers[0]), tempo.contains(numbers[1]), tempo.contains(numbers[2]), numbers[3] > 0,
            numbers[4] > 0, numbers[5].isFinite
        else { return nil }
        self.init(numbers[0])
        (before, after, beats, minutes) = (numbers[1], numbers[2], numbers[3], numbers[4])
        (slope, isExponential) = (numbers[5], numbers[6] != 0)
        if slope == 0 { return }
        // A ramp that comes to a tempo, in the time that it takes.
        guard beats < .infinity, tempo.contains(last), (inner(minutes: beats) - minutes).magnitude <= 1e-9 * minutes
        else { return nil }
    }
}

extension BarLines {
    fileprivate var numbers: [Double] {
        [line, Double(number), beatsPerBar, beatType, nextLine, nextBeatsPerBar, nextBeatType]
    }

    fileprivate init?(_ numbers: [Double]) {
        let length = 1.0 / 64...1e6
        guard numbers[0].magnitude <= 1e10, numbers[1].magnitude <= 0x1p40, numbers[1] == numbers[1].rounded(.down),
            length.contains(numbers[2]), numbers[3] > 0, numbers[3] <= 1e9,
            numbers[4] == .infinity || numbers[4].magnitude <= 1e10,
            length.contains(numbers[5]), numbers[6] > 0, numbers[6] <= 1e9
        else { return nil }
        self.init(beatsPerBar: numbers[2], beatType: numbers[3])
        (line, number) = (numbers[0], Int(numbers[1]))
        (nextLine, nextBeatsPerBar, nextBeatType) = (numbers[4], numbers[5], numbers[6])
    }
}
