internal import CRender
internal import RenderCore
internal import Synchronization

extension AudioRing {
    /// Consumer: reads the frames of a sample time into a buffer, channel by channel, and takes them out of the ring. A
    /// player needs no other call in most slices. The caller sees to it that no other thread is on this side: this call
    /// does not look, which would take the processor as long as a third of the rest.
    ///
    /// - Parameters:
    ///   - time: The sample time of the first frame.
    ///   - frames: The largest number of frames to read.
    ///   - buffer: The buffer to fill; channels that it lacks are left out.
    ///   - offset: The first frame that is overwritten.
    ///   - isPairs: `true` if each sample of the ring's one channel is a pair of 16-bit integers, for two channels.
    /// - Returns: The number of frames that were read: 0 if the next frame is of another time, and fewer where the time
    ///   may jump.
    @_noLocks @_noAllocation
    func read(
        at time: Int64, frames: Int, into buffer: inout AudioBuffer, at offset: Int, isPairs: Bool = false
    ) -> Int {
        guard frames > 0 && offset >= 0 && offset <= buffer.frameCount else { return 0 }
        let position = consumer.position.load(ordering: .relaxed)
        var count = buffer.frameCount &- offset
        if frames < count { count = frames }
        let waiting = producer.position.load(ordering: .acquiring) &- position
        if waiting < count { count = waiting }
        let number = passStamps(to: position)
        let stamp = stamps[number]
        guard
            count > 0 && stamp.sample != RenderTime.unknown
                && stamp.sample &+ Int64(position &- stamp.position) == time
        else { return 0 }
        // Blocks that go on in time share a stamp: the next one begins where the time jumps, or might.
        let hasNext = number &+ 1 < producer.stamp.load(ordering: .acquiring)
        if hasNext {
            let left = stamps[number &+ 1].position &- position
            if left < count { count = left }
        }
        buffer.makeOwn()
        let start = consumer.place.load(ordering: .relaxed)
        let first = count < capacity &- start ? count : capacity &- start
        copyOut(start, first, to: &buffer, at: offset, isPairs)
        if first < count { copyOut(0, count &- first, to: &buffer, at: offset &+ first, isPairs) }
        goOn(from: position, by: count)
        if hasNext { _ = passStamps(to: position &+ count) }
        return count
    }

    /// Copies frames that do not go round the end of the memory.
    @_noLocks @_noAllocation @inline(__always)
    private func copyOut(_ start: Int, _ count: Int, to buffer: inout AudioBuffer, at offset: Int, _ isPairs: Bool) {
        if isPairs {
            let source = unsafe memory.channels[0] + start
            let pairs = unsafe UnsafeRawPointer(source).assumingMemoryBound(to: Int16.self)
            let left = unsafe buffer.memory(0) + offset
            if buffer.channelCount > 1 {
                unsafe Kernel.convert(pairs: pairs, to: left, buffer.memory(1) + offset, count)
            } else {
                unsafe AudioRing.convertLeft(pairs, to: left, count)
            }
            unsafe prefetch(source, start, count)
        } else {
            copyChannels(start, count, to: &buffer, at: offset)
        }
    }

    /// A function of its own, so that pairs need not save its registers.
    @_noLocks @_noAllocation @inline(never)
    private func copyChannels(_ start: Int, _ count: Int, to buffer: inout AudioBuffer, at offset: Int) {
        var channel = 0
        while channel < channelCount && channel < buffer.channelCount {
            let source = unsafe memory.channels[channel] + start
            unsafe StackKernel.copy(source, to: buffer.memory(channel) + offset, count)
            unsafe prefetch(source, start, count)
            channel &+= 1
        }
    }

    /// Has the processor fetch the next frames, which another thread has written and which are read in a moment.
    @_noLocks @_noAllocation @inline(__always)
    private func prefetch(_ source: UnsafeMutablePointer<Float>, _ start: Int, _ count: Int) {
        var ahead = count
        let end = min(count &+ (count < 256 ? count : 256), capacity &- start)
        while ahead < end {
            unsafe crender_prefetch(source + ahead)
            ahead &+= 16
        }
    }

    /// Converts the first of each pair, for a buffer of one channel. A function of its own: inlined, it would slow down
    /// buffers of two.
    @_noLocks @_noAllocation @inline(never)
    private static func convertLeft(
        _ pairs: UnsafePointer<Int16>, to target: UnsafeMutablePointer<Float>, _ count: Int
    ) {
        var i = 0
        while i < count {
            unsafe target[i] = Float(pairs[2 &* i]) * 0x1p-15
            i &+= 1
        }
    }
}
