public import AudioFiles
package import DiskStreaming
public import RenderCore
internal import Sharing
internal import Synchronization

/// Records the sound that it hears into a file. Reads the top, and never changes it.
///
///     let recorder = try FileRecorder(path: "take.wav")
///     …
///     context.run(recorder)
///     …
///     recorder.begin(at: .now + .seconds(1))              // on that frame
///     recorder.stop(at: .now + .seconds(11))
///     try await recorder.waitUntilFinished()              // the file is closed
///
/// A take begins and ends on the frame that is asked for, however far ahead, by the time stamp of the buffer that it
/// hears. The render loop can begin, split and end takes too, on a frame of its slice, in files that were prepared:
///
///     recorder.prepareTakes(3) { number in "bar-\(number).wav" }          // in control code
///     …
///     if let frame = barLine { recorder.begin(inFrame: frame, &context) }       // in the render loop: a bar begins
///     context.run(recorder)
///
/// The render thread copies into a ring of four seconds, and one thread writes for all recorders. If the disk is
/// slower than that, the take has silence in the place of the lost frames: counted in ``gapCount``, and reported as an
/// event.
///
/// A buffer with fewer channels than the file repeats its last one; a file of one channel gets the sum of all. A file has one
/// sample rate: if the renderer gets another one, the take goes on in a new file, without a gap, and an event says so.
///
/// Threads: control.
public final class FileRecorder: Tap, StreamingModule, EventSource {
    /// Channels of its files.
    public let channelCount: Int
    /// The format of its files; `nil` for the format that their names stand for.
    public let format: AudioFileFormat?

    let isMultiSource: Bool
    let ringSeconds: Double
    let control: Lock<Control>
    let hub = EventHub<FileRecorderEvent>()
    let openSink: OpenSink
    let begins = ManagedValue(DiskCue())
    let stops = ManagedValue(DiskCue())
    let sequels = ManagedValue(DiskCue())
    /// Takes that were prepared, and what the render loop wants until the recorder is run: render states are a running module's.
    let ready = ManagedValue(ReadyTakes())
    private let orders = TurnRing<Recording.Order>(capacity: 16)
    /// The number of beginnings in the render loop that found no file, and of those that were told.
    let refused = Atomic<Int>(0)
    let refusedTold = Atomic<Int>(0)
    let commands = Atomic<Int>(0)
    private let state = RenderState(Recording())

    typealias OpenSink = @Sendable (String, Double) throws(AudioFileError) -> any StreamSink

    /// Creates the file of the first take, or empties the one that is there.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - format: The format of the samples; by default the one that the extension stands for.
    ///   - channels: Of the file, 1…64.
    ///   - isMultiSource: `true` to mix the buffers of several `context.run(recorder)` in one slice.
    ///   - ringSeconds: For how long the disk may keep it waiting, 0.25…60.
    /// - Throws: An error if the file cannot be written.
    /// - Precondition: The numbers are in range.
    public convenience init(
        path: String, format: AudioFileFormat? = nil, channels: Int = 2, isMultiSource: Bool = false,
        ringSeconds: Double = 4
    ) throws(AudioFileError) {
        try self.init(
            path: path, format: format, channels: channels, isMultiSource: isMultiSource, ringSeconds: ringSeconds,
            openSink: { (path, rate) throws(AudioFileError) in
                try FileSink(path: path, format: format, sampleRate: rate, channels: channels)
            })
    }

    /// Creates a recorder for any sink that can be written to.
    package init(
        path: String, format: AudioFileFormat? = nil, channels: Int = 2, isMultiSource: Bool = false,
        ringSeconds: Double = 4, openSink: @escaping @Sendable (String, Double) throws(AudioFileError) -> any StreamSink
    ) throws(AudioFileError) {
        demand((1...64).contains(channels), "FileRecorder: \(channels) channels; it must be 1…64")
        demand(
            ringSeconds >= 0.25 && ringSeconds <= 60, "FileRecorder: a ring of \(ringSeconds) s; it must be 0.25…60")
        self.channelCount = channels
        self.format = format
        self.isMultiSource = isMultiSource
        self.ringSeconds = ringSeconds
        self.openSink = openSink
        control = Lock(Control(path: path), .module)
        let first = try makeTake(path, Control(path: path))
        control.withLock {
            $0.armed = first
            $0.takes = [first]
        }
        DiskThread.shared.add(self)
    }

    deinit {
        let (takes, unused) = control.withLock { ($0.takes, $0.ready) }
        for take in takes { take.close() }
        for take in unused { FileRecorder.discard(take) }
        orders.deallocate()
        hub.finish()
    }

    // MARK: Render thread

    /// `true` for a recorder of several sources, which mixes what it hears in a slice.
    public var isRepeatable: Bool { isMultiSource }

