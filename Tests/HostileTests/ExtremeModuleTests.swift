import Foundation
import RenderStack
import Testing

/// Pushes samples that are no sound: what is not a number, infinities, denormals, the largest numbers; each of them for a
/// while, since one that is infinite hides the others.
private final class Rubbish: Generator {
    private let channels: Int

    init(channels: Int) { self.channels = channels }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        context.push(channels: channels)
        let time = Int(truncatingIfNeeded: context.sampleTime)
        var top = context.top
        for channel in 0..<top.channelCount {
            var samples = top[channel]
            for i in samples.indices {
                let frame = time &+ i
                let size: Float =
                    switch frame / 53 % 5 {
                    case 0: .nan
                    case 1: .infinity
                    case 2: .greatestFiniteMagnitude
                    case 3: .leastNonzeroMagnitude
                    default: 0.5
                    }
                samples[i] = (frame &+ channel) % 3 == 0 ? 0 - size : size
            }
        }
    }
}

/// A module and the parameters of it that are to be turned.
private struct Candidate: Sendable {
    let name: String
    let module: any Module
    /// Sets each of its parameters.
    let turn: @Sendable (Float) -> Void

    init(_ module: any Module, _ turn: @escaping @Sendable (Float) -> Void = { _ in }) {
        name = module.name
        self.module = module
        self.turn = turn
    }
}

/// Every public module, made with numbers that are allowed and far off.
@Sendable private func candidates(_ rate: Double, channels: Int) throws -> [Candidate] {
    let huge = Float.greatestFiniteMagnitude
    return try [generators(huge, channels), processors(huge), taps(channels), composites(rate, channels)].flatMap { $0 }
}

private func generators(_ huge: Float, _ channels: Int) -> [Candidate] {
    var all: [Candidate] = []
    for wave in Waveform.allCases {
        let tone = Oscillator(wave, frequency: huge, level: -huge, phase: huge, width: -huge)
        all.append(
            Candidate(tone) {
                tone.frequency.value = $0
                tone.level.value = $0
                tone.phase.value = $0
                tone.width.value = $0
            })
        let modulated = ModulatedOscillator(
            wave, frequency: huge, deviation: -huge, level: huge, phase: huge, width: huge)
        all.append(
            Candidate(modulated) {
                modulated.frequency.value = $0
                modulated.deviation.value = $0
                modulated.level.value = $0
                modulated.phase.value = $0
                modulated.width.value = $0
            })
    }
    for shape in LFOCore.Shape.allCases {
        let lfo = LFO(shape, rate: huge, depth: huge, phase: -huge, rounding: .seconds(Int64.max), seed: .max)
        all.append(
            Candidate(lfo) {
                lfo.rate.value = $0
                lfo.depth.value = $0
                lfo.phase.value = $0
            })
    }
    for color in NoiseCore.Color.allCases {
        let noise = Noise(color, level: huge, channels: channels, seed: .max)
        all.append(Candidate(noise) { noise.level.value = $0 })
    }
    let bank = VoiceBank(
        [VoiceBank.Voice](
            repeating: .init(frequency: huge, level: huge, pan: -huge, center: -huge, octaves: huge), count: 17),
        glide: .seconds(20))
    all.append(
        Candidate(bank) { number in
            bank.level.value = number
            bank.update { voices in
                voices[0] = .init(frequency: number, level: number, pan: number, center: number, octaves: number)
            }
        })
    let sampler = SamplePlayer(voices: 1, channels: channels)
    let sample = sampler.load(Sound(AudioBlock([[Float.nan, huge, -huge, 1]]), sampleRate: 1))
    all.append(
        Candidate(sampler) { number in
            sampler.volume.value = number
            sampler.play(sample, gain: number, pan: number, pitch: Double(number), every: Double(number))
        })
    let player = BufferPlayer(channels: channels)
    let blip = Sound(AudioBlock([[1]]), sampleRate: 1_000_000)
    all.append(
        Candidate(player) { number in
            player.microfade.value = number
            player.outputLatency = Double(number)
            player.schedule(blip, .loops)
            player.schedule(blip, .interrupts)
            player.play()
        })
    return all
}

