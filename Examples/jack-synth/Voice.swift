import RenderStack

/// One note: two oscillators, a low-pass whose cutoff falls back after the note has begun, and an envelope.
struct Voice: BitwiseCopyable, Sendable {
    /// The number of the note, which tells the age of the voice; 0 for one that is free.
    private(set) var order = 0
    private(set) var channel: UInt8 = 0
    private(set) var note: UInt8 = 0
    /// Indicates whether the key is down, or the pedal holds what the key has left.
    private(set) var isDown = false
    var isHeld = false

    private var first = ToneCore()
    private var second = ToneCore()
    private var steps: (first: Int64, second: Int64) = (0, 0)
    private var filter = FilterMemory()
    private var coefficients = FilterCoefficients(.lowPass, frequency: 1_000, sampleRate: 48_000)
    private var envelope = EnvelopeCore()
    private var gain: Float = 0
    private var velocity = 0.0
    /// Frames since the note began.
    private var age = 0.0
    /// Frames of the fade of a voice that is stolen: all of them, and those that are left; -1 while it is not.
    private var fade: (length: Int, left: Int) = (1, -1)

    /// A free voice.
    @_noLocks @_noAllocation
    init() {}

    /// A note begins.
    @_noLocks @_noAllocation
    init(order: Int, channel: UInt8, note: UInt8, velocity: UInt8, level: Float) {
        self.order = order
        self.channel = channel
        self.note = note
        isDown = true
        self.velocity = Double(velocity) / 127
        // Half of the velocity is a quarter of the amplitude: the curve that General MIDI recommends.
        gain = level * Float(self.velocity * self.velocity)
        envelope.open()
    }

    var isFree: Bool { @_noLocks @_noAllocation get { order == 0 } }
    /// Frames for which a stolen voice still sounds; -1 for one that is not stolen.
    var fadeLeft: Int { @_noLocks @_noAllocation get { fade.left } }
    /// Indicates whether the note is dying away.
    var isReleased: Bool { @_noLocks @_noAllocation get { !isDown && !isHeld } }

    /// The key goes up: the note dies away, unless the pedal holds it.
    @_noLocks @_noAllocation
    mutating func letGo(isHeld: Bool) {
        isDown = false
        self.isHeld = isHeld
        if !isHeld { envelope.close() }
    }

    /// It is to be silent after so many frames, without a click.
    @_noLocks @_noAllocation
    mutating func leave(in frames: Int) {
        if fade.left >= 0 { return }
        fade = (frames, frames)
    }

    /// Frequencies for a cell of frames.
    @_noLocks @_noAllocation
    mutating func tune(_ controls: Controls, bend: Double, _ patch: Patch, sampleRate: Double) {
        let semitones = Double(note) - 69 + bend
        let spread = patch.detune / 2400
        let low = 440 * RenderMath.exp2(semitones / 12 - spread)
        let high = spread == 0 ? low : 440 * RenderMath.exp2(semitones / 12 + spread)
        steps.first = ToneCore.step(frequency: low, sampleRate: sampleRate)
        steps.second = ToneCore.step(frequency: high, sampleRate: sampleRate)
        let open = RenderMath.exp(-3 * age / (Double(patch.decay) * sampleRate))
        let octaves = controls.octaves + patch.sweep * velocity * open
        coefficients = FilterCoefficients(
            .lowPass, frequency: RenderMath.exp2(octaves), q: controls.q, sampleRate: sampleRate)
    }

    /// Adds frames to the sum of the voices: a whole cell, or a part of one.
    @_noLocks @_noAllocation
    mutating func add(
        to sum: inout MutableSpan<Float>, at start: Int, count: Int, _ cells: inout Cells,
        _ settings: EnvelopeCore.Settings
    ) {
        render(count, cells.wave, cells.edges, &cells.first, &cells.second)
        var samples = cells.first.span
        var i = 0
        while i < count {
            samples[i] = filter.next(samples[i], coefficients)
            i &+= 1
        }
        envelope.multiply(&samples, from: 0, to: count, with: settings)
        i = 0
        if fade.left < 0 {
            while i < count {
                sum[start &+ i] += gain * samples[i]
                i &+= 1
            }
        } else {
            // Half a period of a cosine: nowhere steeper than the tones are.
            while i < count && fade.left > 0 {
                let part = 0.5 - 0.5 * RenderMath.cos(.pi * Float(fade.left) / Float(fade.length))
                sum[start &+ i] += gain * part * samples[i]
                fade.left &-= 1
                i &+= 1
            }
        }
        age += Double(count)
        if !envelope.isActive || fade.left == 0 { order = 0 }
    }

    /// The oscillators. A whole cell is made at once, a part frame by frame: the samples are the same.
    @_noLocks @_noAllocation
    private mutating func render(
        _ count: Int, _ wave: Waveform, _ edges: borrowing EdgeTable, _ sum: inout RenderMemory<Float>,
        _ other: inout RenderMemory<Float>
    ) {
        var samples = sum.span
        let isPair = steps.first != steps.second
        var i = 0
        if count == samples.count {
            first.render(wave, step: steps.first, edges: edges, into: &samples)
            if !isPair { return }
            var others = other.span
            second.render(wave, step: steps.second, edges: edges, into: &others)
            while i < count {
                samples[i] = 0.5 * (samples[i] + others[i])
                i &+= 1
            }
        } else {
            while i < count {
                var sample = first.next(wave, step: steps.first, edges: edges)
                if isPair { sample = 0.5 * (sample + second.next(wave, step: steps.second, edges: edges)) }
                samples[i] = sample
                i &+= 1
            }
        }
    }
}

/// The memory that voices share while they are computed.
struct Cells: ~Copyable, Sendable {
    /// Frames in a cell: frequencies and filters are computed anew in each. Cells lie on the sample clock, so that the
    /// length of the cycles changes nothing.
    static var frames: Int { @_noLocks @_noAllocation get { 32 } }

    let wave: Waveform
    let edges: EdgeTable
    var first = RenderMemory<Float>(repeating: 0, count: Cells.frames)
    var second = RenderMemory<Float>(repeating: 0, count: Cells.frames)

    init(_ wave: Waveform) {
        self.wave = wave
        edges = EdgeTable(for: wave)
    }
}
