package import RenderCore

/// Voices in groups of eight, each group computed at once, for as long as one of its lanes is in use.
///
/// A slot is a lane of a group. Time goes in chunks of 32 frames, counted from the last reset: notes begin and end on their frame, and
/// what glides goes in a straight line through a chunk. So the length of the cycles changes nothing.
@safe package struct LaneEnsemble: ~Copyable, @unchecked Sendable {
    // Unchecked because only the render thread reaches it, through a RenderState; the worker has no state.
    /// Voices there are.
    package let slotCount: Int
    /// Channels of the sum.
    package let channelCount: Int
    /// The rate that the delay lines were made for.
    package let sampleRate: Double
    /// Slots in use, and the voices that made a sample that was no number.
    package internal(set) var liveCount = 0
    package internal(set) var brokenCount = 0

    // Functions that change this memory in place take its pointers out first: for a change behind a stored pointer the compiler,
    // asked for ThreadSanitizer, makes code that it then refuses ("Invalid bitcast").
    let worker: Unmanaged<LaneWorker>
    let parameterCount: Int
    let groupCount: Int
    /// Bytes of a group, and groups of eight numbers in it.
    let stride: Int
    let words: Int
    let fresh: AlignedMemory<UInt32>
    let voices: AlignedMemory<UInt32>
    let former: AlignedMemory<UInt32>
    let notes: AlignedMemory<NoteLanes>
    let fades: AlignedMemory<FadeLanes>
    let targets: AlignedMemory<LaneTargets>
    let groups: AlignedMemory<Int32>
    let sums: AlignedMemory<Lanes>
    let lines: AlignedMemory<Float>
    let tables: AlignedMemory<Float>
    var work: LaneWork
    var shared = InlineArray<16, Float>(repeating: 0)
    /// The frame in the chunk; 0 while the next chunk has not begun.
    var place = 0
    var random: UInt32 = 0x9E37_79B9

    /// Frames of a chunk.
    package static var chunk: Int { @_noLocks @_noAllocation get { 32 } }

    /// Creates an ensemble.
    ///
    /// - Parameters:
    ///   - voice: The type of the voices, in which `LaneVoice.problem` finds nothing.
    ///   - slots: The number of voices.
    ///   - sampleRate: Frames in a second.
    package init<Voice: LaneVoice>(_ voice: Voice.Type, slots: Int, sampleRate: Double) {
        groupCount = (slots + 7) / 8
        slotCount = groupCount * 8
        channelCount = Voice.Sound.channelCount
        self.sampleRate = sampleRate
        parameterCount = Voice.Parameters.allCases.count
        unsafe worker = .passRetained(LaneWorkerOf<Voice>())
        words = MemoryLayout<Voice>.size / 32
        stride = max(1, words) * 8
        fresh = AlignedMemory(count: stride)
        voices = AlignedMemory(count: stride * groupCount)
        former = AlignedMemory(count: stride * groupCount)
        notes = AlignedMemory(count: groupCount)
        fades = AlignedMemory(count: groupCount)
        targets = AlignedMemory(count: groupCount)
        groups = AlignedMemory(count: groupCount)
        sums = AlignedMemory(count: LaneEnsemble.chunk * channelCount)
        let reach = max(0, min(Voice.lineFrames(at: sampleRate), 65_536))
        var lineFrames = 0
        if reach > 0 {
            lineFrames = 128
            while lineFrames < reach + 68 { lineFrames *= 2 }
        }
        lines = AlignedMemory(count: lineFrames * groupCount * 8)
        // Each call of the voice's function may return other tables: those are taken for which there is room.
        var waves = Voice.makeTables()
        let length = waves.first?.count ?? 0
        if length == 0 { waves = [] }
        tables = AlignedMemory(count: waves.count * length)
        for (index, wave) in waves.enumerated() {
            for (frame, sample) in wave.prefix(length).enumerated() {
                unsafe tables.base[index * length + frame] = sample
            }
        }
        let first = Voice()
        let (base, count) = unsafe (fresh.base, words * 8)
        unsafe withUnsafeBytes(of: first) { bytes in
            for index in 0..<count {
                unsafe base[index] = bytes.loadUnaligned(fromByteOffset: 4 * index, as: UInt32.self)
            }
        }
        unsafe work = LaneWork(
            voices: UnsafeMutableRawPointer(voices.base), former: UnsafeMutableRawPointer(former.base),
            notes: notes.base, fades: fades.base, sums: sums.base, groups: groups.base,
            lines: lineFrames > 0 ? lines.base : nil, lineFrames: lineFrames,
            tables: waves.isEmpty ? nil : UnsafePointer(tables.base), tableCount: Int32(waves.count),
            tableBits: length > 0 ? UInt32(length.trailingZeroBitCount) : 0)
        for group in 0..<groupCount {
            var fresh = NoteLanes()
            fresh.sampleRate = Float(sampleRate)
            unsafe notes.base[group] = fresh
            unsafe fades.base[group] = FadeLanes()
            unsafe targets.base[group] = LaneTargets()
            unsafe (voices.base + group * stride).update(from: self.fresh.base, count: stride)
        }
        warmUp()
    }

    deinit { unsafe worker.release() }

    /// Runs a voice once, so that the runtime makes all types that a debug build asks for, here and not on the render thread.
    private mutating func warmUp() {
        let (groups, fades) = unsafe (groups.base, fades.base)
        unsafe groups[0] = 0
        for task in [LaneWork.Task.begin, .control, .render, .find] {
            (work.task, work.groupCount, work.frames, work.place) = (task, 1, 1, 0)
            unsafe call(worker, work)
            unsafe fades[0].live = 255
            unsafe call(worker, work)
            unsafe fades[0].live = 0
        }
        reset()
    }

    /// Ends all voices, at once.
    @_noLocks @_noAllocation
    package mutating func reset() {
        for slot in 0..<slotCount { end(slot) }
        let (notes, targets) = unsafe (notes.base, targets.base)
        for group in 0..<groupCount {
            unsafe notes[group].values = InlineArray(repeating: .zero)
            unsafe targets[group] = LaneTargets()
        }
        (place, work.now, liveCount, brokenCount, random) = (0, 0, 0, 0, 0x9E37_79B9)
    }

    // MARK: Notes

    /// Returns whether a slot is free.
    @_noLocks @_noAllocation
    package func isFree(_ slot: Int) -> Bool { unsafe fades.base[slot &>> 3].live & bit(slot) == 0 }

    /// The number of voices that sound, those that fade out not counted.
    package var soundingCount: Int {
        @_noLocks @_noAllocation get {
            var count = 0
            for group in 0..<groupCount {
                let fade = unsafe fades.base[group]
                count &+= (fade.live & ~fade.fading).nonzeroBitCount
            }
            return count
        }
    }

    /// Returns the number of frames for which a slot still fades out; -1 if it does not.
    @_noLocks @_noAllocation
    package func fadeLeft(_ slot: Int) -> Int {
        let group = slot &>> 3
        return unsafe fades.base[group].fading & bit(slot) == 0 ? -1 : Int(fades.base[group].left[slot & 7])
    }

    @_noLocks @_noAllocation
    func bit(_ slot: Int) -> UInt8 { 1 &<< UInt8(truncatingIfNeeded: slot & 7) }

    /// Begins a voice in a slot.
    ///
    /// - Parameters:
    ///   - slot: The slot, free or not.
    ///   - note: The note, in semitones.
    ///   - bend: The bend, in semitones.
    ///   - velocity: 0…1.
    ///   - pressure: 0…1.
    ///   - own: Values of its own for the parameters; what is no number stands for the shared value.
    ///   - glides: The shared values.
    ///   - frame: The frame of the slice.
    @_noLocks @_noAllocation
    package mutating func begin(
        _ slot: Int, note: Float, bend: Float, velocity: Float, pressure: Float, own: InlineArray<16, Float>,
        _ glides: borrowing InlineArray<16, Glide>, at frame: Int
    ) {
        end(slot)
        let (group, lane) = (slot &>> 3, slot & 7)
        let (notes, fades, targets) = unsafe (notes.base, fades.base, targets.base)
        liveCount &+= 1
        unsafe fades[group].live |= bit(slot)
        unsafe fades[group].use[lane] = 1
        random ^= random &<< 13
        random ^= random &>> 17
        random ^= random &<< 5
        let pitch = note + bend
        let (turns, step) = turn(pitch)
        unsafe notes[group].haveChanged = true
        unsafe notes[group].seed[lane] = random
        unsafe notes[group].pitch[lane] = pitch
        unsafe notes[group].velocity[lane] = velocity
        unsafe notes[group].gate[lane] = 1
        unsafe set(&notes[group].turns, &notes[group].turnsSlope, lane, turns)
        unsafe set(&notes[group].pressure, &notes[group].pressureSlope, lane, pressure)
        unsafe notes[group].step[lane] = step
        unsafe notes[group].stepSlope[lane] = 0
        unsafe targets[group].begin(lane, note: note, bend: bend, pressure: pressure)
        for k in 0..<parameterCount {
            let isOwn = own[k] == own[k]
            let value = isOwn ? own[k] : glides[k][frame]
            unsafe set(&notes[group].values[k], &notes[group].slopes[k], lane, value)
            unsafe targets[group].give(k, lane, own[k], from: value)
        }
        if place == 0 { return }
        // The chunk is under way: the voice's `control` for the rest of it. Of the others in the group nothing changes.
        unsafe groups.base[0] = Int32(truncatingIfNeeded: group)
        unsafe notes[group].frames = Float(Int32(truncatingIfNeeded: LaneEnsemble.chunk &- place))
        unsafe notes[group].place = Float(Int32(truncatingIfNeeded: place))
        (work.task, work.groupCount) = (.begin, 1)
        unsafe call(worker, work)
        unsafe notes[group].frames = Float(Int32(truncatingIfNeeded: LaneEnsemble.chunk))
        unsafe notes[group].place = 0
        unsafe copyLane(lane, from: former.base + group &* stride, to: voices.base + group &* stride)
    }

    /// The key of a voice goes up.
    @_noLocks @_noAllocation
    package mutating func letGo(_ slot: Int) {
        let notes = unsafe notes.base
        unsafe notes[slot &>> 3].gate[slot & 7] = 0
    }

    /// A voice is to be silent after that many frames, without a click.
    @_noLocks @_noAllocation
    package mutating func leave(_ slot: Int, in frames: Int) {
        let fades = unsafe fades.base
        let (group, lane) = (slot &>> 3, slot & 7)
        if isFree(slot) || fadeLeft(slot) >= 0 { return }
        let count = Float(Int32(truncatingIfNeeded: max(1, min(frames, 1 << 20))))
        unsafe fades[group].fading |= bit(slot)
        unsafe fades[group].left[lane] = count
        unsafe fades[group].turns[lane] = 0.5 / count
    }

    /// Ends a voice, at once.
    @_noLocks @_noAllocation
    package mutating func end(_ slot: Int) {
        let (notes, fades) = unsafe (notes.base, fades.base)
        let (group, lane) = (slot &>> 3, slot & 7)
        if !isFree(slot) { liveCount &-= 1 }
        unsafe fades[group].live &= ~bit(slot)
        unsafe fades[group].fading &= ~bit(slot)
        unsafe fades[group].use[lane] = 0
        unsafe fades[group].turns[lane] = 0
        unsafe notes[group].gate[lane] = 0
        unsafe copyLane(lane, from: fresh.base, to: voices.base + group &* stride)
    }

    /// Bends a voice, or presses its key; what is no number stands for what there is. It gets there in some 30 ms.
    @_noLocks @_noAllocation
    package mutating func move(_ slot: Int, bend: Float = .nan, pressure: Float = .nan) {
        let targets = unsafe targets.base
        let (group, lane) = (slot &>> 3, slot & 7)
        if bend == bend { unsafe targets[group].bendAim[lane] = bend }
        if pressure == pressure { unsafe targets[group].pressureAim[lane] = pressure }
        unsafe targets[group].isMoving = true
    }

    /// Gives a voice a value of its own; what is no number stands for the shared value.
    @_noLocks @_noAllocation
    package mutating func give(_ slot: Int, _ parameter: Int, _ value: Float) {
        let targets = unsafe targets.base
        unsafe targets[slot &>> 3].own(parameter, slot & 7, value)
    }

    /// Returns the way of the phase of a pitch to the next frame.
    @_noLocks @_noAllocation
    func turn(_ pitch: Float) -> (Float, UInt32) {
        let held = pitch > -128 ? min(Double(pitch), 256) : -128
        let turns = min(440 * RenderMath.exp2((held - 69) / 12) / sampleRate, 0.49)
        return (Float(turns), UInt32(turns * 0x1p32 + 0.5))
    }

    @_noLocks @_noAllocation
    func set(_ value: inout Lanes, _ slope: inout Lanes, _ lane: Int, _ number: Float) {
        value[lane] = number
        slope[lane] = 0
    }

    @_noLocks @_noAllocation
    @unsafe func copyLane(
        _ lane: Int, from source: UnsafeMutablePointer<UInt32>, to target: UnsafeMutablePointer<UInt32>
    ) {
        for word in 0..<words { unsafe target[word &* 8 &+ lane] = source[word &* 8 &+ lane] }
    }
}
