import Foundation
import RenderCore
import Synchronization
import TestSupport
import Testing

/// Shares a ring between threads, as a module does.
private final class Pipe: Sendable {
    let ring: AudioRing
    let done = Atomic<Bool>(false)

    init(frames: Int, channels: Int = 1, sampleRate: Double = 48_000) {
        ring = AudioRing(frames: frames, channels: channels, sampleRate: sampleRate)
    }

    /// Writes like a tap on the render thread: code that compiles here compiles there.
    @_noLocks @_noAllocation
    func tap(_ block: borrowing AudioBlock, frames: Int, time: RenderTime) -> Bool {
        var grant = ring.reserve(frames: frames, time: time)
        let granted = grant.frameCount == frames
        for channel in 0..<block.channelCount {
            ring.write(block.samples(channel, from: 0, frames: frames), channel: channel, to: &grant)
        }
        ring.commit(grant)
        return granted
    }

    /// Reads like a generator on the render thread.
    @_noLocks @_noAllocation
    func play(_ frames: Int, into block: inout AudioBlock) -> AudioRing.Chunk {
        let chunk = ring.peek(frames: frames)
        for channel in 0..<block.channelCount {
            var samples = block[channel]
            ring.copy(chunk, channel: channel, into: &samples)
        }
        ring.consume(chunk)
        return chunk
    }
}

/// The reports of a test's threads.
private final class Counters: Sendable {
    let written = Atomic<Int>(0)
    let finished = Atomic<Int>(0)
}

/// Repeatable numbers (SplitMix64).
private struct Numbers: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

private func counting(channels: Int, frames: Int, from start: Int) -> AudioBlock {
    AudioBlock((0..<channels).map { channel in (0..<frames).map { Float(start + $0 + channel * 100_000) } })
}

@Suite struct AudioRingTests {
    struct Frame: Equatable {
        var samples: [Float]
        var sample: Int64
    }

