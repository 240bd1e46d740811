import RenderStack
import TestSupport
import Testing

/// Mixing, and the faults of TAAE2's stack that must not come back.
@Suite struct MixTests {
    private static let pieces: [[Float]] = [[1], [2, 3], [5], [7, 11, 13, 17], [19, 23], [29]]
    /// The channels of the external buffer, one after the other.
    private static let both: [Float] = 8.of(2) + 8.of(3)
    private static let sum: Float = pieces.joined().reduce(0, +)

    /// Pushes TAAE2's chain: mono, external stereo, mono, 4 channels, stereo, mono; runs a body with them on the stack.
    private static func withChain(_ context: inout RenderContext, _ body: (inout RenderContext) -> Void) -> AudioBlock {
        let stereo = AudioBlock([8.of(2), 8.of(3)])
        context.push(pieces[0])
        context.withExternal(stereo) { context in
            for piece in pieces[2...] { context.push(piece) }
            body(&context)
        }
        return stereo
    }

    @Test("Six buffers of all widths with gains 3, 5, 7, 11, 13, 17 mix exactly, at once and by twos")
    func chain() throws {
        let result = try renderSlice { context in
            var sums: [[[Float]]] = []
            let block = Self.withChain(&context) { context in
                context.mix(gains: [3, 5, 7, 11, 13, 17] as InlineArray)
                sums.append(context.contents())
                context.pop()
            }
            let untouched = (block.array(0), block.array(1))
            _ = Self.withChain(&context) { context in
                context.mix(gains: [3, 5] as InlineArray)
                context.mix(gains: [1, 7] as InlineArray)
                context.mix(gains: [1, 11] as InlineArray)
                context.mix(gains: [1, 13] as InlineArray)
                context.mix(gains: [1, 17] as InlineArray)
                sums.append(context.contents())
            }
            return (sums, untouched.0 + untouched.1, context.bufferCount)
        }
        // From the top down: mono 29·3, stereo (19, 23)·5, four (7, 11, 13, 17)·7, mono 5·11, stereo (2, 3)·13, mono 1·17.
        let mono: Float = 29 * 3 + 5 * 11 + 1 * 17
        let expected: [Float] = [
            mono + 19 * 5 + 7 * 7 + 2 * 13, mono + 23 * 5 + 11 * 7 + 3 * 13, mono + 13 * 7, mono + 17 * 7,
        ]
        #expect(result.value.0[0] == expected.map { 8.of($0) })
        // By twos the mono on top goes into the stereo buffer first, and so stays out of the third and fourth channel.
        let byTwos = [expected[0], expected[1], expected[2] - 29 * 3, expected[3] - 29 * 3]
        #expect(result.value.0[1] == byTwos.map { 8.of($0) })
        #expect(result.value.1 == Self.both)
        #expect(result.value.2 == 1)
        #expect(result.faults == 0)
    }

    @Test("Mix without gains: every pair of widths, in both orders, exactly", arguments: 1...4, 1...4)
    func pairs(upper: Int, lower: Int) throws {
        let result = try renderSlice { context in
            context.push((0..<lower).map { Float(1 << $0) })
            context.push((0..<upper).map { Float(100 << $0) })
            context.mix(2)
            return context.firstSamples()
        }
        let wide = max(upper, lower)
        func share(_ count: Int, _ base: Int, _ channel: Int) -> Float {
            count == 1 ? Float(base) : channel < count ? Float(base << channel) : 0
        }
        let expected = (0..<wide).map { share(upper, 100, $0) + share(lower, 1, $0) }
        #expect(result.value == [expected])
        #expect(result.faults == 0)
    }

    @Test("Mix(1) changes nothing, mix(0) is a fault, mixAll takes all and is fine with none")
    func counts() throws {
        let result = try renderSlice { context in
            context.mixAll()
            context.push([1])
            context.push([2, 4])
            context.mix(1)
            context.mix(0)
            let before = context.firstSamples()
            context.mixAll()
            return (before, context.firstSamples())
        }
        #expect(result.value.0 == [[2, 4], [1]])
        #expect(result.value.1 == [[3, 5]])
        #expect(result.faults == 1)
    }

