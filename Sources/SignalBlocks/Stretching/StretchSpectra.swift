internal import CKernels

/// The spectra of a ``TimeStretch``: blocks of sound, turned so that each continues the one before.
struct StretchSpectra: ~Copyable, Sendable {
    private let channelCount: Int
    private let size: Int
    private let hop: Int
    private let bins: Int
    /// Floats from the real parts of a spectrum to its imaginary parts; before and behind the planes there are zeros.
    private let stride: Int
    private static var margin: Int { @_noLocks @_noAllocation get { 16 } }
    private var fft: RealFFT
    private let window: SampleMemory
    /// The window for the way back, scaled so that four hops add up to one.
    private let outWindow: SampleMemory
    /// Of each channel, the block with its window, which becomes the block of output, and the block a hop before it.
    private var blocks: SampleMemory
    /// Of each channel, two spectra: that of the block before and that of this block, which exchange their places.
    private var spectra: SampleMemory
    private var nowIsFirst = true
    private var scratch: SampleMemory
    private var sums: SampleMemory
    private var turns: SampleMemory
    private var powerBefore: SampleMemory
    /// A gain for each 32 bins.
    private var gains: SampleMemory
    /// Of each channel, the low tone of this block.
    private let tones: AlignedMemory<StretchTone>
    private let links: AlignedMemory<Int32>
    private let heads: AlignedMemory<Int32>
    private var envelope: FormantEnvelope
    private var attacks: StretchAttacks
    /// The attack of the block: how much later it is in the output, and the row of its powers; below 0 without one.
    private var shift = 0.0
    private var attackRow = -1
    /// The middle of the block before, in the line.
    private var middleBefore = 0
    private var hasBefore = false
    /// Indicates whether no bin is turned.
    private var isInPhase = true
    /// The work on a block: how far the middle is from that of the block before (-1 for the first one), the ratio of the pitches if formants stay,
    /// the steps that are done, the steps of its three parts, and what all steps cost and those that are done.
    private var advance = 0
    private var step: Float = 1
    private var done = 0
    private var analysisSteps = 0
    private var turnSteps = 0
    private var synthesisSteps = 0
    private var cost = 0
    private var spent = 0
    private var isUnderWay = false
    /// Indicates whether the blocks a hop before are still to be taken out of the line.
    private var needsEarlier = false

    /// - Parameters:
    ///   - channels: The channels.
    ///   - size: The frames of a block.
    ///   - width: The bins over which the envelope of kept formants is averaged, on either side: 170 Hz.
    ///   - hertzPerBin: The distance of two bins.
    init(channels: Int, size: Int, width: Int, hertzPerBin: Double) {
        channelCount = channels
        self.size = size
        hop = size / 4
        bins = size / 2 + 1
        stride = (bins + 8 + 15) / 16 * 16
        fft = RealFFT(size: size)
        var shape = SampleMemory(count: size)
        var back = SampleMemory(count: size)
        // Hann's window to the power of 1.2 has lower lobes than his own, in which close tones would disturb each other. The way
        // back has the power of 1.3: the narrower it is, the less the bands of a voice smear.
        var weights: [(in: Double, out: Double)] = []
        for i in 0..<size {
            let weight = 0.5 - 0.5 * RenderMath.cos(2 * Double.pi * Double(i) / Double(size))
            weights.append((RenderMath.pow(weight, StretchTone.power), RenderMath.pow(weight, 1.3)))
        }
        for i in 0..<size {
            // Four of them add up to one.
            var sum = 0.0
            for overlap in 0..<4 {
                let other = weights[(i + overlap * (size / 4)) % size]
                sum += other.in * other.out
            }
            shape[i] = Float(weights[i].in)
            back[i] = Float(weights[i].out / sum)
        }
        window = shape
        outWindow = back
        blocks = SampleMemory(count: 2 * channels * size)
        spectra = SampleMemory(count: 2 * channels * (2 * stride + StretchSpectra.margin) + StretchSpectra.margin)
        scratch = SampleMemory(count: 2 * stride + 2 * StretchSpectra.margin)
        sums = SampleMemory(count: 6 * stride + 16)
        turns = SampleMemory(count: 2 * stride + 16)
        powerBefore = SampleMemory(count: stride)
        gains = SampleMemory(count: bins / 32 + 1)
        tones = AlignedMemory(count: channels)
        links = AlignedMemory(count: 2 * bins)
        heads = AlignedMemory(count: 1_026)
        envelope = FormantEnvelope(bins: bins, stride: stride, width: width, hertzPerBin: hertzPerBin)
        attacks = StretchAttacks(size: size, bins: bins)
        reset()
    }

