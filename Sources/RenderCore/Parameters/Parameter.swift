public import Synchronization

/// A number that control code sets and the render thread reads: no lock, no click.
///
///     public let cutoff = Parameter(1_000, in: 20...20_000, unit: .hertz, glide: .exponential(.milliseconds(20)))
///
///     filter.cutoff.value = 2_000                 // in control code
///     let cutoff = cutoff.glide(context)          // in `process`
///     for i in samples.indices { samples[i] *= cutoff[i] }
///
/// A value outside of the range becomes the nearest one inside; a value that is not a number is ignored and counted. A
/// change glides: it takes ``glide`` to arrive, however long the slices are.
///
/// Threads: control.
@safe public struct Parameter: ~Copyable, @unchecked Sendable {
    // Unchecked because the cell is atomics, and its details are too but for settings that never change.
    @usableFromInline let cell: UnsafeMutablePointer<ParameterCell>
    private var details: UnsafeMutablePointer<ParameterDetails> { unsafe ParameterCells.details(cell) }

    /// Creates a parameter.
    ///
    /// - Parameters:
    ///   - value: The value at first (and after ``reset()``); clamped to the range.
    ///   - range: The values that may be set.
    ///   - limit: An upper limit that depends on the sample rate; it holds besides the range.
    ///   - unit: The unit of the value.
    ///   - glide: The way in which a change arrives; by default 10 ms in a straight line.
    ///   - file: The file of the call, for the sentence that says what is wrong with the numbers.
    ///   - line: The line in that file.
    /// - Precondition: `value` and the range are finite.
    public init(
        _ value: Float, in range: ClosedRange<Float>, limit: RateLimit? = nil, unit: Unit = .none,
        glide: Curve = .linear(.milliseconds(10)), file: StaticString = #fileID, line: UInt = #line
    ) {
        demand(
            value.isFinite && range.lowerBound.isFinite && range.upperBound.isFinite,
            "Parameter: a value of \(value) in \(range.lowerBound)…\(range.upperBound); all three must be finite",
            file: file, line: line)
        let settings = ParameterDetails.Settings(
            initialValue: min(max(value, range.lowerBound), range.upperBound), range: range, unit: unit, glide: glide,
            limit: limit)
        unsafe cell = ParameterHandle(settings).cell
    }

    /// Creates another reference to the same parameter: one value, one glide.
    package init(sharing other: borrowing Parameter) {
        unsafe ParameterHandle(cell: other.cell).retain()
        unsafe cell = other.cell
    }

    deinit { unsafe ParameterHandle(cell: cell).release() }

    /// The value. A value that is set inside ``Renderer/transaction(whenApplied:_:)`` is shown to the render thread
    /// together with the transaction's other changes. This property returns it inside of the transaction at once, and
    /// elsewhere when the transaction ends. A value that is set inside ``Renderer/transaction(at:_:)`` is shown to both
    /// when its time has come.
    public var value: Float {
        get {
            if let staged = unsafe ParameterChange.staged(ParameterHandle(cell: cell)) { return staged }
            return unsafe Float(
                bitPattern: UInt32(truncatingIfNeeded: details.pointee.requested.load(ordering: .relaxed)))
        }
        nonmutating set {
            guard !newValue.isNaN else {
                unsafe details.pointee.ignored.wrappingAdd(1, ordering: .relaxed)
                return
            }
            let value = min(max(newValue, range.lowerBound), range.upperBound)
            if let transaction = Transaction.current {
                unsafe transaction.stage(ParameterChange(ParameterHandle(cell: cell), value))
            } else {
                unsafe ParameterHandle(cell: cell).publish(details.pointee.request(value))
            }
        }
    }

    /// The value that the parameter was made with.
    public var initialValue: Float { unsafe details.pointee.settings.initialValue }
    /// The least and greatest value that may be set.
    public var range: ClosedRange<Float> { unsafe details.pointee.settings.range }
    /// The unit of the value.
    public var unit: Unit { unsafe details.pointee.settings.unit }
    /// The way in which a change arrives.
    public var glide: Curve { unsafe details.pointee.settings.glide }
    /// The greatest value by the sample rate, if there is one: 0.49 is just below half of it.
    public var limit: RateLimit? { unsafe details.pointee.settings.limit }

    /// Sets the parameter to its initial value.
    public func reset() { value = initialValue }

    /// The number of values that were ignored because they were no numbers.
    public var ignoredCount: Int { unsafe details.pointee.ignored.load(ordering: .relaxed) }

