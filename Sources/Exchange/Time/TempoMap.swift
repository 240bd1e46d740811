/// The tempo and the metre of a piece, beat by beat: what ``/RenderCore/Tempo/map`` follows.
///
///     let map = TempoMap(
///         [.init(at: 0, 120), .init(at: 16, 120, .line), .init(at: 32, 90)],      // from beat 16 on slower and slower
///         metres: [.init(at: 0, Metre(4)), .init(at: 32, Metre(3))])
///     print(map.seconds(at: 32), map.beat(at: 10), map.beatsPerMinute(at: 24))    // 17.2…, 19.8…, 105
///
/// Beats and seconds are reckoned from each other by formulas, both ways: nothing is summed up frame by frame.
///
/// Threads: control.
public struct TempoMap: Sendable {
    /// The way of the tempo from one point to the next.
    ///
    /// Threads: any.
    public enum Shape: String, Sendable, Hashable, CaseIterable, BitwiseCopyable {
        /// The tempo stays, up to the next point.
        case step
        /// Each beat changes the tempo by the same number.
        case line
        /// Each beat changes the tempo by the same factor.
        case exponential
    }

    /// A beat with its tempo.
    ///
    /// Threads: any.
    public struct Point: Sendable, Hashable, BitwiseCopyable {
        /// The beat: 0…1e9.
        public let beat: Double
        /// Beats per minute: 1…10,000.
        public let beatsPerMinute: Double
        /// The way to the next point.
        public let shape: Shape

        /// Creates a point. A number that is out of range becomes the nearest one inside.
        @_noLocks @_noAllocation
        public init(at beat: Double, _ beatsPerMinute: Double, _ shape: Shape = .step) {
            self.beat = min(max(beat, 0), 1e9)
            self.beatsPerMinute = min(max(beatsPerMinute, 1), 10_000)
            self.shape = shape
        }
    }

    /// A beat with which bars of another length begin.
    ///
    /// Threads: any.
    public struct MetreChange: Sendable, Hashable, BitwiseCopyable {
        /// The beat: 0…1e9. A bar begins with it.
        public let beat: Double
        /// The metre.
        public let metre: Metre
        /// The length of a bar in beats of the map: 1/64…1024.
        public let bar: Double

        /// Creates a change.
        ///
        /// - Parameters:
        ///   - beat: The beat with which a bar begins.
        ///   - metre: The metre.
        ///   - bar: The length of a bar in beats of the map; by default the beats of the metre. Where a beat of the map is a
        ///     quarter, a bar of 6/8 takes three.
        @_noLocks @_noAllocation
        public init(at beat: Double, _ metre: Metre, bar: Double? = nil) {
            self.beat = min(max(beat, 0), 1e9)
            self.metre = metre
            let bar = bar ?? Double(metre.beatsPerBar)
            self.bar = bar.isNaN ? Double(metre.beatsPerBar) : min(max(bar, 1.0 / 64), 1_024)
        }
    }

    /// The points in the order of their beats. Of two at one beat, the first ends what was before.
    public var points: [Point] { table.points }
    /// The metres in the order of their beats, one for each beat at most.
    public var metres: [MetreChange] { table.metres }
    package let table: TempoTable

    /// Creates a map. Before its first point the tempo is that of the first point, and behind the last one that of the last.
    ///
    /// - Parameters:
    ///   - points: The tempo, in any order; those with a value that is not a number are left out. 120 if there is none.
    ///   - metres: The metres, in any order; 4/4 from beat 0 on, if no other begins there.
    public init(_ points: [Point], metres: [MetreChange] = []) {
        let known = points.filter { !$0.beat.isNaN && !$0.beatsPerMinute.isNaN }
        let sorted = known.enumerated().sorted { ($0.element.beat, $0.offset) < ($1.element.beat, $1.offset) }
        let points = sorted.isEmpty ? [Point(at: 0, 120)] : sorted.map(\.element)
        let begun = [MetreChange(at: 0, Metre(4))] + metres.filter { !$0.beat.isNaN }
        var changes: [MetreChange] = []
        let inOrder = begun.enumerated().sorted { ($0.element.beat, $0.offset) < ($1.element.beat, $1.offset) }
        for (_, change) in inOrder {
            if changes.last?.beat == change.beat { changes.removeLast() }
            changes.append(change)
        }
        table = TempoTable(points, changes, TempoMap.entries(points, changes))
    }

    /// The map of a number, which its ``TempoTable/Places`` have; `nil` if no copy of it is left.
    package init?(number: Int) {
        guard let table = TempoTable.table(number) else { return nil }
        self.table = table
    }

    /// One tempo from beat 0 on.
    public init(_ beatsPerMinute: Double, _ metre: Metre = Metre(4)) {
        self.init([Point(at: 0, beatsPerMinute)], metres: [MetreChange(at: 0, metre)])
    }

    // MARK: Asking

