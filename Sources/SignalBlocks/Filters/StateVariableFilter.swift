// Public because what other targets inline calls it.
public import CKernels

/// The memory of second-order filters, for any number of channels, one filter or several in a row. A module holds it in
/// a `RenderState`.
///
///     private let filter = RenderState(StateVariableFilter())
///     …
///     let coefficients = FilterCoefficients(.lowPass, frequency: 1_000, sampleRate: context.sampleRate)
///     filter.with(&context) { filter, context in
///         var top = context.top
///         filter.process(&top, with: coefficients)
///     }
///
/// The state is two integrators a channel, in double precision. `u² + w²` never grows by itself, whatever the
/// coefficients do from one frame to the next: with no input the trapezoidal rule makes it fall by
/// `gk (u + u')²` a frame. So any modulation is stable, at audio rate too.
///
/// With coefficients that stay, eight frames are computed at once; while they change, frame by frame and four channels
/// at a time. The way depends on when the coefficients changed and not on how the frames come: however they are cut,
/// and however many channels there are, each gets the same bits.
///
/// Threads: any.
@safe public struct StateVariableFilter: ~Copyable, Sendable {
    /// The number of filters in a row.
    public let stageCount: Int
    /// Channels there is a memory for, a multiple of 8.
    @usableFromInline let channelLimit: Int
    /// All that a slice of one channel goes through, in one piece for each stage: the numbers for blocks
    /// (``FilterCoefficients/blockNumbers(_:)``), then the channel's `u` and `w`, and eight frames of a block that is not
    /// complete.
    @usableFromInline var memory: RenderMemory<Double>
    /// For more channels, eight at a time: their `u`, their `w`, and eight such frames for each; stage after stage.
    private var lanes: RenderMemory<Double>
    /// The coefficients that stay, one for each stage.
    private var coefficients: RenderMemory<FilterCoefficients>
    private var isClear = true

    /// Frames before it is worth making the numbers for blocks, which takes as long as some thirty frames.
    @inlinable static var patience: Int { @_noLocks @_noAllocation get { 16 } }

    /// Creates the memory at silence.
    ///
    /// - Parameters:
    ///   - stages: Filters in a row, each with its own coefficients.
    ///   - channels: The largest number of channels of a buffer; further channels pass as they are.
    /// - Precondition: There is at least one of both.
    ///
    /// Threads: control.
    public init(stages: Int = 1, channels: Int = 64) {
        demand(
            stages > 0 && channels > 0,
            "StateVariableFilter: \(stages) stages of \(channels) channels; it must have 1 or more of both")
        stageCount = stages
        channelLimit = (channels + 7) / 8 * 8
        memory = RenderMemory(repeating: 0, count: stages * StateVariableFilter.stride)
        lanes = RenderMemory(repeating: 0, count: stages * channelLimit / 8 * StateVariableFilter.groupStride)
        let nothing = FilterCoefficients(.bell, frequency: 1_000, sampleRate: 48_000)
        coefficients = RenderMemory(repeating: nothing, count: stages)
        for stage in 0..<stages { unsafe progress(stage).pointee = FilterProgress() }
    }

    /// Forgets the sound. It costs nothing if there is nothing to forget.
    @_noLocks @_noAllocation
    public mutating func reset() {
        if isClear { return }
        isClear = true
        for stage in 0..<stageCount { reset(stage: stage) }
    }

    /// Forgets the sound of one filter in the row.
    @_noLocks @_noAllocation
    package mutating func reset(stage: Int) {
        guard stage >= 0 && stage < stageCount, unsafe progress(stage).pointee.channels != 0 else { return }
        // The numbers for blocks too: they are made anew.
        let (stride, room) = (StateVariableFilter.stride, lanes.count / stageCount)
        for i in 0..<stride { unsafe memory.memory.base[stage &* stride &+ i] = 0 }
        for i in 0..<room { unsafe lanes.memory.base[stage &* room &+ i] = 0 }
        unsafe progress(stage).pointee = FilterProgress()
    }