    @_noLocks @_noAllocation
    mutating func reset() {
        hasBefore = false
        isUnderWay = false
        for bin in 0..<bins { powerBefore[bin] = 0 }
        attacks.reset()
        putInPhase()
    }

    /// Looks for attacks in frames of the line that are new.
    @_noLocks @_noAllocation
    mutating func listen(_ line: borrowing StretchLine) { attacks.listen(line) }

    @_noLocks @_noAllocation
    private mutating func putInPhase() {
        isInPhase = true
        for bin in 0..<bins {
            turns[bin] = 1
            turns[stride &+ bin] = 0
        }
        for group in 0...bins / 32 { gains[group] = 1 }
    }

    @_noLocks @_noAllocation
    private func planes(_ channel: Int, isNow: Bool) -> UnsafeMutablePointer<Float> {
        let number = 2 &* channel &+ (isNow == nowIsFirst ? 0 : 1)
        return unsafe spectra.base + (StretchSpectra.margin &+ number &* (2 &* stride &+ StretchSpectra.margin))
    }

    /// Puts a block of the line into a row, with the window; what is before the line is silence.
    @_noLocks @_noAllocation
    private mutating func load(_ line: borrowing StretchLine, _ channel: Int, around middle: Int, into row: Int) {
        let (start, first) = (middle &- size / 2, row &* size)
        if line.has(start, count: size) {
            unsafe kernel_stretch_window(
                line.samples(channel, from: start), window.base, blocks.base + first, size)
            return
        }
        for i in 0..<size { blocks[first &+ i] = 0 }
        let low = start > 0 ? start : 0, end = start &+ size < line.filled ? start &+ size : line.filled
        if low >= end || !line.has(low, count: end &- low) { return }
        let samples = unsafe line.samples(channel, from: low)
        for i in 0..<end &- low {
            let place = low &- start &+ i
            blocks[first &+ place] = unsafe samples[i] * window[place]
        }
    }

    /// Takes a block in, for the steps of work that follow.
    ///
    /// - Parameters:
    ///   - line: The sound at its new pitch.
    ///   - place: The middle of the block, in the line.
    ///   - pace: The frames of the line in a frame of output.
    ///   - step: The ratio of the pitches if formants stay, else 1.
    @_noLocks @_noAllocation
    mutating func begin(
        _ line: borrowing StretchLine, around place: Double, pace: Double, step: Float
    ) {
        // The nearest frame; rounding is towards zero.
        let middle = place < 0 ? -Int(0.5 - place) : Int(place + 0.5)
        advance = hasBefore ? middle &- middleBefore : -1
        middleBefore = middle
        self.step = step
        for channel in 0..<channelCount {
            load(line, channel, around: middle, into: 2 &* channel)
        }
        needsEarlier = !isSteady
        nowIsFirst = !nowIsFirst
        attackRow = -1
        if let attack = attacks.advance(to: middle, exact: place, pace: pace, powerBefore) {
            (shift, attackRow) = (attack.shift, attack.row)
        }
        // A sound that begins in the first block may belong elsewhere in it.
        if !isSteady || attackRow >= 0 && (shift > 1 || shift < -1) { isInPhase = false }
        // Besides those of a transform, one that hands on what comes of it.
        analysisSteps = channelCount &* (isSteady ? 1 : 2) &* (fft.analysisSteps &+ 1)
        turnSteps = (isInPhase ? 1 : StretchSpectra.lockSteps &+ 7) &+ (step == 1 ? 0 : FormantEnvelope.parts)
        synthesisSteps = isInPhase && step == 1 ? 0 : channelCount &* (fft.synthesisSteps &+ 1)
        (done, cost, spent) = (0, needsEarlier ? channelCount &* StretchSpectra.costOfLoad : 0, 0)
        for number in 0..<analysisSteps &+ turnSteps &+ synthesisSteps { cost &+= costOfStep(number) }
        isUnderWay = true
    }

    /// Indicates whether the block before is a hop away, as that of the sound is.
    private var isSteady: Bool { @_noLocks @_noAllocation get { !hasBefore || advance == hop } }

    /// The step of the turns behind which only the envelope is left.
    private var lastTurn: Int {
        @_noLocks @_noAllocation get { turnSteps &- 1 &- (step == 1 ? 0 : FormantEnvelope.parts) }
    }

    /// Takes in the blocks a hop before. They are in the line for one chunk more than the others: ``work(_:of:_:)`` does
    /// it first, so that it is not in the frames in which a block is given out and the next one comes in.
    @_noLocks @_noAllocation
    private mutating func loadEarlier(_ line: borrowing StretchLine) {
        needsEarlier = false
        for channel in 0..<channelCount {
            load(line, channel, around: middleBefore &- hop, into: 2 &* channel &+ 1)
        }
        spent &+= channelCount &* StretchSpectra.costOfLoad
    }

