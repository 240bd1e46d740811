internal import DiskStreaming
internal import RenderCore

/// The render thread's side of a stream player.
struct StreamPlayback: BitwiseCopyable, Sendable {
    private enum Phase: BitwiseCopyable { case waiting, playing, done }

    private var phase = Phase.done
    /// The start that is heard, and the rate of its ring.
    private var number = 0
    private var sampleRate = 0.0
    /// Frames that are left of the fade with which it goes on.
    private var fadeIn = 0
    private var wasHeard = false
    /// Frames that were silent because none had come.
    private(set) var missing = 0

    /// The number of the start with which it is through; 0 while one plays.
    var doneNumber: Int { @_noLocks @_noAllocation get { phase == .done ? number : 0 } }

    @_noLocks @_noAllocation
    static func fade(_ sampleRate: Double) -> Int { Int(sampleRate / 200) }

    /// Plays a slice into the top, which is silent.
    @_noLocks @_noAllocation
    mutating func play(_ ring: LiveReference, _ context: inout RenderContext) {
        missing = 0
        if ring.number != number || ring.sampleRate != sampleRate {
            (number, sampleRate) = (ring.number, ring.sampleRate)
            (phase, fadeIn, wasHeard) = (.waiting, 0, false)
        }
        if phase == .done { return }
        let frames = context.frameCount
        if sampleRate != context.sampleRate {
            // The frames that wait have the rate that the renderer had.
            if ring.isOver || ring.isStopped { end(ring) }
            return
        }
        if ring.isStopped { return stop(ring, &context) }
        // In this order: what is over gets no more frames.
        let isOver = ring.isOver
        let count = ring.count
        if phase == .waiting {
            if count < ring.needed && !isOver {
                if wasHeard { missing = frames }
                return
            }
            phase = .playing
            if wasHeard {
                fadeIn = StreamPlayback.fade(sampleRate)
            }
            ring.begin(again: wasHeard)
        }
        let got = ring.read(count < frames ? count : frames, into: &context)
        if got > 0 { wasHeard = true }
        if fadeIn > 0 { raise(&context, frames: got) }
        // As long as more may come, something is left to fade out with.
        let rest = count &- got
        if got == frames && (isOver ? rest > 0 : rest >= StreamPlayback.fade(sampleRate)) { return }
        if isOver && got == count {
            end(ring)
        } else {
            lower(&context, to: got)
            phase = .waiting
            missing = frames &- got
            ring.runDry()
        }
    }

    /// Falls silent.
    @_noLocks @_noAllocation
    private mutating func stop(_ ring: LiveReference, _ context: inout RenderContext) {
        if phase == .playing {
            let fade = StreamPlayback.fade(sampleRate)
            let got = ring.read(fade < context.frameCount ? fade : context.frameCount, into: &context)
            lower(&context, to: got)
        }
        end(ring)
    }

    @_noLocks @_noAllocation
    private mutating func end(_ ring: LiveReference) {
        phase = .done
        ring.end()
    }

    /// Falls silent at once.
    @_noLocks @_noAllocation
    mutating func reset(_ ring: LiveReference) {
        if ring.number != number || phase == .done { return }
        end(ring)
    }

    @_noLocks @_noAllocation
    private mutating func raise(_ context: inout RenderContext, frames: Int) {
        let length = StreamPlayback.fade(sampleRate)
        let count = fadeIn < frames ? fadeIn : frames
        var top = context.top
        var channel = 0
        while channel < top.channelCount {
            var samples = top[channel]
            for i in 0..<count { samples[i] *= Float(length &- fadeIn &+ i) / Float(length) }
            channel &+= 1
        }
        fadeIn &-= count
    }

    /// Fades out up to a frame.
    @_noLocks @_noAllocation
    private func lower(_ context: inout RenderContext, to end: Int) {
        let length = StreamPlayback.fade(sampleRate)
        let count = length < end ? length : end
        var top = context.top
        var channel = 0
        while channel < top.channelCount {
            var samples = top[channel]
            for i in 0..<count { samples[end &- count &+ i] *= Float(count &- i &- 1) / Float(count) }
            channel &+= 1
        }
    }
}