    /// Filters frames of a buffer, all with the same coefficients.
    ///
    /// - Parameters:
    ///   - buffer: The buffer that the filter edits.
    ///   - first: The first frame.
    ///   - count: The number of frames; by default all that follow.
    ///   - stage: The number of the filter in the row, from 0.
    ///   - coefficients: The coefficients for these frames.
    @_noLocks @_noAllocation
    package mutating func process(
        _ channels: UnsafePointer<UnsafeMutablePointer<Float>>, _ channelCount: Int, from first: Int, count: Int,
        stage: Int, with coefficients: FilterCoefficients
    ) {
        let used = begin(channelCount, stage)
        let progress = unsafe progress(stage)
        if unsafe progress.pointee.age < 0 || !(self.coefficients.memory.base[stage] == coefficients) {
            complete(stage)
            unsafe self.coefficients.memory.base[stage] = coefficients
            unsafe progress.pointee.age = 0
        }
        let age = unsafe Int(progress.pointee.age)
        let young = min(count, StateVariableFilter.patience &- age)
        if young > 0 {
            unsafe progress.pointee.age = Int16(truncatingIfNeeded: age &+ young)
            if age &+ young == StateVariableFilter.patience {
                unsafe coefficients.blockNumbers(numbers(stage))
            }
            let alike = unsafe self.coefficients.memory.base + stage
            unsafe walk(channels, used, from: first, count: young, stage, alike, areAlike: true)
        }
        if count > young { unsafe leap(channels, used, from: first &+ young, count: count &- young, stage) }
    }

    /// Returns the number of channels that a stage filters on by blocks, if it filtered the slice before so to its end; 0 if it
    /// did not, or if there is no such stage.
    @_noLocks @_noAllocation
    @inlinable package func channelsAtRest(_ stage: Int) -> Int {
        guard stage >= 0 && stage < stageCount else { return 0 }
        let progress = unsafe progress(stage).pointee
        return progress.age == StateVariableFilter.patience ? Int(progress.channels) : 0
    }

    /// Filters one channel as the slice before.
    ///
    /// - Precondition: ``channelsAtRest(_:)`` is 1.
    @_noLocks @_noAllocation
    @inlinable package mutating func goOn(_ samples: UnsafeMutablePointer<Float>, count: Int, _ stage: Int) {
        let progress = unsafe progress(stage)
        let place = single(stage)
        let before = unsafe Int(progress.pointee.pendingCount)
        unsafe progress.pointee.pendingCount = Int16(truncatingIfNeeded: (before &+ count) & 7)
        unsafe kernel_filter(numbers(stage), place.u, place.w, place.pending, before, samples, count)
        place.end()
    }

    /// Filters frames of channels, each with its own coefficients: while something glides. The caller has checked the stage,
    /// and that the channels and the coefficients have the frames.
    ///
    /// - Parameters:
    ///   - buffer: The buffer that the filter edits.
    ///   - first: The first frame.
    ///   - count: The number of frames: at most as many as there are coefficients.
    ///   - stage: The number of the filter in the row, from 0.
    ///   - coefficients: The coefficients for the first of these frames, the second, and so on.
    @_noLocks @_noAllocation
    package mutating func process(
        _ channels: UnsafePointer<UnsafeMutablePointer<Float>>, _ channelCount: Int, from first: Int, count: Int,
        stage: Int, with coefficients: borrowing RenderMemory<FilterCoefficients>
    ) {
        let used = begin(channelCount, stage)
        complete(stage)
        unsafe progress(stage).pointee.age = -1
        unsafe walk(channels, used, from: first, count: count, stage, coefficients.memory.base, areAlike: false)
    }

    /// Filters frame by frame, each with its own coefficients, or all with the first ones. (Where that is decided, the compiler knows
    /// which.)
    @_noLocks @_noAllocation @inline(__always)
    private mutating func walk(
        _ channels: UnsafePointer<UnsafeMutablePointer<Float>>, _ used: Int, from first: Int, count: Int, _ stage: Int,
        _ coefficients: UnsafeMutablePointer<FilterCoefficients>, areAlike: Bool
    ) {
        let alike = unsafe coefficients.pointee
        if used == 1 {
            let place = single(stage)
            var (u, w) = unsafe (place.u.pointee, place.w.pointee)
            let samples = unsafe channels[0] + first
            for i in 0..<count {
                let now = unsafe areAlike ? alike : coefficients[i]
                unsafe samples[i] = Float(now.next(Double(samples[i]), &u, &w))
            }
            unsafe (place.u.pointee, place.w.pointee) = (u, w)
            return place.end()
        }
        var channel = 0
        while channel < used {
            let four = unsafe Four(channels, channel, used, offset: first)
            let memory = place(stage, channel)
            var (u, w) = unsafe (memory.u.four, memory.w.four)
            for i in 0..<count {
                let now = unsafe areAlike ? alike : coefficients[i]
                four.store(now.next(four.load(i), &u, &w), i)
                // Written in each frame, so that the compiler packs channel with channel and not u with w: 1.3 times as fast.
                unsafe memory.u.four = u
                unsafe memory.w.four = w
            }
            for i in 0..<4 { place(stage, channel &+ i).end() }
            channel &+= 4
        }
    }

