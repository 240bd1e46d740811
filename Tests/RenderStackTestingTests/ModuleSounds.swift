import RenderStack

/// What each module does to a sound: the settings, numbers and pictures on the modules' pages. `scripts/tools/draw-modules`
/// writes them, and shows the settings as they stand here; `ModuleSoundsTests` measures the numbers anew.
enum ModuleSounds {
    static let rate = 48_000.0
    static let frames = 144_000

    /// The sound that a module gets.
    enum Source: String, Sendable {
        case nothing, notes, noisyNotes, tone, noise

        /// The sentence about it on the pages.
        var words: String {
            let pitches = "110, 165, 220 and 330 Hz, each 6 dB softer than the one before"
            return switch self {
            case .nothing: ""
            case .notes: "Four notes of a saw go in (grey): \(pitches)."
            case .noisyNotes: "Four notes of a saw go in over a hiss (grey): \(pitches)."
            case .tone: "A sine of 997 Hz goes in (grey)."
            case .noise: "White noise goes in (grey)."
            }
        }

        /// Makes the modules of a renderer that pushes the sound, and a closure that runs them.
        func make() -> (run: RenderLoop, start: (Renderer) throws -> Void) {
            let noise = Noise(.white, level: self == .noise ? 0.25 : 0.02)
            let tone = Oscillator(self == .tone ? .sine : .saw, frequency: self == .tone ? 997 : 110, level: 0.5)
            let envelope = Envelope(attack: 0.005, decay: 0.2, sustain: 0.5, release: 0.05)
            let source = self
            let run: RenderLoop = { context in
                if source == .noise { return context.run(noise) }
                context.run(tone)
                if source == .tone { return }
                context.run(envelope)
                if source == .noisyNotes {
                    context.run(noise)
                    context.mix(2)
                }
            }
            return (
                run,
                { renderer in
                    guard source == .notes || source == .noisyNotes else { return }
                    for (note, frequency) in [Float(110), 165, 220, 330].enumerated() {
                        let start = Int64(note) * 12_000
                        envelope.open(at: .sample(start))
                        envelope.close(at: .sample(start + 9_600))
                        try renderer.transaction(at: .sample(start)) {
                            tone.frequency.value = frequency
                            tone.level.value = 0.5 / Float(1 << note)
                        }
                    }
                }
            )
        }
    }

    /// A module with a sound.
    struct Sound: Sendable {
        let name: String
        /// The Swift module of its page.
        let target: String
        let source: Source
        /// Renders both sides of the source, if there is one, and of what the module makes of it.
        let render: @Sendable () throws -> (before: [[Float]]?, after: [[Float]])

        /// - Parameter make: Makes the module; it gets a function that makes a renderer of the source, for modules that run
        ///   one. Such a module, and any other generator, does not get the source on the stack.
        init<M: Module>(
            _ name: String, _ target: String, _ source: Source,
            _ make: @escaping @Sendable (() throws -> Renderer) throws -> M,
            then act: @escaping @Sendable (M, Renderer) throws -> Void = { _, _ in }
        ) {
            (self.name, self.target, self.source) = (name, target, source)
            render = {
                var isInside = false
                let module = try make {
                    isInside = true
                    return try ModuleSounds.renderer(source.make())
                }
                let before = source == .nothing ? nil : ModuleSounds.sides(try ModuleSounds.renderer(source.make()))
                let input = source.make(), run = input.run
                let isAlone = isInside || source == .nothing
                let renderer = try Renderer(sampleRate: rate) { context in
                    if !isAlone { run(&context) }
                    context.run(module)
                    context.output()
                }
                if !isAlone { try input.start(renderer) }
                try act(module, renderer)
                return (before, ModuleSounds.sides(renderer))
            }
        }
    }

    private static func renderer(_ source: (run: RenderLoop, start: (Renderer) throws -> Void)) throws -> Renderer {
        let run = source.run
        let renderer = try Renderer(sampleRate: rate) { context in
            run(&context)
            context.output()
        }
        try source.start(renderer)
        return renderer
    }

    private static func sides(_ renderer: Renderer) -> [[Float]] {
        let block = renderer.renderOffline(frames: frames)
        return [block.array(0), block.array(1)]
    }

