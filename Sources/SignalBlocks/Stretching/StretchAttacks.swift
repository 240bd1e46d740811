/// The places at which a sound begins anew, and where they belong in the output of a ``TimeStretch``.
///
/// The sound is looked at in parts of about 1 ms. A part whose steps from frame to frame have five times the energy of each
/// of the 32 parts before is an attack. Tones that beat, noise and the periods of a voice do not rise that fast.
struct StretchAttacks: ~Copyable, Sendable {
    private let size: Int
    private let bins: Int
    private let part: Int
    private static var kept: Int { @_noLocks @_noAllocation get { 32 } }
    /// The parts in which a larger rise takes the place of the first.
    private static var late: Int { @_noLocks @_noAllocation get { 4 } }
    private static var room: Int { @_noLocks @_noAllocation get { 4 } }
    private var energies: SampleMemory
    private var heard = 0
    /// The frame of the line at which the next part begins.
    private var next = 0
    private var quietUntil = 0
    /// The energy of the part of the last attack.
    private var found: Float = 0
    private let attacks: AlignedMemory<StretchAttack>
    private var count = 0
    /// Of each attack, the power of each bin in the block before it.
    private var before: SampleMemory
    private var rows = 0

    init(size: Int, bins: Int) {
        self.size = size
        self.bins = bins
        part = size / 128
        energies = SampleMemory(count: StretchAttacks.kept)
        attacks = AlignedMemory(count: StretchAttacks.room)
        before = SampleMemory(count: StretchAttacks.room * bins)
    }

    @_noLocks @_noAllocation
    mutating func reset() {
        for i in 0..<StretchAttacks.kept { energies[i] = 0 }
        (heard, next, quietUntil, count) = (0, 0, 0, 0)
    }

    /// Listens to the frames of the line that are new.
    @_noLocks @_noAllocation
    mutating func listen(_ line: borrowing StretchLine) {
        while next &+ part <= line.filled {
            let energy = rise(line)
            var highest: Float = 0
            for i in 0..<StretchAttacks.kept where energies[i] > highest { highest = energies[i] }
            // A comparison with a value that is not a number is false.
            if energy > 5 * highest + 1e-10 {
                if heard >= quietUntil {
                    add(place(line))
                    quietUntil = heard &+ StretchAttacks.kept
                    found = energy
                } else if count > 0 && quietUntil &- heard > StretchAttacks.kept &- StretchAttacks.late
                    && energy > 10 * found
                {
                    // That was what a filter lets ring before the attack.
                    put(count &- 1, at: place(line))
                    found = energy
                }
            }
            energies[heard & (StretchAttacks.kept &- 1)] = energy
            heard &+= 1
            next &+= part
        }
    }

    /// Returns the energy of the steps from frame to frame in the next part.
    @_noLocks @_noAllocation
    private func rise(_ line: borrowing StretchLine) -> Float {
        var (even, odd): (Float, Float) = (0, 0)
        for channel in 0..<line.channelCount {
            let samples = unsafe line.samples(channel, from: next)
            var last = sample(line, channel, next &- 1)
            var i = 0
            while i &+ 1 < part {
                let (first, second) = unsafe (samples[i], samples[i &+ 1])
                even += (first - last) * (first - last)
                odd += (second - first) * (second - first)
                last = second
                i &+= 2
            }
        }
        return even + odd
    }

    /// Returns the first frame of the next part whose step is about as large as its largest.
    @_noLocks @_noAllocation
    private func place(_ line: borrowing StretchLine) -> Int {
        var largest: Float = 0
        for i in 0..<part { largest = max(largest, step(line, next &+ i)) }
        for i in 0..<part where step(line, next &+ i) > 0.25 * largest { return next &+ i }
        return next
    }

