// Looking at buffers: one, two or three at once, without a pointer in sight.

extension RenderContext {
    /// The buffer on top.
    @inlinable public var top: AudioBuffer {
        @_noLocks @_noAllocation @_lifetime(&self) @inline(__always) mutating get {
            let entry = unsafe entry(0, sink: 0)
            return unsafe AudioBuffer(entry, of: self)
        }
    }

    /// Returns the buffer at an index from the top, which is 0.
    @_noLocks @_noAllocation @_lifetime(&self)
    @inlinable public mutating func buffer(at index: Int) -> AudioBuffer {
        let entry = unsafe entry(index, sink: 0)
        return unsafe AudioBuffer(entry, of: self)
    }

    /// A channel of a buffer, to read: for taps, which change nothing.
    ///
    /// - Parameters:
    ///   - channel: From 0 to ``channelCount(at:)``.
    ///   - index: The index of the buffer, from the top, which is 0.
    @_noLocks @_noAllocation @_lifetime(borrow self)
    @inlinable @inline(__always) public func samples(_ channel: Int, at index: Int = 0) -> Samples {
        let memory =
            if let entry = unsafe realEntry(index), unsafe channel >= 0 && channel < entry.pointee.channelCount {
                unsafe entry.pointee.channels[channel] + offset
            } else {
                // Numbers and not the context, as in `fault`.
                unsafe RenderContext.missingSamples(
                    core, channel, of: channelCount(at: index), index, of: depth &- floor, at: sampleTime)
            }
        let view = unsafe Samples(at: UnsafePointer(memory), count: frameCount)
        return unsafe _overrideLifetime(view, borrowing: self)
    }

    /// Returns silence in the place of a channel that does not exist, or that has no memory.
    @_noLocks @_noAllocation
    @usableFromInline @inline(never)
    static func missingSamples(
        _ core: UnsafeMutablePointer<CycleMemory>, _ channel: Int, of channels: Int, _ index: Int, of buffers: Int,
        at sampleTime: Int64
    ) -> UnsafeMutablePointer<Float> {
        if index < 0 || index >= buffers {
            let kind: Fault.Kind = index == 0 ? .underflow : .wrongIndex
            unsafe fault(core, kind, .buffer, wanted: index, found: buffers, at: sampleTime)
        }
        if channel < 0 || channel >= max(channels, 1) {
            return unsafe core.pointee.missingChannel(channel, of: max(channels, 1))
        }
        let stand = unsafe core.pointee.sinks[0].channels[channel]
        unsafe stand.clearSamples(count: core.pointee.frameLimit)
        return unsafe stand
    }

    /// Returns the number of channels of a buffer; 0 if it does not exist.
    ///
    /// - Parameter index: From the top, which is 0.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) public func channelCount(at index: Int = 0) -> Int {
        let position = depth &- 1 &- index
        guard index >= 0 && position >= floor else { return 0 }
        return unsafe position < entryCount ? entries[position].channelCount : 1
    }

    /// Calls `body` with the two buffers on top at once, the top first: for a side-chain, mid and side, a mix of your
    /// own.
    ///
    ///     context.withTop2 { voice, music in           // the voice was pushed last
    ///         let voice = voice.samples(0)
    ///         var music = music[0]
    ///         for i in music.indices { music[i] *= 1 - abs(voice[i]) }
    ///     }
    ///
    /// `body` is not called if there are fewer than two.
    @inlinable @_transparent
    public mutating func withTop2(_ body: (inout AudioBuffer, inout AudioBuffer) -> Void) {
        guard require(2, for: .withBuffers) else { return }
        let (first, second) = unsafe (entry(0, sink: 0), entry(1, sink: 1))
        var a = unsafe AudioBuffer(first, of: self)
        var b = unsafe AudioBuffer(second, of: self)
        body(&a, &b)
    }

    /// Calls `body` with the three buffers on top at once, the top first; does nothing if there are fewer than three.
    @inlinable @_transparent
    public mutating func withTop3(_ body: (inout AudioBuffer, inout AudioBuffer, inout AudioBuffer) -> Void) {
        guard require(3, for: .withBuffers) else { return }
        let (first, second, third) = unsafe (entry(0, sink: 0), entry(1, sink: 1), entry(2, sink: 2))
        var a = unsafe AudioBuffer(first, of: self)
        var b = unsafe AudioBuffer(second, of: self)
        var c = unsafe AudioBuffer(third, of: self)
        body(&a, &b, &c)
    }

    /// Calls `body` with two buffers at once, wherever they are; does nothing if one does not exist or both are the
    /// same.
    @inlinable @_transparent
    public mutating func withBuffers(
        at index: Int, _ other: Int, _ body: (inout AudioBuffer, inout AudioBuffer) -> Void
    ) {
        guard index != other, index >= 0, other >= 0 else {
            fault(.badArgument, .withBuffers, wanted: index, found: other)
            return
        }
        guard require((index > other ? index : other) &+ 1, for: .withBuffers) else { return }
        let (first, second) = unsafe (entry(index, sink: 0), entry(other, sink: 1))
        var a = unsafe AudioBuffer(first, of: self)
        var b = unsafe AudioBuffer(second, of: self)
        body(&a, &b)
    }

    /// Returns whether `count` buffers are there; if not, that is a fault.
    @_noLocks @_noAllocation
    @inlinable package func require(_ count: Int, for operation: Fault.Operation) -> Bool {
        if count <= depth &- floor { return true }
        fault(.underflow, operation, wanted: count, found: depth &- floor)
        return false
    }
}