    /// Filters by blocks of eight frames.
    @_noLocks @_noAllocation
    package mutating func leap(
        _ channels: UnsafePointer<UnsafeMutablePointer<Float>>, _ used: Int, from first: Int, count: Int, _ stage: Int
    ) {
        let before = unsafe Int(progress(stage).pointee.pendingCount)
        let numbers = unsafe numbers(stage)
        var filtered = 0
        while used &- filtered >= 8 {
            let memory = place(stage, filtered)
            unsafe kernel_filter_eight(
                numbers, memory.u, memory.w, memory.pending, before, channels + filtered, first, count)
            filtered &+= 8
        }
        for channel in filtered..<used {
            let memory = place(stage, channel, of: used)
            unsafe kernel_filter(
                numbers, memory.u, memory.w, memory.pending, before, channels[channel] + first, count)
        }
        for channel in 0..<used { place(stage, channel, of: used).end() }
        unsafe progress(stage).pointee.pendingCount = Int16(truncatingIfNeeded: (before &+ count) & 7)
    }

    /// Brings the state from the beginning of the block to the frames that were heard, and makes it that of all channels that
    /// `Four` computes: by blocks each channel goes on alone.
    @_noLocks @_noAllocation
    private mutating func complete(_ stage: Int) {
        let progress = unsafe progress(stage)
        let count = unsafe Int(progress.pointee.pendingCount)
        unsafe progress.pointee.pendingCount = 0
        let coefficients = unsafe self.coefficients.memory.base[stage]
        let channels = unsafe Int(progress.pointee.channels)
        for channel in 0..<channels {
            let memory = place(stage, channel, of: channels)
            for i in 0..<count {
                _ = unsafe coefficients.next(Double(memory.pending[i]), &memory.u.pointee, &memory.w.pointee)
            }
        }
        pad(stage, channels)
    }

    /// Makes the memory that of as many channels: one that was mono goes on in all of them, otherwise new ones begin in
    /// silence. Returns how many channels are filtered.
    @_noLocks @_noAllocation
    private mutating func begin(_ channelCount: Int, _ stage: Int) -> Int {
        let channels = min(channelCount, channelLimit)
        let before = unsafe Int(progress(stage).pointee.channels)
        isClear = false
        if before == channels { return channels }
        complete(stage)
        unsafe progress(stage).pointee.age = -1
        unsafe progress(stage).pointee.channels = Int32(truncatingIfNeeded: channels)
        let first = place(stage, 0, of: before)
        // A single channel has a place of its own.
        for channel in (before == 1 || channels == 1 ? 0 : min(before, channels))..<channels {
            let memory = place(stage, channel, of: channels)
            let goesOn = before == 1 || (before > 1 && channels == 1)
            unsafe memory.u.pointee = goesOn ? first.u.pointee : 0
            unsafe memory.w.pointee = goesOn ? first.w.pointee : 0
        }
        pad(stage, channels)
        return channels
    }

    /// Gives the channels that `Four` computes more than once the same state, so that they stay alike.
    @_noLocks @_noAllocation
    private mutating func pad(_ stage: Int, _ channels: Int) {
        if channels < 2 { return }
        let padded = (channels &+ 3) / 4 &* 4
        let last = place(stage, channels &- 1)
        for channel in channels..<padded {
            let memory = place(stage, channel)
            unsafe memory.u.pointee = last.u.pointee
            unsafe memory.w.pointee = last.w.pointee
        }
    }

    /// Returns the address of the numbers for blocks.
    @_noLocks @_noAllocation
    @inlinable func numbers(_ stage: Int) -> UnsafeMutablePointer<Double> {
        unsafe memory.memory.base + stage &* StateVariableFilter.stride
    }

    /// Returns the address of a stage's progress.
    @_noLocks @_noAllocation
    @inlinable func progress(_ stage: Int) -> UnsafeMutablePointer<FilterProgress> {
        unsafe UnsafeMutableRawPointer(numbers(stage)).assumingMemoryBound(to: FilterProgress.self)
    }

    /// The doubles of a stage in `memory`, and of eight channels in `lanes`.
    @inlinable static var stride: Int { @_noLocks @_noAllocation get { FilterCoefficients.blockNumberCount &+ 8 } }
    private static var groupStride: Int { @_noLocks @_noAllocation get { 48 } }

