import DiskStreaming
import Foundation
import RenderStack
import TestSupport
import Testing

/// One queue for sounds in memory, files, and segments of files.
@Suite struct BufferPlayerQueueTests {
    private func solo(_ player: BufferPlayer) throws -> Renderer {
        try Renderer(sampleRate: 48_000, channels: player.channelCount) { context in
            context.run(player)
            context.output()
        }
    }

    /// Returns samples at 48 kHz, converted by themselves.
    private func converted(_ samples: [Float], from rate: Double) -> [Float] {
        var converter = SampleRateConverter(from: rate, to: 48_000, channels: 1)
        let count = SampleRateConverter.frameCount(of: samples.count, from: rate, to: 48_000)
        var block = AudioBlock(channels: 1, frames: count)
        let (_, made) = converter.convert(AudioBlock([samples]), from: 0, frames: samples.count, into: &block, at: 0)
        _ = converter.finish(into: &block, at: made)
        return block.array(0)
    }

    private func sound(_ samples: [Float], rate: Double = 48_000) -> Sound {
        Sound(AudioBlock([samples]), sampleRate: rate)
    }

    private func scaled(_ samples: some Sequence<Float>, _ gain: Float) -> [Float] { samples.map { $0 * gain } }

    @Test(
        "Files, segments and sounds of any rate join without a gap, each with its gain, to the bit",
        arguments: cycleLengths)
    func joins(cycles: [Int]) throws {
        let folder = try TemporaryFolder()
        let a = noise(4_001, seed: 1), b = noise(3_003, seed: 2), c = noise(2_000, seed: 3)
        let player = BufferPlayer(channels: 1)
        try player.schedule(path: folder.write([a], "a.wav", format: .wav()))
        player.schedule(sound(b), gain: 0.5)
        try player.schedule(path: folder.write([b], "b.wav", rate: 44_100, format: .wav()), gain: 2)
        try player.schedule(path: "\(folder.path)/a.wav", frames: 1_000..<1_777)
        player.schedule(sound(c, rate: 32_000), gain: 0.25)
        try player.schedule(path: "\(folder.path)/b.wav", frames: 101..<2_000)
        try player.schedule(path: "\(folder.path)/a.wav", frames: 4_000..<4_001, gain: 0.125)
        player.schedule(sound(c))
        let renderer = try solo(player)
        player.play(at: .sample(321))
        let parts: [[Float]] = [
            a, scaled(b, 0.5), scaled(converted(b, from: 44_100), 2), Array(a[1_000..<1_777]),
            scaled(converted(c, from: 32_000), 0.25), converted(Array(b[101..<2_000]), from: 44_100),
            scaled(a[4_000...], 0.125), c,
        ]
        let expected: [Float] = silence(321) + parts.flatMap { $0 } + silence(99)
        #expect(render(renderer, frames: expected.count, cycles: cycles)[0] == expected)
        #expect(player.underrunCount == 0 && renderer.faultCount == 0)
    }

    @Test("Two channels of 16-bit integers, which are read as pairs, join too, and keep their gain and their sides")
    func pairs() throws {
        let folder = try TemporaryFolder()
        let left = noise(5_000, seed: 4), right = noise(5_000, seed: 5)
        let path = try folder.write([left, right], "pairs.wav", format: .wav(.int16))
        let whole = try Sound(path: path)
        let player = BufferPlayer()
        try player.schedule(path: path, frames: 0..<2_000)
        try player.schedule(path: path, frames: 2_000..<5_000)
        player.schedule(whole)
        try player.schedule(path: path, gain: 0.5)
        let renderer = try solo(player)
        player.play()
        let heard = render(renderer, frames: 15_000, cycles: [64, 1, 999])
        for channel in heard {
            #expect(Array(channel[..<5_000]) == Array(channel[5_000..<10_000]))
            #expect(Array(channel[10_000...]) == scaled(channel[..<5_000], 0.5))
        }
        #expect(largestDifference(Array(heard[0][..<5_000]), left) < 1e-4)
        #expect(largestDifference(Array(heard[1][..<5_000]), right) < 1e-4)
    }

