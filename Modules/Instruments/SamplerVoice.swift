internal import InstrumentFiles
internal import RenderCore

/// A note's sample: where it is in the sample, its envelopes and what its controllers have made of it.
struct SamplerVoice: BitwiseCopyable, Sendable {
    /// The number of the note, which tells the age; 0 for a voice that is free.
    var order = 0
    var channel = 0
    var key: UInt8 = 0
    var velocity: UInt8 = 0
    /// The semitones by which the tuning moves the key.
    var tuned: Float = 0
    var region = 0
    /// Indicates whether the key is down, and whether a pedal holds what the key has left.
    var isDown = false
    var isHeld = false
    var isHeldBySostenuto = false
    var isOneShot = false
    var loopsUntilRelease = false
    var endingClass: Int32 = 0
    /// Indicates whether a controller has changed, and whether the present chunk must be aimed anew.
    var isStale = true
    var isLate = true
    var place = SamplePlace()
    var frames = SampleFrames()
    /// Indicates whether frames come from the disk: those behind the first ones, which are in memory.
    var isStreamed = false
    var resident = 0
    var keyPressure: UInt8 = 0

    var volume = SamplerEnvelope()
    var modulation = SamplerEnvelope()
    var modulationLFO = SamplerLFO(delay: 0)
    var vibrato = SamplerLFO(delay: 0)
    /// The frame of the sample clock at which the envelopes were brought up to date.
    var time: Int64 = 0
    /// Frames of the fade of a voice that makes room: all of them, and those that are left; -1 while it does not.
    var fade: (length: Float, left: Float) = (1, -1)
    /// Indicates whether the cutoff moves in this chunk.
    var sweeps = false

    /// Frames since it began, and whether it is to be released when it has lasted for the shortest time.
    private var age: Float = 0
    private var isEnding = false
    private var shortest: Float = 0

    // The numbers that follow from the region and the controllers.
    private var volumeTimes = SamplerEnvelope.Times()
    private var modulationTimes = SamplerEnvelope.Times()
    private var cents: Float = 0
    /// log₂ of the amplitude.
    private var level: Float = 0
    private var sides: SIMD4<Float> = .zero
    private var cutoff: Float = 13_500
    /// The cents between which the cutoff is held: 20 Hz and 20 kHz in a SoundFont.
    private var cutoffs: (low: Float, high: Float) = (1_500, 13_500)
    private var k: Float = 1
    private var steps: (modulation: Float, vibrato: Float) = (0, 0)
    private var toPitch: (lfo: Float, vibrato: Float, envelope: Float) = (0, 0, 0)
    private var toCutoff: (lfo: Float, envelope: Float) = (0, 0)
    private var toVolume: Float = 0
    /// log₂ of the most that the wave and the envelope together add: in a SoundFont no wave makes a note louder than
    /// its peak.
    private var mostMoved: Float = 0
    /// log₂ of frames of the sample for each frame, at 0 cents.
    private var ratio = 0.0
    /// The ratio that was computed last from cents, which change seldom.
    private var lastCents: Float = .infinity
    private var lastCutoff: Float = .infinity
    private(set) var g: Float = 1

    var isFree: Bool { @_noLocks @_noAllocation get { order == 0 } }
    var isLeaving: Bool { @_noLocks @_noAllocation get { fade.left >= 0 } }
    var isReleased: Bool {
        @_noLocks @_noAllocation get { isEnding || volume.falls }
    }

    /// A free voice.
    @_noLocks @_noAllocation
    init() {}

    /// Seconds for which a note sounds at least: files have drums whose keys go up at once.
    private static var shortestTime: Float { @_noLocks @_noAllocation get { 0.01 } }
    /// Decibels that the volume envelope covers.
    static var range: Float { @_noLocks @_noAllocation get { 96 } }

    // MARK: From generators to numbers

    /// Seconds of timecents, as a number of frames.
    @_noLocks @_noAllocation
    private static func frames(_ timecents: Float, least: Float, most: Float, _ rate: Float) -> Float {
        // The least delay and hold, 1 ms, mean none: all zones have them that say nothing.
        if timecents <= -32_768 || timecents <= -12_000 && most == 5_000 { return 0 }
        let held = timecents < least ? least : timecents > most ? most : timecents
        return RenderMath.exp2(held * (1 / 1_200)) * rate
    }

    @_noLocks @_noAllocation
    private static func hertz(_ cents: Float) -> Float { 8.175_799 * RenderMath.exp2(cents * (1 / 1_200)) }

