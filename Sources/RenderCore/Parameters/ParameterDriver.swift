internal import SignalBlocks
internal import Synchronization

/// Sets a parameter frame by frame on the render thread, from a module that runs before those that read it: an automation.
@safe package struct ParameterDriver: ~Copyable, Sendable {
    /// The part of it that the render thread uses.
    package let wheel: ParameterWheel
    /// The way in which a change of the value arrives.
    package let glide: Parameter.Curve

    /// Creates a driver, which holds on to the parameter.
    package init(_ parameter: borrowing Parameter) {
        let handle = unsafe ParameterHandle(cell: parameter.cell)
        handle.retain()
        let driven = UnsafeMutablePointer<DrivenGlide>.allocate(capacity: 1)
        unsafe driven.initialize(to: DrivenGlide(handle.cell.pointee.published.load(ordering: .relaxed)))
        glide = parameter.glide
        wheel = unsafe ParameterWheel(
            parameter: handle, driven: driven, glideSeconds: handle.details.pointee.glideSeconds,
            range: parameter.range)
    }

    deinit {
        let parameter = wheel.parameter
        let address = unsafe UInt(bitPattern: wheel.driven)
        _ = unsafe parameter.details.pointee.driven.compareExchange(
            expected: address, desired: 0, ordering: .acquiringAndReleasing)
        parameter.release()
        // A cycle on another thread may still look at it.
        Reclaimer.shared.retire {
            guard let driven = unsafe UnsafeMutablePointer<DrivenGlide>(bitPattern: address) else { return }
            unsafe driven.deinitialize(count: 1)
            unsafe driven.deallocate()
        }
    }
}

/// The render thread's side of a ``ParameterDriver``, which lives as long as that.
///
/// In each slice the module either gives the values (``drive(_:_:count:)``), one value (``hold(_:_:)``), or leaves the parameter to
/// whoever sets it (``yield()``).
@safe package struct ParameterWheel: @unchecked Sendable {
    // Unchecked because the cell and what is driven are atomics, and the settings never change.
    fileprivate let parameter: ParameterHandle
    fileprivate let driven: UnsafeMutablePointer<DrivenGlide>
    fileprivate let glideSeconds: Double
    fileprivate let range: ClosedRange<Float>

    /// The frames that a change of the value takes at a sample rate.
    @_noLocks @_noAllocation
    package func glideFrames(_ rate: Double) -> Int64 {
        let frames = glideSeconds * rate
        return frames < 1e9 ? Int64(frames) : 1_000_000_000
    }

    /// The values that the parameter can have at a sample rate.
    @_noLocks @_noAllocation
    package func limits(_ rate: Double) -> (low: Float, high: Float) {
        let high = unsafe parameter.cell.pointee.value(UInt64(range.upperBound.bitPattern), rate: rate)
        return (range.lowerBound < high ? range.lowerBound : high, high)
    }

    /// Indicates whether somebody else has set the parameter since this driver did.
    package var isMoved: Bool {
        @_noLocks @_noAllocation get {
            unsafe parameter.cell.pointee.published.load(ordering: .acquiring)
                != driven.pointee.word.load(ordering: .relaxed)
        }
    }

    /// Returns the value with which this slice would begin if nothing drove the parameter, and the value that it would go to;
    /// `nil` before the first slice, in which a parameter takes its value without a glide.
    @_noLocks @_noAllocation
    package func heard(_ context: borrowing RenderContext) -> (now: Float, next: Float)? {
        if unsafe parameter.details.pointee.glideStart.load(ordering: .relaxed) == .max || context.isDryRun {
            return nil
        }
        let glide = unsafe Parameter.glideSlowly(
            parameter.cell, rate: context.sampleRate, now: context.sampleTime, isDryRun: false, context.core,
            offset: context.offset)
        return (glide[0], glide.end)
    }

    /// Leaves the parameter to others in this slice. What they have set so far is no move any more.
    @_noLocks @_noAllocation
    package func yield() {
        unsafe parameter.details.pointee.driven.store(0, ordering: .relaxed)
        let word = unsafe parameter.cell.pointee.published.load(ordering: .relaxed)
        unsafe driven.pointee.word.store(word, ordering: .relaxed)
    }

    /// Leaves the parameter to others at the value that it was driven to, if this driver was the last to drive it.
    @_noLocks @_noAllocation
    package func leave() {
        guard unsafe parameter.details.pointee.driven.load(ordering: .relaxed) == UInt(bitPattern: driven) else {
            return
        }
        unsafe parameter.details.pointee.driven.store(0, ordering: .relaxed)
        if isMoved { return }
        let word = unsafe parameter.details.pointee.request(
            Float(bitPattern: driven.pointee.end.load(ordering: .relaxed)))
        unsafe driven.pointee.word.store(word, ordering: .relaxed)
        parameter.publish(word)
    }

    /// Returns the value that was last set.
    @_noLocks @_noAllocation
    package func current(_ context: borrowing RenderContext) -> Float {
        unsafe parameter.cell.pointee.value(
            parameter.cell.pointee.published.load(ordering: .relaxed), rate: context.sampleRate)
    }

    /// Gives the parameter one value for the whole slice.
    @_noLocks @_noAllocation
    package func hold(_ value: Float, _ context: borrowing RenderContext) {
        if !isMoved, unsafe driven.pointee.table.load(ordering: .relaxed) == 0,
            unsafe driven.pointee.end.load(ordering: .relaxed) == value.bitPattern,
            unsafe parameter.details.pointee.driven.load(ordering: .relaxed) == UInt(bitPattern: driven),
            unsafe driven.pointee.rate.load(ordering: .relaxed) == context.sampleRate.bitPattern
        {
            // The parameter rests there: the slice is noted in case a module has not looked yet.
            return note(context, count: 0, table: 0, end: value)
        }
        note(context, count: 0, table: 0, end: value)
        publish(value)
    }

    /// Gives the parameter the values of a table.
    ///
    /// - Parameters:
    ///   - count: The number of values, more than the slice has frames.
    @_noLocks @_noAllocation
    package func drive(_ context: borrowing RenderContext, _ table: GlideTable.Places, count: Int) {
        let count = count < table.capacity ? count : table.capacity
        note(context, count: count, table: table.address, end: table[context.frameCount])
        publish(table[0])
    }

    @_noLocks @_noAllocation
    private func note(_ context: borrowing RenderContext, count: Int, table: UInt, end: Float) {
        let slice = unsafe context.core.pointee.outerSlice.moved(by: context.offset)
        unsafe driven.pointee.number.store(0, ordering: .relaxed)
        unsafe driven.pointee.offset.store(slice.offset, ordering: .relaxed)
        unsafe driven.pointee.frames.store(context.frameCount, ordering: .relaxed)
        unsafe driven.pointee.count.store(count, ordering: .relaxed)
        unsafe driven.pointee.rate.store(context.sampleRate.bitPattern, ordering: .relaxed)
        unsafe driven.pointee.table.store(table, ordering: .relaxed)
        unsafe driven.pointee.end.store(end.bitPattern, ordering: .relaxed)
        unsafe driven.pointee.number.store(slice.number, ordering: .releasing)
    }

    /// Shows the value of the slice's first frame to all who read one value in a slice, and to control code.
    @_noLocks @_noAllocation
    private func publish(_ value: Float) {
        let word = unsafe parameter.details.pointee.request(value)
        unsafe driven.pointee.word.store(word, ordering: .relaxed)
        unsafe parameter.details.pointee.driven.store(UInt(bitPattern: driven), ordering: .releasing)
        parameter.publish(word)
    }
}