    @Test(
        "Completions and events come in order, once each: also of what is cut, damaged, or gone",
        .timeLimit(.minutes(1)))
    func completions() async throws {
        let folder = try TemporaryFolder()
        let player = BufferPlayer(channels: 1)
        let events = player.events
        let told = Guarded<[(Int, ScheduledSound.Ending)]>([])
        func note(_ number: Int, _ ticket: ScheduledSound) -> ScheduledSound {
            ticket.when { ending in
                // The first would be last, if handlers did not wait for one another.
                if number < 2 { try? await Task.sleep(for: .milliseconds(30)) }
                told.withLock { $0.append((number, ending)) }
            }
            return ticket
        }
        let gone = try folder.write([ramp(500)], "gone.wav")
        var tickets: [ScheduledSound] = []
        tickets.append(note(0, player.schedule(memoryFile([ramp(300)]))))
        tickets.append(note(1, player.schedule(memoryFile([ramp(300)], .init(endsAt: 100)))))
        tickets.append(note(2, player.schedule(sound(ramp(200)))))
        tickets.append(note(3, player.schedule(memoryFile([ramp(20_000)], .init(failsAt: 0)))))
        for number in 4..<24 { tickets.append(note(number, try player.schedule(path: gone, frames: 0..<10))) }
        try FileManager.default.removeItem(atPath: gone)
        tickets.append(note(24, player.schedule(memoryFile([ramp(100)]), .loops)))
        tickets.append(note(25, player.schedule(memoryFile([ramp(100)]))))
        let renderer = try solo(player)
        player.play()
        let heard = render(renderer, frames: 2_000, cycles: [512])[0]
        // Those that were scheduled first had been opened, and stay readable until they are closed.
        let open = (heard.firstIndex(where: { $0 == 0 }) ?? 2_000) == 2_000
        #expect(open, "the queue goes on behind damaged files without a gap")
        player.stop()
        _ = render(renderer, frames: 10)
        for ticket in tickets { _ = await ticket.wait() }
        #expect(await becomesTrue { told.now.count == 26 })
        let all = told.now
        #expect(all.map(\.0) == Array(0..<26))
        #expect(all[0].1 == .finished && all[2].1 == .finished && all[24].1 == .cut && all[25].1 == .cut)
        for number in [1, 3, 23] {
            if case .failed = all[number].1 { continue }
            Issue.record("\(number) has ended as \(all[number].1)")
        }
        var ended: [ScheduledSound] = [], began: [ScheduledSound] = []
        for await event in events {
            if case .began(let ticket, _) = event { began.append(ticket) }
            if case .ended(let ticket, _) = event { ended.append(ticket) }
            if ended.count == 26 { break }
        }
        #expect(ended == tickets)
        #expect(began.first == tickets[0] && began.last == tickets[24])
    }

    @Test("Ten thousand segments of files follow one another, and few files are open at once")
    func thousands() async throws {
        let folder = try TemporaryFolder()
        let path = try folder.write([ramp(30_000).map { $0 / 32_768 }], "long.wav", format: .wav())
        let player = BufferPlayer(channels: 1)
        let before = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
        let tickets = try (0..<10_000).map { number in
            try player.schedule(path: path, frames: Int64(3 * number)..<Int64(3 * number + 3))
        }
        let renderer = try solo(player)
        player.play()
        var (heard, most): ([Float], Int) = ([], 0)
        for frames in [4_096, 1, 64, 8_192, 17_000, 647] {
            heard += render(renderer, frames: frames, cycles: [4_096, 64])[0]
            most = max(most, try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count)
        }
        #expect(heard == ramp(30_000).map { $0 / 32_768 })
        #expect(most < before + 200 && player.underrunCount == 0)
        #expect(await tickets[9_999].wait() == .finished)
        #expect(await tickets[0].wait() == .finished)
        #expect(player.scheduledCount == 0)
        #expect(await becomesTrue { player.streamCount == 0 })
    }

    @Test("Hostile numbers: segments beyond the file, gains that are none, times that have passed")
    func hostile() async throws {
        let player = BufferPlayer(channels: 1)
        let file = memoryFile([ramp(1_000)])
        let renderer = try solo(player)
        _ = render(renderer, frames: 100)
        player.play()
        var expected: [Float] = []
        let segments: [(Range<Int64>, ClosedRange<Int>?)] = [
            (-500..<3, 1...3), (990..<5_000, 991...1_000), (.min ..< .max, 1...1_000), (2_000..<3_000, nil),
            (-9..<(-3), nil), (5..<5, nil), (1_000..<1_001, nil),
        ]
        for (segment, frames) in segments {
            let ticket = player.schedule(file, frames: segment, [], at: .sample(-5))
            if let frames { expected += counted(frames) }
            #expect(ticket.frames.count == frames?.count ?? 0)
        }
        for (gain, taken) in [(Float.nan, 1), (.infinity, 16), (-.infinity, 0), (-1, 0), (1e30, 16), (0, 0), (-0.0, 0)]
        {
            let ticket = player.schedule(file, frames: 0..<2, gain: gain)
            #expect(ticket.gain == Float(taken))
            expected += [Float(taken), Float(2 * taken)]
        }
        // A loop of nothing is over at once.
        player.schedule(file, frames: 7..<7, .loops)
        player.schedule(file, frames: 10..<11)
        expected += [11]
        #expect(render(renderer, frames: expected.count + 20, cycles: [64])[0] == expected + silence(20))
        #expect(player.scheduledCount == 0 && renderer.faultCount == 0)
        #expect(player.currentTime == 0 && player.currentFrame == 0 && player.currentSound == nil)
    }

