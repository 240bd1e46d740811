internal import RenderCore

/// The arithmetic of a ``SamplePlayer``: frames between the frames of a sound, times gains, added to a buffer.
///
/// In the quality `standard` a `PitchFilter` makes the frames. In `fast` it is done here: sixteen neighbours are weighed by the
/// taps of a `SamplerLanes`, 256 rows of them, and a straight line between two rows, which is wrong by less than (π / 256)² / 8, -94 dB.
struct SampleInterpolator: ~Copyable, Sendable {
    private let taps = SamplerLanes.taps

    /// Adds frames of a voice to the top.
    @_noLocks @_noAllocation
    borrowing func add(
        _ voice: PlayedSound, _ block: borrowing AudioBlock, to context: inout RenderContext, at offset: Int,
        frames: Int
    ) {
        var top = context.top
        let channels = top.channelCount
        let given = block.channelCount
        if channels == 2 && given <= 2 {
            addPair(voice, block, to: &top, at: offset, frames: frames)
            return
        }
        var channel = 0
        while channel < channels {
            // Mono to all, all into mono, else by number.
            var source = given == 1 || channels == 1 ? 0 : channel
            let end = channels == 1 ? given : source < given ? source &+ 1 : source
            while source < end {
                add(voice, block, source, to: &top, channel, at: offset, frames: frames)
                source &+= 1
            }
            channel &+= 1
        }
    }

    /// Adds one channel to another.
    @_noLocks @_noAllocation
    private borrowing func add(
        _ voice: PlayedSound, _ block: borrowing AudioBlock, _ source: Int, to top: inout AudioBuffer, _ channel: Int,
        at offset: Int, frames: Int
    ) {
        let samples = block.samples(source)
        var output = top[channel]
        var position = voice.position
        var done = 0
        while done < frames {
            let count = frames &- done < 8 ? frames &- done : 8
            let values =
                values(samples, position, voice, count) * voice.glide(voice.before.gain, voice.gain, done)
                * voice.fade(done)
            SampleInterpolator.add(values, count, to: &output, at: offset &+ done)
            position &+= voice.step &* 8
            done &+= 8
        }
    }

    /// Adds mono or stereo to stereo: the taps for one side serve the other.
    @_noLocks @_noAllocation
    private borrowing func addPair(
        _ voice: PlayedSound, _ block: borrowing AudioBlock, to top: inout AudioBuffer, at offset: Int, frames: Int
    ) {
        let isStereo = block.channelCount == 2
        let first = block.samples(0)
        let second = block.samples(isStereo ? 1 : 0)
        var position = voice.position
        var done = 0
        while done < frames {
            let count = frames &- done < 8 ? frames &- done : 8
            let fade = voice.fade(done)
            var left: SIMD8<Float>
            var right: SIMD8<Float>
            if isStereo, let filter = voice.filter {
                (left, right) = filter.read(first, second, at: position, step: voice.step, count: count)
            } else if isStereo && isInside(first.count, position, voice.step) {
                (left, right) = pair(first, second, position, voice.step)
            } else {
                left = values(first, position, voice, count)
                right = isStereo ? values(second, position, voice, count) : left
            }
            do {
                var output = top[0]
                SampleInterpolator.add(
                    left * voice.glide(voice.before.left, voice.left, done) * fade, count, to: &output,
                    at: offset &+ done)
            }
            do {
                var output = top[1]
                SampleInterpolator.add(
                    right * voice.glide(voice.before.right, voice.right, done) * fade, count, to: &output,
                    at: offset &+ done)
            }
            position &+= voice.step &* 8
            done &+= 8
        }
    }

    @_noLocks @_noAllocation
    @inline(__always)
    private static func add(_ values: SIMD8<Float>, _ count: Int, to output: inout MutableSpan<Float>, at frame: Int) {
        if count == 8 {
            output.store(output.vector8(at: frame) + values, at: frame)
        } else {
            var k = 0
            while k < count {
                output[frame &+ k] += values[k]
                k &+= 1
            }
        }
    }

    /// Returns eight frames of a sound, from a position on, or fewer.
    @_noLocks @_noAllocation
    @inline(__always)
    private borrowing func values(
        _ samples: borrowing Samples, _ position: Int64, _ voice: PlayedSound, _ count: Int
    ) -> SIMD8<Float> {
        let step = voice.step
        if let filter = voice.filter { return filter.read(samples, at: position, step: step, count: count) }
        var position = position
        let first = Int(position &>> 32)
        if step == 1 &<< 32 && UInt32(truncatingIfNeeded: position) == 0 {
            // The samples come out as they are: no neighbour touches a sample, whatever it is.
            return first &+ 8 <= samples.count ? samples.vector8(at: first) : SampleInterpolator.edge(samples, first)
        }
        var result = SIMD8<Float>(repeating: 0)
        let last = Int((position &+ step &* 7) &>> 32)
        if first >= 7 && last &+ 9 <= samples.count {
            var k = 0
            while k < 8 {
                let start = Int(position &>> 32) &- 7
                result[k] = value(position, samples.vector8(at: start), samples.vector8(at: start &+ 8))
                position &+= step
                k &+= 1
            }
        } else {
            var k = 0
            while k < count {
                let start = Int(position &>> 32) &- 7
                result[k] = value(
                    position, SampleInterpolator.edge(samples, start), SampleInterpolator.edge(samples, start &+ 8))
                position &+= step
                k &+= 1
            }
        }
        return result
    }

