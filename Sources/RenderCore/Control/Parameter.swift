public import Synchronization

/// A number that control code sets and the render thread reads: no lock, no click.
///
///     public let cutoff = Parameter(1_000, in: 20...20_000, unit: .hertz, glide: .exponential(.milliseconds(20)))
///
///     filter.cutoff.value = 2_000                 // from any thread
///     let cutoff = cutoff.glide(context)          // in `process`
///     for i in samples.indices { samples[i] *= cutoff[i] }
///
/// A value outside of the range becomes the nearest one inside; what is not a number is ignored and counted. A change
/// glides: it takes ``glide`` to arrive, however long the slices are.
@safe public struct Parameter: ~Copyable, @unchecked Sendable {
    // Unchecked because the cell is atomics, and its details are too but for settings that never change.
    @usableFromInline let cell: UnsafeMutablePointer<ParameterCell>
    private var details: UnsafeMutablePointer<ParameterDetails> { unsafe ParameterCells.details(cell) }

    /// A parameter.
    ///
    /// - Parameters:
    ///   - value: what it is at first (and what ``reset()`` returns to); clamped to the range.
    ///   - range: what may be set.
    ///   - limit: an upper limit that depends on the sample rate; it holds besides the range.
    ///   - unit: what the number counts.
    ///   - glide: how a change arrives; 10 ms in a straight line if nothing is said.
    /// - Precondition: `value` and the range are finite.
    public init(
        _ value: Float, in range: ClosedRange<Float>, limit: RateLimit? = nil, unit: Unit = .none,
        glide: Curve = .linear(.milliseconds(10))
    ) {
        precondition(
            value.isFinite && range.lowerBound.isFinite && range.upperBound.isFinite,
            "Parameter: the value \(value) and the range \(range) must be finite")
        let settings = ParameterDetails.Settings(
            initialValue: min(max(value, range.lowerBound), range.upperBound), range: range, unit: unit, glide: glide,
            limit: limit)
        unsafe cell = ParameterReference(settings).cell
    }

    /// The same parameter in another place: one value, one glide.
    package init(sharing other: borrowing Parameter) {
        unsafe ParameterReference(cell: other.cell).retain()
        unsafe cell = other.cell
    }

    deinit { unsafe ParameterReference(cell: cell).release() }

