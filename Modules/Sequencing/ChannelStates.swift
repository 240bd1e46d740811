internal import RenderCore

/// The programs, controllers, bends and pressures that hold at the places of a clip: who comes there from elsewhere sends them first.
///
/// They are kept for every 256th event; from there on the events say what changes.
struct ChannelStates: ~Copyable, Sendable {
    /// The events between two places that are kept.
    private static var distance: Int { @_noLocks @_noAllocation get { 256 } }
    /// The slots: 128 controllers, the program, the bend and the pressure.
    static var count: Int { @_noLocks @_noAllocation get { 131 } }
    private static var program: Int { @_noLocks @_noAllocation get { 128 } }
    private static var bend: Int { @_noLocks @_noAllocation get { 129 } }
    private static var pressure: Int { @_noLocks @_noAllocation get { 130 } }

    typealias Held = InlineArray<131, MIDIMessage>

    /// The messages that are kept, and where those of each place begin.
    private let kept: RenderMemory<MIDIMessage>
    private let starts: RenderMemory<Int>

    /// Those of events that have none.
    init() {
        kept = RenderMemory([])
        starts = RenderMemory([])
    }

    /// Those of events in their order.
    init(of notes: [TableNote]) {
        var held = Held(repeating: Self.none)
        var isUsed = false
        for note in notes where note.isMessage {
            let slot = Self.slot(of: note.message)
            if slot < 0 { continue }
            isUsed = true
            // Before its first event it has the value with which a channel begins.
            if slot < Self.count && Self.isNone(held[slot]) { held[slot] = Self.first(slot) }
        }
        var (kept, starts): ([MIDIMessage], [Int]) = ([], [])
        for (index, note) in notes.enumerated() where isUsed {
            if index % Self.distance == 0 {
                starts.append(kept.count)
                for slot in 0..<Self.count where !Self.isNone(held[slot]) { kept.append(held[slot]) }
            }
            Self.take(note, into: &held)
        }
        if isUsed { starts.append(kept.count) }
        self.kept = RenderMemory(kept)
        self.starts = RenderMemory(starts)
    }

    /// Indicates that there is nothing to send anywhere.
    var isEmpty: Bool { @_noLocks @_noAllocation get { starts.count == 0 } }

    /// Returns what holds before an event.
    @_noLocks @_noAllocation
    func held(before index: Int, in notes: borrowing RenderMemory<TableNote>) -> Held {
        var held = Held(repeating: Self.none)
        let place = min(max(0, index) / Self.distance, starts.count &- 2)
        var item = starts[place]
        while item < starts[place &+ 1] {
            let slot = Self.slot(of: kept[item])
            if slot >= 0 && slot < Self.count { held[slot] = kept[item] }
            item &+= 1
        }
        item = place &* Self.distance
        while item < index && item < notes.count {
            Self.take(notes[item], into: &held)
            item &+= 1
        }
        return held
    }

    /// Returns the slots in the order in which they are sent: the bank before the program, the number of a parameter before its data.
    @_noLocks @_noAllocation
    static func order(_ place: Int) -> Int {
        switch place {
        case 0: 0
        case 1: 32
        case 2: program
        case 3...6: 95 &+ place
        case 7: 6
        case 8: 38
        default: rest(place &- 9)
        }
    }

    /// Returns one of the slots that are not among the first nine.
    @_noLocks @_noAllocation
    private static func rest(_ place: Int) -> Int {
        // 1…5, 7…31, 33…37, 39…97, 102…127, then the bend and the pressure.
        if place < 5 { return place &+ 1 }
        if place < 30 { return place &+ 2 }
        if place < 35 { return place &+ 3 }
        if place < 94 { return place &+ 4 }
        if place < 120 { return place &+ 8 }
        return place &+ 9
    }

    /// Returns the slot of a message: below 0 if it holds for nothing after it, 131 if it takes others back.
    @_noLocks @_noAllocation
    static func slot(of message: MIDIMessage) -> Int {
        switch message {
        case .controller(_, let number, _): number < 120 ? Int(number) : number == 121 ? count : -1
        case .program: program
        case .bend: bend
        case .pressure: pressure
        default: -1
        }
    }

    /// A message in the place of none.
    private static var none: MIDIMessage { @_noLocks @_noAllocation get { .activeSensing } }

    @_noLocks @_noAllocation
    static func isNone(_ message: MIDIMessage) -> Bool {
        if case .activeSensing = message { true } else { false }
    }

    @_noLocks @_noAllocation
    private static func take(_ note: TableNote, into held: inout Held) {
        if !note.isMessage { return }
        let slot = slot(of: note.message)
        if slot < 0 { return }
        if slot < count {
            held[slot] = note.message
            return
        }
        // Controllers off: what a channel begins with, but for its bank, its volume, its place and its sounds.
        var item = 0
        while item < count {
            if !isNone(held[item]) && (item == 1 || item == 11 || (item > 63 && item < 70) || item > program) {
                held[item] = first(item)
            }
            item &+= 1
        }
    }

    /// Returns the value with which a channel begins, if it is known.
    @_noLocks @_noAllocation
    private static func first(_ slot: Int) -> MIDIMessage {
        switch slot {
        case 1, 64...69: .controller(channel: 0, number: UInt8(slot), value: 0)
        case 7: .controller(channel: 0, number: 7, value: 100)
        case 10: .controller(channel: 0, number: 10, value: 64)
        case 11: .controller(channel: 0, number: 11, value: 127)
        case bend: .bend(channel: 0, value: 0)
        case pressure: .pressure(channel: 0, pressure: 0)
        default: none
        }
    }
}
