import RenderStack
import Testing

/// The checks of TAAE2's AEBufferStackTests, and others that those leave out.
@Suite struct BufferStackTests {
    @Test("Every slot of the layout can be pushed with all its channels, each with memory of its own")
    func capacity() throws {
        let layout = StackLayout(slots: 5, channels: 7, frames: 16)
        let result = try renderSlice(frames: 16, layout: layout) { context in
            for slot in 0..<5 {
                context.push(channels: 7)
                for channel in 0..<7 { context.fill(Float(slot * 10 + channel), channel: channel) }
            }
            return (0..<5).map { context.contents(at: $0) }
        }
        #expect(result.faults == 0)
        for slot in 0..<5 {
            let expected = (0..<7).map { [Float](repeating: Float((4 - slot) * 10 + $0), count: 16) }
            #expect(result.value[slot] == expected)
        }
    }

    @Test("The largest layout has 64 channels in a buffer")
    func widest() throws {
        let result = try renderSlice(layout: StackLayout(slots: 2, channels: 64, frames: 8)) { context in
            context.push(channels: 64)
            context.fill(1, channel: 63)
            let count = context.channelCount()
            context.push(channels: 65)
            return (count, context.channelCount(), context.contents(at: 1)[63])
        }
        #expect(result.value.0 == 64 && result.value.1 == 64)
        #expect(result.value.2 == [Float](repeating: 1, count: 8))
        #expect(result.faults == 1)
    }

    @Test("A slice is as long as the cycle asks for, at most the layout's, never empty", arguments: [1, 7, 16])
    func frameCount(cycle: Int) throws {
        let lengths = Shared<[Int]>([])
        let renderer = try Renderer(layout: smallLayout) { context in
            if context.isDryRun { return }
            lengths.value.append(context.frameCount)
            context.push()
            let samples = context.samples(0)
            if samples.count != context.frameCount { lengths.value.append(-1) }
        }
        _ = renderer.renderOffline(frames: 40, cycle: cycle)
        _ = renderer.renderOffline(frames: 0, cycle: 8)
        #expect(lengths.value.allSatisfy { $0 >= 1 && $0 <= min(cycle, 16) })
        let sum: Int = lengths.value.reduce(0, +)
        #expect(sum == 40)
    }

    @Test("A pushed buffer has the time of its slice, and a time can be written")
    func time() throws {
        let times = Shared<[RenderTime]>([])
        let wanted = RenderTime(sampleTime: 77, hostTime: 99)
        let renderer = try Renderer(sampleRate: 1000, layout: smallLayout) { context in
            if context.isDryRun { return }
            let now = context.time
            context.push()
            let pushed = context.top.time
            let top = context.top
            top.time = wanted
            let written = context.top.time
            context.pop()
            context.pushUninitialized()
            let again = context.top.time
            times.value += [now, pushed, written, again]
        }
        _ = renderer.renderOffline(frames: 20, cycle: 16)
        let first = times.value[0]
        #expect(first.sampleTime == 0)
        #expect(times.value[..<4] == [first, first, wanted, first])
        let second = times.value[4]
        #expect(second.sampleTime == 16)
        #expect(second.hostTime == first.hostTime.map { $0 + 16_000_000 })
        #expect(times.value[4...] == [second, second, wanted, second])
    }

    @Test("Index 0 is the top; an index that is not there is silence and a fault")
    func indices() throws {
        let result = try renderSlice { context in
            context.push([1])
            context.push([2])
            context.push([3])
            let inside = context.firstSamples()
            let outside = [
                context.samples(0, at: 3)[0], context.samples(0, at: -1)[0], context.samples(0, at: .max)[0],
                context.samples(0, at: .min)[0],
            ]
            return (inside, outside, context.channelCount(at: 3), context.channelCount(at: -1))
        }
        #expect(result.value.0 == [[3], [2], [1]])
        #expect(result.value.1 == [0, 0, 0, 0])
        #expect(result.value.2 == 0 && result.value.3 == 0)
        #expect(result.faults == 4)
    }

    @Test("Push(n) pushes n silent stereo buffers")
    func pushSeveral() throws {
        let result = try renderSlice { context in
            context.push([9, 9])
            context.pop()
            context.push(3)
            return (context.bufferCount, context.firstSamples())
        }
        #expect(result.value.0 == 3)
        #expect(result.value.1 == [[0, 0], [0, 0], [0, 0]])
        #expect(result.faults == 0)
    }