private func processors(_ huge: Float) -> [Candidate] {
    let allPass = AllPass(frequency: huge, q: huge, mix: huge)
    let balance = Balance(huge, left: [0, 0, 63], right: [63])
    let band = Bandpass(center: huge, octaves: -huge, mix: huge)
    let high = HighPass(cutoff: -huge, resonance: huge, mix: huge)
    let low = LowPass(cutoff: huge, resonance: -huge, mix: -huge)
    let highShelf = HighShelf(cutoff: huge, gain: huge, mix: huge)
    let lowShelf = LowShelf(cutoff: huge, gain: -huge, mix: huge)
    let notch = Notch(center: -huge, octaves: huge, mix: huge)
    let equaliser = ParametricEQ([.bell(huge, q: huge, decibels: huge), .lowShelf(-huge, q: -huge, decibels: -huge)])
    let crossed = Delay(
        time: huge, feedback: huge, cutoff: huge, mix: huge, maximumTime: 1e-300, isPingPong: true,
        change: .crossfade(.seconds(Int64.min)))
    let glided = Delay(
        time: huge, feedback: -huge, cutoff: -huge, maximumTime: 0.01, change: .glide(.seconds(Int64.max)))
    let fader = Fader(decibels: huge, balance: -huge)
    let gain = Gain(huge)
    let pan = Pan(-huge)
    let envelope = Envelope(attack: -huge, decay: huge, sustain: huge, release: huge, curve: .linear)
    let rounded = Envelope(attack: huge, decay: -huge, sustain: -huge, release: -huge)
    func filter(_ module: any Module, _ parameters: @escaping @Sendable (Float) -> Void) -> Candidate {
        Candidate(module, parameters)
    }
    return [
        filter(allPass) { (allPass.frequency.value, allPass.q.value, allPass.mix.value) = ($0, $0, $0) },
        filter(balance) { balance.position.value = $0 },
        filter(band) { (band.center.value, band.octaves.value, band.mix.value) = ($0, $0, $0) },
        filter(high) { (high.cutoff.value, high.resonance.value, high.mix.value) = ($0, $0, $0) },
        filter(low) { (low.cutoff.value, low.resonance.value, low.mix.value) = ($0, $0, $0) },
        filter(highShelf) { (highShelf.cutoff.value, highShelf.gain.value, highShelf.mix.value) = ($0, $0, $0) },
        filter(lowShelf) { (lowShelf.cutoff.value, lowShelf.gain.value, lowShelf.mix.value) = ($0, $0, $0) },
        filter(notch) { (notch.center.value, notch.octaves.value, notch.mix.value) = ($0, $0, $0) },
        filter(equaliser) { number in
            for i in 0..<2 {
                equaliser.bands[i].center.value = number
                equaliser.bands[i].q.value = number
                equaliser.bands[i].gain.value = number
            }
            equaliser.mix.value = number
        },
        filter(crossed) {
            (crossed.time.value, crossed.feedback.value, crossed.cutoff.value, crossed.mix.value) = ($0, $0, $0, $0)
        },
        filter(glided) {
            (glided.time.value, glided.feedback.value, glided.cutoff.value, glided.mix.value) = ($0, $0, $0, $0)
        },
        filter(fader) { (fader.volume.value, fader.balance.value, fader.decibels) = ($0, $0, $0) },
        filter(gain) { gain.level.value = $0 },
        filter(pan) { pan.position.value = $0 },
        filter(envelope) { number in
            (envelope.attack.value, envelope.decay.value, envelope.sustain.value) = (number, number, number)
            envelope.release.value = number
            envelope.open()
            envelope.close(at: .now + .seconds(Int64.max))
        },
        filter(rounded) { number in
            (rounded.attack.value, rounded.decay.value, rounded.sustain.value) = (number, number, number)
            rounded.open()
            rounded.close(at: .sample(3))
        },
    ]
}

private func taps(_ channels: Int) -> [Candidate] {
    let forever = LevelMeter(hold: .infinity, window: .infinity)
    let never = LevelMeter(hold: .nan, window: 1e-300, mixing: true)
    let loudness = LoudnessMeter(channels: channels, isDualMono: true, seconds: 1e-9)
    let buffers = BufferTap(frames: 1, channels: channels, seconds: -.infinity)
    let spectra = SpectrumTap(size: 16, hop: 1, window: .flatTop, channels: channels)
    return [
        Candidate(forever) { _ in _ = forever.combined },
        Candidate(never) { _ in _ = (never.stereo, never.level(.max)) },
        Candidate(loudness) { _ in _ = loudness.reading },
        Candidate(buffers) { _ in
            buffers.deliver()
            var block = AudioBlock(channels: 1, frames: 1)
            _ = buffers.read(into: &block)
        },
        Candidate(spectra) { _ in _ = spectra.latest()?.peaks(3, above: -.infinity) },
    ]
}

