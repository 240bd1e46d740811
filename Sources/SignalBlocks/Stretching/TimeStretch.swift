/// Changes the tempo and the pitch of a sound, each by itself: a phase vocoder, for files and for the render thread.
///
///     var stretch = TimeStretch(sampleRate: 48_000, channels: 2)      // allocates: in an `init`
///     let settings = TimeStretch.Settings(rate: 0.8, cents: 300)
///     while done < frames {
///         let needed = stretch.framesNeeded(settings, from: done)
///         played += stretch.push(source, from: played, frames: needed)      // or pushSilence(needed) behind the end
///         done += stretch.pull(frames - done, settings, into: &block, from: done)
///     }
///
/// It is a *pull* design, as ``Resampler``: ask how many input frames the next output frames need, push those or more,
/// then pull. A pull ends early where the input does not suffice. All memory is made in `init`; every other call is safe
/// on any one thread at a time, the render thread too. The samples do not depend on how the blocks are cut, bit for bit.
///
/// **Time.** After `reset()`, output frame *n* is the input at *n* × rate, from the first frame on: there is no latency,
/// but the first frames need ``lookAhead(rate:cents:)`` more input than those that follow (right for a file). After
/// `reset(inputDelay: d)` nothing is needed before its time, and output frame *n* is the input at
/// (*n* - ``outputLatency``) × rate - *d* (right for live sound). A change of the rate or of the pitch counts for the next
/// ``chunk`` of output frames, but is heard about half a block (60 ms) later. ``inputPosition`` is the place in the input.
///
/// **Rate** 1/32…32, **pitch** -2,400…2,400 cents; both may change at each frame. At a rate of 1 and a pitch of 0 the sound is
/// the delayed input, as long as nothing else has been set since the reset. Sines are pure at every rate
/// (124 dB and more). Between 0.5 and 2 all else is kept too; below 0.25 attacks smear, and above 4 what lies between two blocks is
/// skipped: a share of 4 / rate is heard. A chunk needs up to 2,048 input frames at a rate of 32.
///
/// **How.** The pitch is a ``Resampler``'s, and the tempo is then made right: blocks of about 120 ms overlap four times,
/// and the bins of each are turned so that it continues the block before. From the loudest bin to the softest, a bin turns
/// as it goes on along time, or as its louder neighbour does, with the distance from the block's middle stretched (Průša
/// and Holighaus 2017, "Phase vocoder done right"): the first keeps tones, the second clicks. At an attack, all that it
/// makes louder is moved as one to the attack's place, so that it keeps its shape. All channels turn alike. Groups of bins that
/// do not go on along time, as those of noise, get the gain that makes up for what their overlapping blocks lose.
///
/// Threads: any.
public struct TimeStretch: ~Copyable, Sendable {
    /// The number of channels.
    public let channelCount: Int
    /// The frames of a block, of which four overlap.
    public let blockFrames: Int
    /// The output frames for which the settings are read at once, and input is needed at once.
    public static var chunk: Int { @_noLocks @_noAllocation get { 64 } }
    /// The output frames by which the sound is late after a reset with an input delay.
    public var outputLatency: Int { @_noLocks @_noAllocation get { blockFrames / 2 &+ (spreads ? hop : 0) } }
    /// Indicates whether the work on a block is spread over the frames of the next hop (a quarter of a block): so it costs
    /// about the same in each cycle, and the sound is a hop later.
    public let spreads: Bool

    private let hop: Int
    private var resampler: Resampler
    private var line: StretchLine
    /// The place in the line at which ``inputPosition`` was last, to search from.
    private var cursor = 0
    private var pushed = 0
    /// The input frame at which the chunk begins, counted from the first that was pushed.
    private var position = 0.0
    private var isStarted = false
    private var isAligned = true
    /// The input frames before that of the first output frame, if the two are aligned.
    private var history = 0.0
    /// Output frames that are yet to be thrown away, and frames of the chunk that have been given out.
    private var discard = 0
    private var given = TimeStretch.chunk
    private var chunkOfHop = 0
    private var sum: AudioBlock
    private var sumStart = 0
    private var spectra: StretchSpectra

