public import RenderCore
internal import Sharing

/// A sum of the sound that several places send to it: one reverb for all. Pushes the sum and begins anew.
///
///     let hall = Bus(channels: 2)
///     let drumSend = hall.send(0.2), voiceSend = hall.send(0.5)
///     …
///     context.run(drums)
///     context.run(drumSend)               // the top goes on as it is; a part of it is in the bus
///     context.run(voice)
///     context.run(voiceSend)
///     context.mix(2)
///     context.run(hall)                   // pushes the sum of the sends
///     context.run(reverb)
///     context.mix(2)
///     …
///     voiceSend.level.value = 0.8
///
/// If sound is sent after the bus was run, a second run in the same slice pushes it; without one it is lost. Nothing
/// waits for the next slice, so that slices of any length sound the same. To send a bus to itself, use a delay.
///
/// Bus and sends may be in renderers inside of one another, with slices of up to 4096 frames, or as many as one of
/// these renderers has. In a renderer on another thread a bus or a send is silent while the bus is in use, with a
/// fault.
///
/// Threads: control.
public final class Bus: Generator {
    /// Channels of the sum. Mono goes to every channel, a mono bus gets the sum of all channels, and otherwise channel
    /// 0 goes to channel 0 and so on.
    public let channels: Int
    /// The name of the bus in faults and statistics.
    public let name: String
    let sum: SharedState<Sum>
    private let room = Lock(0, .module)

    /// Creates a bus.
    ///
    /// - Parameters:
    ///   - channels: Channels of the sum, 1…64.
    ///   - name: The name in faults and statistics.
    public init(channels: Int = 2, name: String = "Bus") {
        demand((1...64).contains(channels), "Bus: \(channels) channels; it must be 1…64")
        self.channels = channels
        self.name = name
        sum = SharedState(Sum(channels: channels, frames: 0))
    }

    /// Returns a send to the bus, with a level of its own.
    ///
    /// - Parameter level: An amplitude factor, 0…16.
    public func send(_ level: Float = 1) -> BusSend { BusSend(to: self, level: level) }

    /// `true`: each run pushes what was sent since the one before.
    public var isRepeatable: Bool { true }

    /// Makes memory for a slice.
    public func prepare(_ preparation: Preparation) { makeRoom(for: preparation) }

    /// Makes memory for the slices of one more renderer. The slices of the outermost renderer count, which one further
    /// in does not know.
    func makeRoom(for preparation: Preparation) {
        room.withLock { frames in
            let wanted = max(preparation.maximumFrameCount, 4096)
            if wanted > frames {
                frames = wanted
                sum.replace(with: Sum(channels: channels, frames: wanted))
            }
        }
    }

    /// Pushes the sound that was sent.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        context.push(channels: channels)
        sum.with(&context) { sum, context in
            let outerSlice = context.outerSlice
            sum.begin(outerSlice.number)
            var top = context.top
            for channel in 0..<top.channelCount {
                var samples = top[channel]
                sum.take(channel, at: outerSlice.offset, into: &samples)
            }
        }
    }

    /// Forgets the sound that was sent.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) {
        sum.with(&context) { sum, context in sum.begin(0) }
    }
}

/// Sends a part of the sound that it hears to a ``Bus``. Reads the top, which goes on as it is.
///
/// Threads: control.
public final class BusSend: Tap {
    /// The share of the sound that is sent: an amplitude factor.
    public let level: Parameter
    /// The bus that gets the sound.
    public let bus: Bus
    private let sum: SharedState<Sum>

    /// Creates a send to a bus.
    ///
    /// - Parameters:
    ///   - bus: The bus that gets the sound.
    ///   - level: An amplitude factor, 0…16.
    public init(to bus: Bus, level: Float = 1) {
        self.bus = bus
        self.level = Parameter(level, in: 0...16)
        sum = SharedState(sharing: bus.sum)
    }

    /// `true`: each run sends the buffer that it finds.
    public var isRepeatable: Bool { true }

    /// Makes memory for a slice.
    public func prepare(_ preparation: Preparation) { bus.makeRoom(for: preparation) }

    /// The parameters by name.
    public var parameters: [ParameterReference] { [level.named("level")] }

    /// Adds the top to the bus.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        let level = level.glide(context)
        sum.with(&context) { sum, context in
            let outerSlice = context.outerSlice
            sum.begin(outerSlice.number)
            let sources = context.channelCount()
            let targets = sum.channelCount
            for channel in 0..<(sources > targets ? sources : targets) {
                let from = sources == 1 ? 0 : channel
                let to = targets == 1 ? 0 : channel
                if from < sources && to < targets {
                    sum.add(context.samples(from), level, to: to, at: outerSlice.offset)
                }
            }
        }
    }
}

/// The sound that was sent in this slice of the outermost renderer, by its place in it.
struct Sum: ~Copyable, Sendable {
    private var memory: AudioBlock
    private var outerSlice: UInt64 = 0
    /// Up to where there may be something.
    private var end = 0

    init(channels: Int, frames: Int) { memory = AudioBlock(channels: channels, frames: frames) }

    var channelCount: Int { @_noLocks @_noAllocation get { memory.channelCount } }

    /// Forgets sound that was not taken, when another outer slice begins.
    @_noLocks @_noAllocation
    mutating func begin(_ number: UInt64) {
        if outerSlice == number { return }
        outerSlice = number
        memory.silence(from: 0, frames: end)
        end = 0
    }

    @_noLocks @_noAllocation
    mutating func add(_ source: borrowing Samples, _ level: Glide, to channel: Int, at offset: Int) {
        guard offset <= memory.frameCount else { return }
        var target = memory[channel, from: offset, frames: source.count]
        let count = target.count
        if level.isFlat {
            let gain = level.end
            for i in 0..<count { target[i] += source[i] * gain }
        } else {
            for i in 0..<count { target[i] += source[i] * level[i] }
        }
        if offset &+ count > end { end = offset &+ count }
    }

    @_noLocks @_noAllocation
    mutating func take(_ channel: Int, at offset: Int, into samples: inout MutableSpan<Float>) {
        guard offset <= memory.frameCount else { return }
        var source = memory[channel, from: offset, frames: samples.count]
        for i in 0..<source.count {
            samples[i] = source[i]
            source[i] = 0
        }
    }
}
