import RenderStack
import Testing

/// Parts of a slice: what happens to the buffers around them.
@Suite struct SubBlockTests {
    private static func ramp(_ first: Int, _ count: Int) -> [Float] { (first..<(first + count)).map(Float.init) }

    @Test("A part shows its frames of the buffers around it, of the output and of the time")
    func part() throws {
        let result = try renderSlice { context in
            context.push(channels: 1)
            var top = context.top
            var samples = top[0]
            for i in samples.indices { samples[i] = Float(i) }
            var seen: [[Float]] = []
            let start = context.sampleTime
            context.subBlock(offset: 2, length: 4) { context in
                seen.append(context.contents()[0])
                seen.append([Float(context.frameCount), Float(context.sampleTime - start)])
                context.subBlock(offset: 1, length: 2) { context in
                    seen.append(context.contents()[0])
                    context.gain(10)
                    context.push([100])
                    context.output(2)
                    context.pop()
                }
            }
            seen.append(context.contents()[0])
            return seen
        }
        #expect(result.value == [[2, 3, 4, 5], [4, 2], [3, 4], [0, 1, 2, 30, 40, 5, 6, 7]])
        #expect(result.output[0] == [0, 0, 0, 130, 140, 0, 0, 0])
        #expect(result.faults == 0)
    }

    @Test("Mixing something into a buffer around the part changes the part alone", arguments: 1...3, 1...3)
    func mixIntoAround(around: Int, inside: Int) throws {
        let result = try renderSlice { context in
            context.push([9, 9, 9, 9])  // The samples in the memory must not be heard.
            context.push([9, 9, 9, 9])
            context.pop(2)
            context.push([Float](repeating: 1, count: around))
            context.subBlock(offset: 2, length: 3) { context in
                context.push([Float](repeating: 10, count: inside))
                context.mix(2)
            }
            return context.contents()
        }
        let wide = max(around, inside)
        let expected = (0..<wide).map { channel in
            let outside: Float = around == 1 || channel < around ? 1 : 0
            let added: Float = inside == 1 || channel < inside ? 10 : 0
            return 2.of(outside) + 3.of(outside + added) + 3.of(outside)
        }
        #expect(result.value == expected)
        #expect(result.faults == 0)
    }

    @Test("Gains in parts of a slice are those of the whole slice", arguments: 1...3, 1...3)
    func mixGainsIntoAround(around: Int, inside: Int) throws {
        let result = try renderSlice { context in
            context.push([9, 9, 9, 9])
            context.push([9, 9, 9, 9])
            context.pop(2)
            context.push([Float](repeating: 1, count: around))
            context.subBlock(offset: 2, length: 3) { context in
                context.push([Float](repeating: 10, count: inside))
                context.mix(gains: [2, 3] as InlineArray)
            }
            return context.contents()
        }
        let wide = max(around, inside)
        let expected = (0..<wide).map { channel in
            let outside: Float = around == 1 || channel < around ? 1 : 0
            let added: Float = inside == 1 || channel < inside ? 20 : 0
            return 2.of(outside) + 3.of(outside * 3 + added) + 3.of(outside)
        }
        #expect(result.value == expected)
    }

    @Test("A mono buffer that becomes stereo in a part is the same on both sides around it")
    func widen() throws {
        let result = try renderSlice { context in
            context.push([9, 9])
            context.pop()
            context.push([4])
            context.subBlock(offset: 2, length: 3) { context in
                context.fade(volume: Glide(1), balance: Glide(-0.5))
            }
            return context.contents()
        }
        #expect(result.value == [8.of(4), runs((2, 4), (3, 2), (3, 4))])
        #expect(result.faults == 0)
    }

    @Test("Silencing an external buffer in a part leaves the rest of it, and the block, as they are")
    func silenceExternal() throws {
        let result = try renderSlice { context in
            let block = AudioBlock([Self.ramp(1, 8)])
            context.withExternal(block) { context in
                context.subBlock(offset: 2, length: 3) { $0.silence() }
            }
            return [context.contents()[0], block.array(0)]
        }
        #expect(result.value == [[1, 2, 0, 0, 0, 6, 7, 8], Self.ramp(1, 8)])
    }

    @Test("A module that fails in a part silences its buffer there, not around it")
    func failingModule() throws {
        let module = Breaking(.nan, frame: 0, first: 0, count: 1)
        let block = AudioBlock([Self.ramp(1, 8)])
        let seen = Shared<[Float]>([])
        let renderer = try Renderer(layout: smallLayout) { context in
            if context.isDryRun {
                context.push()
                context.run(module)
                return
            }
            context.withExternal(block) { context in
                context.subBlock(offset: 2, length: 3) { $0.run(module) }
            }
            seen.value = context.contents()[0]
        }
        _ = renderer.next(8)
        #expect(seen.value == [1, 2, 0, 0, 0, 6, 7, 8])
        #expect(renderer.faultCount == 1)
    }

    @Test("The dry run takes it that a module in a part edits the buffer around it")
    func dryRun() throws {
        let (counting, gain) = (Counting(), Gain(0.5))
        let seen = Shared<[Float]>([])
        let renderer = try Renderer(layout: smallLayout) { context in
            context.run(counting)
            context.subBlock(offset: 0, length: 1) { $0.run(gain) }
            if !context.isDryRun { seen.value = context.contents()[0] }
        }
        _ = renderer.next(8)
        #expect(seen.value == [0.5, 2, 3, 4, 5, 6, 7, 8])
        #expect(renderer.faultCount == 0)
    }

    @Test("A buffer that replaces an outer one inside of a part is silent around the part, with a fault")
    func mistaken() throws {
        let result = try renderSlice { context in
            context.push([9, 9])
            context.push([8, 8])
            context.pop(2)
            context.push([1])
            context.subBlock(offset: 2, length: 3) { context in
                context.push([5])
                context.swap()
                context.pop()
            }
            return context.contents()
        }
        #expect(result.value == [runs((2, 0), (3, 5), (3, 0))])
        #expect(result.faults == 1)
    }

    @Test("Too deep and too flat a stack after a part is put right; wrong parts run nothing")
    func unbalanced() throws {
        let result = try renderSlice { context in
            context.push([1])
            context.push([2])
            context.subBlock(offset: 0, length: 4) { $0.push(3) }
            let first = context.firstSamples()
            context.subBlock(offset: 0, length: 4) { $0.pop() }
            let second = context.contents()
            var runs = 0
            for (offset, length) in [(-1, 2), (0, -1), (9, 0), (4, 5), (8, 0), (0, 0), (.max, .max), (.min, 1)] {
                context.subBlock(offset: offset, length: length) { _ in runs += 1 }
            }
            return (first, second, runs)
        }
        #expect(result.value.0 == [[2], [1]])
        #expect(result.value.1 == [8.of(0)])
        #expect(result.value.2 == 0)
        #expect(result.faults == 8)
    }
}
