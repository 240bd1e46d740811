import RenderCore

extension DelayTaps {
    /// Makes the taps of some channels for each: what goes into the network, and behind it the early reflections.
    ///
    /// - Parameter places: Receives the places of the taps against the mean path.
    init(channels: Int, reflections: Int, places: inout RenderMemory<Float>) {
        self.init(count: channels * (reflections + 1))
        scatter(seed: 0, reflections: reflections, places: &places)
    }

    /// Draws the places of the early reflections, and their gains.
    ///
    /// - Parameters:
    ///   - seed: The number from which they are drawn, 0 or more: the same from the same.
    ///   - places: Receives the places of the taps against the mean path.
    @_noLocks @_noAllocation
    mutating func scatter(seed: Int32, reflections: Int, places: inout RenderMemory<Float>) {
        var chance = 12_345 &+ UInt32(truncatingIfNeeded: seed) &* 2_654_435_761
        var first = 0
        while first < count {
            var energy: Float = 0
            for tap in 0..<reflections {
                chance = chance &* 1_664_525 &+ 1_013_904_223
                let part = Float(Int32(truncatingIfNeeded: chance &>> 8)) * 0x1p-24
                let place = 0.3 + 0.2 * (Float(Int32(truncatingIfNeeded: tap)) + part)
                let gain = (chance & 0x80 == 0 ? 1 : -1) / (0.5 + place)
                places[first &+ 1 &+ tap] = place
                gains[first &+ 1 &+ tap] = gain
                energy += gain * gain
            }
            let size = Float(RenderMath.pow(Double(energy), 0.5))
            for tap in 0..<reflections { gains[first &+ 1 &+ tap] /= size }
            first &+= reflections &+ 1
        }
    }

    /// Puts them where a pre-delay and a mean path in frames have them. Every second reflection comes from the other side.
    @_noLocks @_noAllocation
    mutating func place(
        by places: borrowing RenderMemory<Float>, channels: Int, reflections: Int, preDelay: Float, mean: Float
    ) {
        for channel in 0..<channels {
            for tap in 0...reflections {
                let number = channel &* (reflections &+ 1) &+ tap
                let frames = Int(preDelay + places.value(at: number) * mean + 0.5)
                let isOther = tap > 0 && tap & 1 == 0 && channel ^ 1 < channels
                place(
                    number, line: Int32(truncatingIfNeeded: isOther ? channel ^ 1 : channel),
                    delay: Int32(truncatingIfNeeded: frames))
            }
        }
    }
}

extension Ramp {
    /// Returns the product with another at both ends of the block, and a straight line between.
    @_noLocks @_noAllocation
    func times(_ other: Ramp) -> Ramp {
        Ramp(from: start * other.start, to: value(at: SampleRows.length) * other.value(at: SampleRows.length))
    }
}
