package import RenderCore

// The sound of the voices, chunk by chunk.
extension LaneEnsemble {
    /// Renders frames up to the end of the chunk at most, and returns how many: ``sample(_:_:)`` has them. No frames have been
    /// summed if no voice is in use.
    ///
    /// - Parameters:
    ///   - count: The number of frames, 1 or more.
    ///   - frame: The first, in the slice.
    ///   - glides: The shared values.
    @_noLocks @_noAllocation
    package mutating func advance(
        _ count: Int, at frame: Int, _ glides: borrowing InlineArray<16, Glide>
    ) -> Int {
        if place == 0 { beginChunk(at: frame, glides) }
        let frames = min(count, LaneEnsemble.chunk &- place)
        if liveCount > 0 {
            collect()
            (work.task, work.frames, work.place) = (.render, frames, place)
            if !sum() { mend() }
            advanceFades(frames)
        }
        place &+= frames
        work.now &+= Int32(truncatingIfNeeded: frames)
        if place == LaneEnsemble.chunk {
            place = 0
            if liveCount > 0 { endSilentVoices() }
        }
        return frames
    }

    /// Returns a sample of the frames that were rendered last.
    @_noLocks @_noAllocation
    package func sample(_ frame: Int, _ channel: Int) -> Float {
        unsafe LaneMath.sum(sums.base[frame &* channelCount &+ channel])
    }

    @_noLocks @_noAllocation
    private mutating func beginChunk(at frame: Int, _ glides: borrowing InlineArray<16, Glide>) {
        var isMoving = false
        for k in 0..<parameterCount {
            let value = glides[k][frame]
            if value != shared[k] { isMoving = true }
            shared[k] = value
        }
        if liveCount == 0 { return }
        collect()
        let part = 1 - RenderMath.exp(-Double(LaneEnsemble.chunk) / (0.01 * sampleRate))
        for k in 0..<work.groupCount {
            let group = unsafe Int(groups.base[k])
            let haveChanged = unsafe isMoving || targets.base[group].isMoving
            unsafe notes.base[group].haveChanged = haveChanged
            if haveChanged { glide(group, part: Float(part)) }
        }
        work.task = .control
        unsafe call(worker, work)
    }

    /// Sets the lines on which the numbers of a group go through a chunk.
    @_noLocks @_noAllocation
    private mutating func glide(_ group: Int, part: Float) {
        let (notes, targets) = unsafe (notes.base, targets.base)
        let perFrame = 1 / Float(LaneEnsemble.chunk)
        var isMoving = false
        for k in 0..<parameterCount {
            let from = unsafe targets[group].ends[k]
            let to = unsafe targets[group].aim(k, shared[k], part)
            unsafe notes[group].values[k] = from
            unsafe notes[group].slopes[k] = (to - from) * perFrame
            unsafe targets[group].ends[k] = to
            if LaneMath.any(to .!= from) { isMoving = true }
        }
        let pressure = unsafe targets[group].pressure
        let pressed = unsafe LaneTargets.follow(pressure, targets[group].pressureAim, part)
        unsafe notes[group].pressure = pressure
        unsafe notes[group].pressureSlope = (pressed - pressure) * perFrame
        unsafe targets[group].pressure = pressed
        let bend = unsafe targets[group].bend
        let bent = unsafe LaneTargets.follow(bend, targets[group].bendAim, part)
        unsafe targets[group].bend = bent
        for lane in 0..<8 {
            let from = unsafe targets[group].note[lane] + bend[lane]
            let to = unsafe targets[group].note[lane] + bent[lane]
            let (turns, step) = turn(from)
            let (turnsThen, stepThen) = turn(to)
            unsafe notes[group].pitch[lane] = from
            unsafe notes[group].turns[lane] = turns
            unsafe notes[group].turnsSlope[lane] = (turnsThen - turns) * perFrame
            unsafe notes[group].step[lane] = step
            let way = Int32(truncatingIfNeeded: Int64(stepThen) - Int64(step))
            unsafe notes[group].stepSlope[lane] = UInt32(bitPattern: way / Int32(LaneEnsemble.chunk))
        }
        if LaneMath.any((pressed .!= pressure) .| (bent .!= bend)) { isMoving = true }
        // One chunk more sets all slopes to 0.
        unsafe targets[group].isMoving = isMoving
    }