    /// The rows of a page's table, and their values in decibels.
    static func figures(_ sides: [[Float]]) -> [(name: String, value: Float)] {
        func decibels(_ power: Float) -> Float {
            power > 1e-12 ? 10 * RenderMath.log2(power) / RenderMath.log2(10) : -.infinity
        }
        func power(_ samples: [Float]) -> Float { samples.reduce(0) { $0 + $1 * $1 } / Float(samples.count) }
        let spectrum = spectrum(sides), peak = sides.joined().lazy.map { abs($0) }.max() ?? 0
        func band(_ range: Range<Double>) -> Float {
            var sum: Float = 0
            for bin in spectrum.indices where range.contains(Double(bin) * rate / 4_096) { sum += spectrum[bin] }
            return decibels(sum)
        }
        return [
            ("peak", decibels(peak * peak)), ("RMS, left", decibels(power(sides[0]))),
            ("RMS, right", decibels(power(sides[1]))), ("below 200 Hz", band(0..<200)),
            ("200 Hz to 2 kHz", band(200..<2_000)), ("above 2 kHz", band(2_000..<24_001)),
        ]
    }

    /// A line for `scripts/tools/draw-modules`: name, target, the words for the source, figures, waveforms and spectra.
    static func line(of sound: Sound) throws -> String {
        let (before, after) = try sound.render()
        func row(_ values: [Float]) -> String { values.map { "\($0)" }.joined(separator: " ") }
        var fields = [sound.name, sound.target, sound.source.words]
        for sides in [before, after] {
            guard let sides else {
                fields += ["", "", "", ""]
                continue
            }
            fields.append(figures(sides).map { "\($0.name)=\($0.value)" }.joined(separator: ";"))
            for side in sides {
                // The lowest and the highest sample of each 1/60 s.
                let columns = stride(from: 0, to: frames, by: 800).map { side[$0..<$0 + 800] }
                fields.append(row(columns.flatMap { [$0.min() ?? 0, $0.max() ?? 0] }))
            }
            fields.append(row(spectrum(sides)))
        }
        return fields.joined(separator: "\t")
    }

    /// The power in each bin of 4,096 frames, of both sides together: their sum is the mean power of a side.
    static func spectrum(_ sides: [[Float]]) -> [Float] {
        var fft = RealFFT(size: 4_096)
        var (sum, count) = ([Float](repeating: 0, count: fft.bins), Float(0))
        var (real, imaginary) = (sum, sum)
        var window = AudioBlock(channels: 1, frames: 4_096)
        for samples in sides {
            for start in stride(from: 0, through: samples.count - 4_096, by: 2_048) {
                for i in 0..<4_096 {
                    window[0, i] = samples[start + i] * (0.5 - 0.5 * RenderMath.cos(2 * Float.pi * Float(i) / 4_096))
                }
                var re = real.mutableSpan, im = imaginary.mutableSpan
                fft.forward(window.samples(0), real: &re, imaginary: &im)
                // A sum over both halves of the spectrum, with the power of the window (3/8) taken off.
                for bin in sum.indices {
                    let power = re[bin] * re[bin] + im[bin] * im[bin]
                    sum[bin] += power * (bin == 0 || bin == 2_048 ? 1 : 2) / (4_096 * 4_096 * 0.375)
                }
                count += 1
            }
        }
        return sum.map { $0 / count }
    }
}

extension ModuleSounds {
    /// A voice for `Polyphony`.
    struct Wide: LaneVoice {
        private var (first, second) = (WaveLanes(), WaveLanes())
        private var envelope = EnvelopeLanes()

        @inline(__always) @_noLocks @_noAllocation
        mutating func next(_ notes: borrowing Notes) -> Lanes {
            let times = EnvelopeLanes.Times(attack: 0.01, decay: 0.3, sustain: 0.4, release: 0.2)
            let level = envelope.next(notes.gate, times, notes.sampleRate)
            return 0.1 * notes.velocity * level * (first.saw(0.997 * notes.turns) + second.saw(1.003 * notes.turns))
        }

        func isSounding(_ notes: borrowing Notes) -> LaneMask { envelope.isSounding }
    }

