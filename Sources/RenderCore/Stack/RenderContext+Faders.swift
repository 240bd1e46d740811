// Volume, balance and pan of the buffer on top, gliding or at rest.

extension RenderContext {
    /// Multiplies the top by a factor that may glide.
    ///
    ///     context.gain(volume.glide(context))
    @_noLocks @_noAllocation
    @inlinable @inline(__always) public mutating func gain(_ gain: Glide) {
        if gain.isFlat { scaleTop(by: gain.end) } else { glideTop(along: gain) }
    }

    /// Multiplies the top by a parameter, like `gain(level.glide(context))`, a little faster.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) public mutating func gain(_ level: borrowing Parameter) {
        if let level = level.atRest(self) { scaleTop(by: level) } else { glideTop(by: level) }
    }

    @_noLocks @_noAllocation
    @usableFromInline @inline(never) mutating func glideTop(by gain: borrowing Parameter) {
        self.gain(gain.glide(self))
    }

    /// Scales the top, with the most frequent case first.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) mutating func scaleTop(by gain: Float) {
        let position = depth &- 1
        // Bit patterns are compared because one comparison does it; numbers take two.
        if position >= floor && position < entryCount && gain.bitPattern != Float(1).bitPattern {
            let entry = unsafe entries + position
            if unsafe _fastPath(entry.pointee.format == StackEntry.monoOwn) {
                return unsafe Kernel.scale(entry.pointee.first + offset, gain, frameCount)
            }
        }
        scaleAny(by: gain)
    }

    @_noLocks @_noAllocation
    @usableFromInline @inline(never) mutating func scaleAny(by gain: Float) {
        guard require(1, for: .gain), let entry = unsafe realEntry(0) else { return }
        // An edit, also where the factor is 1.
        if unsafe entry.pointee.kind == StackEntry.readOnly { unsafe CycleMemory.makeOwn(entry, in: core) }
        if gain != 1 { unsafe scale(entry, by: gain) }
    }

    @_noLocks @_noAllocation
    @usableFromInline mutating func glideTop(along gain: Glide) {
        guard require(1, for: .gain) else { return }
        var top = self.top
        var channel = 0
        while channel < top.channelCount {
            var samples = top[channel]
            gain.apply(to: &samples)
            channel &+= 1
        }
    }

    /// Multiplies the top by a factor.
    @_noLocks @_noAllocation
    public mutating func gain(_ gain: Float) { scaleTop(by: gain) }

    /// Multiplies one buffer by a factor.
    ///
    /// - Parameters:
    ///   - gain: An amplitude factor.
    ///   - index: The index of the buffer from the top, which is 0.
    @_noLocks @_noAllocation
    public mutating func gain(_ gain: Float, at index: Int) {
        guard index >= 0 && index < depth &- floor else {
            return fault(.wrongIndex, .gain, wanted: index, found: depth &- floor)
        }
        scaleEntry(index, by: gain)
    }

    /// Applies volume and balance: balance makes the far side quieter, and leaves the near side as it is.
    ///
    /// Mono becomes stereo if the balance is not in the middle; more than two channels take the volume alone.
    ///
    /// - Parameters:
    ///   - volume: An amplitude factor.
    ///   - balance: -1 (left) to 1 (right).
    @_noLocks @_noAllocation
    public mutating func fade(volume: Glide, balance: Glide) {
        guard require(1, for: .gain) else { return }
        gain(volume)
        if balance.isFlat && balance.end == 0 || channelCount() > 2 { return }
        guard widenTop() else { return }
        var top = self.top
        var left = top[0]
        for i in left.indices { left[i] *= 1 - max(0, balance[i]) }
        var right = top[1]
        for i in right.indices { right[i] *= 1 + min(0, balance[i]) }
    }

    /// Applies a volume and a balance that do not glide.
    @_noLocks @_noAllocation
    public mutating func fade(volume: Float, balance: Float = 0) {
        fade(volume: Glide(volume), balance: Glide(balance))
    }

    /// Applies volume and balance by parameters, like `fade(volume: volume.glide(context), balance:
    /// balance.glide(context))`. It is faster while they rest at values that change nothing.
    @_noLocks @_noAllocation
    @inlinable @inline(__always)
    public mutating func fade(volume: borrowing Parameter, balance: borrowing Parameter) {
        let position = depth &- 1
        // Any edit copies external memory, also one that changes nothing: here the copy is left to the general way.
        if unsafe position >= floor && position < entryCount && entries[position].kind == StackEntry.own,
            let factor = volume.atRest(self), let side = balance.atRest(self), factor == 1 && side == 0
        {
            return
        }
        fade(volume: volume.glide(self), balance: balance.glide(self))
    }

    /// Pans with equal power: in the middle both sides get 0.707, so that a moving sound keeps its loudness.
    ///
    /// Mono becomes stereo; two channels each get their gain; more than two are a ``/Exchange/Fault``.
    ///
    /// - Parameter position: -1 (left) to 1 (right).
    @_noLocks @_noAllocation
    public mutating func pan(_ position: Glide) {
        guard require(1, for: .gain) else { return }
        if position.isFlat { return weigh(PanGains(position.end)) }
        guard widenTop() else { return }
        var top = self.top
        var left = top[0]
        for i in left.indices { left[i] *= PanGains(position[i]).left }
        var right = top[1]
        for i in right.indices { right[i] *= PanGains(position[i]).right }
    }

    /// Applies a gain to each side. Mono becomes stereo.
    @_noLocks @_noAllocation
    package mutating func weigh(_ gains: PanGains) {
        let position = depth &- 1
        if position >= floor && position < entryCount && channelLimit >= 2 && place == 0 {
            // The most frequent case comes first: mono, and not inside of a part of the slice.
            let entry = unsafe entries + position
            if unsafe entry.pointee.shape == StackEntry.monoOwn {
                unsafe entry.pointee.shape = StackEntry.stereoOwn
                let channels = unsafe entry.pointee.channels
                return unsafe Kernel.spread(
                    channels[0] + offset, channels[1] + offset, (gains.left, gains.right), frameCount)
            }
        }
        weighAny(gains)
    }

    @_noLocks @_noAllocation
    @inline(never) private mutating func weighAny(_ gains: PanGains) {
        guard require(1, for: .gain) else { return }
        let (left, right) = (gains.left, gains.right)
        let wasMono = channelCount() == 1
        guard widenTop(copying: false), let entry = unsafe realEntry(0) else { return }
        if unsafe entry.pointee.kind == StackEntry.readOnly { unsafe CycleMemory.makeOwn(entry, in: core) }
        let one = unsafe entry.pointee.channels[0] + offset
        let two = unsafe entry.pointee.channels[1] + offset
        if wasMono {
            unsafe Kernel.spread(one, two, (left, right), frameCount)
        } else {
            unsafe Kernel.scale(one, left, frameCount)
            unsafe Kernel.scale(two, right, frameCount)
        }
    }

    /// Makes a mono top stereo. `false`, and a fault, where it is neither.
    ///
    /// - Parameter copying: `true` to copy the frames of this slice into the new channel.
    @_noLocks @_noAllocation
    package mutating func widenTop(copying: Bool = true) -> Bool {
        guard let entry = unsafe realEntry(0) else { return false }
        let channels = unsafe entry.pointee.channelCount
        if channels == 2 { return true }
        guard channels == 1 && channelLimit >= 2 else {
            fault(.wrongChannels, .pan, wanted: 2, found: channels == 1 ? channelLimit : channels)
            return false
        }
        // External memory has no second channel: take the stack's own.
        if unsafe entry.pointee.kind != StackEntry.own { unsafe CycleMemory.makeOwn(entry, in: core) }
        if unsafe entry.pointee.place != 0 || place != 0 || offset != 0 {
            // Around this part of the slice the buffer has samples too, which must be kept.
            unsafe CycleMemory.widen(entry, to: 2, in: core)
        } else {
            if copying {
                unsafe entry.pointee.channels[1].copySamples(from: entry.pointee.channels[0], count: frameCount)
            }
            unsafe entry.pointee.channelCount = 2
        }
        return true
    }
}