    @Test("The sum has the time of the widest, of several the one nearest to the top")
    func time() throws {
        let result = try renderSlice { context in
            for (time, channels) in [(1, 2), (2, 3), (3, 3), (4, 1)] as [(Int64, Int)] {
                context.push(channels: channels)
                let top = context.top
                top.time = RenderTime(sampleTime: time, hostTime: time)
            }
            context.mix(4)
            return context.top.time
        }
        #expect(result.value == RenderTime(sampleTime: 3, hostTime: 3))
    }

    @Test("Mixing leaves an external buffer as it is, even where it is the widest", arguments: [2, 3])
    func externalIsNotWritten(count: Int) throws {
        let result = try renderSlice { context in
            let block = AudioBlock([8.of(2), 8.of(3)])
            context.push([1])
            context.push([10])
            context.withExternal(block) { context in
                context.mix(count)
            }
            return (context.firstSamples(), block.array(0) + block.array(1))
        }
        #expect(result.value.0 == (count == 2 ? [[12, 13], [1]] : [[13, 14]]))
        #expect(result.value.1 == Self.both)
        #expect(result.faults == 0)
    }

    @Test("Mono output: everything sums; the stack stays")
    func toMono() throws {
        let result = try renderSlice(channels: 1) { context in
            for piece in Self.pieces { context.push(piece) }
            context.output(6)
            return context.bufferCount
        }
        #expect(result.output == [8.of(Self.sum)])
        #expect(result.value == 6)
    }

    @Test("Stereo output: mono to both, stereo to its own, of four the first two; added to what is there")
    func toStereo() throws {
        let result = try renderSlice { context in
            for piece in Self.pieces { context.push(piece) }
            context.output(6)
            context.pop(5)
            context.output()
            context.outputAll()
        }
        let mono: Float = 1 + 5 + 29 + 1 + 1
        #expect(result.output == [8.of(mono + 2 + 7 + 19), 8.of(mono + 3 + 11 + 23)])
    }

    @Test("Channel 3 only of 4: everything sums into it")
    func toOneChannel() throws {
        let result = try renderSlice(channels: 4) { context in
            for piece in Self.pieces { context.push(piece) }
            context.output(6, channels: 2...2)
        }
        #expect(result.output == [8.of(0), 8.of(0), 8.of(Self.sum), 8.of(0)])
    }

    @Test("Channels 3 and 4 of 4, and a range that is not there")
    func toTwoChannels() throws {
        let result = try renderSlice(channels: 4, auxiliary: [1]) { context in
            for piece in Self.pieces { context.push(piece) }
            context.output(6, channels: 2...3)
            context.output(channels: 3...4)
            context.output(to: .auxiliary(1), channels: 0...0)
            context.output(to: .auxiliary(2))
            context.output(7)
        }
        let mono: Float = 1 + 5 + 29
        #expect(result.output == [8.of(0), 8.of(0), 8.of(mono + 28), 8.of(mono + 37), 8.of(29)])
        #expect(result.faults == 3)
    }

    @Test("A generator that finds the stack full is silence, not the buffer below it")
    func fullStack() throws {
        let result = try renderSlice(layout: StackLayout(slots: 2, channels: 2, frames: 8)) { context in
            context.push([1, 1])
            context.push([2, 2])
            context.push([4, 4])  // There is no room: this one is silent.
            context.gain(100)  // And must not edit the one below.
            context.output()
            context.mix(2)
            context.output()
            return context.firstSamples()
        }
        #expect(result.value == [[2, 2], [1, 1]])
        #expect(result.output == [8.of(2), 8.of(2)])
    }

    @Test("64 slots take 64 stereo buffers, and 64 of 8 channels")
    func fullOfWide() throws {
        let result = try renderSlice(layout: StackLayout(frames: 8)) { context in
            for value in 1...64 { context.push([Float](repeating: Float(value), count: 8)) }
            return context.firstSamples()
        }
        #expect(result.value == counted(1...64).reversed().map { 8.of($0) })
        #expect(result.faults == 0)
    }

