internal import RenderCore

/// Numbered items, each with a beat: the item with the earliest beat is on top; of one beat, that with the lowest number.
struct BeatHeap: ~Copyable, Sendable {
    private var beats: RenderMemory<Double>
    private var items: RenderMemory<Int>
    private var places: RenderMemory<Int>
    private(set) var count = 0

    init(capacity: Int) {
        beats = RenderMemory(repeating: .infinity, count: capacity)
        items = RenderMemory(repeating: 0, count: capacity)
        places = RenderMemory(repeating: -1, count: capacity)
    }

    /// The item on top; -1 if there is none.
    var first: Int { @_noLocks @_noAllocation get { count > 0 ? items[0] : -1 } }

    /// The beat of the item on top; infinite if there is none.
    var beat: Double { @_noLocks @_noAllocation get { count > 0 ? beats[items[0]] : .infinity } }

    /// Returns the item at a place, in no order.
    @_noLocks @_noAllocation
    func item(at place: Int) -> Int { items[place] }

    @_noLocks @_noAllocation
    func beat(of item: Int) -> Double { beats[item] }

    /// Gives an item a beat; an infinite one takes it out.
    @_noLocks @_noAllocation
    mutating func set(_ item: Int, _ beat: Double) {
        let place = places[item]
        if beat == .infinity || beat.isNaN {
            if place >= 0 { remove(item, place) }
            return
        }
        beats[item] = beat
        if place >= 0 {
            settle(place)
        } else {
            items[count] = item
            places[item] = count
            count &+= 1
            settle(count &- 1)
        }
    }

    /// Gives all items beats that are later by so much, which leaves them in their order.
    @_noLocks @_noAllocation
    mutating func move(by way: Double) {
        for place in 0..<count { beats[items[place]] += way }
    }

    @_noLocks @_noAllocation
    mutating func removeAll() {
        while count > 0 { set(items[count &- 1], .infinity) }
    }

    @_noLocks @_noAllocation
    private mutating func remove(_ item: Int, _ place: Int) {
        count &-= 1
        places[item] = -1
        beats[item] = .infinity
        if place == count { return }
        items[place] = items[count]
        places[items[place]] = place
        settle(place)
    }

    @_noLocks @_noAllocation
    private func comesBefore(_ a: Int, _ b: Int) -> Bool { beats[a] < beats[b] || (beats[a] == beats[b] && a < b) }

    /// Moves the item at a place to where it belongs.
    @_noLocks @_noAllocation
    private mutating func settle(_ start: Int) {
        var place = start
        while place > 0, comesBefore(items[place], items[(place &- 1) &>> 1]) {
            exchange(place, (place &- 1) &>> 1)
            place = (place &- 1) &>> 1
        }
        while true {
            var least = place
            let left = place &* 2 &+ 1
            if left < count, comesBefore(items[left], items[least]) { least = left }
            if left &+ 1 < count, comesBefore(items[left &+ 1], items[least]) { least = left &+ 1 }
            if least == place { return }
            exchange(place, least)
            place = least
        }
    }

    @_noLocks @_noAllocation
    private mutating func exchange(_ a: Int, _ b: Int) {
        let (first, second) = (items[a], items[b])
        items[a] = second
        items[b] = first
        places[second] = a
        places[first] = b
    }
}
