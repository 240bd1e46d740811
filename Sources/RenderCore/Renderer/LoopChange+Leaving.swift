internal import Synchronization

extension LoopChange {
    /// A loop on its way out. It keeps its place on that way when yet another loop comes.
    @safe package final class Leaving: @unchecked Sendable {
        // Unchecked because the position belongs to the thread that renders.
        let loop: RenderLoop
        let modules: [any Module]
        let fade, ring: Int
        private let place: UnsafeMutablePointer<Int>
        private let hasEnded = Atomic<Bool>(false)

        /// Creates the way of a loop that leaves.
        ///
        /// - Parameters:
        ///   - loop: The loop.
        ///   - modules: Its modules, with those inside of them.
        ///   - fade: The length of the cross-fade, in frames.
        ///   - ring: The number of frames for which it rings out behind the fade.
        package init(_ loop: @escaping RenderLoop, modules: [any Module], fade: Int, ring: Int) {
            self.loop = loop
            self.modules = modules
            self.fade = max(0, fade)
            self.ring = max(0, ring)
            unsafe place = .allocate(capacity: 1)
            unsafe place.initialize(to: 0)
            if self.fade + self.ring == 0 { hasEnded.store(true, ordering: .relaxed) }
        }

        deinit { unsafe place.deallocate() }

        /// Indicates whether it is not heard any more.
        package var isOver: Bool { hasEnded.load(ordering: .acquiring) }

        /// The number of frames that have gone by.
        var position: Int { unsafe place.pointee }

        /// Returns the part of the loop that is still heard so many frames from the start: from 1 to 0 without a corner.
        func remains(at frame: Int) -> Float {
            if frame >= fade { return 0 }
            let x = (Float(frame) + 1) / Float(fade + 1)
            return 1 - x * x * (3 - 2 * x)
        }

        /// Returns the gain of the output: a loop that rings out ends in a fade too.
        func outputGain(at frame: Int) -> Float {
            if ring == 0 { return remains(at: frame) }
            let left = fade + ring - frame
            return left >= lastFade ? 1 : max(0, Float(left) / Float(lastFade))
        }

        /// Has it end in the fade with which it would end later, if it is ringing out. On the thread that renders.
        func endSoon() {
            if position >= fade { unsafe place.pointee = max(position, fade + ring - lastFade) }
        }

        /// The length of the fade in which a loop that rings out ends.
        private var lastFade: Int { min(ring / 4 + 1, 4_096) }

        func advance(_ frames: Int) {
            unsafe place.pointee += frames
            if unsafe place.pointee >= fade + ring { hasEnded.store(true, ordering: .releasing) }
        }
    }
}
