package import DiskStreaming
package import RenderCore
internal import Synchronization

/// The frames of long samples on their way from the disk to the voices of one player: a ring for each voice.
@safe package final class SampleStreams: DiskClient, @unchecked Sendable {
    // Unchecked because the slots are atomics, and a ring's words are read only below the count that was published after them.
    private let slots: UnsafeMutablePointer<Slot>
    private let words: AlignedMemory<Int16>
    private let count: Int
    private let table: InstrumentTable
    private let disk: SampleDisk
    private let serving = Lock(0, .stream)

    /// Frames of a ring.
    private static let capacity = 32_768
    /// Frames before the one that is wanted that a voice still reads.
    private static let behind = 16
    private static let chunk = 4_096

    /// The part of a stream that both sides touch.
    struct Slot: ~Copyable {
        /// The number of the request, and the region and 1; 0 in the lower half for none.
        let request = Atomic<UInt64>(0)
        /// The number of the request in the upper 16 bits, and the frames that have come.
        let progress = Atomic<UInt64>(0)
        /// The frame that the voice is at.
        let wanted = Atomic<Int64>(0)
    }

    /// Streams for the voices of a player; `nil` if the instrument is in memory.
    package init?(_ table: InstrumentTable, voices: Int) {
        guard let disk = table.disk else { return nil }
        self.table = table
        self.disk = disk
        count = voices
        words = AlignedMemory(count: voices * Self.capacity)
        unsafe slots = .allocate(capacity: voices)
        for index in 0..<voices { unsafe (slots + index).initialize(to: Slot()) }
    }

    deinit {
        unsafe slots.deinitialize(count: count)
        unsafe slots.deallocate()
    }

    /// Serves the voices from now on, for as long as the streams exist.
    package func begin() { DiskThread.shared.add(self) }

    /// Reads a part for each voice that has room for one.
    package func serveDisk() -> DiskNeed {
        var (isMore, isSoon) = (false, false)
        serving.withLock { _ in
            for index in 0..<count {
                let request = unsafe slots[index].request.load(ordering: .acquiring)
                if UInt32(truncatingIfNeeded: request) == 0 { continue }
                isSoon = true
                if fill(index, request) { isMore = true }
            }
        }
        return isMore ? .more : isSoon ? .soon : .none
    }

    /// Fills all rings, for a renderer that is not live.
    package func fill() { while case .more = serveDisk() {} }

    /// Reads a part, and returns whether there is room for more.
    private func fill(_ index: Int, _ request: UInt64) -> Bool {
        let progress = unsafe slots[index].progress.load(ordering: .acquiring)
        guard progress >> 48 == request >> 32 & 0xFFFF else { return false }
        let written = Int(progress & 0xFFFF_FFFF_FFFF)
        let wanted = unsafe Int(slots[index].wanted.load(ordering: .acquiring))
        let room = Self.capacity - (written - wanted) - Self.behind
        guard room >= Self.chunk else { return false }
        let region = table.reference.region(Int(UInt32(truncatingIfNeeded: request)) - 1)
        // A voice that was faster than the disk goes on where it is.
        var frame = max(written, wanted - Self.behind)
        let end = frame + Self.chunk
        while frame < end {
            // The frame of the sample behind a frame of the voice, and how many follow it.
            var place = frame + Int(region.start)
            var run = end - frame
            if region.loops {
                let length = Int(region.loopEnd - region.loopStart)
                if place >= Int(region.loopEnd) {
                    place = Int(region.loopStart) + (place - Int(region.loopStart)) % length
                }
                run = min(run, Int(region.loopEnd) - place)
            } else if place >= Int(region.end) {
                return false
            } else {
                run = min(run, Int(region.end) - place)
            }
            let offset = frame & (Self.capacity - 1)
            run = min(run, Self.capacity - offset)
            unsafe disk.read(
                Int(region.sample), from: place, count: run, into: words.base + index * Self.capacity + offset)
            frame += run
            if !region.loops && place + run >= Int(region.end) { break }
        }
        let new = progress & 0xFFFF_0000_0000_0000 | UInt64(frame)
        return unsafe slots[index].progress.compareExchange(
            expected: progress, desired: new, ordering: .acquiringAndReleasing
        ).exchanged
    }

    /// The streams for the render thread. Their holder keeps them alive.
    package var reference: Reference {
        unsafe Reference(slots: slots, words: words.base, count: count, residentCount: disk.residentCount)
    }

    /// Streams as the render thread knows them.
    @safe package struct Reference: BitwiseCopyable, @unchecked Sendable {
        // Unchecked because the pointers lead to atomics, and to words below the count that was published after them.
        fileprivate let slots: UnsafeMutablePointer<Slot>
        fileprivate let words: UnsafeMutablePointer<Int16>
        fileprivate let count: Int
        /// Frames of each sample that are in memory.
        package let residentCount: Int

        /// Asks for a region's frames behind those in memory.
        @_noLocks @_noAllocation
        package func begin(_ slot: Int, region: Int, resident: Int) {
            guard slot >= 0 && slot < count else { return }
            let number = unsafe (slots[slot].request.load(ordering: .relaxed) &>> 32 &+ 1) & 0xFFFF
            unsafe slots[slot].wanted.store(0, ordering: .relaxed)
            let written = UInt64(resident > 0 ? resident : 0)
            unsafe slots[slot].progress.store(number &<< 48 | written, ordering: .releasing)
            unsafe slots[slot].request.store(number &<< 32 | UInt64(region &+ 1), ordering: .releasing)
        }

        /// The voice is over.
        @_noLocks @_noAllocation
        package func end(_ slot: Int) {
            guard slot >= 0 && slot < count else { return }
            let number = unsafe slots[slot].request.load(ordering: .relaxed) &>> 32
            unsafe slots[slot].request.store(number &<< 32, ordering: .releasing)
        }

        /// Gives a voice at a frame what has come for it.
        @_noLocks @_noAllocation
        package func supply(_ slot: Int, _ frames: inout SampleFrames, at frame: Int64, resident: Int) {
            guard slot >= 0 && slot < count else { return }
            unsafe slots[slot].wanted.store(frame, ordering: .releasing)
            let progress = unsafe slots[slot].progress.load(ordering: .acquiring)
            unsafe frames.read(
                ring: words + slot &* 32_768, mask: 32_767, from: resident > 0 ? resident : 0,
                upTo: Int64(progress & 0xFFFF_FFFF_FFFF))
        }
    }
}
