import RenderCore

/// The parts of the distortion that are on in a block.
struct DistortionStages: Sendable, BitwiseCopyable {
    var rings = false
    /// Indicates whether the polynomial is on.
    var bends = false
    var holds = false
    var crushes = false
    /// Indicates whether a part of the sound keeps its rate and its bits.
    var sparesSome = false
    var hasBias = false
    var toneMoves = false
    var ringMoves = false

    @_noLocks @_noAllocation
    init() {}
}

/// The phases of both rings, or how far they move.
struct RingTurns: Sendable, BitwiseCopyable {
    var first: UInt64
    var second: UInt64

    @_noLocks @_noAllocation
    init(first: UInt64 = 0, second: UInt64 = 0) { (self.first, self.second) = (first, second) }

    @_noLocks @_noAllocation
    mutating func move(by steps: RingTurns, times: UInt64 = 1) {
        first &+= steps.first &* times
        second &+= steps.second &* times
    }
}

/// The settings at each frame of a block, the same for all channels.
struct DistortionControls: ~Copyable, Sendable {
    private let times: Int
    private let sampleRate: Double
    var drive, bias, level, mix, ringAmount, tone: RenderMemory<Float>
    /// The values that fill those, where one does: drive, bias, level, mix, ring amount.
    var filled = SIMD8<Float>(repeating: .nan)
    var toneAtRest: Float = .nan
    var bitStep: RenderMemory<Double>
    var ringSteps: RenderMemory<RingTurns>
    var holdStep: RenderMemory<UInt64>
    /// Those that are written only where their stage is on.
    var ringBalance, linear, squared, cubic, decimationMix: RenderMemory<Float>

    init(times: Int, sampleRate: Double) {
        self.times = times
        self.sampleRate = sampleRate
        let room = HalfBandResampler.room
        drive = RenderMemory(repeating: 0, count: room)
        bias = RenderMemory(repeating: 0, count: room)
        level = RenderMemory(repeating: 0, count: room)
        mix = RenderMemory(repeating: 0, count: room)
        ringAmount = RenderMemory(repeating: 0, count: room)
        tone = RenderMemory(repeating: 1, count: room)
        bitStep = RenderMemory(repeating: 0, count: room)
        ringSteps = RenderMemory(repeating: RingTurns(), count: room)
        holdStep = RenderMemory(repeating: 0, count: room)
        ringBalance = RenderMemory(repeating: 0, count: room)
        linear = RenderMemory(repeating: 1, count: room)
        squared = RenderMemory(repeating: 0, count: room)
        cubic = RenderMemory(repeating: 0, count: room)
        decimationMix = RenderMemory(repeating: 1, count: room)
    }

    /// Takes the settings of a block's frames.
    @_noLocks @_noAllocation
    mutating func take(_ settings: DistortionCore.Settings, _ first: Int, _ count: Int) -> DistortionStages {
        var stages = DistortionStages()
        fill(0, settings.drive, first, count, areDecibels: true)
        fill(1, settings.bias, first, count)
        fill(2, settings.level, first, count, areDecibels: true)
        fill(3, settings.mix, first, count)
        fill(4, settings.ringAmount, first, count)
        stages.hasBias = !(settings.bias.isFlat && settings.bias.end == 0)
        stages.rings = !(settings.ringAmount.isFlat && settings.ringAmount.end == 0)
        stages.holds = !(settings.holdRate.isFlat && settings.holdRate.end >= Float(sampleRate))
        stages.crushes = !(settings.bits.isFlat && settings.bits.end >= 24)
        stages.toneMoves = settings.tone.framesLeft > first
        stages.bends = !(settings.polynomialMix.isFlat && settings.polynomialMix.end == 0)
        stages.sparesSome =
            (stages.holds || stages.crushes) && !(settings.decimationMix.isFlat && settings.decimationMix.end == 1)
        stages.ringMoves = !(settings.ringFrequency.isFlat && settings.secondRingFrequency.isFlat)
        if stages.rings || stages.ringMoves {
            for i in 0..<count { ringSteps[i] = ringSteps(settings, first &+ i) }
        }
        if stages.rings { for i in 0..<count { ringBalance[i] = settings.ringBalance[first &+ i] } }
        if stages.bends { bend(settings, first, count) }
        if stages.sparesSome { for i in 0..<count { decimationMix[i] = settings.decimationMix[first &+ i] } }
        if stages.holds {
            let most = 0x1p64 / (sampleRate * Double(times))
            for i in 0..<count {
                let rate = settings.holdRate[first &+ i]
                // 0: it takes every sample.
                holdStep[i] = rate >= Float(sampleRate) ? 0 : UInt64(min(Double(rate) * most, 0x1.fffffep63))
            }
        }
        if stages.crushes {
            for i in 0..<count {
                let bits = settings.bits[first &+ i]
                bitStep[i] = bits >= 24 ? 0 : RenderMath.exp2(1 - Double(bits))
            }
        }
        if stages.toneMoves {
            toneAtRest = .nan
            for i in 0..<count {
                tone[i] = DistortionControls.coefficient(Double(settings.tone[first &+ i]) / sampleRate)
            }
        } else if toneAtRest != settings.tone.end {
            toneAtRest = settings.tone.end
            tone[0] = DistortionControls.coefficient(Double(settings.tone.end) / sampleRate)
        }
        return stages
    }

