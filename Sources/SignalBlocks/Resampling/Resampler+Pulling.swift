// Output frames out of input frames.
extension Resampler {
    /// Gives out frames, as many as the input suffices for.
    ///
    /// - Parameters:
    ///   - frames: The number of frames that are wanted.
    ///   - step: Input frames per output frame.
    ///   - block: The block to fill, by the rule of ``push(_:from:frames:)``.
    ///   - first: The first of them there, and the frame of the slice for a step that glides.
    /// - Returns: The number of frames that were written.
    @_noLocks @_noAllocation
    @discardableResult
    public mutating func pull(_ frames: Int, at step: Step, into block: inout AudioBlock, from first: Int = 0) -> Int {
        guard first >= 0 && first <= block.frameCount else { return 0 }
        let room = block.frameCount &- first
        return unsafe pull(
            frames < room ? frames : room, at: step, from: first, into: block.pointers, block.channelCount, first)
    }

    /// Gives out frames into a buffer of the stack.
    @_noLocks @_noAllocation
    package mutating func pull(
        _ frames: Int, at step: Step, from first: Int, into outputs: UnsafeMutablePointer<UnsafeMutablePointer<Float>>,
        _ outputCount: Int, _ offset: Int
    ) -> Int {
        var length = step.length(first, in: steps)
        var distance = Distance(length)
        var place = tables.place(of: length)
        if step.glide.isFlat { recurring.stay(at: length, frames: frames) } else { recurring.leave() }
        var done = 0
        while done < frames && position.whole &+ lookAhead < filled {
            if !step.glide.isFlat {
                length = step.length(first &+ done, in: steps)
                distance = Distance(length)
                place = tables.place(of: length)
            }
            if tables.count == 0 {
                var channel = 0
                while channel < channelCount && channel < outputCount {
                    unsafe outputs[channel][offset &+ done] = line.pointers[channel][position.whole]
                    channel &+= 1
                }
            } else {
                unsafe filter(place.index, 1 - place.next, isFirst: true, outputs, outputCount, offset &+ done)
                if place.next != 0 {
                    unsafe filter(
                        place.index &+ 1, place.next, isFirst: false, outputs, outputCount, offset &+ done)
                }
            }
            position += distance
            done &+= 1
        }
        // Mono goes to every channel.
        var channel = channelCount < outputCount ? channelCount : outputCount
        while channel < outputCount && done > 0 {
            let output = unsafe outputs[channel] + offset
            if channelCount == 1 {
                unsafe output.copySamples(from: outputs[0] + offset, count: done)
            } else {
                unsafe output.clearSamples(count: done)
            }
            channel &+= 1
        }
        return done
    }

    /// Filters the frame at the position by one table, with a gain: writes it, or adds it to that of another table.
    @_noLocks @_noAllocation @inline(__always)
    private mutating func filter(
        _ index: Int, _ gain: Float, isFirst: Bool, _ outputs: UnsafeMutablePointer<UnsafeMutablePointer<Float>>,
        _ outputCount: Int, _ frame: Int
    ) {
        let table = tables.view(index)
        let groups = table.halfLength &>> 2
        let bits = UInt64(table.partBits)
        let part = Int(truncatingIfNeeded: position.fraction &>> (64 &- bits))
        // The place of the frame in its part: -1…1, to 24 bits.
        let rest = Int32(truncatingIfNeeded: (position.fraction &<< bits) &>> 32) ^ .min
        let x = Float(rest) * 0x1p-31
        let row = unsafe table.coefficients + part &* groups &* 32
        let start = position.whole &- table.halfLength &+ 1
        let count = channelCount < outputCount ? channelCount : outputCount
        var taps = unsafe self.row.base
        let areTapsKept = recurring.areInUse
        if areTapsKept {
            let place = (UInt64(truncatingIfNeeded: index) &<< 56) | (position.fraction &>> (32 &- bits))
            let kept = unsafe recurring.row(at: position.fraction, place: place)
            unsafe taps = kept.taps
            if unsafe !kept.areThere { unsafe Kernel.taps(row, groups, x, into: taps) }
        } else if count > 2 {
            unsafe Kernel.taps(row, groups, x, into: taps)
        }
        if count == 2 {
            let (one, two) = unsafe (line.pointers[0] + start, line.pointers[1] + start)
            let (left, right) =
                areTapsKept
                ? unsafe Kernel.weigh(taps, groups, one, two) : unsafe Kernel.resample(row, groups, x, one, two)
            unsafe write(left * gain, isFirst: isFirst, to: outputs[0] + frame)
            unsafe write(right * gain, isFirst: isFirst, to: outputs[1] + frame)
            return
        }
        var channel = 0
        while channel < count {
            let samples = unsafe line.pointers[channel] + start
            let sum =
                count == 1 && !areTapsKept
                ? unsafe Kernel.resample(row, groups, x, samples) : unsafe Kernel.weigh(taps, groups, samples)
            unsafe write(sum * gain, isFirst: isFirst, to: outputs[channel] + frame)
            channel &+= 1
        }
    }

    @_noLocks @_noAllocation @inline(__always)
    private func write(_ value: Float, isFirst: Bool, to sample: UnsafeMutablePointer<Float>) {
        unsafe sample.pointee = isFirst ? value : sample.pointee + value
    }
}
