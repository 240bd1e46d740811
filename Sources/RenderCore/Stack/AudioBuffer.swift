/// One buffer of the stack: its channels, to read and to write.
///
///     var top = context.top
///     for channel in 0..<top.channelCount {
///         var samples = top[channel]                       // a MutableSpan<Float>
///         for i in samples.indices { samples[i] *= 0.5 }
///     }
///
/// A buffer is a view: it cannot outlive the access to its context. A channel that does not exist is silence that leads
/// nowhere, and a ``Fault``.
@safe public struct AudioBuffer: ~Copyable, ~Escapable {
    @usableFromInline let entry: UnsafeMutablePointer<StackEntry>
    @usableFromInline let core: UnsafeMutablePointer<CycleMemory>
    @usableFromInline let offset: Int
    /// Frames in each channel: the context's ``RenderContext/frameCount``.
    public let frameCount: Int
    /// Channels, at least 1.
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

    /// A channel, to read.
    @_noLocks @_noAllocation @_lifetime(borrow self)
    @inlinable public func samples(_ channel: Int) -> Samples {
        unsafe Samples(UnsafePointer(memory(channel)), count: frameCount, owner: self)
    }

    @_noLocks @_noAllocation
    @inlinable func memory(_ channel: Int) -> UnsafeMutablePointer<Float> {
        if channel >= 0 && channel < channelCount { return unsafe entry.pointee.channels[channel] + offset }
        return unsafe core.pointee.missingChannel(channel, of: channelCount)
    }

    /// When the buffer's first frame was made or is due. An input's is the time of its capture.
    public var time: RenderTime {
        @_noLocks @_noAllocation get {
            unsafe RenderTime(sampleTime: entry.pointee.times[0], hostTime: entry.pointee.times[1])
        }
        @_noLocks @_noAllocation nonmutating set {
            unsafe entry.pointee.times = SIMD2(newValue.sample, newValue.host)
        }
    }

    /// Whether the memory is somebody else's.
    public var isExternal: Bool {
        @_noLocks @_noAllocation get {
            unsafe entry.pointee.kind == StackEntry.external || entry.pointee.kind == StackEntry.readOnly
        }
    }
}