    /// Returns the range at a sample rate. If the limit is below the range, the limit holds.
    public func range(atSampleRate rate: Double) -> ClosedRange<Float> {
        let limit = unsafe Float(rate) * cell.pointee.rateFactor
        return min(range.lowerBound, limit)...min(range.upperBound, limit)
    }

    /// Returns the value over the frames of this slice: on its way to the value that was last set, or at rest there.
    ///
    /// Ask once in a slice, use the answer for all channels, and ask in one renderer: a parameter has one glide.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) public func glide(_ context: borrowing RenderContext) -> Glide {
        if let value = atRest(context) { return Glide(value) }
        // Numbers are handed over and not the context, which would be copied as a whole, in the fast case too.
        return unsafe Parameter.glideSlowly(
            cell, rate: context.sampleRate, now: context.sampleTime, isDryRun: context.isDryRun, context.core,
            offset: context.offset)
    }

    /// Returns the value over the frames of this slice if it is at rest; `nil` while it glides. For a module's shortest
    /// way, where a few comparisons show that nothing has changed since the last slice.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) public func atRest(_ context: borrowing RenderContext) -> Float? {
        let word = unsafe cell.pointee.published.load(ordering: .relaxed)
        let key = ParameterCell.key(word, rateBits: context.rateBits)
        guard unsafe _fastPath(key == cell.pointee.restKey.load(ordering: .relaxed)) else { return nil }
        return unsafe Float(bitPattern: cell.pointee.restValue.load(ordering: .relaxed))
    }

    /// Returns the value that was last set, without a glide: for parameters that are switched, or read once in a slice.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) public func current(_ context: borrowing RenderContext) -> Float {
        unsafe cell.pointee.value(cell.pointee.published.load(ordering: .relaxed), rate: context.sampleRate)
    }

    @_noLocks @_noAllocation
    @usableFromInline @inline(never)
    static func glideSlowly(
        _ cell: UnsafeMutablePointer<ParameterCell>, rate: Double, now: Int64, isDryRun: Bool,
        _ core: UnsafeMutablePointer<CycleMemory>, offset: Int
    ) -> Glide {
        let details = unsafe ParameterCells.details(cell)
        if unsafe details.pointee.driven.load(ordering: .relaxed) != 0, !isDryRun,
            let driven = unsafe DrivenGlide.glide(
                of: ParameterHandle(cell: cell), rate: rate, core.pointee.outerSlice.moved(by: offset))
        {
            return driven
        }
        let word = unsafe cell.pointee.published.load(ordering: .relaxed)
        let target = unsafe cell.pointee.value(word, rate: rate)
        let to = unsafe Float(bitPattern: details.pointee.glideTo.load(ordering: .relaxed))
        let start = unsafe details.pointee.glideStart.load(ordering: .relaxed)
        let (seconds, curve) = unsafe (details.pointee.glideSeconds, details.pointee.settings.glide)
        let length = unsafe details.pointee.glideLength.load(ordering: .relaxed)
        // A clock that went back (another renderer, or one that began anew) ends the glide.
        let passed = start == .min || now < start ? Int64(length) : min(now &- start, Int64(length))
        let motion = unsafe GlideMotion(
            velocity: Float(bitPattern: details.pointee.glideVelocity.load(ordering: .relaxed)),
            bend: Float(bitPattern: details.pointee.glideBend.load(ordering: .relaxed)))
        let under = unsafe curve.glide(
            from: Float(bitPattern: details.pointee.glideFrom.load(ordering: .relaxed)), to: to,
            elapsed: Int32(truncatingIfNeeded: passed), length: length, motion)
        if to == target && start != .max {
            if under.isFlat && !isDryRun { unsafe rest(cell, at: target, word, rate: rate) }
            return under
        }
        // A new value: from where the glide is now.
        let frames = Int32(truncatingIfNeeded: Int64(min(seconds * rate, 1e9)))
        let from = start == .max ? target : under[0]
        let goesOn = unsafe handedOn(
            under, curve, to: target, in: frames, from: details.pointee.settings.range.lowerBound,
            to: cell.pointee.value(UInt64(details.pointee.settings.range.upperBound.bitPattern), rate: rate))
        let next = curve.glide(
            from: from, to: target, elapsed: 0, length: from == target && goesOn.velocity == 0 ? 0 : frames, goesOn)
        if !isDryRun {
            unsafe details.pointee.glideFrom.store(from.bitPattern, ordering: .relaxed)
            unsafe details.pointee.glideTo.store(target.bitPattern, ordering: .relaxed)
            unsafe details.pointee.glideLength.store(next.length, ordering: .relaxed)
            unsafe details.pointee.glideStart.store(now, ordering: .relaxed)
            unsafe details.pointee.glideVelocity.store(goesOn.velocity.bitPattern, ordering: .relaxed)
            unsafe details.pointee.glideBend.store(goesOn.bend.bitPattern, ordering: .relaxed)
            if next.isFlat { unsafe rest(cell, at: target, word, rate: rate) }
        }
        return next
    }

    /// Returns the motion that a glide hands on to the next one.
    @_noLocks @_noAllocation
    private static func handedOn(
        _ glide: Glide, _ curve: Curve, to target: Float, in frames: Int32, from low: Float, to high: Float
    ) -> GlideMotion {
        glide.isFlat
            ? GlideMotion()
            : glide.motion(
                isExponential: curve.isExponential, to: target, in: frames, from: min(low, target),
                to: max(high, target))
    }

    /// Notes that nothing glides any more.
    @_noLocks @_noAllocation
    private static func rest(
        _ cell: UnsafeMutablePointer<ParameterCell>, at value: Float, _ word: UInt64, rate: Double
    ) {
        unsafe ParameterCells.details(cell).pointee.glideStart.store(.min, ordering: .relaxed)
        unsafe cell.pointee.rest(at: value, word, rate: rate)
    }
}