    /// Allocates.
    ///
    /// - Parameters:
    ///   - sampleRate: 1,000…1,000,000 frames per second; a rate outside becomes the nearest one, with a notice on standard
    ///     error.
    ///   - channels: 1…64.
    ///   - block: The length of a block in seconds, 0.01…0.5: long ones are better for tones, short ones for attacks.
    ///   - spreads: `true` for the render thread: see ``spreads``.
    /// - Precondition: The other numbers are in range.
    ///
    /// Threads: control.
    public init(sampleRate: Double, channels: Int, block: Double = 0.12, spreads: Bool = false) {
        let sampleRate = nearestSampleRate(to: sampleRate, from: 1_000, for: "TimeStretch")
        demand(channels >= 1 && channels <= 64, "TimeStretch: \(channels) channels; there must be 1…64")
        demand(block >= 0.01 && block <= 0.5, "TimeStretch: a block of \(block) s; it must be 0.01…0.5")
        channelCount = channels
        self.spreads = spreads
        blockFrames = TimeStretch.blockFrames(for: sampleRate * block)
        hop = blockFrames / 4
        resampler = Resampler(channels: channels, steps: 0.25...4, room: TimeStretch.room(blockFrames))
        // A chunk needs up to 128 frames of the line for each of its own: at the highest rate and the lowest pitch.
        line = StretchLine(channels: channels, length: blockFrames + hop + 130 * TimeStretch.chunk)
        sum = AudioBlock(channels: channels, frames: blockFrames)
        spectra = StretchSpectra(
            channels: channels, size: blockFrames, width: max(20, Int(20 * block / 0.12)),
            hertzPerBin: sampleRate / Double(blockFrames))
        reset()
    }

    /// Returns the input frames that may wait.
    private static func room(_ blockFrames: Int) -> Int { 2 * blockFrames + 4_096 }

    /// Returns the length that has a transform and four hops of whole chunks, and is the nearest.
    private static func blockFrames(for frames: Double) -> Int {
        var best = 256
        for factor in [1, 3, 5, 15] {
            var size = 256 * factor
            while size <= 1 << 19 {
                if abs(Double(size) - frames) < abs(Double(best) - frames) { best = size }
                size *= 2
            }
        }
        return best
    }

    /// Returns the length of a block in seconds that is best where the pitch is known from the start and the latency does not
    /// matter: 0.12, and up to 0.24 for low pitches, which would else tell close notes apart less well.
    ///
    /// - Parameter cents: The pitch, which need not be in its range.
    ///
    /// Threads: control.
    public static func block(cents: Double) -> Double {
        let longer = cents < 0 ? RenderMath.exp2(-cents / 600) : 1
        return longer < 2 ? 0.12 * longer : 0.24
    }

    /// Returns the largest number of input frames beyond *n* × rate that output frame *n* needs.
    ///
    /// Threads: control.
    public func lookAhead(rate: Double, cents: Double) -> Int {
        let settings = Settings(rate: rate, cents: cents)
        let (step, rate) = (settings.step(0), settings.rate(0))
        let blocks = Double(blockFrames / 2 + 4) * step + Double(blockFrames / 2) * rate
        return Int(blocks) + resampler.lookAhead + 2 * Int(Double(TimeStretch.chunk) * rate) + 8
    }

    /// Returns the smallest delay for ``reset(inputDelay:)`` with which no frame is needed before its time at this pitch and
    /// lower ones, at a rate of 1.
    @_noLocks @_noAllocation
    public func inputDelay(cents: Double = 0) -> Int {
        Int(Double(blockFrames / 2 &+ 4) * Settings(cents: cents).step(0)) &+ resampler.lookAhead &+ TimeStretch.chunk
    }

    /// The frames by which it asks later for a frame than its delay allows.
    package static var margin: Int { chunk + 3 }

    /// Returns the frames by which a sound is late after a reset with the ``inputDelay(cents:)`` of a pitch, at a rate of 1.
    ///
    /// Threads: control.
    public static func latency(
        sampleRate: Double, block: Double = 0.12, spreads: Bool = true, cents: Double = 0
    ) -> Int {
        let frames = blockFrames(for: sampleRate * block)
        return frames / 2 + (spreads ? frames / 4 : 0)
            + Int(Double(frames / 2 + 4) * Settings(cents: cents).step(0)) + Resampler.lookAhead(for: 0.25...4) + chunk
    }

    /// The place in the input of the output frame that is ``outputLatency`` behind the next chunk of frames.
    public var inputPosition: Double { @_noLocks @_noAllocation get { position } }

    /// The input frames from ``inputPosition`` to the next frame that is pushed.
    public var lead: Double { @_noLocks @_noAllocation get { Double(pushed) - position } }

    /// Forgets everything. See ``TimeStretch`` for what the next output frames are.
    ///
    /// - Parameter inputDelay: The silent input frames before the first one that is pushed, up to 2^30, or `nil` for an
    ///   output whose first frame is the first input frame.
    @_noLocks @_noAllocation
    public mutating func reset(inputDelay: Int? = nil) {
        resampler.reset()
        line.reset()
        sum.silence()
        spectra.reset()
        (cursor, pushed, sumStart, chunkOfHop) = (0, 0, blockFrames &- hop, 0)
        given = TimeStretch.chunk
        isStarted = false
        if let inputDelay {
            isAligned = false
            discard = 0
            position = -Double(min(max(inputDelay, 0), 1 << 30))
        } else {
            isAligned = true
            // Half a block that is late, and half a block in which the first sound is not whole yet.
            discard = blockFrames &+ (spreads ? hop : 0)
            position = 0
        }
        history = 0
    }

