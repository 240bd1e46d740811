public import RenderCore

extension TempoMap {
    /// Creates the map of a MIDI file: its tempos and its metres. A beat is a quarter note: a bar of 6/8 has three.
    ///
    /// In a file whose ticks are parts of film frames a beat is half a second. A tempo above 10,000 beats per minute is held to that.
    public init(_ file: MIDIFile) {
        guard case .quarter(let ticks) = file.division.held else {
            self.init(120)
            return
        }
        var points: [Point] = []
        var metres: [MetreChange] = []
        // Of one tick, the last one counts, and of several tracks the last.
        for track in file.tracks {
            for event in track.events {
                let beat = Double(max(0, event.tick)) / Double(ticks)
                switch event.content {
                case .tempo(let microseconds): points.append(Point(at: beat, 6e7 / Double(max(1, microseconds))))
                case .metre(let beats, let note):
                    let metre = Metre(beats, note)
                    metres.append(
                        MetreChange(at: beat, metre, bar: 4 * Double(metre.beatsPerBar) / Double(metre.beatType)))
                case .message, .systemExclusive, .text, .other: continue
                }
            }
        }
        // A file begins at 120, whatever comes later.
        if !points.contains(where: { $0.beat == 0 }) { points.insert(Point(at: 0, 120), at: 0) }
        self.init(points, metres: metres)
    }
}

extension MIDIFile {
    /// The ticks of a beat: of a quarter note, or of half a second where ticks are parts of film frames.
    var ticksPerBeat: Double {
        switch division.held {
        case .quarter(let ticks): Double(ticks)
        case .film(let frames, let ticks): (frames == 29 ? 30_000 / 1_001 : Double(frames)) * Double(ticks) / 2
        }
    }

    /// Creates the contents of a file with the tempo and the metres of a map, in a track of their own before the others.
    ///
    /// A file has steps alone, of whole microseconds a beat: a ramp becomes steps of an eighth of a beat, each as long as the ramp
    /// takes for it, or 4,096 steps if it is longer than 512 beats. A bar that is no whole number of 64ths is held to the nearest.
    ///
    /// - Parameters:
    ///   - tracks: The tracks, whose beats are those of the map.
    ///   - ticks: The ticks of a beat: 1…32,767.
    ///   - tempo: The tempo and the metres.
    public init(tracks: [Track], ticks: Int = 480, tempo: TempoMap) {
        let ticks = min(max(ticks, 1), 0x7FFF)
        self.init(tracks: [Track(tempo, ticks: ticks)] + tracks, division: .quarter(ticks))
    }
}

extension MIDIFile.Track {
    /// Creates a track of the tempo and the metres of a map.
    fileprivate init(_ map: TempoMap, ticks: Int) {
        func tick(_ beat: Double) -> Int { Int(min((beat * Double(ticks)).rounded(), 0xFFF_FFFF)) }
        var events: [MIDIFile.Event] = []
        for change in map.metres {
            events.append(.init(tick(change.beat), MIDIFile.Content(change)))
        }
        var last = -1
        func write(_ microseconds: Double, at tick: Int) -> Double {
            let whole = min(max(microseconds.rounded(), 1), 16_777_215)
            if last != Int(whole) { events.append(.init(tick, .tempo(microseconds: Int(whole)))) }
            last = Int(whole)
            return whole
        }
        if let first = map.points.first, first.beat > 0 { _ = write(6e7 / first.beatsPerMinute, at: 0) }
        for (index, point) in map.points.enumerated() {
            let next = index + 1 < map.points.count ? map.points[index + 1] : nil
            // A point before a jump begins nothing.
            if let next, next.beat == point.beat { continue }
            guard point.shape != .step, let next else {
                _ = write(6e7 / point.beatsPerMinute, at: tick(point.beat))
                continue
            }
            let (start, end) = (tick(point.beat), tick(next.beat))
            let step = max(1, ticks / 8, (end - start) / 4_096)
            var written = 1e6 * map.seconds(at: Double(start) / Double(ticks))
            for from in stride(from: start, to: end, by: step) {
                let to = min(from + step, end)
                let length = Double(to - from) / Double(ticks)
                // This step takes in the rest that rounding has left so far.
                written +=
                    length * write((1e6 * map.seconds(at: Double(to) / Double(ticks)) - written) / length, at: from)
            }
        }
        self.init(events: events)
    }
}

extension MIDIFile.Content {
    /// The metre of a change: as it is where its bar is as long as it says, else in the shortest notes that it needs.
    fileprivate init(_ change: TempoMap.MetreChange) {
        let metre = change.metre
        if 4 * Double(metre.beatsPerBar) / Double(metre.beatType) == change.bar {
            self = .metre(beats: metre.beatsPerBar, note: metre.beatType)
        } else {
            var (beats, note) = (change.bar, 4)
            while beats != beats.rounded() && note < 64 { (beats, note) = (2 * beats, 2 * note) }
            self = .metre(beats: Int(max(1, min(beats.rounded(), 255))), note: note)
        }
    }
}
