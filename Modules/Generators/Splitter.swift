public import RenderCore

/// One generator heard in several places, rendered once. Pushes what it pushes.
///
///     let voice = try Splitter(microphone)
///     …
///     context.run(voice)              // through the effects
///     context.run(reverb)
///     context.run(voice)              // the same samples once more, dry
///     context.mix(2)
///
/// Whoever asks first has the generator rendered; the others get the same buffer again: samples, channels and time. A
/// module belongs to one renderer, so a renderer inside of another takes one of its own that shares the generator:
///
///     let again = Splitter(sharing: voice)        // for the closure of the inner renderer
///
/// What counts is the slice of the outermost renderer, not anybody's sample time: inner renderers have clocks of their own
/// and may cut the slice into smaller ones, and so does `subBlock`. Each place gets the frames that lie where it is; the
/// generator is asked only for those that nobody has asked for. If the first to ask has begun in the middle of the
/// slice, what lies before is silent for all.
///
/// The generator runs in a renderer of its own, ``renderer``, at the sample rate of whoever it is in and on the clock of
/// the outermost: a player in it starts at that renderer's sample times. Its faults are told there. Two renderers that
/// are not inside of each other cannot share it: on two threads at once, the second gets silence, and that is a fault; at
/// different times each gets the next frames. Behind a sample-rate converter it would be asked by another clock: put the
/// converter into the splitter instead.
///
/// Slices of up to 4096 frames can be shared, or as many as the largest layout has that one of its places is in.
public final class Splitter: Generator {
    private let source: SharedSource

    /// Makes a generator available in several places.
    ///
    /// - Parameters:
    ///   - source: the generator. Nobody else runs it.
    ///   - slots: buffers that it needs at most on its stack.
    /// - Throws: why it cannot be run.
    public init(_ source: some Generator, slots: Int = 16) throws(RenderLoopError) {
        self.source = try SharedSource(source, slots: slots)
        latency = source.latency
    }

    /// The same generator in another renderer.
    public init(sharing other: Splitter) {
        source = SharedSource(sharing: other.source)
        latency = other.latency
    }

    /// That of the generator.
    public let latency: Int

    /// The renderer that the generator runs in: its events tell of the generator's faults.
    public var renderer: Renderer { source.renderer }

    /// Prepares the generator.
    public func prepare(_ preparation: Preparation) { source.prepare(preparation) }

    /// Pushes what the generator says now.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) { source.push(&context) }

    /// Resets the generator, before it is rendered next.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) { source.reset(&context) }
}