    /// Records the top.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        guard state.belongs(to: context) else { return }
        var recording = state.read(context)
        let isMixed = isMultiSource
        if !isMixed || recording.sampleTime != context.sampleTime {
            recording.sampleTime = context.sampleTime
            decide(&recording, &context)
        }
        recording.hearEnded(context)
        if let take = recording.take { take.hear(context, from: recording.first, to: recording.end) }
        if !isMixed { recording.endAll() }
        state.write(recording, context)
    }

    /// Finds out which frames of the slice belong to which take.
    @_noLocks @_noAllocation
    private func decide(_ recording: inout Recording, _ context: inout RenderContext) {
        recording.endAll()
        if let take = recording.take, take.isClosed || take.sampleRate != context.sampleRate {
            recording.isCut = !take.isClosed
            if recording.isCut { take.cut() } else { take.end() }
            recording.take = nil
        }
        let count = context.frameCount
        let stamp = context.top.time
        recording.first = 0
        recording.end = count

        var plan = Plan(beginAt: count, stopAt: count)
        begins.with(&context) { cue, _ in recording.begin.look(at: cue) }
        if recording.begin.isWaiting, let take = recording.begin.take, take.sampleRate == context.sampleRate {
            plan.beginAt = frame(of: recording.begin, stamp, context)
            if plan.beginAt < count { plan.next = take }
        }
        stops.with(&context) { cue, _ in recording.stop.look(at: cue) }
        if recording.stop.isWaiting { plan.stopAt = frame(of: recording.stop, stamp, context) }
        goOn(&recording, recording.isCut && plan.stopAt > 0, at: stamp, &context)
        recording.takeOrders(from: orders)
        while let order = recording.takeOrder(context) {
            // Commands of control code for an earlier frame, or the same one, come first.
            carryOut(&plan, upTo: order.frame, &recording, stamp, context)
            obey(order.order, at: order.frame, &recording, stamp, &context)
        }
        carryOut(&plan, upTo: count &- 1, &recording, stamp, context)
    }

    /// The commands of control code that are due in a slice.
    private struct Plan: Sendable {
        var beginAt: Int
        var stopAt: Int
        var next: TakeReference?
        var hasBegun = false
        var hasStopped = false

        @_noLocks @_noAllocation
        init(beginAt: Int, stopAt: Int) {
            self.beginAt = beginAt
            self.stopAt = stopAt
        }
    }

    /// Does what control code wants up to a frame: in the order in which it is due, and where that is the same, in which it was
    /// given.
    @_noLocks @_noAllocation
    private func carryOut(
        _ plan: inout Plan, upTo last: Int, _ recording: inout Recording, _ stamp: RenderTime,
        _ context: borrowing RenderContext
    ) {
        let isStopFirst =
            plan.stopAt < plan.beginAt || plan.stopAt == plan.beginAt && recording.stop.number < recording.begin.number
        if isStopFirst && !plan.hasStopped && plan.stopAt <= last {
            plan.hasStopped = true
            stop(&recording, at: plan.stopAt, next: nil, context)
        }
        if !plan.hasBegun && plan.beginAt <= last, let next = plan.next {
            plan.hasBegun = true
            recording.begin.isWaiting = false
            if !next.hasBegun, !next.isClosed { begin(next, at: plan.beginAt, &recording, stamp, context) }
        }
        if !isStopFirst && !plan.hasStopped && plan.stopAt <= last {
            plan.hasStopped = true
            stop(&recording, at: plan.stopAt, next: plan.next, context)
        }
    }

    /// Begins a take at a frame of this slice; the one that is running ends on the frame before. Returns whether it has begun.
    @_noLocks @_noAllocation @discardableResult
    private func begin(
        _ take: TakeReference, at frame: Int, _ recording: inout Recording, _ stamp: RenderTime,
        _ context: borrowing RenderContext
    ) -> Bool {
        guard take.begin(at: time(of: frame, stamp, context)) else { return false }
        recording.close(at: frame, context)
        recording.take = take
        recording.isCut = false
        recording.first = frame
        recording.end = context.frameCount
        return true
    }

    /// Does what the render loop wants.
    @_noLocks @_noAllocation
    private func obey(
        _ order: Recording.Order, at frame: Int, _ recording: inout Recording, _ stamp: RenderTime,
        _ context: inout RenderContext
    ) {
        guard let take = order.take else {
            recording.isCut = false
            return recording.close(at: frame, context)
        }
        // A take that has begun stays reserved: it is no longer one that waits.
        if begin(take, at: frame, &recording, stamp, context) { return }
        take.unreserve()
        // Another sample rate has taken it away: others have come in its place.
        if let other = reserveTake(&context) {
            if begin(other, at: frame, &recording, stamp, context) { return }
            other.unreserve()
        }
        refused.wrappingAdd(1, ordering: .relaxed)
    }

    // MARK: From the render loop

    /// Begins a take in a frame of this slice, from the render loop: where a level passes a threshold, or a bar begins. Call it
    /// before the recorder is run; afterwards, or for a frame beyond this slice, it begins in a later one.
    ///
    ///     if isLoud && !wasLoud { recorder.begin(inFrame: frame, &context) }
    ///     context.run(recorder)
    ///
    /// A take that is running ends on the frame before: so this splits a recording, and no frame is lost or in both files. It takes
    /// the first file that ``prepareTakes(_:named:)`` has made ready. If there is none, nothing changes: a take that is running goes
    /// on, and none begins; ``FileRecorderEvent/unprepared(count:)`` tells it.
    ///
    /// - Parameters:
    ///   - frame: The frame, counted from the first of the slice. A negative one is the first.
    ///   - context: That of the render loop.
    /// - Returns: `false` if no file is ready, or 16 calls wait for the recorder to be run. It keeps 16 for later slices; calls beyond
    ///   those may come late.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    @discardableResult
    public func begin(inFrame frame: Int, _ context: inout RenderContext) -> Bool {
        if context.isDryRun { return false }
        if let take = reserveTake(&context) {
            if orders.send(Recording.Order(take, at: frame, context)) { return true }
            take.unreserve()
        }
        refused.wrappingAdd(1, ordering: .relaxed)
        return false
    }

    /// Ends the take in a frame of this slice, from the render loop. The frame is not in the file. Call it before the recorder is run.
    ///
    /// - Parameters:
    ///   - frame: The frame, counted from the first of the slice. A negative one is the first.
    ///   - context: That of the render loop.
    /// - Returns: `false` if 16 calls wait for the recorder to be run.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    @discardableResult
    public func stop(inFrame frame: Int, _ context: inout RenderContext) -> Bool {
        if context.isDryRun { return false }
        return orders.send(Recording.Order(nil, at: frame, context))
    }

    /// Reserves the first file that is ready.
    @_noLocks @_noAllocation
    private func reserveTake(_ context: inout RenderContext) -> TakeReference? {
        var found: TakeReference?
        ready.with(&context) { ready, context in found = ready.reserve(at: context.sampleRate) }
        return found
    }

    /// Returns the frame of this slice at which a command is due; the number of its frames if it is later.
    @_noLocks @_noAllocation
    private func frame(of command: DiskCommand, _ stamp: RenderTime, _ context: borrowing RenderContext) -> Int {
        let distance = context.frames(from: stamp, until: command.time)
        return distance <= 0 ? 0 : distance < Int64(context.frameCount) ? Int(distance) : context.frameCount
    }

    /// Goes on with the sound of a take that another sample rate has cut, in the file that waits for that rate.
    @_noLocks @_noAllocation
    private func goOn(
        _ recording: inout Recording, _ isWanted: Bool, at stamp: RenderTime, _ context: inout RenderContext
    ) {
        sequels.with(&context) { cue, _ in recording.sequel.look(at: cue) }
        guard recording.sequel.isWaiting, let next = recording.sequel.take, next.sampleRate == context.sampleRate else {
            return
        }
        recording.sequel.isWaiting = false
        guard !next.hasBegun && !next.isClosed else { return }
        if isWanted {
            // If it is called off at this moment, another one comes.
            guard next.begin(at: time(of: 0, stamp, context)) else { return }
            recording.isCut = false
            recording.take = next
        } else {
            next.end()
        }
    }

    @_noLocks @_noAllocation
    private func stop(
        _ recording: inout Recording, at frame: Int, next: TakeReference?, _ context: borrowing RenderContext
    ) {
        guard frame < context.frameCount else { return }
        recording.stop.isWaiting = false
        recording.isCut = false
        // A start that was asked for before, and has not come yet, does not come.
        if recording.begin.isWaiting && recording.begin.number < recording.stop.number && next == nil {
            recording.begin.isWaiting = false
            recording.begin.take?.end()
        }
        recording.close(at: frame, context)
    }

    @_noLocks @_noAllocation
    private func time(of frame: Int, _ stamp: RenderTime, _ context: borrowing RenderContext) -> RenderTime {
        let host = (stamp.hostTime ?? context.hostTime) &+ Int64(Double(frame) * 1e9 / context.sampleRate)
        return RenderTime(sampleTime: (stamp.sampleTime ?? context.sampleTime) &+ Int64(frame), hostTime: host)
    }

    // MARK: Offline

    /// Writes until the ring has room for the slice.
    ///
    /// Threads: render.
    public func awaitDisk(_ context: inout RenderContext) {
        if control.withLock({ $0.lacksTakes }) { replenish() }
        for take in control.withLock({ $0.takes }) {
            take.makeRoom(frames: context.frameCount) { tell($0, of: take) }
        }
    }
}
