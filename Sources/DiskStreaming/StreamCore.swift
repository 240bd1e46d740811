internal import AudioFiles
package import RenderCore
internal import Sharing
internal import Synchronization

/// The part of a stream that both sides touch: the ring, and a few atomics.
@safe struct StreamCore: ~Copyable, Sendable {
    let id: Int
    /// The stream's file: the address of the object that stands for it.
    let file: UInt
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
    /// The stream that is heard after the last pass: the next file.
    let next = ManagedValue(DiskCue())

    init(id: Int, file: UInt, geometry: StreamGeometry, ring: consuming AudioRing, isPairs: Bool) {
        self.file = file
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

    /// Returns whether another stream is of the same file.
    @_noLocks @_noAllocation
    package func isSameFile(as other: StreamReference) -> Bool { unsafe core.pointee.file == other.core.pointee.file }

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

    /// Returns the stream that is heard next.
    @_noLocks @_noAllocation
    package func next(_ context: inout RenderContext) -> StreamReference? {
        var found: StreamReference?
        unsafe core.pointee.next.with(&context) { cue, _ in found = cue.command.stream }
        return found
    }
}