private func composites(_ rate: Double, _ channels: Int) throws -> [Candidate] {
    func inner() throws -> Renderer {
        let rubbish = Rubbish(channels: channels)
        let layout = StackLayout(slots: 1, channels: channels, frames: 3)
        return try Renderer(channels: channels, layout: layout) { context in
            context.run(rubbish)
            context.output()
        }
    }
    let varispeed = Varispeed(try inner())
    // A debug build takes seconds for the filter of a higher ratio.
    let slow = RateConverter(try inner(), sampleRate: 1)
    let fast = RateConverter(try inner(), sampleRate: min(4 * rate, 1_000_000))
    let splitter = try Splitter(Rubbish(channels: channels), slots: 1)
    let bus = Bus(channels: channels)
    let send = bus.send(.greatestFiniteMagnitude)
    let source = MixerSource(
        Rubbish(channels: channels), volume: .greatestFiniteMagnitude, pan: -.greatestFiniteMagnitude)
    let mixer = Mixer(channels: channels, [source])
    let list = ModuleList(mixing: channels, [Rubbish(channels: 1)])
    let resampled = [
        Candidate(varispeed) {
            varispeed.speed.value = $0
            varispeed.cents = $0
        },
        Candidate(slow), Candidate(fast),
    ]
    // Their filters take a debug build seconds: in the stereo layout alone.
    return (channels == 2 ? resampled : []) + [
        Candidate(splitter), Candidate(bus),
        Candidate(send) { send.level.value = $0 },
        Candidate(mixer) {
            source.volume.value = $0
            source.pan.value = $0
            mixer.insert(source, at: .max)
        },
        Candidate(list),
    ]
}

@Suite struct ExtremeModuleTests {
    private static let rates: [Double] = [1, 16, 8_000, 44_100, 192_000, 1_000_000]
    private static let numbers: [Float] = [
        .nan, .infinity, -.infinity, .greatestFiniteMagnitude, -.greatestFiniteMagnitude, .leastNonzeroMagnitude, 0, 1,
    ]

    /// The layouts that each module is run in, and the cycles.
    static let places: [(layout: StackLayout, cycle: Int)] = [
        (StackLayout(slots: 2, channels: 1, frames: 1), 1), (StackLayout(slots: 1, channels: 1, frames: 1), 7),
        (StackLayout(slots: 4, channels: 64, frames: 3), 64), (StackLayout(slots: 8, channels: 2, frames: 512), 10_000),
    ]

    /// Each rate in one layout, and each layout at one rate. `RENDERSTACK_SOAK=1` makes them all.
    static var cases: [(Double, Int)] {
        let all = rates.indices.flatMap { rate in places.indices.map { (rate, $0) } }
        let isSoak = ProcessInfo.processInfo.environment["RENDERSTACK_SOAK"] != nil
        return all.filter { isSoak || $0.1 == $0.0 % places.count || rates[$0.0] == 44_100 }
            .map { (rates[$0.0], $0.1) }
    }

    @Test(
        "Every module, made with far-off numbers and turned to worse ones, runs on at any rate, in any layout, whatever it hears",
        arguments: cases)
    func run(rate: Double, place: Int) throws {
        let (layout, cycle) = Self.places[place]
        for candidate in try candidates(rate, channels: layout.channels) {
            let input = Rubbish(channels: layout.channels)
            let module = candidate.module
            let loop: RenderLoop = { context in
                if module.stackEffect.pops > 0 { context.run(input) }
                context.run(module)
                context.output()
            }
            let renderer = Renderer(sampleRate: rate, channels: min(2, layout.channels), layout: layout)
            // A stack of one slot is too small for some: that is said, and is no trap.
            do { try renderer.replaceLoop(loop) } catch { if layout.slots == 1 { continue } else { throw error } }
            let frames = min(cycle * 40, 120)
            for number in Self.numbers {
                candidate.turn(number)
                let block = renderer.renderOffline(frames: frames, cycle: cycle)
                // Samples that reach an output are numbers.
                let isSound = (0..<block.channelCount).allSatisfy { block.array($0).allSatisfy { $0.isFinite } }
                #expect(isSound, "\(candidate.name) at \(rate) Hz, turned to \(number)")
            }
        }
    }
}