    @Test("Where it is: the sound, its frame and its time, in a segment those of the file; a loop tells its rounds")
    func position() async throws {
        let player = BufferPlayer(channels: 1)
        let events = player.events
        let file = memoryFile([noise(44_100, seed: 1)], rate: 44_100)
        let first = player.schedule(file, frames: 4_410..<8_820)
        let second = player.schedule(sound(ramp(1_000), rate: 24_000))
        let third = player.schedule(sound(ramp(100)), .loops)
        let renderer = try solo(player)
        _ = render(renderer, frames: 64)
        #expect(!player.isPlaying && !player.isPaused, "nothing has started it")
        player.play()
        _ = render(renderer, frames: 480)
        #expect(player.isPlaying && player.currentSound == first)
        #expect(player.currentFrame == 4_410 + 441 && abs(player.currentTime - 0.11) < 1e-9)
        _ = render(renderer, frames: 4_800 - 480 + 600)
        #expect(player.currentSound == second && player.currentFrame == 300)
        #expect(abs(player.currentTime - 0.0125) < 1e-9)
        player.pause()
        _ = render(renderer, frames: 64)
        #expect(!player.isPlaying && player.isPaused && player.currentFrame == 300)
        player.play()
        _ = render(renderer, frames: 1_400 + 1_050)
        #expect(player.isPlaying && player.currentSound == third && player.currentFrame == 50)
        player.stop()
        _ = render(renderer, frames: 64)
        #expect(!player.isPlaying && !player.isPaused && player.currentSound == nil && player.currentTime == 0)
        var rounds = 0
        for await event in events {
            if case .looped(let ticket, let count) = event {
                #expect(ticket == third)
                rounds += count
            }
            if case .ended(third, let ending) = event {
                #expect(ending == .cut)
                break
            }
        }
        #expect(rounds == 10)
    }

    @Test("At another sample rate a file, and a sound in memory, go on at the same place", arguments: [true, false])
    func rates(isFile: Bool) throws {
        let player = BufferPlayer(channels: 1)
        let samples = (0..<48_000).map { Float($0) / 48_000 }
        if isFile { player.schedule(memoryFile([samples])) } else { player.schedule(sound(samples)) }
        let renderer = try solo(player)
        player.play()
        #expect(render(renderer, frames: 12_000)[0] == Array(samples[..<12_000]))
        renderer.configure(sampleRate: 24_000)
        let heard = render(renderer, frames: 12_000)[0]
        // A file fades in where its stream takes over.
        for frame in stride(from: 1_500, to: 11_000, by: 500) {
            #expect(abs(heard[frame] - (0.25 + Float(frame) / 24_000)) < 1e-3, "frame \(frame)")
        }
        #expect(abs(player.currentTime - 0.75) < 1e-4)
        renderer.configure(sampleRate: 48_000)
        let rest = render(renderer, frames: 12_100)[0]
        #expect(abs(rest[6_000] - 0.875) < 1e-3 && rest[12_010...].allSatisfy { $0 == 0 })
    }

    @Test("At a higher sample rate the position goes on to the end")
    func higherRate() throws {
        let player = BufferPlayer(channels: 1)
        player.schedule(sound(ramp(24_000), rate: 24_000))
        let renderer = try solo(player)
        renderer.configure(sampleRate: 24_000)
        player.play()
        _ = render(renderer, frames: 6_000)
        #expect(player.currentFrame == 6_000)
        renderer.configure(sampleRate: 96_000)
        _ = render(renderer, frames: 48_000)
        #expect(player.currentFrame == 18_000 && abs(player.currentTime - 0.75) < 1e-4)
    }

    @Test("While a sample rate comes the disk thread is faster, and cycles of the old one go on")
    func overtaking() throws {
        let samples = (0..<48_000).map { Float($0) / 48_000 }
        let player = BufferPlayer(channels: 1)
        let renderer = try solo(player)
        let (isAwaited, between) = (Guarded(false), Guarded([Float]()))
        let here = ObjectIdentifier(Thread.current)
        let overtake = Guarded<(@Sendable () -> Void)?> {
            _ = player.serveDisk()
            let heard = render(renderer, frames: 512)[0]
            between.withLock { $0 = heard }
        }
        let file = StreamFile(
            path: "memory", sampleRate: 48_000, channelCount: 1, frameCount: 48_000, staysOpen: false,
            open: { () throws(AudioFileError) in
                // The stream of the new rate is being made, unless the disk thread has been faster by itself.
                let isFirst = isAwaited.withLock { isAwaited in
                    defer { if here == ObjectIdentifier(Thread.current) { isAwaited = false } }
                    return isAwaited && here == ObjectIdentifier(Thread.current)
                }
                if isFirst, let work = overtake.now {
                    let isOver = DispatchSemaphore(value: 0)
                    Thread.detachNewThread {
                        work()
                        isOver.signal()
                    }
                    isOver.wait()
                }
                return MemorySource([samples], .init())
            })
        player.schedule(file)
        player.play()
        #expect(render(renderer, frames: 12_000)[0] == Array(samples[..<12_000]))
        isAwaited.withLock { $0 = true }
        renderer.configure(sampleRate: 24_000)
        let next = 12_000 + between.now.count
        #expect(between.now == Array(samples[12_000..<next]))
        let heard = render(renderer, frames: 11_000)[0]
        for frame in stride(from: 1_500, to: 10_500, by: 500) {
            #expect(abs(heard[frame] - (Float(next) / 48_000 + Float(frame) / 24_000)) < 1e-3, "frame \(frame)")
        }
        overtake.withLock { $0 = nil }
    }

