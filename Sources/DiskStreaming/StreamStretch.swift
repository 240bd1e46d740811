internal import AudioFiles
internal import RenderCore

/// The way in which a stream changes the tempo and the pitch of its file on the way from the disk.
package struct StreamStretch: Sendable, Hashable {
    /// Seconds of the file in a second of sound, ¼…4.
    package var rate: Double { didSet { rate = rate.isNaN ? oldValue : max(0.25, min(rate, 4)) } }
    /// The pitch in cents, -2,400…2,400.
    package var cents: Double { didSet { cents = cents.isNaN ? oldValue : max(-2_400, min(cents, 2_400)) } }
    /// Indicates whether formants stay where they are while the pitch changes.
    package var keepsFormants = false

    /// Creates the change that changes nothing.
    package init() {
        rate = 1
        cents = 0
    }

    /// Indicates whether nothing is changed.
    package var isNone: Bool { rate == 1 && cents == 0 }

    /// The lowest sample rate at which anything is changed.
    package static var lowestSampleRate: Double { 1_000 }
    /// The run-up that the sound needs until it is what it would have been from further back, in seconds: a block and a
    /// quarter.
    package var runUp: Double { 1.25 * TimeStretch.block(cents: cents) }
}

/// The engine of a stream that is stretched, and the frames on their way into it.
final class StreamStretcher {
    private var engine: TimeStretch
    private let settings: TimeStretch.Settings
    /// Frames of the stream that come out before the one that is wanted.
    private var surplus: Int64 = 0
    private var input: AudioBlock
    private var first = 0
    private var count = 0
    private var isOver = false
    /// Frames at the renderer's rate, before they are stretched, to a frame of the stream.
    private let ratio: Double
    private let runUp: Int64

    init(_ stretch: StreamStretch, ratio: Double, channels: Int, sampleRate: Double) {
        engine = TimeStretch(
            sampleRate: sampleRate, channels: channels, block: TimeStretch.block(cents: stretch.cents))
        settings = TimeStretch.Settings(rate: ratio, cents: stretch.cents, keepsFormants: stretch.keepsFormants)
        input = AudioBlock(channels: channels, frames: 2_048)
        self.ratio = ratio
        runUp = Int64(stretch.runUp * sampleRate)
    }

    /// Makes frames of the stream.
    ///
    /// - Parameter source: The closure that brings the next frames at the renderer's rate: fewer than it is asked for at
    ///   the end, -1 if the file ended too early.
    /// - Returns: The number of frames: fewer than `wanted` if the file ended too early.
    func produce(
        _ wanted: Int, into block: inout AudioBlock,
        from source: (Int, inout AudioBlock) throws(AudioFileError) -> Int
    ) throws(AudioFileError) -> Int {
        var made = 0
        while made < wanted {
            var needed = engine.framesNeeded(settings)
            while needed > 0 {
                if count == 0 && !isOver {
                    first = 0
                    let got = try source(input.frameCount, &input)
                    if got < 0 { return made }
                    count = got
                    isOver = got < input.frameCount
                }
                let pushed =
                    count > 0 ? engine.push(input, from: first, frames: min(count, needed)) : engine.pushSilence(needed)
                if pushed == 0 { return made }
                if count > 0 {
                    first += pushed
                    count -= pushed
                }
                needed -= pushed
            }
            let room = surplus > 0 ? min(Int64(wanted - made), surplus) : Int64(wanted - made)
            let pulled = engine.pull(Int(room), settings, into: &block, from: made)
            if surplus > 0 { surplus -= Int64(pulled) } else { made += pulled }
        }
        return made
    }

    /// Begins anew some time before a frame of the stream.
    ///
    /// - Returns: The frame, at the renderer's rate and before it is stretched, that is to be brought next.
    func jump(to frame: Int64) -> Int64 {
        let start = max(0, frame - runUp)
        engine.reset()
        surplus = frame - start
        count = 0
        isOver = false
        return Int64((Double(start) * ratio).rounded())
    }
}