    /// Lists the groups that have a lane in use.
    @_noLocks @_noAllocation
    private mutating func collect() {
        var count = 0
        for group in 0..<groupCount where unsafe fades.base[group].live != 0 {
            unsafe groups.base[count] = Int32(truncatingIfNeeded: group)
            count &+= 1
        }
        work.groupCount = count
    }

    /// Sums the voices of the listed groups. Returns whether all samples are numbers.
    @_noLocks @_noAllocation
    private mutating func sum() -> Bool {
        let count = work.frames &* channelCount
        for i in 0..<count { unsafe sums.base[i] = .zero }
        unsafe call(worker, work)
        var check = Lanes.zero
        for i in 0..<count { unsafe check += 0 * sums.base[i] }
        return !LaneMath.any(check .!= 0)
    }

    /// Ends the voices that made a sample that is no number, and computes the others again from where they were.
    @_noLocks @_noAllocation
    private mutating func mend() {
        let count = work.groupCount
        for k in 0..<count { unsafe restore(Int(groups.base[k])) }
        for group in 0..<groupCount where unsafe fades.base[group].live != 0 {
            work.groupCount = 1
            unsafe groups.base[0] = Int32(truncatingIfNeeded: group)
            let isGood = sum()
            restore(group)
            if isGood { continue }
            var check = Lanes.zero
            for i in 0..<work.frames &* channelCount { unsafe check += 0 * sums.base[i] }
            for lane in 0..<8 where check[lane] != 0 {
                end(group &* 8 &+ lane)
                brokenCount &+= 1
            }
        }
        collect()
        _ = sum()
    }

    @_noLocks @_noAllocation
    private func restore(_ group: Int) {
        for word in 0..<stride {
            unsafe voices.base[group &* stride &+ word] = former.base[group &* stride &+ word]
        }
    }

    @_noLocks @_noAllocation
    private mutating func advanceFades(_ frames: Int) {
        let fades = unsafe fades.base
        for k in 0..<work.groupCount {
            let group = unsafe Int(groups.base[k])
            if unsafe fades[group].fading == 0 { continue }
            unsafe fades[group].left -= Float(Int32(truncatingIfNeeded: frames))
            for lane in 0..<8 {
                let slot = group &* 8 &+ lane
                if unsafe fades[group].fading & bit(slot) != 0 && fades[group].left[lane] <= 0 { end(slot) }
            }
        }
    }

    /// Voices whose key is up, and that are silent, fade out: in vain, unless the voice has none that falls silent by itself.
    @_noLocks @_noAllocation
    private mutating func endSilentVoices() {
        var count = 0
        for group in 0..<groupCount {
            let fade = unsafe fades.base[group]
            // Free lanes have no gate either: they do not count.
            let open = unsafe (fade.use - notes.base[group].gate) .> 0
            if fade.live == 0 || !LaneMath.any(open) { continue }
            unsafe groups.base[count] = Int32(truncatingIfNeeded: group)
            count &+= 1
        }
        if count == 0 { return }
        (work.task, work.groupCount) = (.find, count)
        unsafe call(worker, work)
        let frames = Int(0.005 * sampleRate)
        for k in 0..<count {
            let group = unsafe Int(groups.base[k])
            for lane in 0..<8 {
                let slot = group &* 8 &+ lane
                let isUp = unsafe notes.base[group].gate[lane] == 0
                if isUp, unsafe fades.base[group].sounding & bit(slot) == 0 { leave(slot, in: frames) }
            }
        }
    }
}