    /// Returns whether eight frames from a position on lie between frames, and all that they are made of is in the
    /// sound.
    @_noLocks @_noAllocation
    @inline(__always)
    private borrowing func isInside(_ length: Int, _ position: Int64, _ step: Int64) -> Bool {
        if step == 1 &<< 32 && UInt32(truncatingIfNeeded: position) == 0 { return false }
        return Int(position &>> 32) >= 7 && Int((position &+ step &* 7) &>> 32) &+ 9 <= length
    }

    /// Returns eight frames of both sides: the taps are calculated once.
    @_noLocks @_noAllocation
    private borrowing func pair(
        _ first: borrowing Samples, _ second: borrowing Samples, _ position: Int64, _ step: Int64
    ) -> (SIMD8<Float>, SIMD8<Float>) {
        var position = position
        var left = SIMD8<Float>(repeating: 0)
        var right = SIMD8<Float>(repeating: 0)
        var k = 0
        while k < 8 {
            let start = Int(position &>> 32) &- 7
            let (low, high) = weights(position)
            left[k] = SampleInterpolator.total(
                low * first.vector8(at: start) + high * first.vector8(at: start &+ 8))
            right[k] = SampleInterpolator.total(
                low * second.vector8(at: start) + high * second.vector8(at: start &+ 8))
            position &+= step
            k &+= 1
        }
        return (left, right)
    }

    /// Returns one frame out of sixteen.
    @_noLocks @_noAllocation
    @inline(__always)
    private borrowing func value(_ position: Int64, _ low: SIMD8<Float>, _ high: SIMD8<Float>) -> Float {
        let (first, second) = weights(position)
        return SampleInterpolator.total(first * low + second * high)
    }

    /// Returns the taps for a place between two frames.
    @_noLocks @_noAllocation
    @inline(__always)
    private borrowing func weights(_ position: Int64) -> (SIMD8<Float>, SIMD8<Float>) {
        let fraction = UInt32(truncatingIfNeeded: position)
        let row = Int(fraction &>> 24) &* 16
        let x = Float(Int32(truncatingIfNeeded: fraction & 0xFF_FFFF)) * 0x1p-24
        let (a, b) = (taps.vector8(at: row), taps.vector8(at: row &+ 8))
        let (c, d) = (taps.vector8(at: row &+ 16), taps.vector8(at: row &+ 24))
        return (a + (c - a) * x, b + (d - b) * x)
    }

    @_noLocks @_noAllocation
    @inline(__always)
    private static func total(_ sum: SIMD8<Float>) -> Float {
        let four = sum.lowHalf + sum.highHalf
        let two = four.lowHalf + four.highHalf
        return two[0] + two[1]
    }

    /// Returns eight frames, some of which may lie outside of the sound, where it is silent.
    @_noLocks @_noAllocation
    private static func edge(_ samples: borrowing Samples, _ start: Int) -> SIMD8<Float> {
        var result = SIMD8<Float>(repeating: 0)
        var k = 0
        while k < 8 {
            let frame = start &+ k
            if frame >= 0 && frame < samples.count { result[k] = samples[frame] }
            k &+= 1
        }
        return result
    }
}

/// The interpolator of a player, shared by its sounds: the render thread finds it with them.
final class SampleTable: Sendable {
    let interpolator = SampleInterpolator()
}

extension PlayedSound {
    /// Returns eight gains on the way from one to another.
    @_noLocks @_noAllocation
    @inline(__always)
    func glide(_ from: Float, _ to: Float, _ done: Int) -> SIMD8<Float> {
        if glideLeft <= done { return SIMD8(repeating: to) }
        var left = SIMD8<Float>(repeating: Float(glideLeft &- done)) - SIMD8<Float>(0, 1, 2, 3, 4, 5, 6, 7)
        // Behind the end of the glide nothing is left.
        var k = glideLeft &- done
        while k < 8 {
            left[k] = 0
            k &+= 1
        }
        return SIMD8(repeating: to) + left * ((from - to) / Float(glideLength))
    }

    /// Returns the factors of the fade-out for eight frames.
    @_noLocks @_noAllocation
    @inline(__always)
    func fade(_ done: Int) -> SIMD8<Float> {
        if fadeLeft < 0 { return SIMD8(repeating: 1) }
        let left = SIMD8<Float>(repeating: Float(fadeLeft &- done)) - SIMD8<Float>(0, 1, 2, 3, 4, 5, 6, 7)
        return left / Float(fadeLength)
    }
}