    @Test("A push straight after a pop takes the same memory; more channels keep the first ones")
    func sameMemory() throws {
        let result = try renderSlice { context in
            context.push([1])
            context.push([5, 6])
            context.pop()
            context.pushUninitialized(channels: 2)
            let same = context.contents()
            context.pop()
            context.pushUninitialized(channels: 4)
            let wider = context.contents()
            context.pop()
            context.pushUninitialized(channels: 1)
            let narrower = context.contents()
            context.pop()
            context.push(channels: 2)
            return [same, Array(wider[..<2]), narrower, context.contents()]
        }
        let (five, six, zero) = (8.of(5), 8.of(6), 8.of(0))
        #expect(result.value == [[five, six], [five, six], [five], [zero, zero]])
        #expect(result.faults == 0)
    }

    @Test("Three popped at once come back in their order")
    func sameMemoryOfSeveral() throws {
        let result = try renderSlice { context in
            context.push([1])
            for value in [2, 3, 4] as [Float] { context.push([value]) }
            context.pop(3)
            context.pushUninitialized(3, channels: 1)
            return context.firstSamples()
        }
        #expect(result.value == [[4], [3], [2], [1]])
    }

    @Test("An external buffer is shown from where it is asked for, and is not written")
    func external() throws {
        let result = try renderSlice { context in
            let block = AudioBlock([(0..<32).map(Float.init), (0..<32).map { Float(-$0) }])
            var seen: [[[Float]]] = []
            var external: [Bool] = []
            context.push([7])
            context.withExternal(block, from: 5) { context in
                seen.append(context.contents())
                external.append(context.top.isExternal)
                external.append(context.buffer(at: 1).isExternal)
                context.swap()
                external.append(context.top.isExternal)
                context.swap()
                context.gain(10)
                external.append(context.top.isExternal)
                seen.append(context.contents())
            }
            return (seen, external, block[0, 5], context.bufferCount, context.contents())
        }
        let ramp = (5..<13).map(Float.init)
        #expect(result.value.0[0] == [ramp, ramp.map { -$0 }])
        let louder: [[Float]] = [ramp.map { $0 * 10 }, ramp.map { $0 * -10 }]
        #expect(result.value.0[1] == louder)
        #expect(result.value.1 == [true, false, false, false])
        #expect(result.value.2 == 5)
        #expect(result.value.3 == 2)
        #expect(result.value.4 == louder)
        #expect(result.faults == 0)
    }

    @Test("Duplicate copies samples, channels and time, into memory of its own")
    func duplicate() throws {
        let result = try renderSlice { context in
            context.push([1, 2, 3])
            let top = context.top
            top.time = RenderTime(sampleTime: 5, hostTime: 6)
            context.duplicate()
            let time = context.top.time
            let copy = context.firstSamples()
            context.fill(9, channel: 1)
            return (copy, context.firstSamples(), time)
        }
        #expect(result.value.0 == [[1, 2, 3], [1, 2, 3]])
        #expect(result.value.1 == [[1, 9, 3], [1, 2, 3]])
        #expect(result.value.2 == RenderTime(sampleTime: 5, hostTime: 6))
        #expect(result.faults == 0)
    }

    @Test("Buffers below the top are copied, made louder and overwritten where they are")
    func belowTheTop() throws {
        let result = try renderSlice { context in
            context.push([1, 2])
            context.push([3])
            context.duplicate(at: 1)
            context.gain(10, at: 2)
            let seen = context.firstSamples()
            context.withBuffers(at: 1, 0) { mono, stereo in mono.copy(from: stereo) }
            context.gain(0.5, at: 1)
            context.withBuffers(at: 2, 1) { stereo, mono in stereo.copy(from: mono) }
            return (seen, context.firstSamples())
        }
        #expect(result.value.0 == [[1, 2], [3], [10, 20]])
        #expect(result.value.1 == [[1, 2], [1.5], [1.5, 1.5]])
        #expect(result.faults == 0)
    }