    @Test("Three buffers of any widths keep all their gains", arguments: 1...4, 1...4)
    func threeGains(top: Int, middle: Int) throws {
        for bottom in 1...4 {
            let result = try renderSlice { context in
                context.push((0..<bottom).map { Float($0 + 1) })
                context.push((0..<middle).map { Float($0 + 10) })
                context.push((0..<top).map { Float($0 + 100) })
                context.mix(gains: [3, 5, 7] as InlineArray)
                return context.firstSamples()
            }
            func share(_ count: Int, _ base: Float, _ channel: Int) -> Float {
                count == 1 ? base : channel < count ? base + Float(channel) : 0
            }
            let expected = (0..<max(top, middle, bottom)).map {
                3 * share(top, 100, $0) + 5 * share(middle, 10, $0) + 7 * share(bottom, 1, $0)
            }
            #expect(result.value == [expected], "\(top), \(middle), \(bottom) channels")
        }
    }

    @Test(
        "An external mono buffer with a balance: both sides are heard", arguments: [-0.5, 0, 0.5, 1] as [Float])
    func externalMonoBalance(balance: Float) throws {
        let result = try renderSlice { context in
            let block = AudioBlock([8.of(8)])
            context.withExternal(block) { context in
                context.fade(volume: Glide(0.5), balance: Glide(balance))
            }
            return (context.contents(), block.array(0))
        }
        let left = 8.of(4 * (1 - max(0, balance)))
        let right = 8.of(4 * (1 + min(0, balance)))
        #expect(result.value.0 == (balance == 0 ? [left] : [left, right]))
        #expect(result.value.1 == 8.of(8))
        #expect(result.faults == 0)
    }

    @Test("Nothing writes into an external buffer unless it was given for editing", arguments: [false, true])
    func editing(isEditable: Bool) throws {
        let result = try renderSlice { context in
            var block = AudioBlock([8.of(2), 8.of(3)])
            func edit(_ context: inout RenderContext) {
                context.gain(2)
                context.duplicate()
                context.mix(2)
                context.withTop2Or { left, right in
                    var samples = left[0]
                    for i in samples.indices { samples[i] += 1 }
                    _ = right.channelCount
                }
            }
            context.push([0])
            if isEditable {
                context.withExternal(editing: &block) { edit(&$0) }
            } else {
                context.withExternal(block) { edit(&$0) }
            }
            return (context.contents(), block.array(0) + block.array(1))
        }
        #expect(result.value.0 == [8.of(9), 8.of(12)])
        // The duplicate is nearest to the top and takes the sum: the block has the gain only.
        let expected = isEditable ? runs((8, 4), (8, 6)) : runs((8, 2), (8, 3))
        #expect(result.value.1 == expected)
        #expect(result.faults == 0)
    }

    @Test(
        "The top is added to memory of one's own, by the rule for channels, at a place and with a gain",
        arguments: 1...3, 1...3)
    func addTop(channels: Int, into own: Int) throws {
        let loop = Loop { AudioBlock((0..<own).map { 20.of(Float(100 * ($0 + 1))) }) }
        let result = try renderSlice { context in
            context.push((0..<channels).map { Float(1 << $0) })
            var after: [[Float]] = []
            loop.memory.with(&context) { block, context in
                context.addTop(to: &block, from: 5, gain: 0.5)
                context.subBlock(offset: 2, length: 3) { context in context.addTop(to: &block, from: 17) }
                // Too short from there, and before the first frame.
                context.addTop(to: &block, from: 13)
                context.addTop(to: &block, from: -1)
                after = (0..<own).map { block.array($0) }
            }
            return (context.contents(), after)
        }
        let pushed = (0..<channels).map { Float(1 << $0) }
        for channel in 0..<own {
            let sum: Float =
                channels == 1 ? pushed[0] : own == 1 ? pushed.reduce(0, +) : channel < channels ? pushed[channel] : 0
            let before = Float(100 * (channel + 1))
            #expect(
                result.value.1[channel] == 5.of(before) + 8.of(before + sum / 2) + 4.of(before) + 3.of(before + sum))
        }
        #expect(result.value.0 == pushed.map { 8.of($0) })
        #expect(result.faults == 2)
    }
}

extension RenderContext {
    fileprivate mutating func withTop2Or(_ body: (inout AudioBuffer, inout AudioBuffer) -> Void) {
        withTop2 { body(&$0, &$1) }
    }
}

/// Memory of a render loop's own, made before it is rendered.
private final class Loop: Sendable {
    let memory: RenderState<AudioBlock>
    init(_ make: @escaping @Sendable () -> AudioBlock) { memory = RenderState(make()) }
}