    @Test("Random writes, reads, peeks, skips and clears do what an array does", arguments: 1...40)
    func model(seed: UInt64) {
        var numbers = Numbers(state: seed)
        let capacity = Int.random(in: 1...100, using: &numbers), channels = Int.random(in: 1...3, using: &numbers)
        let pipe = Pipe(frames: capacity, channels: channels)
        var model: [Frame] = []
        var counter = 0, overflows = 0
        var time: Int64 = -20
        for _ in 0..<extent(3_000, inDebug: 500) {
            let frames = Int.random(in: 0...(capacity + 2), using: &numbers)
            switch Int.random(in: 0..<9, using: &numbers) {
            case 0...3:
                let block = counting(channels: channels, frames: frames, from: counter)
                // Gaps only between blocks of 16 frames and more, of which the stamps never run out.
                if frames >= 16 && Bool.random(using: &numbers) { time += 1_000 }
                let stamp = RenderTime(sampleTime: time, hostTime: time * 1_000)
                let fits = frames <= capacity - model.count
                let written =
                    Bool.random(using: &numbers)
                    ? pipe.ring.write(block, time: stamp) : pipe.tap(block, frames: frames, time: stamp) || frames == 0
                #expect(written == fits)
                if fits {
                    for frame in 0..<frames {
                        let samples = (0..<channels).map { block[$0, frame] }
                        model.append(Frame(samples: samples, sample: time + Int64(frame)))
                    }
                } else {
                    overflows += 1
                }
                counter += frames
                time += Int64(frames)
            case 4...6:
                var block = AudioBlock(channels: channels, frames: capacity + 2)
                let chunk =
                    Bool.random(using: &numbers)
                    ? pipe.ring.read(into: &block, frames: frames) : pipe.play(frames, into: &block)
                #expect(chunk.frameCount == min(frames, model.count))
                #expect(chunk.time.sampleTime == (chunk.frameCount > 0 ? model.first?.sample : nil))
                for frame in 0..<chunk.frameCount {
                    #expect((0..<channels).map { block[$0, frame] } == model[frame].samples)
                }
                #expect(block[0, capacity + 1] == 0)
                model.removeFirst(chunk.frameCount)
            case 7:
                let chunk = pipe.ring.peekContiguous(frames: frames)
                var run = 0
                while run < min(frames, model.count) && model[run].sample == model[0].sample + Int64(run) { run += 1 }
                #expect(chunk.frameCount == run)
                var block = AudioBlock(channels: channels, frames: capacity)
                #expect(pipe.ring.copy(chunk, into: &block) == run)
                for frame in 0..<run { #expect((0..<channels).map { block[$0, frame] } == model[frame].samples) }
                #expect(pipe.ring.availableFrames == model.count)
            default:
                if Int.random(in: 0..<20, using: &numbers) == 0 {
                    pipe.ring.clear()
                    model = []
                }
                let count = min(frames, model.count)
                #expect(pipe.ring.skip(frames: frames) == count)
                model.removeFirst(count)
            }
            #expect(pipe.ring.availableFrames == model.count)
            #expect(pipe.ring.freeFrames == capacity - model.count)
        }
        #expect(pipe.ring.overflowCount == overflows && overflows > 0)
        #expect(pipe.ring.faultCount == 0)
    }

    @Test(
        "Millions of frames cross between two threads, in order, complete, each with its time",
        arguments: [true, false])
    func threads(jumps: Bool) {
        let pipe = Pipe(frames: 1_000, channels: 2)
        let total = extent(10_000_000, inDebug: 500_000)
        let producer = Thread {
            var numbers = Numbers(state: 1)
            var block = AudioBlock(channels: 2, frames: 300)
            var sent = 0
            while sent < total {
                let frames = min(Int.random(in: 1...300, using: &numbers), total - sent)
                for frame in 0..<frames {
                    block[0, frame] = Float((sent + frame) & 0xFFFF)
                    block[1, frame] = Float((sent + frame) >> 16)
                }
                // Times that go on need no stamps: both ways of synchronising must hold.
                let time = jumps ? RenderTime(sampleTime: Int64(3 * sent), hostTime: Int64(sent)) : .sample(Int64(sent))
                while pipe.ring.freeFrames < frames || !pipe.tap(block, frames: frames, time: time) { sched_yield() }
                sent += frames
            }
            pipe.done.store(true, ordering: .releasing)
        }
        producer.start()
        var numbers = Numbers(state: 2)
        var block = AudioBlock(channels: 2, frames: 400)
        var received = 0, wrong = 0, untimely = 0
        while received < total {
            let chunk = pipe.play(Int.random(in: 1...400, using: &numbers), into: &block)
            if chunk.frameCount == 0 { sched_yield() }
            for frame in 0..<chunk.frameCount {
                let number = received + frame
                if block[0, frame] != Float(number & 0xFFFF) || block[1, frame] != Float(number >> 16) { wrong += 1 }
            }
            // A block that starts at frame p has the time 3p, so a frame has between 1 and 3 times its number.
            if !jumps {
                if chunk.frameCount > 0 && chunk.time != .sample(Int64(received)) { untimely += 1 }
            } else if chunk.frameCount > 0, let time = chunk.time.sampleTime, let host = chunk.time.hostTime {
                let intoBlock = Int64(3 * received) - time
                let start = Int64(received) - intoBlock / 2
                let sinceStart = Double(intoBlock / 2) * 1e9 / 48_000
                if intoBlock % 2 != 0 || !(0..<600).contains(intoBlock) || host != start + Int64(sinceStart + 0.5) {
                    untimely += 1
                }
            }
            received += chunk.frameCount
        }
        while !pipe.done.load(ordering: .acquiring) { sched_yield() }
        #expect(wrong == 0)
        #expect(untimely == 0)
        #expect(pipe.ring.availableFrames == 0)
        #expect(pipe.ring.faultCount == 0)
    }

    @Test("Two producers at a time are refused and counted, and every block arrives whole")
    func twoProducers() {
        let pipe = Pipe(frames: 4_096, channels: 2)
        let counters = Counters()
        for name in 1...2 {
            Thread {
                var block = AudioBlock(channels: 2, frames: 50)
                for frame in 0..<50 {
                    block[0, frame] = Float(name)
                    block[1, frame] = Float(-name)
                }
                for round in 0..<20_000 {
                    let time = RenderTime.sample(Int64(round))
                    if pipe.ring.write(block, time: time) { counters.written.wrappingAdd(50, ordering: .relaxed) }
                }
                counters.finished.wrappingAdd(1, ordering: .releasing)
            }.start()
        }
        var block = AudioBlock(channels: 2, frames: 50)
        var received = 0, torn = 0
        while true {
            let isOver = counters.finished.load(ordering: .acquiring) == 2
            let chunk = pipe.ring.read(into: &block)
            if chunk.frameCount == 0 && isOver { break }
            for frame in 0..<chunk.frameCount where block[0, frame] != block[0, 0] || block[1, frame] != -block[0, 0] {
                torn += 1
            }
            received += chunk.frameCount
        }
        #expect(torn == 0)
        #expect(received == counters.written.load(ordering: .acquiring))
        #expect(pipe.ring.overflowCount + pipe.ring.faultCount + received / 50 == 40_000)
    }

    @Test("A block read in part goes on with its time moved, also on the clock of the machine")
    func partialTime() {
        let ring = AudioRing(frames: 100, channels: 1, sampleRate: 48_000)
        let block = counting(channels: 1, frames: 50, from: 0)
        ring.write(block, time: RenderTime(sampleTime: 1_000, hostTime: 7_000_000))
        ring.write(block, frames: 10, time: RenderTime(sampleTime: 5_000, hostTime: 9_000_000))
        #expect(ring.peek().time == RenderTime(sampleTime: 1_000, hostTime: 7_000_000))
        #expect(ring.skip(frames: 1) == 1)
        #expect(ring.peek().time == RenderTime(sampleTime: 1_001, hostTime: 7_020_833))
        var part = AudioBlock(channels: 1, frames: 47)
        #expect(ring.read(into: &part).time.sampleTime == 1_001)
        #expect(part[0, 46] == 47)
        #expect(ring.peek().time == RenderTime(sampleTime: 1_048, hostTime: 8_000_000))
        #expect(ring.skip(frames: 2) == 2)
        #expect(ring.peek().time == RenderTime(sampleTime: 5_000, hostTime: 9_000_000))
        ring.skip(frames: 3)
        #expect(ring.peek().time == RenderTime(sampleTime: 5_003, hostTime: 9_062_500))
        ring.clear()
        #expect(ring.peek().time.isImmediate && ring.availableFrames == 0)
    }

    @Test("Times that are known in part, or come with a duration, stay so")
    func partlyKnownTime() {
        let ring = AudioRing(frames: 100, channels: 1, sampleRate: 1_000)
        let block = AudioBlock(channels: 1, frames: 10)
        ring.write(block, time: .sample(100) + .milliseconds(-3))
        ring.write(block, time: .host(5) + .milliseconds(2))
        ring.write(block, time: .immediately)
        #expect(ring.peek().time == .sample(97))
        ring.skip(frames: 11)
        #expect(ring.peek().time == .host(3_000_005))
        ring.skip(frames: 10)
        #expect(ring.peek().time == .immediately)
    }

    @Test("A contiguous peek ends where the time jumps by more than the tolerance")
    func contiguous() {
        let ring = AudioRing(frames: 1_000, channels: 1, sampleRate: 1_000)
        let block = AudioBlock(channels: 1, frames: 100)
        ring.write(block, time: .sample(0))
        ring.write(block, time: .sample(100))
        ring.write(block, time: .sample(203))
        ring.write(block, time: .sample(300))
        ring.write(block, time: .host(40))
        ring.write(block, time: .host(100_000_040))
        ring.write(block, time: .host(205_000_040))
        #expect(ring.peek().frameCount == 700)
        #expect(ring.peekContiguous().frameCount == 200)
        #expect(ring.peekContiguous(tolerance: 2).frameCount == 200)
        #expect(ring.peekContiguous(tolerance: 3).frameCount == 400)
        #expect(ring.peekContiguous(frames: 150).frameCount == 150)
        ring.skip(frames: 150)
        #expect(ring.peekContiguous().frameCount == 50)
        ring.skip(frames: 250)
        #expect(ring.peekContiguous(tolerance: 4).frameCount == 200)
        #expect(ring.peekContiguous(tolerance: 5).frameCount == 300)
    }

    @Test("Sample times that start again at the wrap go on")
    func wrap() {
        let ring = AudioRing(frames: 1_000, channels: 1, sampleRate: 1_000)
        let block = AudioBlock(channels: 1, frames: 100)
        for time: Int64 in [300, 400, 0, 100, 199] { ring.write(block, time: .sample(time)) }
        #expect(ring.peekContiguous().frameCount == 200)
        #expect(ring.peekContiguous(wrappingAt: 500).frameCount == 400)
        #expect(ring.peekContiguous(tolerance: 1, wrappingAt: 500).frameCount == 500)
        ring.clear()
        ring.write(block, time: .sample(399))
        ring.write(block, time: .sample(1))
        #expect(ring.peekContiguous(tolerance: 1, wrappingAt: 500).frameCount == 100)
        #expect(ring.peekContiguous(tolerance: 2, wrappingAt: 500).frameCount == 200)
    }

    @Test("A ring refuses and counts a block that does not fit, and leaves the waiting frames alone")
    func overflow() {
        let ring = AudioRing(frames: 10, channels: 1, sampleRate: 48_000)
        let block = counting(channels: 1, frames: 6, from: 1)
        #expect(ring.write(block, time: .sample(0)) == true)
        #expect(ring.write(block, time: .sample(6)) == false)
        #expect(ring.reserve(frames: 5, time: .sample(6)).frameCount == 0)
        #expect(ring.reserve(frames: 4, time: .sample(6)).frameCount == 4)
        #expect(ring.overflowCount == 2)
        var read = AudioBlock(channels: 1, frames: 10)
        #expect(ring.read(into: &read).frameCount == 6)
        #expect(read.array(0) == [1, 2, 3, 4, 5, 6, 0, 0, 0, 0])
    }

    @Test("Single frames fill the ring while their times go on; those that jump are refused, never misdated")
    func stampsRunOut() {
        let ring = AudioRing(frames: 160, channels: 1, sampleRate: 1_000)
        let frame = AudioBlock(channels: 1, frames: 1)
        for time: Int64 in 0..<160 {
            #expect(ring.write(frame, time: RenderTime(sampleTime: time, hostTime: time * 999_999)) == true)
        }
        for time: Int64 in 0..<160 {
            #expect(ring.peek().time.sampleTime == time)
            ring.skip(frames: 1)
        }
        var written = 0
        for time: Int64 in 0..<160 where ring.write(frame, time: .sample(1_000 * time)) { written += 1 }
        #expect(written < 160 && written >= 160 / 16)
        #expect(ring.overflowCount == 160 - written)
        for time in 0..<written {
            #expect(ring.peek().time == .sample(Int64(1_000 * time)))
            ring.skip(frames: 1)
        }
        #expect(ring.availableFrames == 0)
    }

    @Test("A channel that is not written is silent, and so is the rest of a short one")
    func missingChannels() {
        let ring = AudioRing(frames: 4, channels: 3, sampleRate: 48_000)
        ring.write(AudioBlock([[9, 9, 9], [9, 9, 9], [9, 9, 9]]), time: .sample(0))
        ring.skip(frames: 3)
        let samples: [Float] = [1, 2]
        var grant = ring.reserve(frames: 3, time: .sample(3))
        ring.write(Samples(samples.span), channel: 1, to: &grant)
        ring.commit(grant)
        var block = AudioBlock(channels: 3, frames: 3)
        ring.read(into: &block)
        #expect(block.array(0) == [0, 0, 0] && block.array(1) == [1, 2, 0] && block.array(2) == [0, 0, 0])
    }

    @Test("mono goes to all channels, many sum into mono")
    func widths() {
        let wide = AudioRing(frames: 3, channels: 2, sampleRate: 48_000)
        wide.write(AudioBlock([[7, 7]]), time: .sample(0))
        wide.skip(frames: 2)
        wide.write(AudioBlock([[1, 2]]), time: .sample(2))
        var mono = AudioBlock(channels: 1, frames: 2)
        let chunk = wide.peek()
        #expect(wide.copy(chunk, into: &mono) == 2)
        #expect(mono.array(0) == [2, 4])
        var three = AudioBlock([[5, 5], [5, 5], [5, 5]])
        wide.read(into: &three)
        #expect(three.array(0) == [1, 2] && three.array(1) == [1, 2] && three.array(2) == [0, 0])
        let narrow = AudioRing(frames: 3, channels: 1, sampleRate: 48_000)
        narrow.write(AudioBlock([[1, 2], [10, 20], [100, 200]]), time: .sample(0))
        narrow.read(into: &mono)
        #expect(mono.array(0) == [111, 222])
    }

    @Test("a grant or chunk that is out of date does nothing and is a fault")
    func outOfDate() {
        let ring = AudioRing(frames: 10, channels: 1, sampleRate: 48_000)
        let samples: [Float] = [1, 2, 3]
        var old = ring.reserve(frames: 3, time: .sample(0))
        ring.write(AudioBlock([[4, 5, 6]]), time: .sample(0))
        ring.write(Samples(samples.span), channel: 0, to: &old)
        ring.commit(old)
        #expect(ring.faultCount == 2 && ring.availableFrames == 3)
        let chunk = ring.peek()
        ring.skip(frames: 1)
        ring.consume(chunk)
        var block = AudioBlock(channels: 1, frames: 3)
        #expect(ring.copy(chunk, into: &block) == 0)
        var missing = ring.reserve(frames: 1, time: .sample(3))
        ring.write(Samples(samples.span), channel: 1, to: &missing)
        #expect(ring.faultCount == 5 && ring.availableFrames == 2)
        #expect(ring.read(into: &block).frameCount == 2)
        #expect(block.array(0) == [5, 6, 0])
    }

    @Test("a capacity in seconds is rounded up to a frame")
    func seconds() {
        let ring = AudioRing(seconds: 0.50001, channels: 2, sampleRate: 44_100)
        #expect(ring.capacity == 22_051 && ring.channelCount == 2 && ring.sampleRate == 44_100)
    }
}