    @_noLocks @_noAllocation
    private static func held(_ value: Float, _ limit: Float) -> Float {
        value < -limit ? -limit : value > limit ? limit : value
    }

    /// Makes the numbers out of the region's generators and the channel's controllers.
    ///
    /// - Parameter values: 64 numbers of room.
    @_noLocks @_noAllocation
    mutating func derive(
        _ table: InstrumentTable.Reference, _ channel: SamplerChannel, _ values: inout RenderMemory<Float>,
        level gain: Float, sampleRate: Double
    ) {
        let rate = Float(sampleRate)
        let home = table.region(region)
        var v = values.span
        for generator in 0..<SoundFontGenerator.count { v[generator] = table.generator(generator, of: region) }
        // The attenuation of the zones is known with its sign and factor; links come on top of it.
        v[SoundFontGenerator.attenuation] = home.attenuation
        let (actualKey, actualVelocity) = (
            home.key >= 0 ? UInt8(truncatingIfNeeded: home.key) : key,
            home.velocity >= 0 ? UInt8(truncatingIfNeeded: home.velocity) : velocity
        )
        for index in 0..<Int(home.modulatorCount) {
            let link = table.modulator(Int(home.firstModulator) &+ index)
            v[Int(link.target)] += channel.value(
                of: link, key: actualKey, velocity: actualVelocity, keyPressure: keyPressure)
        }
        let played = Float(actualKey)
        cents =
            (played - home.rootPitch * 0.01) * home.scaleTuning + 100 * v[51] + v[52]
            + channel.fineTuning + channel.coarseTuning + tuned * home.scaleTuning
        ratio = RenderMath.log2(home.sampleRate / sampleRate)
        let attenuation = v[48] < 0 ? 0 : v[48] > 1_440 ? 1_440 : v[48]
        let resonance = (v[9] < 0 ? 0 : v[9] > 960 ? 960 : v[9]) * 0.1 - 3.01
        k = RenderMath.amplitude(decibels: -resonance)
        // A factor of 10^(-1/200) is 2^-0.01661.
        level = -0.016_609_640 * attenuation + 0.166_096_4 * home.boost + RenderMath.log2(gain)
        if home.isSoundFont { level -= resonance * 0.083_048_2 }
        let place = (Self.held(v[17], 500) + 500) * (0.25 / 1_000)
        let (reverb, chorus) = (v[16] * 0.001, v[15] * 0.001)
        sides = SIMD4(
            RenderMath.cos(turns: place), RenderMath.sin(turns: place), reverb < 0 ? 0 : reverb > 1 ? 1 : reverb,
            chorus < 0 ? 0 : chorus > 1 ? 1 : chorus)
        cutoff = v[8]
        toPitch = (Self.held(v[5], 12_000), Self.held(v[6], 12_000), Self.held(v[7], 12_000))
        toCutoff = (Self.held(v[10], 12_000), Self.held(v[11], 12_000))
        toVolume = Self.held(v[13], 960) * 0.016_609_640
        mostMoved = home.isSoundFont ? 0 : .infinity
        cutoffs = home.isSoundFont ? (1_500, 13_500) : (-20_000, 20_000)
        steps = (
            Self.hertz(max(-16_000, min(v[22], 4_500))) / rate, Self.hertz(max(-16_000, min(v[24], 4_500))) / rate
        )
        volumeTimes = Self.times(v, from: 33, distance: 60 - played, shortestRelease: -7_200, rate)
        modulationTimes = Self.times(v, from: 25, distance: 60 - played, shortestRelease: -12_000, rate)
        if isStale && order < 0 {
            modulationLFO = SamplerLFO(delay: Self.frames(v[21], least: -12_000, most: 5_000, rate))
            vibrato = SamplerLFO(delay: Self.frames(v[23], least: -12_000, most: 5_000, rate))
            order = 0 &- order
        }
        isStale = false
        shortest = Self.shortestTime * rate
    }

    /// Returns the times of the envelope whose generators begin with its delay.
    @_noLocks @_noAllocation
    private static func times(
        _ v: borrowing MutableSpan<Float>, from first: Int, distance: Float, shortestRelease: Float, _ rate: Float
    ) -> SamplerEnvelope.Times {
        let sustain = 1 - 0.001 * v[first &+ 4]
        let release = v[first &+ 5]
        return SamplerEnvelope.Times(
            delay: frames(v[first], least: -12_000, most: 5_000, rate),
            attack: frames(v[first &+ 1], least: -12_000, most: 8_000, rate),
            hold: frames(v[first &+ 2] + v[first &+ 6] * distance, least: -12_000, most: 5_000, rate),
            decay: frames(v[first &+ 3] + v[first &+ 7] * distance, least: -12_000, most: 8_000, rate),
            sustain: sustain < 0 ? 0 : sustain > 1 ? 1 : sustain,
            release: frames(
                release < shortestRelease ? shortestRelease : release, least: shortestRelease, most: 8_000, rate))
    }

