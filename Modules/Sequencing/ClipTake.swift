internal import Music
internal import RenderCore

/// The events of one take of a ``ClipRecorder``, as control code puts them together.
struct ClipTake: Sendable {
    /// An event with its channel; -1 for a message without one.
    struct Item: Sendable {
        var event: MusicEvent
        var channel: Int
    }

    /// The wishes with which a take was begun.
    struct Wishes: Sendable {
        var length: Fraction?
        var rounds = ClipRecorder.Rounds.one
        /// The clip that is added to.
        var onto: Clip?
    }

    /// The events that there is room for.
    private static let limit = 1 << 18

    let number: Int
    /// The beat of the song at which the clip's beat 0 is, once the take has begun.
    private(set) var start: Fraction?
    /// The events that found no room.
    private(set) var lost = 0
    /// A number that is another one when the clip without its open notes is.
    private(set) var version = 0
    private let wishes: Wishes
    /// The events of earlier rounds, which those of this one replace.
    private var earlier: [Item] = []
    private var items: [Item] = []
    /// The notes that are held, by channel and key, and the pedals, by channel and number.
    private var open: [Int: Int] = [:]
    private var pedals: Set<Int> = []
    private var bar: Fraction = 4
    /// The place to which this round has come, and the furthest one of all.
    private var reached: Fraction = 0
    private var furthest: Fraction = 0

    init(number: Int = 0, _ wishes: Wishes = Wishes()) {
        (self.number, self.wishes) = (number, wishes)
        earlier = (wishes.onto?.events ?? []).map { Item(event: $0, channel: -1) }
    }

    // MARK: Putting together

    /// Takes what comes from the render thread.
    mutating func take(_ entry: RecorderEntry) {
        let place = ClipTake.beats(entry.place)
        switch entry.kind {
        case .waits: break
        case .begins:
            start = place
            bar = max(ClipTake.beats(entry.bar), 1 / 16)
            let other = ClipTake.beats(entry.other)
            let held = Set(open.values)
            for index in items.indices {
                items[index].event.start += other
                if !held.contains(index) { settle(index) }
            }
            (reached, furthest, version) = (other, other, version + 1)
        case .forgets: (items, open, pedals) = ([], [:], [])
        case .message:
            read(entry.message, at: place)
            reach(entry.place)
        case .goesRound, .jumps:
            reach(entry.place)
            let other = ClipTake.beats(entry.other)
            let carried = close(at: place, carriesOn: entry.kind == .goesRound && entry.other < 1e-6)
            if entry.kind == .goesRound { replaceEarlier(upTo: place) }
            for item in carried { begin(item) }
            reached = other
        case .ends:
            // A take that never began has no early notes.
            if start == nil { (items, open, pedals) = ([], [:], []) }
            reach(entry.place)
            _ = close(at: place, carriesOn: false)
            for pedal in pedals.sorted() {
                let message = MIDIMessage.controller(channel: UInt8(pedal >> 8), number: UInt8(pedal & 127), value: 0)
                add(Item(event: MusicEvent(.message(message), at: inside(place)), channel: pedal >> 8))
            }
            pedals = []
        }
    }

    /// Notes how far the take has come.
    mutating func reach(_ place: Double) {
        reached = max(reached, ClipTake.beats(place))
        furthest = max(furthest, reached)
    }

    private mutating func read(_ message: MIDIMessage, at place: Fraction) {
        let bytes = message.bytes
        let channel = bytes.status < 0xF0 ? Int(bytes.status & 15) : -1
        switch message {
        case .noteOn(_, let key, let velocity):
            // A key whose end has not come goes down anew.
            end(channel << 8 | Int(key), at: place)
            let number = Double(key)
            let note = Note(word: Note.name(of: number), number: number, velocity: Double(velocity) / 127)
            begin(Item(event: MusicEvent(.note(note), at: place), channel: channel))
        case .noteOff(_, let key, _): end(channel << 8 | Int(key), at: place)
        default:
            if case .controller(_, let pedal, let value) = message, [64, 66, 69].contains(pedal) {
                if value > 0 {
                    pedals.insert(channel << 8 | Int(pedal))
                } else {
                    pedals.remove(channel << 8 | Int(pedal))
                }
            }
            add(Item(event: MusicEvent(.message(message), at: place), channel: channel))
        }
    }