    /// Forgets everything, and takes what is pushed next for sound before the first output frame. So a slow sound that is entered in
    /// its middle is at once what it would have been from further back.
    ///
    /// - Parameter history: The input frames before the one that is the first output frame: as many as ``history(rate:cents:)`` says, or
    ///   fewer at the beginning of a sound.
    package mutating func reset(history frames: Int) {
        reset()
        history = Double(frames)
    }

    /// Returns the input frames before an output frame that its first blocks need, or as many as there is room for: fewer above +1,000
    /// cents.
    package func history(rate: Double, cents: Double) -> Int {
        let settings = Settings(rate: rate, cents: cents)
        let blocks = Double(blockFrames / 2 + hop + 4) * settings.step(0) + Double(blockFrames / 2) * settings.rate(0)
        // The first block needs all of it at once, and what is behind its middle.
        let behind = Int(Double(blockFrames / 2 + 4) * settings.step(0)) + 2 * resampler.lookAhead + TimeStretch.chunk
        return max(0, min(Int(blocks) + resampler.lookAhead, TimeStretch.room(blockFrames) - behind))
    }
}

// MARK: - In

extension TimeStretch {
    /// Returns the number of input frames that the next chunk needs and that have not been pushed; 0 where frames of a chunk
    /// wait to be pulled.
    ///
    /// - Parameters:
    ///   - settings: Those of the pull that follows.
    ///   - first: At which frame of the slice, for settings that glide.
    @_noLocks @_noAllocation
    public func framesNeeded(_ settings: Settings, from first: Int = 0) -> Int {
        if given < TimeStretch.chunk { return 0 }
        let step = settings.step(first)
        let wanted = target(step, settings.rate(first)) &- line.filled
        return wanted > 0 ? resampler.framesNeeded(for: wanted, at: Resampler.Step(step)) : 0
    }

    /// The number of frames that can be pushed now.
    public var room: Int { @_noLocks @_noAllocation get { resampler.room } }

    /// Takes in frames, as many as there are and have room: more than are needed wait.
    ///
    /// - Parameters:
    ///   - block: The block that they come from. Mono goes to every channel, otherwise channels go by their number.
    ///   - first: The first of them.
    ///   - frames: The number of frames; by default up to the end of the block.
    /// - Returns: The number of frames that were taken.
    @_noLocks @_noAllocation
    @discardableResult
    public mutating func push(_ block: borrowing AudioBlock, from first: Int = 0, frames: Int = .max) -> Int {
        let count = resampler.push(block, from: first, frames: frames)
        pushed &+= count
        return count
    }

    /// Takes in silence, as behind the end of a file.
    @_noLocks @_noAllocation
    @discardableResult
    public mutating func pushSilence(_ frames: Int) -> Int {
        let count = resampler.pushSilence(frames)
        pushed &+= count
        return count
    }

    /// Calls `body` with the addresses at which the next frames are to be written.
    @_noLocks @_noAllocation
    @unsafe package mutating func place(
        for frames: Int
    ) -> (channels: UnsafeMutablePointer<UnsafeMutablePointer<Float>>, offset: Int, frames: Int) {
        unsafe resampler.place(for: frames)
    }

    /// Frames have been written there.
    @_noLocks @_noAllocation
    package mutating func advance(_ frames: Int) {
        resampler.advance(frames)
        pushed &+= frames
    }

    /// Returns where in the line a place in the input is, and the frame of the line before it.
    @_noLocks @_noAllocation
    private func find(_ place: Double, _ step: Double) -> (at: Double, cursor: Int) {
        var frame = cursor
        var here = line.filled == 0 ? 0 : line.place(frame)
        if line.filled == 0 || place < here { return (Double(frame) + (place - here) / step, frame) }
        while frame &+ 1 < line.filled {
            let next = line.place(frame &+ 1)
            if next > place { return (Double(frame) + (place - here) / (next - here), frame) }
            (frame, here) = (frame &+ 1, next)
        }
        return (Double(frame) + (place - here) / step, frame)
    }

    /// Returns how many frames the line has to have for the next chunk.
    @_noLocks @_noAllocation
    private func target(_ step: Double, _ rate: Double) -> Int {
        // Before the first sound the line is silent.
        let place = isStarted || !isAligned ? position : history - Double(blockFrames / 2) * rate
        let at = find(place, step).at
        let last = Double(blockFrames / 2 &+ 2) + at
        return last > 0 ? Int(last) : 0
    }
}

