public import RenderCore
public import Supply

/// A renderer inside a renderer that works on the buffers that the outer loop has on its stack: a whole render loop as
/// an effect.
///
///     let dry = AudioInput(channels: 2, name: "dry")
///     let chain = try Renderer { context in
///         context.run(dry)                // pushes the top of the outer loop
///         context.run(filter)
///         context.run(echo)
///         context.output()
///     }
///     let insert = Insert(chain, input: dry)
///     …
///     context.run(drums)
///     context.run(insert)                 // in the place of the drums: what `chain` makes of them
///
/// The inner renderer has its own stack, sample clock, messages and events, and the outer one's sample rate. It is
/// called once per slice of the outer one, and finds the same frames in its input: exact, and not a frame late. The
/// buffer that it leaves has as many channels as its output. The input has the channels that it declares, by the rule
/// of mixing (mono goes to every channel, into mono everything sums, else channel goes to channel). The renderer can be
/// exchanged while it runs.
///
/// The inner renderer has the inputs of the output, its MIDI and its transport too.
///
/// With several inputs it takes as many buffers from the stack: a compressor and its side-chain, say.
///
/// Threads: control.
public final class Insert: Module, SupplyPassing {
    /// Takes a buffer for each input and leaves one.
    public let stackEffect: StackEffect
    private let inner: ExchangeableRenderer
    private let inputs: [AudioInput]
    private let places: InputPlaces

    /// Creates an effect that renders with another renderer.
    ///
    /// - Parameters:
    ///   - renderer: The renderer that makes the sound.
    ///   - input: The input by which its closure gets the buffer on top. It belongs to this insert alone.
    public convenience init(_ renderer: Renderer, input: AudioInput) { self.init(renderer, inputs: [input]) }

    /// Creates a module that takes several buffers.
    ///
    /// - Parameters:
    ///   - renderer: The renderer that makes the sound.
    ///   - inputs: 1…16, each once, in the order in which the buffers were pushed: the last shows the top.
    /// - Precondition: So many inputs, each once.
    public init(_ renderer: Renderer, inputs: [AudioInput]) {
        demand((1...16).contains(inputs.count), "Insert: \(inputs.count) inputs; it must have 1…16")
        demand(
            Set(inputs.map(ObjectIdentifier.init)).count == inputs.count,
            "Insert: an input is there twice; each shows one buffer")
        stackEffect = StackEffect(pops: inputs.count, pushes: 1)
        inner = ExchangeableRenderer(renderer)
        self.inputs = inputs
        places = InputPlaces(inputs)
    }

    /// The inner renderer. A new one is heard from the next slice on; the inputs stay as they are, and belong into its
    /// render loop.
    public var renderer: Renderer {
        get { inner.renderer }
        set { inner.renderer = newValue }
    }

    package var innerRenderers: [Renderer] { [renderer] }
    package var filledInputs: [any Module] { inputs }

    /// Returns the latency of the longest way from an input to the output of the inner renderer.
    public func latency(at sampleRate: Double) -> Int {
        let renderer = renderer
        return inputs.reduce(0) { max($0, renderer.latencies(from: $1, at: sampleRate)?.upperBound ?? 0) }
    }

    /// Gives the inner renderer the sample rate of the outer one.
    public func prepare(_ preparation: Preparation) {
        inner.prepare(preparation)
        let known = renderer.modules
        for input in inputs where !known.contains(where: { $0 === input }) {
            renderer.reporter.tell(
                .notice(
                    "The render loop of an Insert does not run its input \(input.name), and so does not hear it"
                ))
        }
    }

    /// Renders a slice of the inner renderer with the buffers on the stack.
    ///
    /// Threads: render.
    public func process(_ context: inout RenderContext) {
        let resets = inner.takeReset()
        var isDone = false
        inner.with(&context) { inner, context in
            isDone = unsafe context.insert(inner.state, places, resets: resets)
        }
        if resets && !isDone { inner.reset() }
    }

    /// Resets the modules of the inner renderer, before its next slice. Its clock goes on.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) { inner.reset() }
}

/// The inputs of an insert as the render thread sees them.
@safe struct InputPlaces: ~Copyable, @unchecked Sendable {
    // Unchecked because the table does not change.
    fileprivate let inputs: UnsafeMutableBufferPointer<(identity: UnsafeRawPointer, channelCount: Int)>

