import RenderStack
import TestSupport
import Testing

/// Numbers that a file, a slider or a peer can bring: they end no program, and become the nearest that are allowed.
@Suite struct NearestTests {
    private static let odd: [(given: Double, taken: Double)] = [
        (0, 1), (-44_100, 1), (0.5, 1), (1e9, 1_000_000), (.infinity, 1_000_000), (-.infinity, 1), (.nan, 48_000),
        (.greatestFiniteMagnitude, 1_000_000), (.leastNonzeroMagnitude, 1),
    ]

    @Test("A renderer's rate and channels become the nearest, with a notice each", arguments: odd.indices)
    func renderer(index: Int) async throws {
        let (given, taken) = Self.odd[index]
        let renderer = Renderer(sampleRate: 44_100)
        let events = Notes<RenderEvent>()
        let subscription = renderer.by({ $0() }) { events.add($0) }
        renderer.configure(sampleRate: given, channels: index % 2 == 0 ? -3 : .max)
        await subscription.finish()
        #expect(renderer.sampleRate == taken && renderer.channelCount == (index % 2 == 0 ? 1 : 64))
        let notices = events.all.filter { if case .notice = $0 { true } else { false } }
        #expect(notices.count == 2, "\(events.all)")
        #expect("\(notices[0])".contains("it must be 1…1,000,000"))
        #expect(Renderer(sampleRate: given).sampleRate == taken)
        #expect(renderer.renderOffline(frames: 10).frameCount == 10)
    }

    @Test("An output does not start at a rate or a priority that cannot be", arguments: odd.indices)
    func start(index: Int) throws {
        let output = ClockOutput(Renderer(), sampleRate: Self.odd[index].given, priority: 0)
        let error = #expect(throws: OutputError.self) { try output.start() }
        #expect(error?.description.contains("it must be 1…1,000,000") == true && output.state == .stopped)
        let core = OutputCore(Renderer(), called: "a core")
        #expect(throws: OutputError.self) { _ = try core.start(priority: 100) }
        #expect(throws: OutputError.self) { try core.start(thread: "x", priority: -1) { _ in } }
        #expect(try core.start(priority: 0, sampleRate: 8_000) != nil)
        core.stop()
    }

    @Test("Sounds, rings, converters, detectors and stretches of any rate", arguments: odd.indices)
    func rates(index: Int) async throws {
        let (given, taken) = Self.odd[index]
        let sound = Sound(AudioBlock(channels: 1, frames: 100), sampleRate: given)
        #expect(sound.sampleRate == taken)
        let sentence = "Sound: a sample rate of \(given) Hz; it must be 1…1,000,000. \(taken) is taken"
        #expect(StandardError.hasSaid(sentence))
        AudioRing(frames: 10, channels: 1, sampleRate: given).setSampleRate(given)
        let converter = SampleRateConverter(from: given, to: given, channels: 1)
        #expect(converter.inputRate == taken && converter.outputRate == taken)
        #expect(SampleRateConverter.frameCount(of: 100, from: given, to: given) == 100)
        let block = AudioBlock(channels: 1, frames: 100)
        #expect(try await block.converted(from: given, to: taken).frameCount == 100)
        #expect(block.stretched(rate: 0.5, sampleRate: given).frameCount == 200)
        _ = OnsetDetector(sampleRate: given)
        _ = PitchFinder(sampleRate: given)
        _ = PeriodShifter(sampleRate: given, channels: 1)
        #expect(LoudnessMeasurement(sampleRate: given, channels: 1).sampleRate >= 16)
        _ = RateConverter(Renderer(), sampleRate: given, channels: 1_000).sampleRate
        let outer = Renderer()
        let converted = RateConverter(Renderer(), sampleRate: given, channels: -1)
        try outer.replaceLoop { context in
            context.run(converted)
            context.output()
        }
        #expect(render(outer, frames: 100)[0].count == 100)
    }

    @Test("Latencies and lengths at any rate and pitch are numbers")
    func latencies() {
        for number in [Double.nan, .infinity, -.infinity, 0, -1, 1e300] {
            #expect(TimeStretch.latency(sampleRate: number, cents: number) >= 0)
            #expect(PeriodShifter.latency(sampleRate: number) >= 0)
            #expect(Resampler.latency(at: number) >= 0)
            let stretch = TimeStretch(sampleRate: 8_000, channels: 1)
            #expect(stretch.lookAhead(rate: number, cents: number) > 0 && stretch.inputDelay(cents: number) > 0)
            #expect(PitchShift().latency(at: number) >= 0 && PitchShift(.fast).latency(at: number) >= 0)
        }
        #expect(Resampler.lookAhead(for: 0...Double.infinity) == Resampler.lookAhead(for: 0...256))
        #expect(HalfBandResampler.latency(times: 0) == 0 && HalfBandResampler.latency(times: .min) == 0)
    }