    @Test("The collector does not wait for a disk that stands still")
    func collector() async throws {
        let player = BufferPlayer(channels: 1)
        let gate = TestSupport.Gate(), isWaiting = Guarded(false), isCollected = Guarded(false)
        let file = StreamFile(
            path: "memory", sampleRate: 48_000, channelCount: 1, frameCount: 480_000,
            open: { () throws(AudioFileError) in
                SlowSource(gate: gate, tell: { isWaiting.withLock { $0 = true } })
            })
        let ticket = player.schedule(file)
        let renderer = try solo(player)
        player.play()
        _ = render(renderer, frames: 64)
        gate.shut()
        // There is room for what is read next, and enough is there to be heard.
        _ = render(renderer, frames: 1_024)
        #expect(await becomesTrue { isWaiting.now })
        player.stop()
        _ = render(renderer, frames: 64)
        Thread.detachNewThread {
            _ = player.collect()
            isCollected.withLock { $0 = true }
        }
        #expect(await becomesTrue { isCollected.now })
        gate.open()
        #expect(await ticket.wait() == .cut)
    }

    @Test("Tempo and pitch change for files of the queue as for sounds in memory, to the bit")
    func stretched() throws {
        let samples = noise(9_000, seed: 8).map { $0 * 0.3 }
        func heard(_ schedule: (BufferPlayer) -> Void) throws -> [Float] {
            let player = BufferPlayer(channels: 1)
            player.rate = 1.25
            schedule(player)
            let renderer = try solo(player)
            player.play()
            return render(renderer, frames: 16_000, cycles: [333])[0]
        }
        let fromMemory = try heard { player in for _ in 0..<2 { player.schedule(sound(samples)) } }
        let fromDisk = try heard { player in for _ in 0..<2 { player.schedule(memoryFile([samples])) } }
        #expect(fromMemory == fromDisk && fromMemory.contains { abs($0) > 0.1 })
    }

    @Test("Several threads schedule, stop and ask, while it plays", .timeLimit(.minutes(2)))
    func threads() async throws {
        let player = BufferPlayer(channels: 1)
        let renderer = try solo(player)
        let ended = Guarded(0)
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<3 {
                group.addTask {
                    for number in 0..<150 {
                        let file = memoryFile([ramp(200)])
                        let options: BufferPlayer.Options = number % 10 == thread ? .interrupts : []
                        player.schedule(file, frames: 10..<Int64(20 + number), options).when { _ in
                            ended.withLock { $0 += 1 }
                        }
                        player.schedule(sound(ramp(50))).when(.consumed) { _ in ended.withLock { $0 += 1 } }
                        if number % 40 == 39 { player.stop() }
                        player.play()
                        _ = (player.currentTime, player.isPlaying, player.currentSound?.path, player.scheduledCount)
                        await Task.yield()
                    }
                }
            }
            group.addTask { for _ in 0..<400 { _ = render(renderer, frames: 100, cycles: [64]) } }
        }
        // Commands may wait for a cycle.
        while !player.stop() { _ = render(renderer, frames: 64) }
        _ = render(renderer, frames: 128, cycles: [64])
        #expect(await becomesTrue { ended.now == 900 })
        #expect(renderer.faultCount == 0 && player.scheduledCount == 0)
    }
}

/// A file that waits for its gate, and tells so.
private final class SlowSource: StreamSource {
    private let gate: TestSupport.Gate
    private let tell: @Sendable () -> Void

    init(gate: TestSupport.Gate, tell: @escaping @Sendable () -> Void) { (self.gate, self.tell) = (gate, tell) }

    func read(into block: inout AudioBlock, at first: Int, frames: Int) throws(AudioFileError) -> Int {
        if gate.isClosed { tell() }
        gate.pass()
        return frames
    }

    func seek(to frame: Int64) throws(AudioFileError) {}
}