    private mutating func begin(_ item: Item) {
        guard items.count < ClipTake.limit, case .note(let note) = item.event.content else {
            lost += 1
            return
        }
        open[item.channel << 8 | Int(note.number ?? 0)] = items.count
        items.append(item)
    }

    private mutating func add(_ item: Item) {
        if items.count < ClipTake.limit { items.append(item) } else { lost += 1 }
        settle(items.count - 1)
        version += 1
    }

    private mutating func end(_ key: Int, at place: Fraction) {
        guard let index = open.removeValue(forKey: key) else { return }
        items[index].event.length = length(of: items[index].event, upTo: place)
        settle(index)
        version += 1
    }

    /// Has an event that is early begin on the first beat, once it is known where that is.
    private mutating func settle(_ index: Int) {
        if start != nil && items[index].event.start < 0 { items[index].event.start = 0 }
    }

    /// Returns the length of a note that ends at a place: one that is early begins on the first beat.
    private func length(of event: MusicEvent, upTo place: Fraction) -> Fraction {
        let first: Fraction = start == nil || event.start >= 0 || place <= 0 ? event.start : 0
        return max(place - first, 0)
    }

    /// Ends the notes that are held. Those that have just begun before the clip goes round belong to its first beat: they are returned.
    private mutating func close(at place: Fraction, carriesOn: Bool) -> [Item] {
        var carried: [Int] = []
        for (key, index) in open.sorted(by: { $0.value < $1.value }) {
            if carriesOn && items[index].event.start >= place - Fraction(RecorderHead.early) {
                carried.append(index)
            } else {
                end(key, at: place)
            }
        }
        open = [:]
        let found = carried.map { index in
            var item = items[index]
            item.event.start = 0
            return item
        }
        for index in carried.reversed() { items.remove(at: index) }
        return found
    }

    /// Has what was played in this round take the place of what there was.
    private mutating func replaceEarlier(upTo place: Fraction) {
        if wishes.rounds != .replace || items.isEmpty { return }
        earlier = items + earlier.filter { $0.event.start >= place }
        items = []
        version += 1
    }

    // MARK: The clip

    /// Returns the clip so far.
    ///
    /// - Parameters:
    ///   - channel: The one channel whose events it has; `nil` for all.
    ///   - hasOpenNotes: `true` for notes that are held too, as long as they are so far.
    func clip(channel: Int? = nil, hasOpenNotes: Bool = true) -> Clip {
        let held = Set(open.values)
        var events: [MusicEvent] = []
        // Earlier rounds go on up to where this one is.
        for item in earlier where wishes.rounds != .replace || items.isEmpty || item.event.end >= reached {
            if channel == nil || item.channel == channel || item.channel < 0 { events.append(item.event) }
        }
        for (index, item) in items.enumerated() where start != nil {
            guard channel == nil || item.channel == channel, hasOpenNotes || !held.contains(index) else { continue }
            var event = item.event
            if held.contains(index) { event.length = length(of: event, upTo: reached) }
            event.start = inside(max(event.start, 0))
            events.append(event)
        }
        // Merging sorts.
        return Clip(length: length, events: events).merged(with: Clip(length: 0))
    }

    private var length: Fraction {
        if let length = wishes.length { return length }
        return max(Fraction(-(-furthest / bar).floor), 1) * bar
    }

    /// Returns a place of the clip: what is rounded to its end is before it.
    private func inside(_ place: Fraction) -> Fraction {
        guard let length = wishes.length, place >= length else { return place }
        return max(length - Fraction(1, Int(RecorderHead.parts)), 0)
    }

    /// Returns the nearest of the places that there are.
    static func beats(_ number: Double) -> Fraction {
        guard number.magnitude < 1e9 else { return 0 }
        return Fraction(Int((number * RecorderHead.parts).rounded()), Int(RecorderHead.parts))
    }
}