    @Test("What a slider can give: a fade, a read-ahead, a tempo, a pitch, a channel")
    func sliders() throws {
        let response = try ImpulseResponse(AudioBlock([[1, 0.5, 0.25, 0.1]]), sampleRate: 48_000)
        for number in [-1, Double.nan, .infinity, 11, 1e300] {
            _ = try ConvolutionReverb(response, fade: number)
            let block = AudioBlock([(0..<64).map { Float($0 % 2) }])
            #expect(block.stretched(rate: number, cents: number, sampleRate: 48_000).frameCount > 0)
        }
        #expect(response.array(-1) == response.array(0) && response.array(.max) == response.array(0))
        #expect(response.decay(channel: 7, octaves: []).count == 1)
        let folder = try TemporaryFolder()
        let path = "\(folder.path)/tone.wav"
        var writer = try AudioFileWriter(path: path, sampleRate: 48_000, channels: 1)
        try writer.write(AudioBlock(channels: 1, frames: 1_000))
        try writer.finish()
        for number in [-1, Double.nan, .infinity, 0, 61] { _ = try FilePlayer(path: path, readAhead: number) }
    }

    @Test("Numbers of frames and cycles when rendering into memory and into a file")
    func frames() async throws {
        let tone = Constant(0.5)
        let renderer = try Renderer(channels: 1) { context in
            context.run(tone)
            context.output()
        }
        for frames in [-1, .min, 0] { #expect(renderer.renderOffline(frames: frames, cycle: -5).frameCount == 0) }
        #expect(renderer.renderOffline(frames: 10, cycle: 0)[0, 9] == 0.5)
        #expect(renderer.renderOffline(frames: 10, cycle: .max)[0, 9] == 0.5)
        var cycles = 0
        renderer.renderOffline(cycle: -1, until: { cycles > 2 }, each: { _ in cycles += 1 })
        #expect(cycles == 3)
        let folder = try TemporaryFolder()
        for channels in [-1, .min, 0, 65, .max] {
            #expect(throws: AudioFileError.self) {
                _ = try FileOutput(renderer, path: "\(folder.path)/x.wav", channels: channels)
            }
        }
        for (rate, _) in Self.odd where rate < 1 || rate.isNaN || rate > 1e9 {
            #expect(throws: AudioFileError.self) {
                _ = try FileOutput(renderer, path: "\(folder.path)/x.wav", sampleRate: rate)
            }
        }
        let output = try FileOutput(renderer, path: "\(folder.path)/y.wav")
        for cycle in [-1, 0, .min, .max] {
            let before = output.frameCount
            try await output.run(for: .milliseconds(1), cycle: cycle)
            #expect(output.frameCount == before + 48)
        }
        try await output.finish()
    }

    @Test("A block without room for the frames of a cycle gets those that fit, and a fault")
    func shortBlock() async throws {
        let tone = Constant(0.5)
        let renderer = try Renderer(channels: 1) { context in
            context.run(tone)
            context.output()
        }
        let faults = Notes<Fault>()
        let subscription = renderer.by({ $0() }) { event in if case .fault(let fault) = event { faults.add(fault) } }
        var block = AudioBlock(channels: 1, frames: 100)
        renderer.render(into: &block, from: 40, frames: 200)
        #expect(renderer.sampleTime == 60 && block[0, 39] == 0 && block[0, 40] == 0.5 && block[0, 99] == 0.5)
        for (first, frames) in [(-1, 10), (101, 1), (.max, .max), (.min, .min), (0, -1)] {
            renderer.render(into: &block, from: first, frames: frames)
        }
        #expect(renderer.faultCount == 6)
        _ = renderer.renderOffline(frames: 1)
        await subscription.finish()
        #expect(faults.all.map(\.kind) == [.badCycle], "\(faults.all)")
        #expect(faults.all.first?.description.contains("its block has room for") == true)
    }

    @Test("Samples from a peer: channels of different lengths, and a last frame that is cut off")
    func samples() {
        let block = AudioBlock([[1, 2, 3], [4], []])
        #expect(block.frameCount == 3 && block.array(1) == [4, 0, 0] && block.array(2) == [0, 0, 0])
        let cut = AudioBlock(interleaved: [1, 2, 3, 4, 5] as [Float], channels: 2)
        #expect(cut.frameCount == 2 && cut.array(0) == [1, 3] && cut.array(1) == [2, 4])
        #expect(AudioBlock(interleaved: [1] as [Int16], channels: 2).frameCount == 0)
    }

    @Test("A renderer that is in another branch already does not come into a second")
    func parallel() throws {
        let (one, two) = (Renderer(), Renderer())
        let parallel = Parallel([one, two], workers: 0)
        parallel[1] = one
        #expect(parallel[1] === two && parallel[0] === one)
        parallel[0] = one
        #expect(parallel[0] === one)
    }
}