    /// A sine of 660 Hz that dies away within a second.
    private static let bell: RenderStack.Sound = {
        let samples = (0..<48_000).map { i in
            0.5 * RenderMath.exp(-Float(i) / 8_000) * RenderMath.sin(2 * Float.pi * 660 * Float(i) / 48_000)
        }
        return RenderStack.Sound(AudioBlock(interleaved: samples, channels: 1), sampleRate: rate)
    }()

    /// Noise that dies away within half a second.
    private static let echoes: [Float] = {
        var noise: UInt32 = 1
        return (0..<24_000).map { i in
            noise = noise &* 1_664_525 &+ 1_013_904_223
            return Float(Int32(bitPattern: noise)) * 0x1p-31 * RenderMath.exp(-Float(i) / 4_000)
        }
    }()

    static let all: [Sound] = [
        Sound("Oscillator", "Tones", .nothing) { _ in Oscillator(.saw, frequency: 110, level: 0.3) },
        Sound("ModulatedOscillator", "Tones", .tone) { _ in ModulatedOscillator(.sine, frequency: 500, deviation: 2_000)
        },
        Sound("VoiceBank", "Tones", .nothing) { _ in
            VoiceBank([.init(frequency: 220, level: 0.3, pan: -1), .init(frequency: 5_000, level: 0.1, pan: 1)])
        },
        Sound("Noise", "Tones", .nothing) { _ in Noise(.pink, channels: 2) },
        Sound("LFO", "Tones", .nothing) { _ in LFO(.triangle, rate: 2) },
        Sound("Envelope", "Tones", .tone, { _ in Envelope(attack: 0.3, decay: 0.5, sustain: 0.3, release: 0.6) }) {
            envelope, _ in
            envelope.open()
            envelope.close(at: .sample(96_000))
        },
        Sound("Polyphony", "Tones", .nothing, { _ in Polyphony<Wide>(voices: 8) }) { synth, _ in
            // The voice is two saws, 10 cents apart, with an envelope.
            for (index, note) in [57, 61, 64].enumerated() {
                let voice = synth.play(Float(note), at: .sample(Int64(index) * 24_000))
                synth.release(voice, at: .sample(96_000))
            }
        },
        Sound("LowPass", "Processors", .noise) { _ in LowPass(cutoff: 1_000, resonance: 12) },
        Sound("HighPass", "Processors", .noise) { _ in HighPass(cutoff: 1_000, resonance: 12) },
        Sound("Bandpass", "Processors", .noise) { _ in Bandpass(center: 1_000, octaves: 1) },
        Sound("Notch", "Processors", .noise) { _ in Notch(center: 1_000, octaves: 2) },
        Sound("AllPass", "Processors", .notes) { _ in AllPass(frequency: 300, q: 2) },
        Sound("LowShelf", "Processors", .noise) { _ in LowShelf(cutoff: 300, gain: 9) },
        Sound("HighShelf", "Processors", .noise) { _ in HighShelf(cutoff: 3_000, gain: -12) },
        Sound("ParametricEQ", "Processors", .noise) { _ in
            ParametricEQ([.lowShelf(80, decibels: -6), .bell(2_000, q: 1.4, decibels: 9)])
        },
        Sound("Delay", "Processors", .notes) { _ in Delay(time: 0.35, feedback: 0.5, isPingPong: true) },
        Sound("Gain", "Processors", .notes) { _ in Gain(0.5) },
        Sound("Fader", "Processors", .notes) { _ in Fader(decibels: -6, balance: -0.5) },
        Sound("Balance", "Processors", .notes) { _ in Balance(0.5) },
        Sound("Pan", "Processors", .notes) { _ in Pan(0.5) },
        Sound("Compressor", "Dynamics", .notes) { _ in Compressor(threshold: -24, ratio: 4, makeUp: 6) },
        Sound("MultibandCompressor", "Dynamics", .notes) { _ in MultibandCompressor(crossovers: [300, 2_500]) },
        Sound("Expander", "Dynamics", .noisyNotes) { _ in Expander(threshold: -26, ratio: 3) },
        Sound("Gate", "Dynamics", .noisyNotes) { _ in Gate(threshold: -26, range: 60) },
        Sound("Limiter", "Dynamics", .notes) { _ in Limiter(ceiling: -12, gain: 6) },
        Sound("Chorus", "Modulation", .notes) { _ in Chorus(voices: 3, depth: 0.003, mix: 0.7) },
        Sound("Flanger", "Modulation", .noise) { _ in Flanger(rate: 0.5, feedback: 0.7) },
        Sound("Phaser", "Modulation", .noise) { _ in Phaser(stages: 6, rate: 0.5, feedback: 0.6) },
        Sound("Tremolo", "Modulation", .tone) { _ in Tremolo(rate: 4, depth: 0.8) },
        Sound("Vibrato", "Modulation", .tone) { _ in Vibrato(rate: 5, depth: 100) },
        Sound("RingModulator", "Modulation", .tone) { _ in RingModulator(frequency: 300) },
        Sound("AutoPan", "Modulation", .tone) { _ in AutoPan(rate: 1) },
        Sound("Distortion", "Distortion", .tone) { _ in Distortion(.hardClip, drive: 18, level: -6) },
        Sound("Oversampled", "Distortion", .tone) { _ in
            Oversampled(Distortion(.fold, drive: 18, level: -6, times: 1), times: 8)
        },
        Sound("Reverb", "Reverberation", .notes) { _ in Reverb(.largeHall, mix: 0.4) },
        Sound("PitchShift", "TempoAndPitch", .notes) { _ in PitchShift(cents: 700) },
        Sound("TimePitch", "TempoAndPitch", .notes, { inner in TimePitch(try inner()) }) { player, _ in
            player.rate.value = 0.5
        },
        Sound("ConvolutionReverb", "Reverberation", .notes) { _ in
            // The echoes are noise that dies away within half a second.
            try ConvolutionReverb(
                ImpulseResponse(AudioBlock(interleaved: echoes, channels: 1), sampleRate: rate), mix: 0.5)
        },
        Sound("RateConverter", "Mixing", .noise) { inner in RateConverter(try inner(), sampleRate: 8_000) },
        Sound("ClosureModule", "RenderCore", .notes) { _ in ClosureModule(.edits) { context in context.gain(0.5) } },
        Sound("ModuleList", "Composition", .notes) { _ in
            ModuleList(chaining: [LowPass(cutoff: 400), Delay(time: 0.35)])
        },
        Sound("Insert", "Composition", .notes) { _ in
            let (dry, fold) = (AudioInput(channels: 2, name: "dry"), Distortion(.fold, drive: 12))
            let chain = try Renderer { context in
                context.run(dry)
                context.run(fold)
                context.output()
            }
            return Insert(chain, input: dry)
        },
        Sound("SubRenderer", "Composition", .notes) { inner in SubRenderer(try inner()) },
        Sound("Mixer", "Mixing", .nothing) { _ in
            let mixer = Mixer()
            mixer.append(Oscillator(.saw, frequency: 110, level: 0.2)).pan.value = -0.5
            mixer.append(Noise(.white, level: 0.05)).pan.value = 0.5
            return mixer
        },
        Sound("Environment", "Space", .nothing) { _ in
            let sources = Environment()
            let bee = sources.append(
                SpatialSource(Oscillator(.saw, frequency: 180, level: 0.2), rendering: .sphericalHead))
            bee.position = SpatialPoint(-6, 0, -1)
            bee.velocity = SpatialPoint(4, 0, 0)
            return sources
        },
        Sound("SamplePlayer", "Players", .nothing, { _ in SamplePlayer() }) { player, _ in
            // The bell is a sine of 660 Hz that dies away within a second.
            let bell = player.load(bell)
            player.play(bell)
            player.play(bell, at: .sample(48_000), pan: -0.7, pitch: 1.5)
        },
        Sound("BufferPlayer", "Players", .nothing, { _ in BufferPlayer() }) { player, _ in
            // The bell is a sine of 660 Hz that dies away within a second.
            player.schedule(bell)
            player.schedule(bell, at: .sample(72_000))
            player.play()
        },
        Sound("Varispeed", "Mixing", .notes, { inner in Varispeed(try inner()) }) { machine, _ in
            machine.cents = -700
        },
    ]
}
