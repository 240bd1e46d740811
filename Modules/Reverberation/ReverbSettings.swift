import RenderCore

extension ReverbCore {
    /// The parameters over a slice.
    struct Settings: Sendable, BitwiseCopyable {
        let decay: Glide
        let lowRatio: Glide
        let highRatio: Glide
        let lowCrossover: Glide
        let highCrossover: Glide
        let size: Float
        let preDelay: Float
        let early: Glide
        let diffusion: Glide
        let width: Glide
        let modulation: Glide
        let modulationRate: Glide
        let freeze: Glide
        let mix: Glide

        @_noLocks @_noAllocation
        init(
            decay: Glide, lowRatio: Glide, highRatio: Glide, lowCrossover: Glide, highCrossover: Glide, size: Float,
            preDelay: Float, early: Glide, diffusion: Glide, width: Glide, modulation: Glide, modulationRate: Glide,
            freeze: Glide, mix: Glide
        ) {
            self.decay = decay
            self.lowRatio = lowRatio
            self.highRatio = highRatio
            self.lowCrossover = lowCrossover
            self.highCrossover = highCrossover
            self.size = size
            self.preDelay = preDelay
            self.early = early
            self.diffusion = diffusion
            self.width = width
            self.modulation = modulation
            self.modulationRate = modulationRate
            self.freeze = freeze
            self.mix = mix
        }
    }
}
