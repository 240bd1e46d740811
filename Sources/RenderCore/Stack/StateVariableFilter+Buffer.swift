extension StateVariableFilter {
    /// Filters frames of a buffer, all alike.
    ///
    /// - Parameters:
    ///   - buffer: The buffer that is filtered in place.
    ///   - first: The first frame.
    ///   - count: The number of frames; by default all that follow.
    ///   - stage: The number of the filter, from 0.
    ///   - coefficients: The coefficients of all these frames.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public mutating func process(
        _ buffer: inout AudioBuffer, from first: Int = 0, count: Int = .max, stage: Int = 0,
        with coefficients: FilterCoefficients
    ) {
        guard stage >= 0 && stage < stageCount, first >= 0 && first <= buffer.frameCount else { return }
        buffer.makeOwn()
        unsafe process(
            buffer.entry.pointee.channels, buffer.channelCount, from: buffer.offset &+ first,
            count: min(count, buffer.frameCount &- first), stage: stage, with: coefficients)
    }

    /// Filters frames of a buffer, each with its own coefficients: while something glides.
    ///
    /// - Parameters:
    ///   - buffer: The buffer that is filtered in place.
    ///   - first: The first frame.
    ///   - count: The number of frames: at most as many as there are coefficients.
    ///   - stage: The number of the filter, from 0.
    ///   - coefficients: The coefficients of the first of these frames, the second, and so on.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public mutating func process(
        _ buffer: inout AudioBuffer, from first: Int, count: Int, stage: Int = 0,
        with coefficients: borrowing RenderMemory<FilterCoefficients>
    ) {
        guard stage >= 0 && stage < stageCount, first >= 0 && first <= buffer.frameCount else { return }
        buffer.makeOwn()
        unsafe process(
            buffer.entry.pointee.channels, buffer.channelCount, from: buffer.offset &+ first,
            count: min(count, min(coefficients.count, buffer.frameCount &- first)), stage: stage, with: coefficients)
    }

    /// Filters the top as the slice before, where that was filtered by blocks to its end. `false`: it was not, or the top
    /// is another kind of buffer, and nothing was done.
    @_noLocks @_noAllocation
    package mutating func goOn(_ context: inout RenderContext, stage: Int) -> Bool {
        let position = context.depth &- 1
        guard position >= context.floor && position < context.entryCount else { return false }
        let entry = unsafe context.entries + position
        let (format, channels) = unsafe (entry.pointee.format, channelsAtRest(stage))
        guard channels > 0, format == StackEntry.shape(channels, StackEntry.own) else { return false }
        if format == StackEntry.monoOwn {
            unsafe goOn(entry.pointee.first + context.offset, count: context.frameCount, stage)
        } else {
            unsafe leap(entry.pointee.channels, channels, from: context.offset, count: context.frameCount, stage)
        }
        return true
    }
}
