internal import Composition
public import RenderCore

/// One generator that is heard in several places and rendered once. Pushes the generator's buffer.
///
///     let voice = try Splitter(microphone)
///     …
///     context.run(voice)              // through the effects
///     context.run(reverb)
///     context.run(voice)              // the same samples once more, dry
///     context.mix(2)
///
/// The first place that asks has the generator rendered; the others get the same buffer again: samples, channels and
/// time. A module belongs to one renderer, so a renderer inside of another takes a splitter of its own that shares the
/// generator:
///
///     let again = Splitter(sharing: voice)        // for the render loop of the inner renderer
///
/// The slice of the outermost renderer counts, and no renderer's sample time: inner renderers have clocks of their own
/// and may cut the slice into smaller ones, and so does `subBlock`. Each place gets the frames that lie where it is.
/// The generator is asked only for frames that no place has asked for yet. If the first place has begun in the middle
/// of the slice, the frames before it are silent for all.
///
/// The generator runs in a renderer of its own, ``renderer``, at the sample rate of the renderer around it and on the
/// clock of the outermost: a player in it starts at that renderer's sample times. Its faults are reported there. Two
/// renderers that are not inside of each other cannot share it: on two threads at once, the second gets silence and a
/// fault; at different times each gets the next frames. A splitter inside a sample-rate converter would follow another
/// clock: put the converter into the splitter instead.
///
/// Slices of up to 4096 frames can be shared, or as many as the largest layout has of the renderers with one of its
/// places.
///
/// Threads: control.
public final class Splitter: Generator, SupplyPassing {
    private let source: SharedSource

    /// Makes a generator available in several places.
    ///
    /// - Parameters:
    ///   - source: The generator, which must not run elsewhere.
    ///   - slots: The largest number of buffers that it needs on its stack.
    /// - Throws: An error with the reason why it cannot be run.
    public init(_ source: some Generator, slots: Int = 16) throws(RenderLoopError) {
        self.source = try SharedSource(source, slots: slots)
    }

    /// Creates another place for the same generator, in another renderer.
    public init(sharing other: Splitter) {
        source = SharedSource(sharing: other.source)
    }

    /// Returns the latency of the generator.
    public func latency(at sampleRate: Double) -> Int { source.renderer.latency(at: sampleRate) }

    /// The renderer in which the generator runs: its events report the generator's faults.
    public var renderer: Renderer { source.renderer }

    package var innerRenderers: [Renderer] { [renderer] }

    /// `true`: it is made for several places.
    public var isRepeatable: Bool { true }

    /// Prepares the generator.
    public func prepare(_ preparation: Preparation) { source.prepare(preparation) }

    /// Pushes the generator's buffer.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) { source.push(&context) }

    /// Resets the generator, before it is rendered next.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) { source.reset(&context) }
}
