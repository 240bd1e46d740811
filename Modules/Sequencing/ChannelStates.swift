internal import RenderCore

/// The programs, controllers, bends, pressures and settings by registered parameters that hold at the places of a clip: who comes
/// there from elsewhere sends them first.
///
/// They are kept for every 256th event; from there on the events say what changes.
struct ChannelStates: ~Copyable, Sendable {
    /// The slots: 120 controllers, the program, the bend, the pressure, and two bytes of three registered parameters: the range of
    /// the bend, the fine and the coarse tuning.
    static var count: Int { @_noLocks @_noAllocation get { 129 } }
    private static var program: Int { @_noLocks @_noAllocation get { 120 } }
    private static var bend: Int { @_noLocks @_noAllocation get { 121 } }
    private static var pressure: Int { @_noLocks @_noAllocation get { 122 } }
    private static var data: Int { @_noLocks @_noAllocation get { 123 } }
    /// The events between two places that are kept.
    private static var distance: Int { @_noLocks @_noAllocation get { 256 } }
    /// A value in the place of none.
    private static var none: Int32 { @_noLocks @_noAllocation get { .min } }

    /// The values that hold at a place.
    struct Held: BitwiseCopyable, Sendable {
        fileprivate var values = InlineArray<129, Int32>(repeating: .min)
        /// The registered parameter that the data are for: 0 to 2, else below 0.
        fileprivate var parameter = -1

        @_noLocks @_noAllocation
        fileprivate init() {}
    }

    /// A slot with its value.
    // Not private: Swift 6.3.1 crashes where a noncopyable type is destroyed in another file than its private parts.
    struct Kept: BitwiseCopyable, Sendable {
        let slot: Int32
        let value: Int32
    }

    private let kept: RenderMemory<Kept>
    /// The index at which those of each place begin, and the parameter there.
    private let starts: RenderMemory<Int>
    private let parameters: RenderMemory<Int>
    /// Indicates that a pedal is used.
    let hasPedals: Bool

    /// Those of events that have none.
    init() { self.init(of: []) }

    /// Those of events in their order.
    init(of notes: [TableNote]) {
        var held = Held()
        var isUsed = InlineArray<129, Bool>(repeating: false)
        var isAny = false
        // Before its first event a slot has the value with which a channel begins.
        for note in notes where note.isMessage && Self.isState(note.message) {
            isAny = true
            var one = held
            Self.take(note, into: &one)
            held.parameter = one.parameter
            for slot in 0..<Self.count where one.values[slot] != held.values[slot] { isUsed[slot] = true }
        }
        held = Held()
        for slot in 0..<Self.count where isUsed[slot] { held.values[slot] = Self.first(slot) }
        hasPedals = isUsed[64] || isUsed[66] || isUsed[69]
        var (kept, starts, parameters): ([Kept], [Int], [Int]) = ([], [], [])
        for (index, note) in notes.enumerated() where isAny {
            if index % Self.distance == 0 {
                starts.append(kept.count)
                parameters.append(held.parameter)
                for slot in 0..<Self.count where held.values[slot] != Self.none {
                    kept.append(Kept(slot: Int32(slot), value: held.values[slot]))
                }
            }
            Self.take(note, into: &held)
        }
        if isAny { starts.append(kept.count) }
        self.kept = RenderMemory(kept)
        self.starts = RenderMemory(starts)
        self.parameters = RenderMemory(parameters)
    }

    /// Indicates that there is nothing to send anywhere.
    var isEmpty: Bool { @_noLocks @_noAllocation get { starts.count == 0 } }

    /// Returns what holds before an event, without what the events of its beat say themselves.
    @_noLocks @_noAllocation
    func held(before index: Int, in notes: borrowing RenderMemory<TableNote>, at beat: Double) -> Held {
        var held = Held()
        let place = min(max(0, index) / Self.distance, starts.count &- 2)
        var item = starts[place]
        while item < starts[place &+ 1] {
            held.values[Int(kept[item].slot)] = kept[item].value
            item &+= 1
        }
        held.parameter = parameters[place]
        item = place &* Self.distance
        while item < index && item < notes.count {
            Self.take(notes[item], into: &held)
            item &+= 1
        }
        while item < notes.count, notes[item].start <= beat + Performance.rounding {
            let slot = notes[item].isMessage ? Self.slot(of: notes[item].message) : -1
            if slot >= 0 && slot < Self.data { held.values[slot] = Self.none }
            item &+= 1
        }
        return held
    }

    // MARK: Messages

    /// The messages that say what holds, at most.
    static var messageCount: Int { @_noLocks @_noAllocation get { 134 } }

