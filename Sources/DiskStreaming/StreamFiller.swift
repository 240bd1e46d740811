internal import AudioFiles
internal import RenderCore
internal import Synchronization

/// What writes into the ring of a stream. One thread at a time.
class StreamWriter {
    let geometry: StreamGeometry
    let outputRate: Double
    /// The next frame of the stream.
    var written: Int64 = 0
    /// Indicates whether nothing more will come.
    var isDone = false
    /// Frames that are made at once: other streams wait for so long.
    var chunk: Int { StreamFiller.chunk }

    init(_ geometry: StreamGeometry, outputRate: Double) {
        self.geometry = geometry
        self.outputRate = outputRate
    }

    /// Writes up to so many frames into the ring, where it has room for them. Returns how many.
    final func fill(_ core: borrowing StreamCore, frames limit: Int) -> Int {
        var moved = 0
        while !isDone && moved < limit {
            let wanted = core.wanted.load(ordering: .acquiring)
            // Going on is cheaper than a jump, up to a point.
            if wanted > written &+ Int64(outputRate / 2) { jump(to: min(wanted, geometry.end)) }
            let room = min(core.ring.freeFrames, chunk, limit - moved)
            let count = Int(min(Int64(room), geometry.end &- written))
            if count == 0 && room > 0 {
                // After a jump to the end no frame comes any more: whoever waits for one sees it here.
                core.written.store(written, ordering: .releasing)
                finish()
            }
            if count == 0 { break }
            let made = make(count, core, from: wanted)
            if written == geometry.end { finish() }
            if made == 0 { break }
            moved += made
        }
        return moved
    }

    /// Writes frames that were made, those that are wanted.
    final func write(_ block: borrowing AudioBlock, _ made: Int, _ core: borrowing StreamCore, from wanted: Int64) {
        let late = Int(max(0, min(wanted &- written, Int64(made))))
        if made > late {
            core.ring.write(block, from: late, frames: made - late, time: .sample(written &+ Int64(late)))
        }
        written &+= Int64(made)
        core.written.store(written, ordering: .releasing)
    }

    // MARK: For each kind of writer

    /// Makes frames and writes them, so many at most and none before the one that is wanted. Returns how many it has made: 0
    /// if it can make none now.
    func make(_ count: Int, _ core: borrowing StreamCore, from wanted: Int64) -> Int { 0 }
    /// Goes on at a later frame of the stream.
    func jump(to frame: Int64) {}
    /// Says that nothing more will come.
    func finish() { isDone = true }
}

/// The error that kept a stream from reading on, for threads that do not wait for the one that reads.
final class StreamFailure: Sendable {
    private let error = Lock(AudioFileError?.none, .leaf)

    func set(_ new: AudioFileError) { error.change { $0 = new } }

    /// Returns the error: once.
    func take() -> AudioFileError? {
        error.withLock { error in
            defer { error = nil }
            return error
        }
    }
}

/// The disk's side of a stream: reads, loops, converts, and writes into the ring.
final class StreamFiller: StreamWriter {
    private let file: StreamFile
    /// Indicates whether a frame of the ring is a pair of integers in the place of one sample.
    private let isPairs: Bool
    /// Indicates whether the file is read as such pairs, on their way into the ring or the converter.
    private var readsPairs: Bool { isPairs || conversion?.isPairs == true }
    private var width: Int { readsPairs ? 1 : file.channelCount }
    private var source: (any StreamSource)?
    /// The frame of the file that the source gives next.
    private var position: Int64 = -1
    /// The next frame of the file.
    private var input: Int64 = 0
    private var block: AudioBlock
    private var conversion: Conversion?
    /// A short loop, so that going round does not mean to seek.
    private var loop: Loop?
    private let failure: StreamFailure

    /// Frames that are read, converted and written at once.
    static var chunk: Int { 8_192 }
    /// Loops up to this length are kept in memory.
    private static var longestKept: Int64 { 65_536 }

    private final class Loop {
        var block: AudioBlock
        init(channels: Int, frames: Int) { block = AudioBlock(channels: channels, frames: frames) }
    }

    private final class Conversion {
        var converter: SampleRateConverter
        var block: AudioBlock
        var first = 0
        var count = 0
        /// Frames that come out before the one that is wanted.
        var surplus: Int64 = 0
        /// Indicates whether the block has pairs of integers, which the converter takes as they are.
        let isPairs: Bool
        init(_ file: StreamFile, to rate: Double) {
            converter = SampleRateConverter(from: file.sampleRate, to: rate, channels: file.channelCount)
            isPairs = file.hasPairs && converter.takesPairs
            block = AudioBlock(channels: isPairs ? 1 : file.channelCount, frames: StreamFiller.chunk)
        }
    }