    /// Returns the memory of a buffer's only channel.
    @_noLocks @_noAllocation
    @inlinable func single(_ stage: Int) -> FilterPlace {
        let u = unsafe numbers(stage) + FilterCoefficients.blockNumberCount
        return unsafe FilterPlace(u: u, w: u + 1, pending: u + 2)
    }

    /// Returns the memory of a channel; that of the others of its eight follows.
    @_noLocks @_noAllocation
    private func place(_ stage: Int, _ channel: Int, of count: Int = 8) -> FilterPlace {
        if count == 1 { return single(stage) }
        let group = stage &* (channelLimit / 8) &+ channel / 8
        let start = unsafe lanes.memory.base + group &* StateVariableFilter.groupStride
        let lane = channel & 7
        return unsafe FilterPlace(u: start + lane, w: start + 8 + lane, pending: start + 16 + 4 &* lane)
    }
}

/// The memory of one channel of a filter.
@safe @usableFromInline struct FilterPlace: ~Copyable {
    @usableFromInline let u, w: UnsafeMutablePointer<Double>
    /// The frames of a block that is not complete.
    @usableFromInline let pending: UnsafeMutablePointer<Float>

    @_noLocks @_noAllocation
    @inlinable init(
        u: UnsafeMutablePointer<Double>, w: UnsafeMutablePointer<Double>, pending: UnsafeMutablePointer<Double>
    ) {
        unsafe self.u = u
        unsafe self.w = w
        unsafe self.pending = UnsafeMutableRawPointer(pending).assumingMemoryBound(to: Float.self)
    }

    /// Makes the state zero if it has faded below 1e-60: no `Float` shows it any more, and a silence costs no arithmetic
    /// on denormal numbers.
    @_noLocks @_noAllocation
    @inlinable func end() {
        if unsafe abs(u.pointee) < 1e-60 { unsafe u.pointee = 0 }
        if unsafe abs(w.pointee) < 1e-60 { unsafe w.pointee = 0 }
    }
}

/// The progress of a filter with coefficients that stay. It lies in the first of the numbers for blocks, which no kernel reads,
/// so that a slice at rest reads no cache line for it alone.
@usableFromInline struct FilterProgress: Sendable, BitwiseCopyable {
    /// Frames since the coefficients came, as far as that matters; -1 while they change.
    @usableFromInline var age: Int16 = -1
    /// Frames of the block at hand. The state is that of its beginning.
    @usableFromInline var pendingCount: Int16 = 0
    /// Channels of the last buffer; 0 after a reset.
    @usableFromInline var channels: Int32 = 0
}

extension UnsafeMutablePointer<Double> {
    /// Four neighbouring numbers.
    fileprivate var four: SIMD4<Double> {
        @inline(__always) @_noLocks @_noAllocation get {
            unsafe UnsafeRawPointer(self).loadUnaligned(as: SIMD4<Double>.self)
        }
        @inline(__always) @_noLocks @_noAllocation nonmutating set {
            unsafe UnsafeMutableRawPointer(self).storeBytes(of: newValue, as: SIMD4<Double>.self)
        }
    }
}

/// Four neighbouring channels of a buffer. A channel that does not exist is replaced by the last one that does, which
/// is computed more than once alike.
@safe private struct Four: ~Copyable {
    private let a: UnsafeMutablePointer<Float>
    private let b: UnsafeMutablePointer<Float>
    private let c: UnsafeMutablePointer<Float>
    private let d: UnsafeMutablePointer<Float>

    @_noLocks @_noAllocation
    init(
        _ channels: UnsafePointer<UnsafeMutablePointer<Float>>, _ channel: Int, _ count: Int, offset: Int
    ) {
        let last = count &- 1
        unsafe a = channels[channel] + offset
        unsafe b = channels[min(channel &+ 1, last)] + offset
        unsafe c = channels[min(channel &+ 2, last)] + offset
        unsafe d = channels[min(channel &+ 3, last)] + offset
    }

    @inline(__always) @_noLocks @_noAllocation
    func load(_ i: Int) -> SIMD4<Double> {
        unsafe SIMD4(Double(a[i]), Double(b[i]), Double(c[i]), Double(d[i]))
    }

    @inline(__always) @_noLocks @_noAllocation
    func store(_ value: SIMD4<Double>, _ i: Int) {
        unsafe a[i] = Float(value[0])
        unsafe b[i] = Float(value[1])
        unsafe c[i] = Float(value[2])
        unsafe d[i] = Float(value[3])
    }
}