    /// Returns one of the messages that say what holds, in their order; `nil` for what is not to be said.
    ///
    /// - Parameter isFirst: `true` for the values with which a channel begins, `false` for all others.
    @_noLocks @_noAllocation
    static func message(_ place: Int, of held: Held, isFirst: Bool) -> MIDIMessage? {
        // The bank before the program, then the bend and the pressure, the controllers, and three parameters of four messages.
        let slot: Int
        switch place {
        case 0: slot = 0
        case 1: slot = 32
        case 2...4: slot = program &+ place &- 2
        case 5..<122: slot = place < 36 ? place &- 4 : place < 99 ? place &- 3 : place &- 2
        default: return isFirst ? nil : parameterMessage(place &- 122, of: held)
        }
        let value = held.values[slot]
        if value == none || (value == first(slot)) != isFirst { return nil }
        if slot == program { return .program(channel: 0, number: UInt8(truncatingIfNeeded: value)) }
        if slot == bend { return .bend(channel: 0, value: Int16(truncatingIfNeeded: value)) }
        if slot == pressure { return .pressure(channel: 0, pressure: UInt8(truncatingIfNeeded: value)) }
        return .controller(channel: 0, number: UInt8(truncatingIfNeeded: slot), value: UInt8(truncatingIfNeeded: value))
    }

    /// Returns a message that sets a registered parameter: its number, and its data.
    @_noLocks @_noAllocation
    private static func parameterMessage(_ place: Int, of held: Held) -> MIDIMessage? {
        let number = place / 4
        let (coarse, fine) = (held.values[data &+ 2 &* number], held.values[data &+ 2 &* number &+ 1])
        if coarse == none && fine == none { return nil }
        switch place % 4 {
        case 0: return .controller(channel: 0, number: 101, value: 0)
        case 1: return .controller(channel: 0, number: 100, value: UInt8(truncatingIfNeeded: number))
        case 2:
            return coarse == none ? nil : .controller(channel: 0, number: 6, value: UInt8(truncatingIfNeeded: coarse))
        default: return fine == none ? nil : .controller(channel: 0, number: 38, value: UInt8(truncatingIfNeeded: fine))
        }
    }

    /// Indicates that a message holds for those after it, and not for a note alone.
    @_noLocks @_noAllocation
    static func isState(_ message: MIDIMessage) -> Bool {
        switch message {
        case .controller(_, let number, _): number < 120 || number == 121
        case .program, .bend, .pressure: true
        default: false
        }
    }

    /// Returns the slot of a message that has one by itself; else -1.
    @_noLocks @_noAllocation
    private static func slot(of message: MIDIMessage) -> Int {
        switch message {
        case .controller(_, let number, _):
            // The data of parameters depend on which one is chosen.
            number < 96 && number != 6 && number != 38 || number > 101 && number < 120 ? Int(number) : -1
        case .program: program
        case .bend: bend
        case .pressure: pressure
        default: -1
        }
    }

    @_noLocks @_noAllocation
    private static func take(_ note: TableNote, into held: inout Held) {
        if !note.isMessage { return }
        switch note.message {
        case .controller(_, let number, let value):
            switch number {
            case 100: held.parameter = value < 3 && held.parameter > -3 ? Int(value) : -2
            case 101: held.parameter = value == 0 ? max(held.parameter, -2) : -3
            case 98, 99: held.parameter = -3
            case 6, 38:
                if held.parameter >= 0 {
                    held.values[data &+ 2 &* held.parameter &+ (number == 6 ? 0 : 1)] = Int32(value)
                }
            case 121:
                held.parameter = -3
                // Controllers off, but for the bank, the volume, the place and the sounds.
                for slot in 1..<data where slot == 1 || slot == 11 || (slot > 63 && slot < 70) || slot > program {
                    if held.values[slot] != none { held.values[slot] = first(slot) }
                }
            default:
                let slot = slot(of: note.message)
                if slot >= 0 { held.values[slot] = Int32(value) }
            }
        case .program(_, let number): held.values[program] = Int32(number)
        case .bend(_, let value): held.values[bend] = Int32(truncatingIfNeeded: value)
        case .pressure(_, let pressure): held.values[Self.pressure] = Int32(pressure)
        default: break
        }
    }

    /// Returns the value with which a channel begins, if it is known.
    @_noLocks @_noAllocation
    private static func first(_ slot: Int) -> Int32 {
        switch slot {
        case 1, 64...69, bend, pressure: 0
        case 7: 100
        case 10: 64
        case 11: 127
        default: none
        }
    }
}