    init(
        _ file: StreamFile, _ geometry: StreamGeometry, outputRate: Double, isPairs: Bool, _ failure: StreamFailure
    ) {
        self.isPairs = isPairs
        self.failure = failure
        self.file = file
        // A short segment, one of thousands in a queue maybe, takes no more memory than it needs.
        let frames = Int(max(1, min(Int64(Self.chunk), geometry.end)))
        block = AudioBlock(channels: isPairs ? 1 : file.channelCount, frames: frames)
        super.init(geometry, outputRate: outputRate)
    }

    deinit { close() }

    override func make(_ count: Int, _ core: borrowing StreamCore, from wanted: Int64) -> Int {
        do throws(AudioFileError) {
            if wanted <= written && isInPlace(core) {
                let made = try fillInPlace(core, count)
                if made > 0 { return made }
            }
            let made = try produce(count, into: &block)
            write(block, made, core, from: wanted)
            if made < count { stopShort(core) }
            return made
        } catch {
            stopShort(core, error)
            return 0
        }
    }

    /// Indicates whether the next frame comes straight from the file: not from a loop that is kept in memory.
    private var isOnTheWay: Bool { input < geometry.firstLength || geometry.length > Self.longestKept }

    /// Indicates whether the next frames can be made in the ring's own memory, which saves a copy.
    private func isInPlace(_ core: borrowing StreamCore) -> Bool {
        isPairs ? isOnTheWay : !geometry.isAtRate && core.ring.channelCount == file.channelCount
    }

    /// Converts into the ring's own memory, or reads pairs of integers into it up to the end of a pass. Returns how many frames;
    /// 0 if the file has ended early.
    private func fillInPlace(_ core: borrowing StreamCore, _ limit: Int) throws(AudioFileError) -> Int {
        let most = isPairs ? min(limit, Int(clamping: place.rest)) : limit
        let made = try unsafe core.ring.write(frames: most, time: .sample(written)) {
            (channels, first, room) throws(AudioFileError) in
            if !isPairs { return try unsafe convert(room, into: channels, at: first) }
            let pairs = unsafe UnsafeMutableBufferPointer(start: channels[0] + first, count: room)
            let count = try unsafe readPairs(into: pairs, from: place.frame)
            input &+= Int64(count)
            return count
        }
        written &+= Int64(made)
        core.written.store(written, ordering: .releasing)
        return made
    }

    /// The frame of the file that is heard next, and the number of frames from there to the end of the pass.
    private var place: (frame: Int64, rest: Int64) {
        let pass = geometry.firstLength
        let frame = input < pass ? geometry.start &+ input : geometry.lower &+ (input &- pass) % geometry.length
        return (frame, geometry.upper &- frame)
    }

    override func finish() {
        isDone = true
        close()
    }

    /// Gives the file back for the next player, and the memory with it.
    private func close() {
        if let source { file.put(source) }
        source = nil
        conversion = nil
        loop = nil
    }

    /// Ends the stream, because the file ended before its header had said, or could not be read any further.
    private func stopShort(_ core: borrowing StreamCore, _ error: AudioFileError? = nil) {
        // Before the end, which the render thread tells.
        failure.set(
            error
                ?? AudioFileError(
                    path: file.path, reason: .damaged, cannot: "play",
                    explanation:
                        "it ends before its \(file.frameCount) frames; it may have been cut off while it played"))
        core.end.store(written, ordering: .releasing)
        isDone = true
        // A source that has failed is not used again.
        source = nil
        close()
    }

    /// Frames at the renderer's rate, in the file's channels. Fewer: the file has ended early.
    private func produce(_ count: Int, into block: inout AudioBlock) throws(AudioFileError) -> Int {
        geometry.isAtRate
            ? try read(into: &block, count) : try unsafe convert(count, into: block.pointers, at: 0)
    }