    /// - Parameter inputs: Kept alive by the insert.
    init(_ inputs: [AudioInput]) {
        unsafe self.inputs = .allocate(capacity: inputs.count)
        for (index, input) in inputs.enumerated() {
            let identity = unsafe UnsafeRawPointer(Unmanaged.passUnretained(input).toOpaque())
            unsafe self.inputs.initializeElement(at: index, to: (identity, input.channelCount))
        }
    }

    deinit { unsafe inputs.deallocate() }

    /// Channels of all inputs together.
    fileprivate var channelCount: Int { unsafe inputs.reduce(0) { unsafe $0 + $1.channelCount } }
}

extension RenderContext {
    /// Replaces the buffers on top by the output of another renderer that gets them. `false`: nothing was rendered.
    @unsafe fileprivate mutating func insert(
        _ state: Unmanaged<CycleState>, _ places: borrowing InputPlaces, resets: Bool
    ) -> Bool {
        var isDone = false
        let count = unsafe places.inputs.count
        let before = depth
        unsafe withUnsafeTemporaryAllocation(of: CycleSupply.Sound.self, capacity: count) { sounds in
            unsafe withUnsafeTemporaryAllocation(
                of: UnsafeMutablePointer<Float>.self, capacity: places.channelCount
            ) { channels in
                // Frames count as in the supply around: that of the slice's first sample is `start`.
                let (around, start) = unsafe (core.pointee.supply, cycleOffset)
                var supply = unsafe around?.pointee ?? CycleSupply()
                unsafe supply.around = around
                supply.frameCount = start &+ frameCount
                unsafe (supply.sounds, supply.soundCount) = (sounds.baseAddress, 0)
                var next = 0
                for number in 0..<count {
                    let input = unsafe places.inputs[number]
                    // Buffers above the inputs were pushed in this function.
                    let index = depth &- before &+ count &- 1 &- number
                    guard let entry = unsafe suitableEntry(at: index, channels: input.channelCount) else { continue }
                    let width = unsafe entry.pointee.channelCount
                    let shown = unsafe width == 1 ? input.channelCount : width
                    let table = unsafe channels.baseAddress! + next
                    for channel in 0..<shown {
                        unsafe (table + channel).initialize(
                            to: entry.pointee.channels[width == 1 ? 0 : channel] + (offset &- start))
                    }
                    next += shown
                    unsafe (sounds.baseAddress! + supply.soundCount).initialize(
                        to: CycleSupply.Sound(
                            identity: input.identity, channels: UnsafePointer(table), channelCount: shown,
                            captureTime: entry.pointee.times[1] &- RenderTime.nearest(Double(start) * 1e9 / sampleRate))
                    )
                    supply.soundCount += 1
                }
                unsafe withUnsafeMutablePointer(to: &supply) { supply in
                    isDone = unsafe pushRendered(
                        by: state, supply: PassedSupply(supply: supply, start: start), resets: resets)
                }
            }
        }
        if place != 0, count == 1, unsafe moveIntoPart(before &- 1) { return isDone }
        // Below the result lie the inputs, and copies of them.
        while depth > before &- count &+ 1 { remove(at: 1) }
        return isDone
    }

    /// Copies the top into a buffer that goes on around this part of a slice, and drops the buffers above that.
    /// `false`: it is no such buffer.
    @unsafe private mutating func moveIntoPart(_ position: Int) -> Bool {
        guard let result = unsafe realEntry(0), let around = unsafe realEntry(depth &- 1 &- position),
            unsafe around.pointee.place != place && around.pointee.channelCount == result.pointee.channelCount
        else { return false }
        if unsafe around.pointee.kind == StackEntry.readOnly { unsafe CycleMemory.makeOwn(around, in: core) }
        for channel in unsafe 0..<result.pointee.channelCount {
            unsafe (around.pointee.channels[channel] + offset).copySamples(
                from: result.pointee.channels[channel] + offset, count: frameCount)
        }
        depth = position &+ 1
        return true
    }

    /// Returns a buffer that can be shown as one of that many channels, because it is mono or has as many. For any
    /// other it pushes a copy that can.
    @unsafe private mutating func suitableEntry(at index: Int, channels: Int) -> UnsafeMutablePointer<StackEntry>? {
        guard let entry = unsafe realEntry(index) else { return nil }
        if unsafe entry.pointee.channelCount == 1 || entry.pointee.channelCount == channels { return unsafe entry }
        let (before, times) = unsafe (depth, entry.pointee.times)
        pushSilence(channels: channels)
        guard depth > before, let copy = unsafe realEntry(0) else { return nil }
        addEntry(index &+ 1, to: 0, gain: 1)
        unsafe copy.pointee.times = times
        return unsafe copy
    }
}
