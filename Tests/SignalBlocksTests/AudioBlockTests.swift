import SignalBlocks
import Testing

@Suite struct AudioBlockTests {
    private func ramp(channels: Int, frames: Int) -> AudioBlock {
        AudioBlock((0..<channels).map { channel in (0..<frames).map { Float(channel * 1_000 + $0) } })
    }

    @Test("A new block is silent, one run per channel, each on a cache line", arguments: [1, 2, 63, 64])
    func creation(channels: Int) {
        for frames in [0, 1, 15, 16, 17, 512] {
            var block = AudioBlock(channels: channels, frames: frames)
            #expect(block.channelCount == channels && block.frameCount == frames)
            #expect(block.isSilent && block.peak == 0)
            for channel in 0..<channels {
                #expect(block.array(channel) == [Float](repeating: 0, count: frames))
                var samples = block[channel]
                let address = unsafe samples.withUnsafeMutableBufferPointer { Int(bitPattern: $0.baseAddress) }
                #expect(address % 64 == 0)
                for frame in samples.indices { samples[frame] = Float(channel + 1) }
            }
            for channel in 0..<channels {
                #expect(block.array(channel) == [Float](repeating: Float(channel + 1), count: frames))
            }
        }
    }

    @Test("A copy is equal and separate")
    func copying() {
        let original = ramp(channels: 3, frames: 20)
        var copy = AudioBlock(copying: original)
        copy[1, 5] = -1
        #expect(original[1, 5] == 1_005 && copy[1, 5] == -1)
        copy[1, 5] = 1_005
        for channel in 0..<3 { #expect(copy.array(channel) == original.array(channel)) }
    }

    @Test("A part of a block, in channels and frames, as a copy and as views")
    func parts() {
        var block = ramp(channels: 4, frames: 10)
        let part = AudioBlock(copying: block, channels: 1..<3, frames: 4..<7)
        #expect(part.channelCount == 2)
        #expect(part.array(0) == [1_004, 1_005, 1_006] && part.array(1) == [2_004, 2_005, 2_006])
        let view = block.samples(3, from: 8, frames: 5)
        let (count, first, second) = (view.count, view[0], view[1])
        #expect(count == 2 && first == 3_008 && second == 3_009)
        #expect(block.samples(0, from: 10, frames: 1).count == 0)
        var tail = block[0, from: 7, frames: 2]
        #expect(tail.count == 2)
        tail[0] = -7
        #expect(block.array(0) == [0, 1, 2, 3, 4, 5, 6, -7, 8, 9])
    }

    @Test("A copy between offsets keeps inside both blocks and says how far it came")
    func copyOffsets() {
        let source = ramp(channels: 2, frames: 6)
        var target = AudioBlock(channels: 2, frames: 8)
        #expect(target.copy(from: source, sourceOffset: 1, to: 5) == 3)
        #expect(target.array(0) == [0, 0, 0, 0, 0, 1, 2, 3])
        #expect(target.copy(from: source, sourceOffset: 5, to: 0) == 1)
        #expect(target.copy(from: source, to: 1, frames: 2) == 2)
        #expect(target.array(1) == [1_005, 1_000, 1_001, 0, 0, 1_001, 1_002, 1_003])
        for (from, to, frames) in [(7, 0, 1), (-1, 0, 1), (0, 9, 1), (0, -1, 1), (0, 0, 0), (0, 0, -1), (6, 0, 1)] {
            #expect(target.copy(from: source, sourceOffset: from, to: to, frames: frames) == 0)
        }
        #expect(target.array(0) == [5, 0, 1, 0, 0, 1, 2, 3])
    }

    @Test("Mono goes to all channels, many sum into mono, otherwise channels meet by number")
    func widths() {
        let mono = AudioBlock([[1, 2]]), stereo = AudioBlock([[10, 20], [100, 200]])
        var three = AudioBlock([[9, 9], [9, 9], [9, 9]])
        three.copy(from: mono)
        for channel in 0..<3 { #expect(three.array(channel) == [1, 2]) }
        three.copy(from: stereo)
        #expect(three.array(0) == [10, 20] && three.array(1) == [100, 200] && three.array(2) == [0, 0])
        var one = AudioBlock(channels: 1, frames: 2)
        one.copy(from: stereo)
        #expect(one.array(0) == [110, 220])
        var two = AudioBlock(channels: 2, frames: 2)
        two.copy(from: AudioBlock([[1, 2], [3, 4], [5, 6]]))
        #expect(two.array(0) == [1, 2] && two.array(1) == [3, 4])
    }

    @Test("A block knows whether it is silent, in whole and in part")
    func silence() {
        var block = ramp(channels: 2, frames: 5)
        block.silence(from: 1, frames: 3)
        #expect(block.array(1) == [1_000, 0, 0, 0, 1_004])
        block.silence(from: 4, frames: .max)
        #expect(!block.isSilent && block.peak == 1_000)
        block.silence()
        #expect(block.isSilent && block.peak == 0)
        block[1, 4] = -0.0
        #expect(block.isSilent == true)
        block[1, 4] = .leastNonzeroMagnitude
        #expect(block.isSilent == false)
        block[1, 4] = .nan
        #expect(block.isSilent == false)
    }

    @Test("the peak is the largest magnitude, wherever it is", arguments: [1, 7, 8, 9, 40])
    func peak(frames: Int) {
        for frame in 0..<frames {
            for (channel, value) in [(0, Float(3)), (1, -4)] {
                var block = AudioBlock(channels: 2, frames: frames)
                for other in 0..<frames { block[0, other] = 0.5 }
                block[1, 0] = .nan
                block[channel, frame] = value
                #expect(block.peak == abs(value))
            }
        }
        var loud = AudioBlock(channels: 1, frames: frames)
        loud[0, frames - 1] = -.infinity
        #expect(loud.peak == .infinity)
    }

    @Test("interleaved samples, float and 16 bit, go in and come out the same")
    func interleaved() {
        let block = AudioBlock(interleaved: [1, 10, 2, 20, 3, 30] as [Float], channels: 2)
        #expect(block.array(0) == [1, 2, 3] && block.array(1) == [10, 20, 30])
        #expect(block.interleaved() == [1, 10, 2, 20, 3, 30])
        let every = (Int16.min...Int16.max).map { $0 }
        let integers = AudioBlock(interleaved: every, channels: 4)
        #expect(integers[0, 0] == -1 && integers.frameCount == 16_384)
        #expect(integers.interleavedInt16() == every)
        let loud = AudioBlock([[1, 1.5, -1, -7, .infinity, -.infinity, .nan, 0.00001]])
        #expect(loud.interleavedInt16() == [32_767, 32_767, -32_768, -32_768, 32_767, -32_768, 0, 0])
    }

    @Test("a subscript outside the block ends the program, and reads nothing")
    func outside() async {
        await #expect(processExitsWith: .failure) { _ = AudioBlock(channels: 1, frames: 4)[0, 4] }
        await #expect(processExitsWith: .failure) { _ = AudioBlock(channels: 1, frames: 4).samples(1).count }
        await #expect(processExitsWith: .failure) { _ = AudioBlock(channels: 65, frames: 4).frameCount }
        await #expect(processExitsWith: .failure) { _ = AudioBlock(channels: 0, frames: 4).frameCount }
    }
}