    /// Writes a value into one of the settings.
    @_noLocks @_noAllocation
    private mutating func set(_ number: Int, _ i: Int, _ value: Float) {
        switch number {
        case 0: drive[i] = value
        case 1: bias[i] = value
        case 2: level[i] = value
        case 3: mix[i] = value
        default: ringAmount[i] = value
        }
    }

    /// Writes a setting into all frames, if it is not there yet.
    @_noLocks @_noAllocation @inline(__always)
    private mutating func fill(_ number: Int, _ glide: Glide, _ first: Int, _ count: Int, areDecibels: Bool = false) {
        if !(glide.isFlat && filled[number] == glide.end) { write(number, glide, first, count, areDecibels) }
    }

    @_noLocks @_noAllocation @inline(never)
    private mutating func write(_ number: Int, _ glide: Glide, _ first: Int, _ count: Int, _ areDecibels: Bool) {
        if glide.isFlat {
            let value = areDecibels ? RenderMath.amplitude(decibels: glide.end) : glide.end
            for i in 0..<HalfBandResampler.room { set(number, i, value) }
            filled[number] = glide.end
        } else {
            filled[number] = .nan
            for i in 0..<count {
                let value = glide[first &+ i]
                set(number, i, areDecibels ? RenderMath.amplitude(decibels: value) : value)
            }
        }
    }

    /// Mixes the polynomial with the sound as it is: the sum of both is a polynomial too.
    @_noLocks @_noAllocation
    private mutating func bend(_ settings: DistortionCore.Settings, _ first: Int, _ count: Int) {
        for i in 0..<count {
            let frame = first &+ i
            let mix = settings.polynomialMix[frame]
            linear[i] = 1 - mix + mix * settings.linear[frame]
            squared[i] = mix * settings.squared[frame]
            cubic[i] = mix * settings.cubic[frame]
        }
    }

    /// Returns how far the rings move from a frame of the higher rate to the next.
    @_noLocks @_noAllocation
    func ringSteps(_ settings: DistortionCore.Settings, _ frame: Int) -> RingTurns {
        RingTurns(
            first: ringStep(settings.ringFrequency[frame]), second: ringStep(settings.secondRingFrequency[frame]))
    }

    @_noLocks @_noAllocation
    private func ringStep(_ frequency: Float) -> UInt64 {
        let turns = Double(frequency) / (sampleRate * Double(times))
        return UInt64((turns - Double(Int(turns))) * 0x1p64)
    }

    /// Returns the coefficient of a low-pass filter of one pole whose cut-off is a fraction of the sample rate: 1 at a half,
    /// where it is open.
    @_noLocks @_noAllocation
    private static func coefficient(_ fraction: Double) -> Float {
        // The limit of the parameter is a Float.
        if fraction > 0.499_999 { return 1 }
        let rest = 1 - RenderMath.cos(2 * .pi * fraction)
        let exact = RenderMath.pow(rest * rest + 2 * rest, 0.5) - rest
        // Far above the cut-offs that are heard it goes over to 1, so that an open filter begins without a step.
        let (square, most) = (4 * fraction * fraction, 0.828_427_124_746_190_1)
        return Float(exact * (1 + (1 / most - 1) * square * square * square * square))
    }
}
