internal import CKernels

/// The sound of a source on its way to a listener, in blocks of 128 frames that may come in parts: a delay line from
/// which it is heard at one place or at two ears, and what the head and the things on the way do to it.
///
/// In a block all numbers follow a ``Course``.
package struct SpatialSignal: ~Copyable, Sendable {
    /// A part of a block.
    package struct Part: Sendable, BitwiseCopyable {
        /// The place of its first frame in the slice.
        package var first: Int
        package var count: Int
        /// The frames of the block before it.
        package var phase: Int

        @_noLocks @_noAllocation
        package init(first: Int, count: Int, phase: Int) {
            (self.first, self.count, self.phase) = (first, count, phase)
        }
    }

    /// A fade from one delay to another: the delay that is left, and the part of the fade in a frame and before the block.
    package struct Jump: Sendable, BitwiseCopyable {
        package var delay: Double
        package var passed: Float
        package var step: Float

        @_noLocks @_noAllocation
        package init(delay: Double, passed: Float, step: Float) {
            (self.delay, self.passed, self.step) = (delay, passed, step)
        }
    }

    /// The most channels of a source that pass through, and the frames by which they are late.
    private static var channels: Int { @_noLocks @_noAllocation get { 64 } }
    private static var late: Int { @_noLocks @_noAllocation get { 8 } }
    /// The most frames of a part.
    private static var block: Int { @_noLocks @_noAllocation get { MovingLine.block } }

    private var line: MovingLine
    private var ears = EarFilters()
    /// The samples of a part: of the source, of the send, and of both ears.
    private var mono: SampleMemory
    private var sent: SampleMemory
    private var heard: SampleMemory
    private var fading: SampleMemory
    /// The last frames of each channel, for the sound that passes through.
    private var through: SampleMemory
    private var isKept = false
    /// The memories of the low-pass filters of the direct sound and of the send; those of the sphere at both ears.
    private var memories: SampleMemory
    private var shadow: SampleMemory
    private let pole: Float

    /// Creates a silent line. On the control side: it allocates.
    ///
    /// - Parameter longest: The longest delay in frames.
    package init(sampleRate: Double, longest: Int) {
        line = MovingLine(frames: longest)
        pole = SphericalHead(sampleRate: sampleRate).pole
        mono = SampleMemory(count: SpatialSignal.block)
        sent = SampleMemory(count: SpatialSignal.block)
        heard = SampleMemory(count: 2 * SpatialSignal.block)
        fading = SampleMemory(count: SpatialSignal.block)
        through = SampleMemory(count: SpatialSignal.channels * SpatialSignal.late)
        memories = SampleMemory(count: 2)
        shadow = SampleMemory(count: 64)
    }

    /// The shortest delay in frames.
    package static var shortest: Double { @_noLocks @_noAllocation get { MovingLine.shortest } }

    /// The longest delay in frames.
    package var limit: Double { @_noLocks @_noAllocation get { line.limit } }

    /// Forgets the sound.
    @_noLocks @_noAllocation
    package mutating func reset() {
        line.reset()
        ears.reset()
        for i in 0..<2 { memories[i] = 0 }
        forgetShade()
        forgetThrough()
    }

    /// Fetches what the first part of a slice needs, at about this delay.
    @_noLocks @_noAllocation
    package mutating func fetch(delay: Int, count: Int) { line.fetch(delay, count: count) }

    // MARK: The source

    /// Begins a part with silence.
    @_noLocks @_noAllocation
    package mutating func begin(_ part: Part) {
        for i in 0..<part.count { mono[i] = 0 }
    }

    /// Begins a part with a share of a channel of the source, or adds it.
    @_noLocks @_noAllocation
    package mutating func take(_ samples: borrowing Samples, share: Float, begins: Bool, _ part: Part) {
        precondition(part.first >= 0 && part.first <= samples.count &- part.count && part.count <= mono.count)
        let source = unsafe samples.base + part.first
        let target = unsafe mono.base
        if begins && share == 1 {
            unsafe target.copySamples(from: source, count: part.count)
        } else if begins {
            for i in 0..<part.count { unsafe target[i] = source[i] * share }
        } else {
            for i in 0..<part.count { unsafe target[i] += source[i] * share }
        }
    }

    /// Begins a part with a share of a channel of the source that moves, or adds it.
    @_noLocks @_noAllocation
    package mutating func take(_ samples: borrowing Samples, share: Course, begins: Bool, _ part: Part) {
        precondition(part.first >= 0 && part.first <= samples.count &- part.count && part.count <= mono.count)
        if begins { begin(part) }
        unsafe kernel_lay(
            mono.base, samples.base + part.first, share.kernel, Int32(truncatingIfNeeded: part.phase), part.count)
    }

    /// Fades the source in.
    ///
    /// - Parameters:
    ///   - done: The frames of the fade that have gone.
    ///   - frames: Those that it has.
    ///   - part: The part.
    @_noLocks @_noAllocation
    package mutating func fadeIn(after done: Int, of frames: Int, _ part: Part) {
        let scale = 1 / Float(Int32(truncatingIfNeeded: frames))
        for i in 0..<part.count {
            let passed = Float(Int32(truncatingIfNeeded: done &+ i)) * scale
            mono[i] *= passed < 1 ? passed : 1
        }
    }

    /// Makes what is sent to a reverb.
    @_noLocks @_noAllocation
    package mutating func makeSend(opening: Course, _ part: Part) { soften(opening, memory: 1, part) }

    /// Lets the source into the line.
    @_noLocks @_noAllocation
    package mutating func write(opening: Course, _ part: Part) {
        soften(opening, memory: 0, part)
        line.write(mono, count: part.count)
    }

    /// Lets a source that is as it is into the line, without a stop on the way.
    @_noLocks @_noAllocation
    package mutating func write(_ samples: borrowing Samples, _ part: Part) {
        precondition(part.first >= 0 && part.count >= 0 && part.first <= samples.count &- part.count)
        line.write(samples, from: part.first, count: part.count)
        if part.count > 0 { memories[0] = samples[part.first &+ part.count &- 1] }
    }

    /// One pole that opens and closes: on the source itself, or from it to the send.
    @_noLocks @_noAllocation
    private mutating func soften(_ opening: Course, memory: Int, _ part: Part) {
        precondition(part.count >= 0 && part.count <= SpatialSignal.block)
        let target = unsafe memory == 0 ? mono.base : sent.base
        if opening.isAlways(1) {
            if memory == 1 { for i in 0..<part.count { sent[i] = mono[i] } }
            if part.count > 0 { memories[memory] = mono[part.count &- 1] }
            return
        }
        unsafe kernel_soften(
            mono.base, target, opening.kernel, memories.base + memory, Int32(truncatingIfNeeded: part.phase),
            part.count)
    }

    // MARK: The listener

    /// Aims at the filters of a head.
    @_noLocks @_noAllocation
    package mutating func aim(
        _ table: HeadTableBox.Reference, _ place: SphereMesh.Place, share: Float, taps: Int, isBegun: Bool
    ) {
        ears.aim(table, place, share: share, taps: taps, isBegun: isBegun)
    }

    /// Hears the sound at an ear: 0 (left, or the only one) or 1.
    ///
    /// - Parameter delay: It is ``DelayCourse/held(to:)`` the ``limit``, as below.
    @_noLocks @_noAllocation
    package mutating func hear(ear: Int, _ delay: DelayCourse, _ part: Part) {
        precondition(ear >= 0 && ear < 2)
        unsafe line.read(
            delay, phase: part.phase, count: part.count, into: heard.base + ear &* SpatialSignal.block)
    }

    /// Hears the sound at an ear of a measured head, as ``hear(ear:_:_:)`` and ``filter(ear:_:)`` do.
    @_noLocks @_noAllocation
    package mutating func hearFiltered(ear: Int, _ delay: DelayCourse, _ part: Part) {
        unsafe line.read(delay, phase: part.phase, count: part.count, into: ears.entrance(ear: ear))
        unsafe ears.filter(
            ear: ear, count: part.count, phase: part.phase, into: heard.base + ear &* SpatialSignal.block)
    }

    /// Hears the sound at one place and writes it to two channels.
    ///
    /// - Precondition: Both have room for the part, at most 128 frames.
    @_noLocks @_noAllocation
    package mutating func play(
        _ course: inout FlightCourse, to left: UnsafeMutablePointer<Float>, _ right: UnsafeMutablePointer<Float>,
        _ part: Part
    ) {
        unsafe line.read(&course, phase: part.phase, count: part.count, to: left + part.first, right + part.first)
    }

    /// Lets a source into the line as it is, and plays what is heard at one place. ``keep(_:before:)`` must follow, after the last
    /// part.
    @_noLocks @_noAllocation
    package mutating func relay(_ way: SpatialCrossing, _ course: inout FlightCourse, _ part: Part) {
        precondition(part.first >= 0 && part.count > 0 && part.first <= way.frames &- part.count)
        unsafe line.relay(
            way.source + part.first, &course, phase: part.phase, count: part.count, to: way.left + part.first,
            way.right + part.first, goesOn: part.first &+ part.count < way.frames)
    }

    /// Keeps what the next part needs of the source, which the line has had up to a frame.
    @_noLocks @_noAllocation
    package mutating func keep(_ way: SpatialCrossing, before frame: Int) {
        let samples = unsafe Samples(at: way.source, count: way.frames)
        memories[0] = samples[frame &- 1]
        keep(samples, channel: 0, Part(first: 0, count: frame, phase: 0))
    }

    /// Fades what is heard at an ear from what it was before a jump.
    @_noLocks @_noAllocation
    package mutating func fade(ear: Int, _ late: DelayCourse, _ jump: Jump, _ part: Part) {
        let delay = DelayCourse(jump.delay, jump.delay, jump.delay) + late
        unsafe line.read(delay.held(to: line.limit), phase: part.phase, count: part.count, into: fading.base)
        unsafe kernel_pass_over(
            heard.base + ear &* SpatialSignal.block, fading.base, jump.passed, jump.step,
            Int32(truncatingIfNeeded: part.phase), true, part.count)
    }

    /// Puts the shadow of a sphere on an ear: the course of both numbers of ``SphericalHead/Ear``.
    @_noLocks @_noAllocation
    package mutating func shade(ear: Int, first: Course, second: Course, _ part: Part) {
        precondition(ear >= 0 && ear < 2 && part.count >= 0 && part.count <= SpatialSignal.block)
        unsafe kernel_shadow(
            heard.base + ear &* SpatialSignal.block, pole, first.kernel, second.kernel, shadow.base + 32 &* ear,
            Int32(truncatingIfNeeded: part.phase), part.count)
    }

    /// Forgets the sound that passes the sphere.
    @_noLocks @_noAllocation
    package mutating func forgetShade() { for i in 0..<shadow.count { shadow[i] = 0 } }

    /// Filters what is heard at an ear as a head does.
    @_noLocks @_noAllocation
    package mutating func filter(ear: Int, _ part: Part) {
        let samples = unsafe heard.base + ear &* SpatialSignal.block
        unsafe ears.entrance(ear: ear).copySamples(from: samples, count: part.count)
        unsafe ears.filter(ear: ear, count: part.count, phase: part.phase, into: samples)
    }

    /// Adds what is heard at an ear, with a level.
    @_noLocks @_noAllocation
    package mutating func add(ear: Int, level: Course, _ part: Part, to output: inout MutableSpan<Float>) {
        unsafe lay(heard.base + ear &* SpatialSignal.block, level, part, &output)
    }

    /// Writes what is heard at an ear, with a level.
    @_noLocks @_noAllocation
    package mutating func play(ear: Int, level: Course, _ part: Part, to output: inout MutableSpan<Float>) {
        precondition(ear >= 0 && ear < 2 && part.count >= 0 && part.count <= SpatialSignal.block)
        precondition(part.first >= 0 && part.first <= output.count &- part.count)
        guard let target = unsafe output.address() else { return }
        unsafe kernel_put(
            target + part.first, heard.base + ear &* SpatialSignal.block, level.kernel,
            Int32(truncatingIfNeeded: part.phase), part.count)
    }

    /// Adds what is sent to a reverb.
    @_noLocks @_noAllocation
    package mutating func addSend(level: Course, _ part: Part, to output: inout MutableSpan<Float>) {
        unsafe lay(sent.base, level, part, &output)
    }

    @_noLocks @_noAllocation
    private func lay(
        _ samples: UnsafePointer<Float>, _ level: Course, _ part: Part, _ output: inout MutableSpan<Float>
    ) {
        precondition(part.count >= 0 && part.count <= SpatialSignal.block)
        precondition(part.first >= 0 && part.first <= output.count &- part.count)
        guard let target = unsafe output.address() else { return }
        unsafe kernel_lay(
            target + part.first, samples, level.kernel, Int32(truncatingIfNeeded: part.phase), part.count)
    }

    // MARK: What passes through

    /// Makes a channel of the source, 8 frames later, what is heard at the first ear. ``keep(_:channel:_:)`` must follow.
    @_noLocks @_noAllocation
    package mutating func pass(_ samples: borrowing Samples, channel: Int, _ part: Part) {
        let late = SpatialSignal.late
        guard channel >= 0 && channel < SpatialSignal.channels else { return }
        precondition(part.first >= 0 && part.first <= samples.count &- part.count)
        let (count, row) = (part.count, channel &* late)
        let source = unsafe samples.base + part.first
        let short = count < late ? count : late
        for i in 0..<short { heard[i] = through[row &+ i] }
        var i = short
        while i < count {
            heard[i] = unsafe source[i &- late]
            i &+= 1
        }
    }

    /// Keeps the last frames of a channel of the source, whether it passes or not: after all that have heard them.
    @_noLocks @_noAllocation
    package mutating func keep(_ samples: borrowing Samples, channel: Int, _ part: Part) {
        let late = SpatialSignal.late
        guard channel >= 0 && channel < SpatialSignal.channels else { return }
        precondition(part.first >= 0 && part.count >= 0 && part.first <= samples.count &- part.count)
        let (count, row) = (part.count, channel &* late)
        let source = unsafe samples.base + part.first
        isKept = true
        if count >= late {
            let last = unsafe UnsafeRawPointer(source + (count &- late)).loadUnaligned(as: SIMD8<Float>.self)
            return unsafe UnsafeMutableRawPointer(through.base + row).storeBytes(of: last, as: SIMD8<Float>.self)
        }
        let short = count
        for i in 0..<(late &- short) { through[row &+ i] = through[row &+ i &+ short] }
        for i in 0..<short { through[row &+ late &- short &+ i] = unsafe source[count &- short &+ i] }
    }

    /// Forgets what has not passed yet.
    @_noLocks @_noAllocation
    package mutating func forgetThrough() {
        if !isKept { return }
        for i in 0..<through.count { through[i] = 0 }
        isKept = false
    }
}

/// The way of a slice from a source's one channel to two others.
@safe package struct SpatialCrossing: BitwiseCopyable {
    fileprivate let source: UnsafePointer<Float>
    fileprivate let left: UnsafeMutablePointer<Float>
    fileprivate let right: UnsafeMutablePointer<Float>
    fileprivate let frames: Int

    /// Creates a way between channels that all have so many frames, and have them as long as the way is used.
    @_noLocks @_noAllocation
    package init(
        from source: UnsafePointer<Float>, to left: UnsafeMutablePointer<Float>, _ right: UnsafeMutablePointer<Float>,
        frames: Int
    ) {
        unsafe (self.source, self.left, self.right) = (source, left, right)
        self.frames = frames
    }
}