    /// Brings frames to the renderer's rate, into channels that have room for as many from `first` on. Fewer: the file has ended
    /// early.
    private func convert(
        _ count: Int, into channels: UnsafeMutablePointer<UnsafeMutablePointer<Float>>, at first: Int
    ) throws(AudioFileError) -> Int {
        let conversion = conversion ?? Conversion(file, to: outputRate)
        self.conversion = conversion
        let total = geometry.end == .max ? Int64.max : geometry.firstLength &+ (geometry.passes - 1) &* geometry.length
        var made = 0
        while made < count {
            if conversion.count == 0 && input < total {
                conversion.first = 0
                let frames = Int(min(Int64(Self.chunk), total &- input))
                conversion.count = try read(into: &conversion.block, frames)
                if conversion.count < frames { return made }
            }
            let produced: Int
            if conversion.count > 0 {
                let (consumed, count) = unsafe conversion.converter.convert(
                    conversion.block, isPairs: conversion.isPairs, from: conversion.first, frames: conversion.count,
                    into: channels, at: first + made, room: count - made)
                conversion.first += consumed
                conversion.count -= consumed
                produced = count
            } else {
                produced = unsafe conversion.converter.finish(into: channels, at: first + made, room: count - made)
                if produced == 0 {
                    // The last frame can be one more than the filter gives: its time is before the end all the same.
                    for channel in 0..<file.channelCount {
                        unsafe (channels[channel] + first + made).clearSamples(count: count - made)
                    }
                    return count
                }
            }
            if conversion.surplus > 0 {
                let dropped = Int(min(conversion.surplus, Int64(produced)))
                conversion.surplus -= Int64(dropped)
                for channel in 0..<file.channelCount {
                    let samples = unsafe channels[channel] + first + made
                    unsafe samples.update(from: samples + dropped, count: produced - dropped)
                }
                made += produced - dropped
            } else {
                made += produced
            }
        }
        return made
    }

    /// Frames of the file as they are heard, one pass after the other.
    private func read(into target: inout AudioBlock, _ count: Int) throws(AudioFileError) -> Int {
        var done = 0
        while done < count {
            let (place, rest) = self.place
            let frames = Int(min(Int64(count - done), rest))
            if !isOnTheWay {
                let loop = try kept()
                target.copy(
                    from: loop.block, sourceOffset: Int(place &- geometry.lower), to: done, frames: frames)
            } else {
                let got = try read(into: &target, at: done, from: place, frames)
                if got < frames {
                    input &+= Int64(got)
                    return done + got
                }
            }
            input &+= Int64(frames)
            done += frames
        }
        return done
    }

    private func kept() throws(AudioFileError) -> Loop {
        if let loop { return loop }
        let new = Loop(channels: width, frames: Int(geometry.length))
        _ = try read(into: &new.block, at: 0, from: geometry.lower, Int(geometry.length))
        loop = new
        return new
    }

    private func read(
        into target: inout AudioBlock, at first: Int, from place: Int64, _ frames: Int
    ) throws(AudioFileError) -> Int {
        if readsPairs {
            var samples = target[0, from: first, frames: frames]
            return try unsafe samples.withUnsafeMutableBufferPointer { (pairs) throws(AudioFileError) in
                try unsafe readPairs(into: pairs, from: place)
            }
        }
        let source = try source(at: place)
        var got = 0
        while got < frames {
            let more = try source.read(into: &target, at: first + got, frames: frames - got)
            if more <= 0 { break }
            got += more
        }
        position = place &+ Int64(got)
        if source.isFloat { StreamFiller.clean(&target, from: first, frames: got) }
        return got
    }

    private func readPairs(
        into pairs: UnsafeMutableBufferPointer<Float>, from place: Int64
    ) throws(AudioFileError) -> Int {
        let source = try source(at: place)
        var got = 0
        while got < pairs.count {
            let more = try unsafe source.readPairs(into: UnsafeMutableBufferPointer(rebasing: pairs[got...]))
            if more <= 0 { break }
            got += more
        }
        position = place &+ Int64(got)
        return got
    }

    /// Returns the open file, at a frame. The position is not known before the read from there has succeeded.
    private func source(at place: Int64) throws(AudioFileError) -> any StreamSource {
        let source = if let source { source } else { try file.take() }
        if self.source == nil {
            self.source = source
            position = -1
        }
        if position != place { try source.seek(to: place) }
        position = -1
        return source
    }

    /// Samples that are no numbers become silence: one of them would spoil all that a filter hears afterwards.
    private static func clean(_ block: inout AudioBlock, from first: Int, frames: Int) {
        for channel in 0..<block.channelCount {
            if Signal.isFinite(block.samples(channel, from: first, frames: frames)) { continue }
            var samples = block[channel, from: first, frames: frames]
            for i in samples.indices where !samples[i].isFinite { samples[i] = 0 }
        }
    }

    /// Goes on at a later frame of the stream. A converter begins anew some time before, at a frame that falls on one
    /// of the file's, so that its filter has heard the frames before and the frames lie where they would have.
    override func jump(to frame: Int64) {
        written = frame
        if geometry.isAtRate {
            input = frame
            return
        }
        let conversion = Conversion(file, to: outputRate)
        let runUp = Int64(outputRate / 20)
        let first = max(0, (frame &- runUp) / geometry.up &* geometry.up)
        conversion.surplus = frame &- first
        input = geometry.input(at: first)
        self.conversion = conversion
    }
}
