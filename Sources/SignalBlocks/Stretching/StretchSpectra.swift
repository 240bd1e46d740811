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
    private var block: SampleMemory
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
        block = SampleMemory(count: size)
        spectra = SampleMemory(count: 2 * channels * (2 * stride + StretchSpectra.margin) + StretchSpectra.margin)
        scratch = SampleMemory(count: 2 * stride + 2 * StretchSpectra.margin)
        sums = SampleMemory(count: 5 * stride + 16)
        turns = SampleMemory(count: 2 * stride + 16)
        powerBefore = SampleMemory(count: stride)
        links = AlignedMemory(count: 2 * bins)
        heads = AlignedMemory(count: 1_024)
        envelope = FormantEnvelope(bins: bins, stride: stride)
        reset()
    }

    @_noLocks @_noAllocation
    mutating func reset() {
        hasBefore = false
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

    /// Puts a block of the line into the middle, with the window; what is before the line is silence.
    @_noLocks @_noAllocation
    private mutating func load(_ line: borrowing AudioBlock, _ channel: Int, _ filled: Int, around middle: Int) {
        let start = middle &- size / 2
        let samples = unsafe line.pointers[channel]
        if start >= 0 && start &+ size <= filled {
            unsafe kernel_stretch_window(samples + start, window.base, block.base, size)
            return
        }
        for i in 0..<size {
            let frame = start &+ i
            block[i] = frame >= 0 && frame < filled ? unsafe samples[frame] * window[i] : 0
        }
    }

    /// Adds a block of output.
    ///
    /// - Parameters:
    ///   - line: The sound at its new pitch.
    ///   - filled: The frames of it that are there.
    ///   - middle: The middle of the block, in the line.
    ///   - sum: The ring of a block's length to which it is added.
    ///   - start: Where in the ring the block begins.
    ///   - step: The ratio of the pitches if formants stay, else 1.
    @_noLocks @_noAllocation
    mutating func process(
        _ line: borrowing AudioBlock, filled: Int, around middle: Int, into sum: inout AudioBlock, at start: Int,
        step: Float
    ) {
        let advance = middle &- middleBefore
        nowIsFirst = !nowIsFirst
        let isSteady = hasBefore && advance == hop
        for i in 0..<5 &* stride { sums[i] = 0 }
        for channel in 0..<channelCount {
            load(line, channel, filled, around: middle)
            fft.analyse(block, count: size)
            unsafe fft.copySpectrum(to: planes(channel, isNow: true), stride: stride)
            if hasBefore && !isSteady {
                load(line, channel, filled, around: middle &- hop)
                fft.analyse(block, count: size)
                unsafe fft.copySpectrum(to: scratch.base + StretchSpectra.margin, stride: stride)
            }
            let before = unsafe planes(channel, isNow: !hasBefore)
            unsafe kernel_stretch_products(
                before, isSteady || !hasBefore ? before : scratch.base + StretchSpectra.margin,
                planes(channel, isNow: true), sums.base, stride, bins)
        }
        if hasBefore && !(isSteady && isInPhase) {
            let excess = advance > 0 ? Float(hop) / Float(advance) - 1 : 0
            unsafe kernel_stretch_turns(sums.base, turns.base, excess, stride, bins)
            unsafe kernel_stretch_lock(powerBefore.base, sums.base, turns.base, links.base, heads.base, stride, bins)
            isInPhase = false
        }
        let isShaped = step != 1
        if isShaped { envelope.measure(sums, step: step) }
        for channel in 0..<channelCount {
            if isInPhase && !isShaped {
                load(line, channel, filled, around: middle)
            } else {
                let turned = unsafe scratch.base + StretchSpectra.margin
                unsafe kernel_stretch_turn(planes(channel, isNow: true), turns.base, turned, stride, bins)
                if isShaped { unsafe kernel_stretch_gain(turned, envelope.gains.base, stride, bins) }
                unsafe fft.synthesise(from: turned, stride: stride, into: &block)
            }
            add(&sum, channel, at: start)
        }
        var total: Float = 0
        for bin in 0..<bins {
            powerBefore[bin] = sums[bin]
            total += sums[bin]
        }
        // What begins after silence is in phase.
        if total == 0 && !isInPhase { putInPhase() }
        middleBefore = middle
        hasBefore = true
    }

    /// Adds the block to the ring.
    @_noLocks @_noAllocation
    private mutating func add(_ sum: inout AudioBlock, _ channel: Int, at start: Int) {
        let samples = unsafe sum.pointers[channel]
        let first = size &- start
        unsafe kernel_stretch_add(block.base, outWindow.base, samples + start, first)
        unsafe kernel_stretch_add(block.base + first, outWindow.base + first, samples, start)
    }
}
