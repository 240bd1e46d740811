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
    private let links: AlignedMemory<Int32>
    private let heads: AlignedMemory<Int32>
    private var envelope: FormantEnvelope
    /// The middle of the block before, in the line.
    private var middleBefore = 0
    private var hasBefore = false
    /// Indicates whether no bin is turned.
    private var isInPhase = true
    /// The work on a block: how far the middle is from that of the block before, the ratio of the pitches if formants stay,
    /// the steps that are done, and the steps of its three parts.
    private var advance = 0
    private var step: Float = 1
    private var done = 0
    private var analysisSteps = 0
    private var turnSteps = 0
    private var synthesisSteps = 0
    private var isUnderWay = false

    init(channels: Int, size: Int) {
        channelCount = channels
        self.size = size
        hop = size / 4
        bins = size / 2 + 1
        stride = (bins + 8 + 15) / 16 * 16
        fft = RealFFT(size: size)
        var shape = SampleMemory(count: size)
        var back = SampleMemory(count: size)
        for i in 0..<size {
            let weight = 0.5 - 0.5 * RenderMath.cos(2 * Double.pi * Double(i) / Double(size))
            shape[i] = Float(weight)
            // The squares of four windows add up to 3 / 2.
            back[i] = Float(weight / 1.5)
        }
        window = shape
        outWindow = back
        blocks = SampleMemory(count: 2 * channels * size)
        spectra = SampleMemory(count: 2 * channels * (2 * stride + StretchSpectra.margin) + StretchSpectra.margin)
        scratch = SampleMemory(count: 2 * stride + 2 * StretchSpectra.margin)
        sums = SampleMemory(count: 5 * stride + 16)
        turns = SampleMemory(count: 2 * stride + 16)
        powerBefore = SampleMemory(count: stride)
        links = AlignedMemory(count: 2 * bins)
        heads = AlignedMemory(count: 1_026)
        envelope = FormantEnvelope(bins: bins, stride: stride)
        reset()
    }

    @_noLocks @_noAllocation
    mutating func reset() {
        hasBefore = false
        isUnderWay = false
        putInPhase()
    }

    /// The line has been moved.
    @_noLocks @_noAllocation
    mutating func move(by frames: Int) { middleBefore &-= frames }

    @_noLocks @_noAllocation
    private mutating func putInPhase() {
        isInPhase = true
        for bin in 0..<bins {
            turns[bin] = 1
            turns[stride &+ bin] = 0
        }
    }

    @_noLocks @_noAllocation
    private func planes(_ channel: Int, isNow: Bool) -> UnsafeMutablePointer<Float> {
        let number = 2 &* channel &+ (isNow == nowIsFirst ? 0 : 1)
        return unsafe spectra.base + (StretchSpectra.margin &+ number &* (2 &* stride &+ StretchSpectra.margin))
    }

    /// Puts a block of the line into a row, with the window; what is before the line is silence.
    @_noLocks @_noAllocation
    private mutating func load(
        _ line: borrowing AudioBlock, _ channel: Int, _ filled: Int, around middle: Int, into row: Int
    ) {
        let start = middle &- size / 2
        let (samples, first) = unsafe (line.pointers[channel], row &* size)
        if start >= 0 && start &+ size <= filled {
            unsafe kernel_stretch_window(samples + start, window.base, blocks.base + first, size)
            return
        }
        for i in 0..<size {
            let frame = start &+ i
            blocks[first &+ i] = frame >= 0 && frame < filled ? unsafe samples[frame] * window[i] : 0
        }
    }

    /// Takes a block in, for the steps of work that follow.
    ///
    /// - Parameters:
    ///   - line: The sound at its new pitch.
    ///   - filled: The frames of it that are there.
    ///   - middle: The middle of the block, in the line.
    ///   - step: The ratio of the pitches if formants stay, else 1.
    @_noLocks @_noAllocation
    mutating func begin(_ line: borrowing AudioBlock, filled: Int, around middle: Int, step: Float) {
        advance = middle &- middleBefore
        middleBefore = middle
        self.step = step
        for channel in 0..<channelCount {
            load(line, channel, filled, around: middle, into: 2 &* channel)
            if hasBefore && advance != hop {
                load(line, channel, filled, around: middle &- hop, into: 2 &* channel &+ 1)
            }
        }
        nowIsFirst = !nowIsFirst
        if !isSteady { isInPhase = false }
        // Besides those of a transform, one that hands on what comes of it.
        analysisSteps = channelCount &* (isSteady ? 1 : 2) &* (fft.analysisSteps &+ 1)
        turnSteps = isInPhase ? 1 : StretchSpectra.lockSteps &+ 2
        synthesisSteps = isInPhase && step == 1 ? 0 : channelCount &* (fft.synthesisSteps &+ 1)
        done = 0
        isUnderWay = true
    }

    /// Indicates whether the block before is a hop away, as that of the sound is.
    private var isSteady: Bool { @_noLocks @_noAllocation get { !hasBefore || advance == hop } }

    /// Does a share of the work: the steps up to `part` / `parts` of all.
    @_noLocks @_noAllocation
    mutating func work(_ part: Int, of parts: Int) {
        if !isUnderWay { return }
        let last = (analysisSteps &+ turnSteps &+ synthesisSteps) &* part / parts
        while done < last {
            let turning = done &- analysisSteps
            if turning < 0 {
                analyse(done)
            } else if turning < turnSteps &- 1 {
                turn(turning)
            } else if turning == turnSteps &- 1 {
                remember()
            } else {
                synthesise(turning &- turnSteps)
            }
            done &+= 1
        }
    }

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
        if !isSteady && !isEarlier { return }
        let before = unsafe planes(channel, isNow: !hasBefore)
        unsafe kernel_stretch_products(
            before, isSteady ? before : target, planes(channel, isNow: true), sums.base, stride, bins)
    }

    /// The steps in which the bins are gone through from the loudest to the softest, which take longest.
    private static var lockSteps: Int { @_noLocks @_noAllocation get { 24 } }

    /// Does a step of finding how bins turn: first how each would by itself, then which follow their neighbours.
    @_noLocks @_noAllocation
    private mutating func turn(_ number: Int) {
        if number == 0 {
            let excess = advance > 0 ? Float(hop) / Float(advance) - 1 : 0
            unsafe kernel_stretch_turns(sums.base, turns.base, excess, stride, bins)
            return
        }
        // Each bin is looked at twice at most; the first of these steps sorts them.
        let share = 2 &* bins / (StretchSpectra.lockSteps &- 1)
        let most = number == 1 ? 0 : number == StretchSpectra.lockSteps ? 4 &* bins : share
        unsafe kernel_stretch_lock(
            powerBefore.base, sums.base, turns.base, links.base, heads.base, stride, bins, number == 1, most)
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
        if step != 1 { envelope.measure(sums, step: step) }
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
        unsafe kernel_stretch_turn(planes(channel, isNow: true), turns.base, turned, stride, bins)
        if step != 1 { unsafe kernel_stretch_gain(turned, envelope.gains.base, stride, bins) }
    }

    /// Adds the block of output to a ring of a block's length, in which it begins at `start`.
    @_noLocks @_noAllocation
    mutating func finish(into sum: inout AudioBlock, at start: Int) {
        if !isUnderWay { return }
        work(1, of: 1)
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