    @Test("A buffer that does not exist is copied as silence and is a fault; so is a gain for it")
    func belowTheBottom() throws {
        let result = try renderSlice { context in
            context.push([4])
            context.duplicate(at: 1)
            context.gain(2, at: 2)
            context.gain(2, at: -1)
            return context.firstSamples()
        }
        #expect(result.value == [[0], [4]])
        #expect(result.faults == 3)
    }

    @Test("Duplicate of nothing is one silent buffer and a fault; on a full stack it is silent too")
    func duplicateAtTheLimits() throws {
        let result = try renderSlice(layout: StackLayout(slots: 2, channels: 2, frames: 8)) { context in
            context.duplicate()
            let first = context.firstSamples()
            context.push([4])
            context.duplicate()
            return (first, context.firstSamples())
        }
        #expect(result.value.0 == [[0]])
        #expect(result.value.1 == [[0], [4], [0]])
        #expect(result.faults == 2)
    }

    @Test("Swap exchanges the two on top, whatever their widths")
    func swap() throws {
        let result = try renderSlice { context in
            context.push([1])
            context.push([2, 3])
            context.swap()
            let swapped = context.firstSamples()
            context.pop()
            context.swap()
            return (swapped, context.firstSamples())
        }
        #expect(result.value.0 == [[1], [2, 3]])
        #expect(result.value.1 == [[2, 3]])
        #expect(result.faults == 1)
    }

    @Test("Remove from the middle; the memory is pushed next", arguments: 0..<4)
    func remove(index: Int) throws {
        let result = try renderSlice { context in
            for value in 1...4 { context.push([Float(value), Float(value * 10)]) }
            context.remove(at: index)
            let left = context.firstSamples()
            context.pushUninitialized(channels: 2)
            return (left, context.contents())
        }
        var expected: [[Float]] = [[4, 40], [3, 30], [2, 20], [1, 10]]
        let removed = expected.remove(at: index)
        #expect(result.value.0 == expected)
        #expect(result.value.1 == removed.map { 8.of($0) })
        #expect(result.faults == 0)
    }

    @Test("Pop(0) takes nothing; more than there are takes all, and is a fault")
    func popLimits() throws {
        let result = try renderSlice { context in
            context.push(4)
            context.pop(0)
            let four = context.bufferCount
            context.pop(-1)
            let still = context.bufferCount
            context.remove(at: 4)
            context.remove(at: -1)
            context.pop(5)
            let none = context.bufferCount
            context.push(2)
            context.popAll()
            return [four, still, none, context.bufferCount]
        }
        #expect(result.value == [4, 4, 0, 0])
        #expect(result.faults == 4)
    }

    @Test("Silence writes zeros over the top only")
    func silence() throws {
        let result = try renderSlice { context in
            context.push([1, 1])
            context.push([2, 2])
            context.silence()
            return context.contents() + context.contents(at: 1)
        }
        #expect(result.value == [8.of(0), 8.of(0), 8.of(1), 8.of(1)])
        #expect(result.faults == 0)
    }

    @Test("Every slice begins with an empty stack")
    func reset() throws {
        let counts = Shared<[Int]>([])
        let renderer = try Renderer(layout: smallLayout) { context in
            counts.value.append(context.bufferCount)
            context.push(5)
        }
        _ = renderer.renderOffline(frames: 64, cycle: 16)
        #expect(counts.value == [0, 0, 0, 0, 0])
        #expect(renderer.faultCount == 0)
    }

    @Test("A full stack pushes silence, and leaves the buffers below as they are")
    func overflow() throws {
        let layout = StackLayout(slots: 3, channels: 2, frames: 8)
        let result = try renderSlice(layout: layout) { context in
            for value in 1...20 { context.push([Float(value)]) }
            let all = context.firstSamples()
            context.pop(17)
            context.pop()
            context.push([50, 51])
            return (all, context.firstSamples())
        }
        #expect(result.value.0 == [[Float]](repeating: [0], count: 17) + [[3], [2], [1]])
        #expect(result.value.1 == [[50, 51], [2], [1]])
        #expect(result.faults == 17)
    }
}

/// Values one after the other, each so many times.
func runs(_ parts: (count: Int, value: Float)...) -> [Float] {
    parts.flatMap { [Float](repeating: $0.value, count: $0.count) }
}

extension Int {
    /// So many samples of a value.
    func of(_ value: Float) -> [Float] { [Float](repeating: value, count: self) }
}