extension Parameter {
    /// The unit of a parameter's value.
    ///
    /// Threads: any.
    public enum Unit: String, Sendable, Hashable {
        /// A bare number, such as an amplitude factor or a position.
        case none = ""
        /// Cycles per second.
        case hertz = "Hz"
        /// 20 log10 of an amplitude.
        case decibels = "dB"
        /// Seconds.
        case seconds = "s"
        /// Thousandths of a second.
        case milliseconds = "ms"
        /// Octaves: 1 doubles a frequency.
        case octaves = "oct"
        /// Hundredths of a semitone.
        case cents = "ct"
        /// Semitones.
        case semitones = "st"
        /// Hundredths.
        case percent = "%"
        /// Beats per minute.
        case beatsPerMinute = "bpm"
        /// Beats of the tempo.
        case beats = "beats"
        /// Frames.
        case frames = "frames"
    }

    /// The way in which a change of a value arrives.
    ///
    /// Threads: control.
    public enum Curve: Sendable, Hashable {
        /// The value jumps: for parameters that do not click.
        case none
        /// The value goes in a straight line, in that time.
        case linear(Duration)
        /// The value changes by a constant ratio per frame, in that time: for frequencies. It goes in a straight line
        /// if either end is not above 0.
        case exponential(Duration)
        /// The value leaves and arrives without a corner, along a polynomial of fifth order, in that time: for gains, which
        /// are heard. A value that is set while it glides bends the way, and breaks it nowhere.
        case smooth(Duration)
        /// The logarithm of the value goes as the value does with `smooth`: for frequencies.
        case smoothExponential(Duration)

        /// The time that the change takes.
        public var duration: Duration {
            switch self {
            case .none: .zero
            case .linear(let time), .exponential(let time), .smooth(let time), .smoothExponential(let time):
                max(time, .zero)
            }
        }

        package var isExponential: Bool {
            @_noLocks @_noAllocation get {
                switch self {
                case .exponential, .smoothExponential: true
                case .none, .linear, .smooth: false
                }
            }
        }

        /// Returns a glide in which `elapsed` frames have passed.
        @_noLocks @_noAllocation
        func glide(from: Float, to end: Float, elapsed: Int32, length: Int32, _ motion: GlideMotion) -> Glide {
            switch self {
            case .none, .linear: Glide(from: from, to: end, elapsed: elapsed, length: length, isExponential: false)
            case .exponential: Glide(from: from, to: end, elapsed: elapsed, length: length, isExponential: true)
            case .smooth:
                Glide(
                    smoothFrom: from, to: end, elapsed: elapsed, length: length, isExponential: false, motion: motion)
            case .smoothExponential:
                Glide(
                    smoothFrom: from, to: end, elapsed: elapsed, length: length, isExponential: true, motion: motion)
            }
        }
    }

    /// An upper limit that grows with the sample rate.
    ///
    /// Threads: control.
    public struct RateLimit: Sendable, Hashable {
        let factor: Float
        /// Returns a part of the sample rate: 0.5 is the highest frequency that there is.
        public static func fractionOfRate(_ fraction: Float) -> RateLimit { RateLimit(factor: fraction) }
    }
}

extension Duration {
    /// The duration in seconds, at least 0.
    var seconds: Double { max(0, inSeconds) }
}
