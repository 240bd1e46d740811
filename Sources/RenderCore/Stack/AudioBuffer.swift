/// One buffer of the stack: its channels, to read and to write.
///
///     var top = context.top
///     for channel in 0..<top.channelCount {
///         var samples = top[channel]                       // a MutableSpan<Float>
///         for i in samples.indices { samples[i] *= 0.5 }
///     }
///
/// A buffer is a view: it cannot outlive the access to its context. A channel that does not exist is silence that leads
/// nowhere, and a ``/Exchange/Fault``.
///
/// Threads: render.
@safe public struct AudioBuffer: ~Copyable, ~Escapable {
    @usableFromInline package let entry: UnsafeMutablePointer<StackEntry>
    @usableFromInline let core: UnsafeMutablePointer<CycleMemory>
    @usableFromInline let offset: Int
    /// The number of frames in each channel: the context's ``RenderContext/frameCount``.
    public let frameCount: Int
    /// The number of channels, at least 1.
    public let channelCount: Int

    @_lifetime(borrow context)
    @_noLocks @_noAllocation
    @inlinable init(_ entry: UnsafeMutablePointer<StackEntry>, of context: borrowing RenderContext) {
        unsafe self.entry = entry
        unsafe core = context.core
        offset = context.offset
        frameCount = context.frameCount
        channelCount = unsafe entry.pointee.channelCount
    }

    /// A channel, to edit. Memory that is not the stack's own and may not be written is copied first.
    @inlinable public subscript(_ channel: Int) -> MutableSpan<Float> {
        @_noLocks @_noAllocation @_lifetime(&self) @inline(__always) mutating get {
            if unsafe entry.pointee.kind == StackEntry.readOnly { unsafe CycleMemory.makeOwn(entry, in: core) }
            let memory = unsafe self.memory(channel)
            let span = unsafe MutableSpan(_unsafeStart: memory, count: frameCount)
            return unsafe _overrideLifetime(span, mutating: &self)
        }
    }

    /// Replaces each sample by what `body` makes of it: channel after channel, frame after frame.
    ///
    ///     top.change { sample, frame, channel in drive[frame] * sample }
    ///
    /// - Parameter body: Gets a sample, its frame and its channel; returns the new sample.
    @inlinable @_transparent
    public mutating func change(_ body: (_ sample: Float, _ frame: Int, _ channel: Int) -> Float) {
        var channel = 0
        while channel < channelCount {
            var samples = self[channel]
            for frame in samples.indices { samples[frame] = body(samples[frame], frame, channel) }
            channel &+= 1
        }
    }

    /// Calls `body` with two channels at once, to edit: for mid and side, a rotation, anything that mixes left and
    /// right.
    ///
    ///     top.withChannels(0, 1) { left, right in
    ///         for i in left.indices { (left[i], right[i]) = (left[i] + right[i], left[i] - right[i]) }
    ///     }
    ///
    /// `body` is not called if one of them does not exist or both are the same, which is a ``/Exchange/Fault`` that silences the
    /// module for this slice.
    @inlinable @_transparent
    public mutating func withChannels(
        _ first: Int, _ second: Int, _ body: (inout MutableSpan<Float>, inout MutableSpan<Float>) -> Void
    ) {
        guard hasChannels(first, second) else { return }
        if unsafe entry.pointee.kind == StackEntry.readOnly { unsafe CycleMemory.makeOwn(entry, in: core) }
        var a = unsafe MutableSpan(_unsafeStart: memory(first), count: frameCount)
        var b = unsafe MutableSpan(_unsafeStart: memory(second), count: frameCount)
        body(&a, &b)
    }

    /// Returns whether there are two channels; if not, that is a fault.
    @_noLocks @_noAllocation
    @usableFromInline func hasChannels(_ first: Int, _ second: Int) -> Bool {
        let lowest = min(first, second), highest = max(first, second)
        if lowest >= 0 && highest < channelCount && lowest != highest { return true }
        let missing = lowest < 0 ? lowest : highest
        unsafe core.pointee.report(
            .wrongChannels, .channel, wanted: missing, found: channelCount, at: core.pointee.sampleTime)
        return false
    }

    /// A channel, to read.
    @_noLocks @_noAllocation @_lifetime(borrow self)
    @inlinable public func samples(_ channel: Int) -> Samples {
        let view = unsafe Samples(at: UnsafePointer(memory(channel)), count: frameCount)
        return unsafe _overrideLifetime(view, borrowing: self)
    }

    /// Takes the samples of another buffer. One channel goes to every channel, and one channel takes the sum of several;
    /// otherwise each takes its counterpart, and is silent where there is none.
    @_noLocks @_noAllocation
    public mutating func copy(from other: borrowing AudioBuffer) {
        makeOwn()
        let sources = other.channelCount
        var channel = 0
        while channel < channelCount {
            let target = unsafe memory(channel)
            if sources == 1 || channel < sources {
                unsafe target.copySamples(from: other.memory(sources == 1 ? 0 : channel), count: frameCount)
            } else {
                unsafe target.clearSamples(count: frameCount)
            }
            channel &+= 1
        }
        channel = 1
        while channelCount == 1 && channel < sources {
            unsafe Kernel.add(other.memory(channel), to: memory(0), frameCount)
            channel &+= 1
        }
    }

    /// Makes the memory one that may be written: what is not is copied first.
    @_noLocks @_noAllocation @inline(__always)
    @inlinable package func makeOwn() {
        if unsafe entry.pointee.kind == StackEntry.readOnly { unsafe CycleMemory.makeOwn(entry, in: core) }
    }

    @_noLocks @_noAllocation
    @inlinable package func memory(_ channel: Int) -> UnsafeMutablePointer<Float> {
        if channel >= 0 && channel < channelCount { return unsafe entry.pointee.channels[channel] + offset }
        return unsafe core.pointee.missingChannel(channel, of: channelCount)
    }

    /// The time at which the buffer's first frame was made or is due. An input's is the time of its capture.
    public var time: RenderTime {
        @_noLocks @_noAllocation get {
            unsafe RenderTime(sampleTime: entry.pointee.times[0], hostTime: entry.pointee.times[1])
        }
        @_noLocks @_noAllocation nonmutating set {
            unsafe entry.pointee.times = SIMD2(newValue.sample, newValue.host)
        }
    }

    /// Indicates whether the memory is the caller's and not the stack's.
    public var isExternal: Bool {
        @_noLocks @_noAllocation get {
            unsafe entry.pointee.kind == StackEntry.external || entry.pointee.kind == StackEntry.readOnly
        }
    }
}