    /// Returns the seconds from beat 0 up to a beat.
    public func seconds(at beat: Double) -> Double { 60 * table.places.minutes(of: beat) }

    /// Returns the beat that comes some seconds after beat 0.
    public func beat(at seconds: Double) -> Double { table.places.beat(after: seconds / 60) }

    /// Returns the tempo at a beat.
    public func beatsPerMinute(at beat: Double) -> Double { table.places.tempo(at: beat) }

    /// Returns the bar of a beat, and the beat in the bar, from 1 on.
    public func bars(at beat: Double) -> MusicalPosition {
        let place = table.places[table.places.index(of: beat)].bars.place(of: beat)
        let whole = BeatClock.floor(place.beat)
        return MusicalPosition(
            bar: place.bar, beat: Int(whole) &+ 1, fraction: place.beat - whole, beatsPerBar: place.beatsPerBar,
            beatType: place.beatType, beatsPerMinute: beatsPerMinute(at: beat))
    }

    /// Returns the beat with which a bar begins. Bars count from 1.
    public func beat(ofBar bar: Int) -> Double {
        // The last piece whose first bar is not behind it.
        var (low, high) = (0, table.places.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            let entry = table.places[middle]
            if entry.bars.place(of: entry.beat).bar <= bar { low = middle } else { high = middle }
        }
        return table.places[low].bars.beat(ofBar: bar)
    }

    /// Returns the map with all tempos multiplied by a factor: 1/100…100.
    public func scaled(by factor: Double) -> TempoMap {
        let factor = factor.isNaN ? 1 : min(max(factor, 0.01), 100)
        return TempoMap(
            points.map { Point(at: $0.beat, $0.beatsPerMinute * factor, $0.shape) }, metres: metres)
    }

    // MARK: Pieces

    /// Returns the pieces between all points and changes.
    private static func entries(_ points: [Point], _ metres: [MetreChange]) -> [TempoTable.Entry] {
        var beats = (points.map(\.beat) + metres.map(\.beat)).sorted()
        beats = beats.enumerated().filter { $0.offset == 0 || beats[$0.offset - 1] != $0.element }.map(\.element)
        var pieces: [(beat: Double, piece: TempoPiece, bars: BarLines)] = []
        var (point, metre) = (-1, 0)
        var bars = BarLines(metres[0], number: 1)
        for (index, beat) in beats.enumerated() {
            while point + 1 < points.count && points[point + 1].beat <= beat { point += 1 }
            while metre + 1 < metres.count && metres[metre + 1].beat <= beat {
                metre += 1
                bars = BarLines(metres[metre], number: bars.barLine(from: metres[metre].beat))
            }
            let end = index + 1 < beats.count ? beats[index + 1] : .infinity
            pieces.append((beat, piece(points, point, from: beat, to: end), bars))
        }
        // The tempo on each side, and the time: the rest of each sum is kept, so that nothing adds up.
        var (minutes, rest) = (0.0, 0.0)
        return pieces.indices.map { index in
            let (beat, bars) = (pieces[index].beat, pieces[index].bars)
            var piece = pieces[index].piece
            if index > 0 { piece.before = pieces[index - 1].piece.last }
            if index + 1 < pieces.count { piece.after = pieces[index + 1].piece.first }
            let entry = TempoTable.Entry(beat: beat, minutes: minutes, piece: piece, bars: bars)
            let step = piece.minutes + rest
            rest = step - ((minutes + step) - minutes)
            minutes += step
            return entry
        }
    }

    private static func piece(_ points: [Point], _ point: Int, from beat: Double, to end: Double) -> TempoPiece {
        guard point >= 0 else {
            return TempoPiece(points[0].beatsPerMinute, to: points[0].beatsPerMinute, beats: end - beat)
        }
        let here = points[point]
        guard end < .infinity else { return TempoPiece(here.beatsPerMinute) }
        // A ramp that is shorter than any frame is a step.
        guard here.shape != .step, point + 1 < points.count, end - beat > 1e-6 else {
            return TempoPiece(here.beatsPerMinute, to: here.beatsPerMinute, beats: end - beat)
        }
        let next = points[point + 1]
        let isExponential = here.shape == .exponential
        let whole = TempoPiece(
            here.beatsPerMinute, to: next.beatsPerMinute, beats: next.beat - here.beat, isExponential: isExponential)
        if beat == here.beat && end == next.beat { return whole }
        return TempoPiece(
            whole.tempo(after: beat - here.beat),
            to: end == next.beat ? next.beatsPerMinute : whole.tempo(after: end - here.beat), beats: end - beat,
            isExponential: isExponential)
    }
}

extension TempoMap: Hashable {
    /// Returns whether two maps have the same points and metres.
    public static func == (a: TempoMap, b: TempoMap) -> Bool { a.points == b.points && a.metres == b.metres }

    /// Hashes the points and the metres.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(points)
        hasher.combine(metres)
    }
}
