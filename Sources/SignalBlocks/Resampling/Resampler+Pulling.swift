internal import CKernels

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
        if recurring.areInUse && place.next == 0 && channelCount == 2 && outputCount >= 2 && tables.count > 0 {
            done = unsafe pullPairs(frames, distance, place.index, outputs, offset)
        }
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

    /// Gives out frames of two channels whose taps are kept, two frames at a time, as long as there are two. The others follow one
    /// by one.
    @_noLocks @_noAllocation
    private mutating func pullPairs(
        _ frames: Int, _ distance: Distance, _ index: Int, _ outputs: UnsafeMutablePointer<UnsafeMutablePointer<Float>>,
        _ offset: Int
    ) -> Int {
        let table = tables.view(index)
        let groups = table.halfLength &>> 2
        let (one, two) = unsafe (line.pointers[0], line.pointers[1])
        let (left, right) = unsafe (outputs[0] + offset, outputs[1] + offset)
        var done = 0
        while done &+ 1 < frames && recurring.areInUse {
            var second = position
            second += distance
            guard second.whole &+ lookAhead < filled else { break }
            let taps = unsafe keptTaps(table, index, position.fraction)
            let next = unsafe keptTaps(table, index, second.fraction)
            // Both may want the same row, of which the second has taken it.
            if unsafe taps == next { break }
            let start = position.whole &- table.halfLength &+ 1
            let apart = second.whole &- position.whole
            let pairs = unsafe Kernel.weigh(taps, next, groups, one + start, two + start, apart)
            unsafe (left[done], right[done]) = (pairs[0], pairs[1])
            unsafe (left[done &+ 1], right[done &+ 1]) = (pairs[2], pairs[3])
            second += distance
            position = second
            done &+= 2
        }
        return done
    }

    /// Returns the taps of a frame from those that are kept.
    @_noLocks @_noAllocation @inline(__always)
    private mutating func keptTaps(
        _ table: ResamplerTables.View, _ index: Int, _ fraction: UInt64
    ) -> UnsafeMutablePointer<Float> {
        let bits = UInt64(table.partBits)
        let place = (UInt64(truncatingIfNeeded: index) &<< 56) | (fraction &>> (32 &- bits))
        let kept = unsafe recurring.row(at: fraction, place: place)
        if unsafe !kept.areThere {
            let (row, x) = unsafe coefficients(table, fraction)
            unsafe kernel_taps(row, table.halfLength &>> 2, x, kept.taps)
        }
        return unsafe kept.taps
    }

    /// Returns the coefficients for the part of a frame in which a fraction lies, and its place in that part: -1…1, to 24 bits.
    @_noLocks @_noAllocation @inline(__always)
    private func coefficients(_ table: ResamplerTables.View, _ fraction: UInt64) -> (UnsafePointer<Float>, Float) {
        let bits = UInt64(table.partBits)
        let part = Int(truncatingIfNeeded: fraction &>> (64 &- bits))
        let rest = Int32(truncatingIfNeeded: (fraction &<< bits) &>> 32) ^ .min
        return unsafe (table.coefficients + part &* (table.halfLength &>> 2) &* 32, Float(rest) * 0x1p-31)
    }

    /// Filters the frame at the position by one table, with a gain: writes it, or adds it to that of another table.
    @_noLocks @_noAllocation @inline(__always)
    private mutating func filter(
        _ index: Int, _ gain: Float, isFirst: Bool, _ outputs: UnsafeMutablePointer<UnsafeMutablePointer<Float>>,
        _ outputCount: Int, _ frame: Int
    ) {
        let table = tables.view(index)
        let groups = table.halfLength &>> 2
        let start = position.whole &- table.halfLength &+ 1
        let count = channelCount < outputCount ? channelCount : outputCount
        let areTapsKept = recurring.areInUse
        let (row, x) = unsafe coefficients(table, position.fraction)
        var taps = unsafe self.row.base
        if areTapsKept {
            unsafe taps = keptTaps(table, index, position.fraction)
        } else if count > 2 {
            unsafe kernel_taps(row, groups, x, taps)
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
                ? unsafe kernel_resample(row, groups, x, samples) : unsafe kernel_weigh(taps, groups, samples)
            unsafe write(sum * gain, isFirst: isFirst, to: outputs[channel] + frame)
            channel &+= 1
        }
    }

    @_noLocks @_noAllocation @inline(__always)
    private func write(_ value: Float, isFirst: Bool, to sample: UnsafeMutablePointer<Float>) {
        unsafe sample.pointee = isFirst ? value : sample.pointee + value
    }
}
