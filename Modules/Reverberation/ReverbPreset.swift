extension Reverb {
    /// The settings of a room: to be made, read and written.
    ///
    ///     var cellar = Reverb.Preset(name: "cellar", decay: 1.1, size: 3)
    ///     cellar.highRatio = 0.3
    ///     reverb.load(cellar)
    ///     let text = cellar.text                              // "name = cellar\ndecay = 1.1\n…"
    ///     let again = try Reverb.Preset(text: text)
    ///
    /// Thirteen have the names of AVAudioUnitReverb's presets. Apple's settings are not published: these are RenderStack's
    /// own, by name and character, and sound otherwise.
    ///
    /// Threads: control.
    public struct Preset: Sendable, Hashable {
        /// The name.
        public var name: String
        /// ``Reverb/decay`` in seconds.
        public var decay: Float
        /// ``Reverb/lowRatio``.
        public var lowRatio: Float
        /// ``Reverb/highRatio``.
        public var highRatio: Float
        /// ``Reverb/lowCrossover`` in hertz.
        public var lowCrossover: Float
        /// ``Reverb/highCrossover`` in hertz.
        public var highCrossover: Float
        /// ``Reverb/size`` in metres.
        public var size: Float
        /// ``Reverb/preDelay`` in seconds.
        public var preDelay: Float
        /// ``Reverb/early``.
        public var early: Float
        /// ``Reverb/diffusion``.
        public var diffusion: Float
        /// ``Reverb/width``.
        public var width: Float
        /// ``Reverb/modulation``.
        public var modulation: Float
        /// ``Reverb/modulationRate`` in hertz.
        public var modulationRate: Float

        /// Creates a preset; by default the medium hall. A number that is out of range is brought into it when the preset is
        /// loaded.
        public init(
            name: String, decay: Float = 1.8, lowRatio: Float = 1.1, highRatio: Float = 0.5, lowCrossover: Float = 250,
            highCrossover: Float = 5_000, size: Float = 11.3, preDelay: Float = 0.012, early: Float = 0.35,
            diffusion: Float = 0.8, width: Float = 1, modulation: Float = 0.25, modulationRate: Float = 0.5
        ) {
            self.name = name
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
        }

        /// Returns the time in seconds in which a frequency decays by 60 dB.
        ///
        /// - Parameter frequency: In hertz.
        public func decayTime(at frequency: Double) -> Double {
            let preset = clamped
            let (low, high) = (
                Double(preset.lowCrossover), max(Double(preset.highCrossover), Double(preset.lowCrossover))
            )
            let belowShare = 1 / (1 + (frequency / low) * (frequency / low))
            let aboveShare = 1 / (1 + (high / frequency) * (high / frequency))
            let losses =
                1 + (1 / Double(preset.lowRatio) - 1) * belowShare + (1 / Double(preset.highRatio) - 1) * aboveShare
            return Double(preset.decay) / losses
        }
    }
}

extension Reverb.Preset {
    /// A small room: close walls, soon over.
    public static let smallRoom = Self(
        name: "smallRoom", decay: 0.45, lowRatio: 0.9, highRatio: 0.6, highCrossover: 4_500, size: 2.8, preDelay: 0.001,
        early: 0.7, width: 0.8, modulation: 0.1)
    /// A medium room.
    public static let mediumRoom = Self(
        name: "mediumRoom", decay: 0.75, lowRatio: 1, highRatio: 0.6, highCrossover: 4_500, size: 4.5, preDelay: 0.003,
        early: 0.6, width: 0.9, modulation: 0.15)
    /// A large room.
    public static let largeRoom = Self(
        name: "largeRoom", decay: 1.1, lowRatio: 1, highRatio: 0.55, size: 7, preDelay: 0.006, early: 0.5,
        modulation: 0.2)
    /// A medium hall.
    public static let mediumHall = Self(name: "mediumHall")
    /// A large hall.
    public static let largeHall = Self(
        name: "largeHall", decay: 2.8, lowRatio: 1.15, highRatio: 0.45, size: 17, preDelay: 0.025, early: 0.3)
    /// A plate of steel: no walls, bright, dense at once.
    public static let plate = Self(
        name: "plate", decay: 1.9, lowRatio: 0.8, highRatio: 0.8, highCrossover: 8_000, size: 5, preDelay: 0, early: 0,
        diffusion: 0.9, modulation: 0.35, modulationRate: 0.8)
    /// A medium echo chamber: hard walls, even decay.
    public static let mediumChamber = Self(
        name: "mediumChamber", decay: 1.2, lowRatio: 1, highRatio: 0.8, highCrossover: 6_000, size: 5.5,
        preDelay: 0.004,
        early: 0.45)
    /// A large echo chamber.
    public static let largeChamber = Self(
        name: "largeChamber", decay: 1.8, lowRatio: 1, highRatio: 0.75, highCrossover: 6_000, size: 8, preDelay: 0.008,
        early: 0.4)
    /// A cathedral of stone.
    public static let cathedral = Self(
        name: "cathedral", decay: 5.5, lowRatio: 1.2, highRatio: 0.35, highCrossover: 3_500, size: 28, preDelay: 0.04,
        early: 0.2, modulation: 0.3, modulationRate: 0.3)
    /// A large room with harder walls.
    public static let largeRoom2 = Self(
        name: "largeRoom2", decay: 1.4, lowRatio: 0.9, highRatio: 0.75, highCrossover: 6_000, size: 8, preDelay: 0.01,
        early: 0.5, modulation: 0.2)
    /// A darker medium hall.
    public static let mediumHall2 = Self(
        name: "mediumHall2", decay: 2.1, lowRatio: 1.3, highRatio: 0.35, highCrossover: 3_500, size: 12,
        preDelay: 0.018,
        early: 0.3)
    /// A brighter medium hall.
    public static let mediumHall3 = Self(
        name: "mediumHall3", decay: 1.6, lowRatio: 0.9, highRatio: 0.75, highCrossover: 7_000, size: 10,
        preDelay: 0.008,
        early: 0.4)
    /// A longer large hall.
    public static let largeHall2 = Self(
        name: "largeHall2", decay: 3.6, lowRatio: 1.2, highRatio: 0.5, highCrossover: 4_500, size: 20, preDelay: 0.03,
        early: 0.25, modulation: 0.3)

    /// The thirteen presets that come with RenderStack.
    public static let all = [
        smallRoom, mediumRoom, largeRoom, mediumHall, largeHall, plate, mediumChamber, largeChamber, cathedral,
        largeRoom2,
        mediumHall2, mediumHall3, largeHall2,
    ]
}
