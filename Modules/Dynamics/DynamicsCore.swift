internal import RenderCore

/// The part that a compressor, an expander and a gate have in common: how they hear their key, the processor that does
/// the work, and the reductions for control code.
struct DynamicsCore: ~Copyable, Sendable {
    let key: KeySignal
    let detector: LevelDetector
    let isLinked: Bool
    /// In seconds.
    let lookAhead: Double

    private let processor: RenderState<DynamicsProcessor>
    private let reduction = GainReduction()

    /// - Precondition: `lookAhead` is 0…0.1.
    init(_ module: String, detector: LevelDetector, key: KeySignal, isLinked: Bool, lookAhead: Double) {
        DynamicsProcessor.check(lookAhead: lookAhead, of: module)
        self.key = key
        self.detector = detector
        self.isLinked = isLinked
        self.lookAhead = lookAhead
        processor = RenderState(
            DynamicsProcessor(
                channels: 1, frames: 0, sampleRate: 48_000, detector: detector, key: key, isLinked: isLinked,
                lookAhead: 0))
    }

    /// Takes the top, and with the key below it that too; leaves as many.
    var stackEffect: StackEffect { key.isBelow ? StackEffect(pops: 2, pushes: 2) : .edits }

    /// The largest reduction of all channels at the moment, in dB.
    var gainReduction: Float { reduction.largest }

    /// The reductions at the moment, in dB; one for all channels where they are linked.
    var gainReductions: [Float] { reduction.all }

    /// Returns the look-ahead in frames.
    func latency(at sampleRate: Double) -> Int { DynamicsProcessor.frames(lookAhead: lookAhead, sampleRate) }

    /// Makes the memory.
    func prepare(_ preparation: Preparation) {
        processor.replace(
            with: DynamicsProcessor(
                channels: preparation.maximumChannelCount, frames: preparation.maximumFrameCount,
                sampleRate: preparation.sampleRate, detector: detector, key: key, isLinked: isLinked,
                lookAhead: lookAhead))
    }

    /// Changes the top by settings, some of which may move, and shows the reductions to control code.
    @_noLocks @_noAllocation
    func process(
        _ context: inout RenderContext, _ settings: GainSettings, keyHighPass: borrowing Parameter,
        keyLowPass: borrowing Parameter
    ) {
        guard processor.belongs(to: context) else { return }
        let (highPass, lowPass) = filters(context, keyHighPass, keyLowPass)
        var count = 0
        var first: Float = 0
        processor.with(&context) { processor, context in
            processor.take(settings)
            processor.process(&context, highPass: highPass, lowPass: lowPass)
            count = processor.laneCount
            first = processor.reduction(0)
        }
        show(first, count, &context)
    }

    /// Changes the top by settings that rest, those of a compressor or an expander. The hold is in seconds.
    @_noLocks @_noAllocation
    func process(
        _ context: inout RenderContext, _ settings: RestingSettings, isCompressing: Bool, hold: Float,
        keyHighPass: borrowing Parameter, keyLowPass: borrowing Parameter
    ) {
        guard processor.belongs(to: context) else { return }
        let (highPass, lowPass) = filters(context, keyHighPass, keyLowPass)
        var count = 0
        var first: Float = 0
        processor.with(&context) { processor, context in
            processor.take(settings, isCompressing: isCompressing, hold: hold)
            processor.process(&context, highPass: highPass, lowPass: lowPass)
            count = processor.laneCount
            first = processor.reduction(0)
        }
        show(first, count, &context)
    }

    @_noLocks @_noAllocation
    private func filters(
        _ context: borrowing RenderContext, _ keyHighPass: borrowing Parameter, _ keyLowPass: borrowing Parameter
    ) -> (highPass: Glide, lowPass: Glide) {
        key.isFiltered ? (keyHighPass.glide(context), keyLowPass.glide(context)) : (Glide(0), Glide(0))
    }

    /// Shows the reductions to control code.
    @_noLocks @_noAllocation
    private func show(_ first: Float, _ count: Int, _ context: inout RenderContext) {
        reduction.show(first, at: 0)
        var lane = 1
        while lane < count {
            var value: Float = 0
            processor.with(&context) { processor, _ in value = processor.reduction(lane) }
            reduction.show(value, at: lane)
            lane &+= 1
        }
        reduction.finish(count, context)
    }

    /// Forgets the sound before.
    @_noLocks @_noAllocation
    func reset(_ context: inout RenderContext) {
        guard processor.belongs(to: context) else { return }
        processor.with(&context) { processor, _ in processor.reset() }
        reduction.forget()
    }
}