    private static var costOfLoad: Int { @_noLocks @_noAllocation get { 15 } }

    /// Does a share of the work: the steps up to `part` / `parts` of all.
    ///
    /// - Parameters:
    ///   - part: The number of the share, from 0 on; the one behind 0 comes with the next chunk.
    ///   - parts: The number of shares.
    ///   - line: The sound, as for ``begin(_:around:pace:step:)``.
    @_noLocks @_noAllocation
    mutating func work(_ part: Int, of parts: Int, _ line: borrowing StretchLine) {
        if !isUnderWay || part == 0 { return }
        if needsEarlier { loadEarlier(line) }
        let (steps, wanted) = (analysisSteps &+ turnSteps &+ synthesisSteps, cost &* part / parts)
        while done < steps {
            let next = costOfStep(done)
            // The nearest end of a step.
            if part < parts && spent &+ next / 2 > wanted { return }
            let turning = done &- analysisSteps
            if turning < 0 {
                analyse(done)
            } else if turning < turnSteps {
                turn(turning)
            } else {
                synthesise(turning &- turnSteps)
            }
            done &+= 1
            spent &+= next
        }
    }

    /// Returns about how long a step takes, in tenths of a microsecond for blocks of 6,144 frames on the machine on which it
    /// was measured. Longer blocks need more of all steps.
    @_noLocks @_noAllocation
    private func costOfStep(_ number: Int) -> Int {
        let turning = number &- analysisSteps
        if turning < 0 {
            let steps = fft.analysisSteps &+ 1
            let isEarlier = !isSteady && (number / steps) & 1 == 1
            let part = number % steps
            if part == steps &- 1 { return isSteady || isEarlier ? 21 : 8 }
            if part == steps &- 2 { return 12 }
            return part == 0 ? (number == 0 ? 21 : 7) : costOfPass(part &- 1)
        }
        if turning < turnSteps { return costOfTurning(turning) }
        let part = (turning &- turnSteps) % (fft.synthesisSteps &+ 1)
        return part == 0 ? 9 : part == 1 ? 18 : part == fft.synthesisSteps ? 8 : costOfPass(part &- 2)
    }

    @_noLocks @_noAllocation
    private func costOfTurning(_ number: Int) -> Int {
        if number > lastTurn { return FormantEnvelope.cost(ofPart: number &- lastTurn &- 1) }
        if number == lastTurn { return 26 }
        if number < 4 { return 24 }
        if number < 6 { return attackRow >= 0 ? 12 : 0 }
        // The last ones find most bins done.
        return number < 24 ? 29 : number < 28 ? 22 : number < 34 ? 13 : 4
    }

    /// The two halves of the first pass change the order too, and the second pass is often of radix 2.
    @_noLocks @_noAllocation
    private func costOfPass(_ pass: Int) -> Int { pass < 3 ? 24 : 14 }

    /// Does a step of the analysis: of each channel, that of the block and, where the tempo is not the sound's, that of the
    /// block a hop before.
    @_noLocks @_noAllocation
    private mutating func analyse(_ number: Int) {
        let steps = fft.analysisSteps &+ 1
        let (transform, part) = (number / steps, number % steps)
        let isEarlier = !isSteady && transform & 1 == 1
        let channel = isSteady ? transform : transform / 2
        if number == 0 { for i in 0..<5 &* stride { sums[i] = 0 } }
        if part < steps &- 1 {
            let row = 2 &* channel &+ (isEarlier ? 1 : 0)
            let block = unsafe Samples(at: blocks.base + row &* size, count: size)
            fft.analyse(block, from: 0, count: size, step: part)
            return
        }
        let target = unsafe isEarlier ? scratch.base + StretchSpectra.margin : planes(channel, isNow: true)
        unsafe fft.copySpectrum(to: target, stride: stride)
        let tone = unsafe StretchTone(takenOutOf: target, stride: stride)
        if !isEarlier { unsafe tones.base[channel] = tone }
        if !isSteady && !isEarlier { return }
        let before = unsafe planes(channel, isNow: !hasBefore)
        unsafe kernel_stretch_products(
            before, isSteady ? before : target, planes(channel, isNow: true), sums.base, stride, bins)
    }

    /// The steps in which the bins are gone through from the loudest to the softest, which take longest.
    private static var lockSteps: Int { @_noLocks @_noAllocation get { 32 } }

