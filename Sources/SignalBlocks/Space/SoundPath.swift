/// The time that the sound of a moving source is under way: the sound that is heard now set out when the source was elsewhere.
///
/// Every 128 frames the path notes when the sound that sets out will arrive. The sound that arrives now set out between two such
/// notes; so the pitch is that of Doppler's formula for a source that moves, also while the motion changes.
package struct SoundPath: ~Copyable, Sendable {
    /// For each block the frame at which its sound arrives, less 128 frames for each block; and the speed at which the listener came
    /// nearer, as a part of the speed of sound.
    private let notes: AlignedMemory<SIMD2<Double>>
    private let mask: Int
    private let longest: Double
    private var block = 0
    /// The last block whose sound has arrived.
    private var arrived = 0

    private static var length: Double { @_noLocks @_noAllocation get { Double(Course.frames) } }

    /// Creates the path of a source that stands at no distance. On the control side: it allocates.
    ///
    /// - Parameter longest: The longest way in frames.
    package init(longest: Double) {
        self.longest = longest
        var count = 16
        while Double(count) * SoundPath.length < longest + 1_024 { count *= 2 }
        notes = AlignedMemory(count: count)
        mask = count - 1
    }

    /// Forgets the motion of the source: it has always stood where it is, or has gone away evenly, and the listener has come
    /// nearer.
    ///
    /// - Parameters:
    ///   - way: The frames that the sound would need now, if both stood.
    ///   - approach: The part of the speed of sound by which the listener comes nearer.
    ///   - recession: The frames in a block by which the way has grown: without one, by the listener alone.
    @_noLocks @_noAllocation
    package mutating func stand(at way: Double, approach: Double = 0, recession: Double? = nil) {
        let approach = approach > -0.9 ? (approach < 0.9 ? approach : 0.9) : -0.9
        let change = recession ?? -approach * SoundPath.length
        for age in 0...mask {
            let place = (block &- age) & mask
            let then = way - change * Double(age &+ 1)
            let held = recession == nil ? then : (then > 0 ? (then < longest ? then : longest) : 0)
            unsafe notes.base[place] = SIMD2(held, approach)
        }
        arrived = block &- mask &+ 1
    }

    /// Becomes the path of another source, with a longest way that is the same.
    @_noLocks @_noAllocation
    package mutating func become(_ other: borrowing SoundPath) {
        precondition(mask == other.mask)
        for place in 0...mask { unsafe notes.base[place] = other.notes.base[place] }
        (block, arrived) = (other.block, other.arrived)
    }

    /// Fetches the notes that the next block needs.
    @_noLocks @_noAllocation
    package mutating func fetch() {
        let (heard, new) = unsafe (notes.base + (arrived & mask), notes.base + ((block &+ 1) & mask))
        Kernel.fetch(object: UInt(bitPattern: heard), line: UInt(bitPattern: new))
    }

    /// Goes on by a block.
    ///
    /// - Parameters:
    ///   - way: The frames that the sound which sets out now will need, from 0 to the longest.
    ///   - approach: The part of the speed of sound by which the listener comes nearer, who meets the sound.
    /// - Returns: The frames that the sound which arrives now has needed.
    @_noLocks @_noAllocation
    package mutating func advance(_ way: Double, approach: Double) -> Double {
        block &+= 1
        unsafe notes.base[block & mask] = SIMD2(way, approach > -0.9 ? (approach < 0.9 ? approach : 0.9) : -0.9)
        if arrived < block &- mask &+ 1 { arrived = block &- mask &+ 1 }
        // The sound that set out so many frames ago has needed so many.
        var age = SoundPath.length * Double(block &- arrived)
        var before = met(arrived, age)
        while arrived < block {
            let nextAge = age - SoundPath.length
            let after = met(arrived &+ 1, nextAge)
            if after > nextAge {
                // Arrivals before now: of the one `age - before`, of the next `nextAge - after`.
                let span = SoundPath.length + after - before
                let share = span > 1e-9 ? (age - before) / span : 1
                return age - SoundPath.length * (share > 0 ? (share < 1 ? share : 1) : 0)
            }
            (arrived, age, before) = (arrived &+ 1, nextAge, after)
        }
        return 0
    }

    /// Returns the frames that a block's sound needs to reach the listener at `age`.
    @_noLocks @_noAllocation
    private func met(_ block: Int, _ age: Double) -> Double {
        let note = unsafe notes.base[block & mask]
        return note.x - note.y * age
    }
}