    /// The number. One that is set inside ``Renderer/transaction(whenApplied:_:)`` is shown to the render thread with
    /// everything else that the transaction changes, and by this property inside at once and elsewhere when the transaction
    /// ends; one that is set inside ``Renderer/transaction(at:_:)`` is shown to both when its time has come.
    public var value: Float {
        get {
            if let staged = unsafe Transaction.current?.value(of: ParameterReference(cell: cell)) { return staged }
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
                unsafe transaction.stage(ParameterReference(cell: cell), value)
            } else {
                unsafe cell.pointee.publish(details.pointee.request(value))
            }
        }
    }

    /// What it was made with.
    public var initialValue: Float { unsafe details.pointee.settings.initialValue }
    /// The least and greatest value that may be set.
    public var range: ClosedRange<Float> { unsafe details.pointee.settings.range }
    /// What the number counts.
    public var unit: Unit { unsafe details.pointee.settings.unit }
    /// How a change arrives.
    public var glide: Curve { unsafe details.pointee.settings.glide }
    /// The greatest value by the sample rate, if there is one: 0.49 is just below half of it.
    public var limit: RateLimit? { unsafe details.pointee.settings.limit }

    /// Sets it to what it was made with.
    public func reset() { value = initialValue }

    /// How many values were ignored because they were no numbers.
    public var ignoredCount: Int { unsafe details.pointee.ignored.load(ordering: .relaxed) }

    /// The range at a sample rate. Where the limit is below the range, the limit holds.
    public func range(atSampleRate rate: Double) -> ClosedRange<Float> {
        let limit = unsafe Float(rate) * cell.pointee.rateFactor
        return min(range.lowerBound, limit)...min(range.upperBound, limit)
    }

    /// The number over the frames of this slice: on its way to the value that was last set, or at rest there.
    ///
    /// Ask once in a slice, use the answer for all channels, and ask in one renderer: a parameter has one glide.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) public func glide(_ context: borrowing RenderContext) -> Glide {
        if let value = atRest(context) { return Glide(value) }
        // Numbers and not the context: what is handed over whole is copied, in the fast case too.
        return unsafe Parameter.glideSlowly(
            cell, rate: context.sampleRate, now: context.sampleTime, isDryRun: context.isDryRun)
    }

    /// The number over the frames of this slice if it is at rest; `nil` while it glides. For a module's shortest way, where
    /// a few comparisons say that nothing has changed since the last slice.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) public func atRest(_ context: borrowing RenderContext) -> Float? {
        let word = unsafe cell.pointee.published.load(ordering: .relaxed)
        let rate = unsafe cell.pointee.restRate.load(ordering: .relaxed)
        let isAtRest = unsafe word == cell.pointee.restWord.load(ordering: .relaxed) && rate == context.rateBits
        guard _fastPath(isAtRest) else { return nil }
        return unsafe Float(bitPattern: cell.pointee.restValue.load(ordering: .relaxed))
    }

    /// The number that was last set, without a glide: for what is switched, or read once in a slice.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) public func current(_ context: borrowing RenderContext) -> Float {
        unsafe cell.pointee.value(cell.pointee.published.load(ordering: .relaxed), rate: context.sampleRate)
    }

    @_noLocks @_noAllocation
    @usableFromInline @inline(never)
    static func glideSlowly(
        _ cell: UnsafeMutablePointer<ParameterCell>, rate: Double, now: Int64, isDryRun: Bool
    ) -> Glide {
        let details = unsafe ParameterCells.details(cell)
        let word = unsafe cell.pointee.published.load(ordering: .relaxed)
        let target = unsafe cell.pointee.value(word, rate: rate)
        let to = unsafe Float(bitPattern: details.pointee.glideTo.load(ordering: .relaxed))
        let start = unsafe details.pointee.glideStart.load(ordering: .relaxed)
        let (seconds, isExponential) = unsafe (
            details.pointee.glideSeconds, details.pointee.settings.glide.isExponential
        )
        let length = unsafe details.pointee.glideLength.load(ordering: .relaxed)
        // A clock that went back (another renderer, or one that began anew) ends the glide.
        let passed = start == .min || now < start ? Int64(length) : min(now &- start, Int64(length))
        let under = unsafe Glide(
            from: Float(bitPattern: details.pointee.glideFrom.load(ordering: .relaxed)), to: to,
            elapsed: Int32(truncatingIfNeeded: passed), length: length, isExponential: isExponential)
        if to == target && start != .max {
            if under.isFlat && !isDryRun { unsafe rest(cell, at: target, word, rate: rate) }
            return under
        }
        // A new value: from where the glide is now.
        let frames = Int32(truncatingIfNeeded: Int64(min(seconds * rate, 1e9)))
        let from = start == .max ? target : under[0]
        let next = Glide(
            from: from, to: target, elapsed: 0, length: from == target ? 0 : frames,
            isExponential: isExponential)
        if !isDryRun {
            unsafe details.pointee.glideFrom.store(from.bitPattern, ordering: .relaxed)
            unsafe details.pointee.glideTo.store(target.bitPattern, ordering: .relaxed)
            unsafe details.pointee.glideLength.store(next.length, ordering: .relaxed)
            unsafe details.pointee.glideStart.store(now, ordering: .relaxed)
            if next.isFlat { unsafe rest(cell, at: target, word, rate: rate) }
        }
        return next
    }

    /// Nothing glides any more.
    @_noLocks @_noAllocation
    private static func rest(
        _ cell: UnsafeMutablePointer<ParameterCell>, at value: Float, _ word: UInt64, rate: Double
    ) {
        unsafe ParameterCells.details(cell).pointee.glideStart.store(.min, ordering: .relaxed)
        unsafe cell.pointee.rest(at: value, word, rate: rate)
    }
}

extension Parameter {
    /// What the number of a parameter counts.
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
        /// Frames.
        case frames = "frames"
    }

    /// How a change arrives.
    public enum Curve: Sendable, Hashable {
        /// At once: for what does not click.
        case none
        /// In a straight line, in that time.
        case linear(Duration)
        /// With a constant ratio per frame, in that time: for frequencies. In a straight line where either end is not
        /// above 0.
        case exponential(Duration)

        /// How long it takes.
        public var duration: Duration {
            switch self {
            case .none: .zero
            case .linear(let time), .exponential(let time): max(time, .zero)
            }
        }

        @usableFromInline var isExponential: Bool {
            @_noLocks @_noAllocation get {
                switch self {
                case .exponential: true
                case .none, .linear: false
                }
            }
        }
    }

    /// An upper limit that grows with the sample rate.
    public struct RateLimit: Sendable, Hashable {
        let factor: Float
        /// A part of the sample rate: 0.5 is the highest frequency that there is.
        public static func fractionOfRate(_ fraction: Float) -> RateLimit { RateLimit(factor: fraction) }
    }
}

extension Duration {
    /// The same in seconds.
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}