    /// Returns the energy of the step to a frame.
    @_noLocks @_noAllocation
    private func step(_ line: borrowing StretchLine, _ frame: Int) -> Float {
        var sum: Float = 0
        for channel in 0..<line.channelCount {
            let step = sample(line, channel, frame) - sample(line, channel, frame &- 1)
            sum += step * step
        }
        return sum
    }

    /// Returns a sample; before the first one there is silence.
    @_noLocks @_noAllocation
    private func sample(_ line: borrowing StretchLine, _ channel: Int, _ frame: Int) -> Float {
        frame < 0 ? 0 : unsafe line.samples(channel, from: frame)[0]
    }

    /// Puts an attack elsewhere. The whole attack is written: one property behind a pointer is more than the compiler can do for
    /// the thread sanitizer.
    @_noLocks @_noAllocation
    private func put(_ index: Int, at place: Int) {
        var attack = unsafe attacks.base[index]
        attack.place = place
        unsafe attacks.base[index] = attack
    }

    @_noLocks @_noAllocation
    private mutating func add(_ place: Int) {
        if count == StretchAttacks.room { removeFirst() }
        rows = (rows &+ 1) & (StretchAttacks.room &- 1)
        unsafe attacks.base[count] = StretchAttack(place: place, row: rows)
        count &+= 1
    }

    @_noLocks @_noAllocation
    private mutating func removeFirst() {
        count &-= 1
        for i in 0..<count { unsafe attacks.base[i] = attacks.base[i &+ 1] }
    }

    /// Goes on to the next block.
    ///
    /// - Parameters:
    ///   - middle: The middle of the block, in the line.
    ///   - exact: That middle, with its fraction of a frame.
    ///   - pace: The frames of the line in a frame of output.
    ///   - power: The power of each bin in the block before.
    /// - Returns: The frames by which the attack is later in the output block than in the line, and the row of its powers
    ///   for ``isNew(_:_:_:)``; `nil` if there is none.
    @_noLocks @_noAllocation
    mutating func advance(
        to middle: Int, exact: Double, pace: Double, _ power: borrowing SampleMemory
    ) -> (shift: Double, row: Int)? {
        for i in 0..<count {
            var attack = unsafe attacks.base[i]
            if attack.hasBegun {
                attack.out -= Double(size / 4)
            } else if attack.place &- middle < size / 2 &- StretchAttacks.late &* part {
                attack.hasBegun = true
                attack.out = (Double(attack.place) - exact) / pace
                for bin in 0..<bins { before[attack.row &* bins &+ bin] = power[bin] }
            }
            unsafe attacks.base[i] = attack
        }
        while count > 0 {
            let attack = unsafe attacks.base[0]
            if !attack.hasBegun { return nil }
            let distance = attack.place &- middle
            // It is over when it is past the middle: what rings on behind it is stretched as all else. If another attack follows
            // soon, it is over a little earlier.
            let least = unsafe count > 1 && attacks.base[1].hasBegun ? -size / 8 : -3 &* size / 16
            if distance < -size / 2 || attack.out < Double(least) {
                removeFirst()
                continue
            }
            // A place behind the block is moved to its end, where its window is low.
            let end = Double(size / 2 &- part)
            return ((attack.out < end ? attack.out : end) - Double(distance), attack.row)
        }
        return nil
    }

    /// Indicates whether a bin is much louder than it was before the attack: by 12 dB. Softer ones are not part of it, such as the
    /// harmonics of a vowel into which a consonant falls.
    @_noLocks @_noAllocation
    func isNew(_ power: Float, _ bin: Int, _ row: Int) -> Bool { power > 16 * before[row &* bins &+ bin] + 1e-30 }
}

/// An attack. Not a private type: where another module owns a stretcher, the compiler would not find it.
struct StretchAttack: BitwiseCopyable, Sendable {
    /// The frame of the line.
    var place = 0
    /// The distance from the middle of the present block of output.
    var out = 0.0
    /// Indicates whether it is in the present block, or has been.
    var hasBegun = false
    var row = 0
}