// MARK: - Out

extension TimeStretch {
    /// Gives out frames, as many as the input suffices for.
    ///
    /// - Parameters:
    ///   - frames: The number of frames that are wanted.
    ///   - settings: The rate, the pitch and whether formants stay.
    ///   - block: The block to fill; mono goes to every channel, otherwise channels go by their number.
    ///   - first: The first of them there.
    ///   - frame: The frame of the slice for settings that glide; by default `first`.
    /// - Returns: The number of frames that were written.
    @_noLocks @_noAllocation
    @discardableResult
    public mutating func pull(
        _ frames: Int, _ settings: Settings, into block: inout AudioBlock, from first: Int = 0, at frame: Int? = nil
    ) -> Int {
        guard first >= 0 && first <= block.frameCount else { return 0 }
        let room = block.frameCount &- first
        return unsafe pull(
            frames < room ? frames : room, settings, from: frame ?? first, into: block.pointers, block.channelCount,
            first)
    }

    /// Gives out frames into a buffer of the stack.
    @_noLocks @_noAllocation
    package mutating func pull(
        _ frames: Int, _ settings: Settings, from first: Int,
        into outputs: UnsafeMutablePointer<UnsafeMutablePointer<Float>>, _ outputCount: Int, _ offset: Int
    ) -> Int {
        var done = 0
        while done < frames {
            if given == TimeStretch.chunk && !begin(settings, first &+ done) { return done }
            let left = TimeStretch.chunk &- given
            if discard > 0 {
                let count = discard < left ? discard : left
                discard &-= count
                given &+= count
                continue
            }
            let count = left < frames &- done ? left : frames &- done
            let start = sumStart &+ (chunkOfHop &- 1) &* TimeStretch.chunk &+ given
            var channel = 0
            while channel < outputCount {
                let output = unsafe outputs[channel] + (offset &+ done)
                if channel < channelCount || channelCount == 1 {
                    let source = channel < channelCount ? channel : 0
                    unsafe output.copySamples(from: sum.pointers[source] + start, count: count)
                } else {
                    unsafe output.clearSamples(count: count)
                }
                channel &+= 1
            }
            given &+= count
            done &+= count
        }
        return done
    }

    /// Makes the next chunk. Returns `false` if the input does not suffice.
    @_noLocks @_noAllocation
    private mutating func begin(_ settings: Settings, _ frame: Int) -> Bool {
        let (step, rate) = (settings.step(frame), settings.rate(frame))
        if !fill(target(step, rate), step) { return false }
        if !isStarted {
            isStarted = true
            if isAligned { position = history - Double(blockFrames / 2) * rate }
        }
        let found = find(position, step)
        cursor = found.cursor
        if chunkOfHop == hop / TimeStretch.chunk { chunkOfHop = 0 }
        if chunkOfHop == 0 {
            // The segment that has been given out becomes the last of the block.
            sum.silence(from: sumStart, frames: hop)
            sumStart = sumStart &+ hop == blockFrames ? 0 : sumStart &+ hop
            let lowest = found.at < -1e9 ? -1e9 : found.at
            if spreads { spectra.finish(into: &sum, at: sumStart, line) }
            let ratio = settings.keepsFormants ? Float(step) : 1
            spectra.begin(line, around: lowest, pace: rate / step, step: ratio)
            if !spreads { spectra.finish(into: &sum, at: sumStart, line) }
        }
        chunkOfHop &+= 1
        // The first chunk of a hop has the windows, and no more to do where there are others.
        let chunks = hop / TimeStretch.chunk
        if spreads {
            let (part, parts) = chunks > 1 ? (chunkOfHop &- 1, chunks &- 1) : (1, 1)
            spectra.work(part, of: parts, line)
        }
        given = 0
        position += rate * Double(TimeStretch.chunk)
        return true
    }

    /// Fills the line up to a frame. Returns `false` if the input does not suffice.
    @_noLocks @_noAllocation
    private mutating func fill(_ target: Int, _ step: Double) -> Bool {
        if line.filled >= target { return true }
        // The frames that a block may still need stay. At first there are none before the cursor.
        let first = cursor &- blockFrames / 2 &- hop &- 2 &- TimeStretch.chunk
        let room = (first > 0 ? first : 0) &+ line.length &- line.filled
        let wanted = target &- line.filled
        line.take(
            wanted < room ? wanted : room, from: &resampler, at: step, place: Double(pushed) - resampler.lead)
        spectra.listen(line)
        return line.filled >= target
    }
}
