internal import AudioFiles
internal import CRender
package import RenderCore
internal import Sharing
internal import Synchronization

/// The part of a stream that both sides touch: the ring, and a few atomics.
@safe struct StreamCore: ~Copyable, Sendable {
    let id: Int
    let geometry: StreamGeometry
    let ring: AudioRing
    /// Indicates whether the ring has pairs of 16-bit integers in the place of one channel, as the file has them: half
    /// of the memory, and no work but the reading.
    let isPairs: Bool
    /// The frame that the render thread wants next. Frames before it need not be read any more.
    let wanted = Atomic<Int64>(0)
    /// The frame behind the last that has come.
    let written = Atomic<Int64>(0)
    /// The frame behind the last: the geometry's, or less where the file could not be read so far.
    let end: Atomic<Int64>
    /// Indicates whether the render thread has it in hand, and may read it in the next cycle.
    let isHeld = Atomic<Bool>(false)
    /// Indicates whether the render thread has ever begun to read it. It is read once.
    let wasBegun = Atomic<Bool>(false)
    /// The number of cues that lead to the stream.
    let cues = Atomic<Int>(0)
    /// The stream that goes on where this one has ended, if the region is to be heard again.
    let again = ManagedValue(DiskCue())

    init(id: Int, geometry: StreamGeometry, ring: consuming AudioRing, isPairs: Bool) {
        self.isPairs = isPairs
        self.id = id
        self.geometry = geometry
        self.ring = ring
        end = Atomic(geometry.end)
    }
}

/// A stream as the render thread knows it.
///
/// It may be used while a ``DiskCue`` that leads to it is shown, and from ``hold()`` to ``release()``: for so long
/// the player keeps the stream behind it.
@safe package struct StreamReference: BitwiseCopyable, @unchecked Sendable {
    // Unchecked because the pointer leads to atomics, a ring with one consumer, and constants.
    let core: UnsafeMutablePointer<StreamCore>

    /// The number of the stream: no two have the same.
    package var id: Int { @_noLocks @_noAllocation get { unsafe core.pointee.id } }

    /// The frames of the file that the stream gives.
    package var geometry: StreamGeometry { @_noLocks @_noAllocation get { unsafe core.pointee.geometry } }

    /// The frame behind the last; `.max` if it never ends.
    package var end: Int64 { @_noLocks @_noAllocation get { unsafe core.pointee.end.load(ordering: .acquiring) } }

    /// Frames per second of the ring: of the renderer that it was made for.
    package var sampleRate: Double {
        @_noLocks @_noAllocation get { unsafe core.pointee.ring.sampleRate }
    }

    /// Returns whether frames from one on have come, as far as there are any.
    @_noLocks @_noAllocation
    package func has(_ frame: Int64, _ count: Int) -> Bool {
        let (end, last) = (end, frame &+ Int64(count))
        return unsafe core.pointee.written.load(ordering: .acquiring) >= (last < end ? last : end)
    }

    /// Returns how many frames from one on have come. While more follow, it leaves out some that an offline renderer
    /// leaves for the time when rendering becomes live, and the disk thread goes on.
    package func supply(from frame: Int64) -> Int64 {
        let capacity = unsafe core.pointee.ring.capacity
        let kept = capacity < 16_384 ? capacity / 2 : 8_192
        let written = unsafe core.pointee.written.load(ordering: .acquiring)
        return written &- frame &- (written < end ? Int64(kept) : 0)
    }

    /// Indicates whether a render thread has begun to read the stream before.
    package var wasBegun: Bool {
        @_noLocks @_noAllocation get { unsafe core.pointee.wasBegun.load(ordering: .relaxed) }
    }

    /// Marks the stream as one that the render thread has in hand.
    @_noLocks @_noAllocation
    package func hold() {
        unsafe core.pointee.isHeld.store(true, ordering: .relaxed)
        unsafe core.pointee.wasBegun.store(true, ordering: .relaxed)
    }

    /// Marks the stream as one that the render thread does not read any more.
    @_noLocks @_noAllocation
    package func release() { unsafe core.pointee.isHeld.store(false, ordering: .releasing) }

    /// Goes to a frame: frames before it are dropped, and not read any more.
    @_noLocks @_noAllocation
    package func jump(to frame: Int64) {
        if frame <= 0 { return }
        want(frame)
        while true {
            let chunk = unsafe core.pointee.ring.peekContiguous()
            let late = frame &- (chunk.time.sampleTime ?? frame)
            if chunk.frameCount == 0 || late <= 0 { return }
            _ = unsafe core.pointee.ring.skip(
                frames: late < Int64(chunk.frameCount) ? Int(late) : chunk.frameCount)
        }
    }

    /// Says which frame will be wanted next, so that nothing before it is read any more.
    @_noLocks @_noAllocation
    private func want(_ frame: Int64) {
        if unsafe core.pointee.wanted.load(ordering: .relaxed) < frame {
            unsafe core.pointee.wanted.store(frame, ordering: .releasing)
        }
    }

    /// Copies frames into the top. Frames that the disk has not brought yet are silent.
    ///
    /// - Parameters:
    ///   - frame: The first frame of the stream.
    ///   - count: The number of frames.
    ///   - context: The context, whose top has the channels of the ring.
    ///   - offset: The frame of the slice at which they begin.
    /// - Returns: The number of frames that were not there.
    @_noLocks @_noAllocation
    package func read(_ frame: Int64, _ count: Int, into context: inout RenderContext, at offset: Int) -> Int {
        want(frame &+ Int64(count))
        let isPairs = unsafe core.pointee.isPairs
        var top = context.top
        var done = unsafe core.pointee.ring.read(at: frame, frames: count, into: &top, at: offset, isPairs: isPairs)
        if done < count {
            var channel = 0
            while channel < top.channelCount {
                var samples = top[channel]
                for i in offset &+ done..<offset &+ count { samples[i] = 0 }
                channel &+= 1
            }
        }
        var missing = 0
        while done < count {
            let chunk = unsafe core.pointee.ring.peek(frames: count &- done)
            if chunk.frameCount == 0 { return missing &+ count &- done }
            let ahead = (chunk.time.sampleTime ?? 0) &- (frame &+ Int64(done))
            if ahead < 0 {
                let all = unsafe core.pointee.ring.peekContiguous().frameCount
                let late = 0 &- ahead
                _ = unsafe core.pointee.ring.skip(frames: late < Int64(all) ? Int(late) : all)
            } else if ahead > 0 {
                let gap = ahead < Int64(count &- done) ? Int(ahead) : count &- done
                missing &+= gap
                done &+= gap
            } else {
                let read = unsafe core.pointee.ring.read(
                    at: frame &+ Int64(done), frames: count &- done, into: &top, at: offset &+ done, isPairs: isPairs)
                if read == 0 { return missing &+ count &- done }
                done &+= read
            }
        }
        return missing
    }

    /// Returns the stream that goes on after the last frame, if the region is to be heard again.
    @_noLocks @_noAllocation
    package func again(_ context: inout RenderContext) -> StreamReference? {
        var found: StreamReference?
        unsafe core.pointee.again.with(&context) { cue, _ in found = cue.command.stream }
        return found
    }
}

// MARK: - From the ring into a buffer

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
            unsafe Kernel.copy(source, to: buffer.memory(channel) + offset, count)
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