    // MARK: Chunks

    /// Brings envelopes and waves up to date, and returns the gains that it has after that many more frames.
    @_noLocks @_noAllocation
    mutating func advance(to now: Int64, chunk: Float, sampleRate: Double) -> SIMD4<Float> {
        let elapsed = Float(now &- time)
        time = now
        isLate = false
        if elapsed > 0 {
            volume.advance(elapsed, volumeTimes)
            modulation.advance(elapsed, modulationTimes)
            modulationLFO.advance(elapsed, step: steps.modulation)
            vibrato.advance(elapsed, step: steps.vibrato)
            age += elapsed
            if fade.left >= 0 { fade.left = fade.left > elapsed ? fade.left - elapsed : 0 }
        }
        if isEnding && age >= shortest { endNow() }
        let wave = modulationLFO.value
        var bent = modulation.value(modulationTimes)
        if modulation.rises { bent = SamplerChannel.convex(bent) }
        let pitch = cents + wave * toPitch.lfo + vibrato.value * toPitch.vibrato + bent * toPitch.envelope
        if pitch != lastCents {
            lastCents = pitch
            let octaves = Double(pitch) * (1 / 1_200) + ratio
            place.step = octaves > 6 ? 64 &<< 32 : Int64(RenderMath.exp2(octaves < -31 ? -31 : octaves) * 0x1p32)
        }
        let wanted = cutoff + wave * toCutoff.lfo + bent * toCutoff.envelope
        let centsOfFilter = wanted < cutoffs.low ? cutoffs.low : wanted > cutoffs.high ? cutoffs.high : wanted
        sweeps = false
        if centsOfFilter != lastCutoff {
            sweeps = lastCutoff < .infinity
            lastCutoff = centsOfFilter
            let rate = Float(sampleRate)
            let hertz = Self.hertz(centsOfFilter)
            g = RenderMath.tan(.pi * (hertz < 5 ? 5 : hertz > 0.45 * rate ? 0.45 * rate : hertz) / rate)
        }
        // The gains at the end of the chunk.
        var next = volume
        next.advance(chunk, volumeTimes)
        var aimed = next.value(volumeTimes)
        var moved = wave * toVolume
        if !next.rises {
            moved -= (1 - aimed) * (Self.range * 0.166_096_4)
            aimed = next.isOver ? 0 : 1
        }
        let octaves = level + (moved < mostMoved ? moved : mostMoved)
        if fade.left >= 0 {
            aimed *= fade.left > chunk ? (fade.left - chunk) / fade.length : 0
        }
        let amplitude = aimed > 0 ? aimed * RenderMath.exp2(octaves) : 0
        return sides * amplitude
    }

    /// 1 / Q.
    var damping: Float { @_noLocks @_noAllocation get { k } }

    /// Indicates whether nothing of it will be heard any more.
    var isOver: Bool { @_noLocks @_noAllocation get { volume.isOver || fade.left == 0 } }

    /// The key goes up: a pedal may hold the note.
    @_noLocks @_noAllocation
    mutating func letGo(isPedalDown: Bool) {
        if !isPedalDown && !isHeldBySostenuto { return release() }
        isDown = false
        isHeld = isPedalDown
    }

    /// The key or the pedal lets go.
    @_noLocks @_noAllocation
    mutating func release() {
        isDown = false
        isHeld = false
        isHeldBySostenuto = false
        if isOneShot { return }
        if age < shortest || shortest == 0 { isEnding = true } else { endNow() }
        isLate = true
    }

    @_noLocks @_noAllocation
    private mutating func endNow() {
        isEnding = false
        volume.release(volumeTimes, range: Self.range)
        // In the attack, pitch and filter follow a curve of 48 dB (`SamplerChannel.convex`): the release begins at its
        // value.
        modulation.release(modulationTimes, range: 48)
        if loopsUntilRelease { place.loops = false }
    }

    /// It is to be silent after that many frames, without a click.
    @_noLocks @_noAllocation
    mutating func leave(in frames: Float) {
        if fade.left >= 0 { return }
        fade = (frames, frames)
        isLate = true
    }
}