    /// Does a step of finding how bins turn: first how each would by itself, then which follow their neighbours.
    @_noLocks @_noAllocation
    private mutating func turn(_ number: Int) {
        if number > lastTurn { return envelope.measure(sums, step: step, part: number &- lastTurn &- 1) }
        if number == lastTurn {
            if !isInPhase { makeUp() }
            return remember()
        }
        // Four steps and two, which have equal shares of the bins.
        let (step, steps) = number < 4 ? (number, 4) : (number &- 4, 2)
        let share = bins / steps / 8 &* 8
        let first = step &* share, end = step == steps &- 1 ? bins : first &+ share
        if number < 4 {
            // At the lowest rates and sample rates blocks may lie less than a frame apart.
            let excess = advance >= 0 ? Float(hop) / Float(advance > 0 ? advance : 1) - 1 : 0
            unsafe kernel_stretch_turns(sums.base + first, turns.base + first, excess, stride, end &- first)
            return
        }
        if number < 6 { return moveAttack(from: first, to: end) }
        // Each bin is looked at twice at most; the first of these steps sorts them.
        let most = number == 6 ? 0 : number == lastTurn &- 1 ? 4 &* bins : 2 &* bins / (StretchSpectra.lockSteps &- 1)
        unsafe kernel_stretch_lock(
            powerBefore.base, sums.base, turns.base, links.base, heads.base, stride, bins, number == 6, most)
    }

    /// Turns the bins that an attack has made louder so that the attack is moved to its place, in its own shape: each turns
    /// by the same time, and before all others.
    @_noLocks @_noAllocation
    private mutating func moveAttack(from first: Int, to end: Int) {
        if attackRow < 0 { return }
        // A share of the block as a phase, in which whole blocks do not matter.
        let turn = UInt32(truncatingIfNeeded: Int64(shift / Double(size) * 0x1p32))
        for bin in first..<end where attacks.isNew(sums[bin], bin, attackRow) {
            let phase = UInt32(truncatingIfNeeded: bin) &* turn
            sums[3 &* stride &+ bin] = RenderMath.cos(phase: phase)
            sums[4 &* stride &+ bin] = -RenderMath.sin(phase: phase)
            powerBefore[bin] = 1e30
        }
    }

    /// Computes the gains for what blocks lose where they overlap and their bins turn otherwise than along time.
    @_noLocks @_noAllocation
    private mutating func makeUp() {
        let slowness = advance >= 0 && advance < hop ? Float(hop) / Float(advance > 0 ? advance : 1) : 1
        unsafe kernel_stretch_make_up(
            sums.base, powerBefore.base, turns.base, slowness, gains.base, stride, bins)
    }

    /// Keeps what the next block needs of this one.
    @_noLocks @_noAllocation
    private mutating func remember() {
        var total: Float = 0
        for bin in 0..<bins {
            powerBefore[bin] = sums[bin]
            total += sums[bin]
        }
        // A sound that begins after silence is in phase.
        if total == 0 && !isInPhase { putInPhase() }
        hasBefore = true
    }

    /// Does a step of the way back, one channel after the other.
    @_noLocks @_noAllocation
    private mutating func synthesise(_ number: Int) {
        // The block is as it was.
        if isInPhase && step == 1 { return }
        let steps = fft.synthesisSteps &+ 1
        let (channel, part) = (number / steps, number % steps)
        let turned = unsafe scratch.base + StretchSpectra.margin
        if part > 0 {
            unsafe fft.synthesise(
                from: turned, stride: stride, into: blocks.base + 2 &* channel &* size, step: part &- 1)
            return
        }
        unsafe kernel_stretch_turn(planes(channel, isNow: true), turns.base, gains.base, turned, stride, bins)
        let tone = unsafe tones.base[channel]
        let gain = gains[tone.bin / 32]
        unsafe tone.putBack(
            into: turned, stride: stride, turns[tone.bin] * gain, turns[stride &+ tone.bin] * gain)
        if step != 1 { unsafe kernel_stretch_gain(turned, envelope.gains.base, stride, bins) }
    }

    /// Adds the block of output to a ring of a block's length, in which it begins at `start`.
    @_noLocks @_noAllocation
    mutating func finish(into sum: inout AudioBlock, at start: Int, _ line: borrowing StretchLine) {
        if !isUnderWay { return }
        work(1, of: 1, line)
        isUnderWay = false
        let first = size &- start
        for channel in 0..<channelCount {
            let samples = unsafe sum.pointers[channel]
            let block = unsafe blocks.base + 2 &* channel &* size
            unsafe kernel_stretch_add(block, outWindow.base, samples + start, first)
            unsafe kernel_stretch_add(block + first, outWindow.base + first, samples, start)
        }
    }
}
