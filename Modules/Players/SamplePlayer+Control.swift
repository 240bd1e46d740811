public import RenderCore
internal import Sharing
internal import Synchronization

extension SamplePlayer {
    /// A sound that was loaded, for ``SamplePlayer/play(_:at:gain:pan:pitch:every:)``.
    ///
    /// Threads: any.
    public struct Sample: Sendable, Hashable {
        let number: Int
    }

    /// One start of a sound, with its repeats, by which it can be changed, stopped and awaited.
    ///
    /// Threads: any.
    public struct Voice: Sendable, Hashable {
        let number: Int
    }

    /// The stages of a voice.
    ///
    /// Threads: any.
    public enum Stage: Sendable, Hashable, CaseIterable {
        /// The voice waits for its time, or for the next cycle.
        case waiting
        /// The voice is heard, or is repeated.
        case sounding
        /// The voice has come to the end of its sound, was stopped or stolen, or its sound was not loaded.
        case over
    }

    /// The state of control code. Under its lock.
    struct Control {
        /// The renderer's rate, when it is known.
        var sampleRate: Double?
        /// Every sound in the list, in its order.
        var slots: [SampleSlot] = []
        var lastNumber = 0
        /// Changes of the list that the render thread may not have seen.
        var openChanges = 0
        /// Those who wait until a voice is over, each with a number of its own.
        var waiting: [Int: (voice: Int, tell: @Sendable () -> Void)] = [:]
        var lastWaiting = 0
        /// The refused commands of which a notice has told, and when.
        var toldRefused = 0
        var toldTime = Int64.min
    }

    // MARK: Sounds

    /// Loads a sound. It can be played at once, also while others play.
    ///
    /// It is converted if it has another rate than the renderer: before this returns, if the rate is known.
    ///
    /// A sound of 2³¹ frames or more is not loaded, which a notice on standard error says.
    ///
    /// - Complexity: O(*n*) of the sounds that are loaded.
    public func load(_ sound: Sound) -> Sample {
        let number = control.withLock { control in
            control.lastNumber += 1
            return control.lastNumber
        }
        insert(sound, number: number, inPlaceOf: nil)
        return Sample(number: number)
    }

    /// Replaces a sound by another. Voices that begin from now on play the new one, also if they were asked for before.
    /// Voices that play the old one play it to its end.
    ///
    /// - Returns: `false` if the old one is not loaded; then the new one is not loaded either.
    @discardableResult
    public func replace(_ sample: Sample, with sound: Sound) -> Bool {
        let old = control.withLock { control in
            control.slots.last { $0.id == sample.number && !$0.isLeaving }
        }
        guard let old else { return false }
        insert(sound, number: sample.number, inPlaceOf: old)
        return true
    }

    /// Unloads a sound; in a transaction as soon as that was applied. Voices that play it play it to its end, unless
    /// they are stopped. Starts that wait for their time, and repeats, are silent. The memory is freed when no voice
    /// uses it any more.
    ///
    /// - Returns: `false` if it is not loaded.
    @discardableResult
    public func unload(_ sample: Sample) -> Bool {
        let slots = control.withLock { control in
            control.slots.filter { $0.id == sample.number && !$0.isLeaving }
        }
        let leave: @Sendable () -> Void = { [weak self] in for slot in slots { self?.retire(slot) } }
        // A transaction that throws unloads no sound.
        if OpenTransaction.exists { OpenTransaction.afterCycles(leave) } else { leave() }
        return !slots.isEmpty
    }

    /// The number of sounds that are loaded.
    public var loadedCount: Int {
        control.withLock { control in Set(control.slots.filter { !$0.isLeaving }.map(\.id)).count }
    }

    private func insert(_ sound: Sound, number: Int, inPlaceOf old: SampleSlot?) {
        guard sound.frameCount < 1 << 31 else {
            return StandardError.sayOnce(
                "SamplePlayer: a sound of \(sound.frameCount) frames is not loaded; it must have fewer than 2,147,483,648"
            )
        }
        // It tells of starts that are refused.
        Collector.shared.add(self)
        let rate = control.withLock { $0.sampleRate }
        _ = rate.map(sound.at)  // takes long: not under the lock
        control.withLock { control in
            control.lastNumber += 1
            let slot = SampleSlot(id: number, version: control.lastNumber, sound)
            control.slots.append(slot)
            control.openChanges += 1
            updateSounds(control)
            OpenTransaction.afterCycles(
                { [weak self] in
                    if let old { self?.retire(old) }
                    self?.control.withLock { $0.openChanges -= 1 }
                },
                ifCalledOff: { [weak self] in
                    self?.control.withLock { control in
                        control.openChanges -= 1
                        control.slots.removeAll { $0 === slot }
                    }
                })
        }
    }

    /// Makes the list equal to the slots.
    private func updateSounds(_ control: Control) {
        let slots = control.slots
        let rate = control.sampleRate
        sounds.list.update(slots.map(\.version)) { _, index in
            LoadedSound(slots[index], rate.map(slots[index].sound.at) ?? slots[index].sound, table)
        }
    }

    private func retire(_ slot: SampleSlot) {
        slot.leave()
        // A render thread that has begun to use it has done so in a cycle that is under way, or before.
        OpenTransaction.afterCycles { slot.passCycles() }
        Collector.shared.add(self)
    }

    /// Converts the loaded sounds, if the renderer has another rate than they were made for.
    public func prepare(_ preparation: Preparation) {
        let slots: [SampleSlot] = control.withLock { control in
            if control.sampleRate == preparation.sampleRate { return [] }
            control.sampleRate = preparation.sampleRate
            return control.slots.apart
        }
        for slot in slots {
            sounds.list.replace(slot.version, with: LoadedSound(slot, slot.sound.at(preparation.sampleRate), table))
        }
    }

    // MARK: Voices

    /// Starts a sound, exactly in its frame; at once if the time has passed.
    ///
    /// - Parameters:
    ///   - sample: The sample.
    ///   - time: The time; by default as soon as possible.
    ///   - gain: An amplitude factor, 0…16.
    ///   - pan: In a stereo player, -1 (left) to 1 (right); the far side gets quieter.
    ///   - pitch: The speed, as a factor, 1/64…64. The first start of a process at a pitch above 1 makes a filter, one
    ///     for each semitone, on the calling thread.
    ///   - interval: Seconds from one start to the next, until it is stopped; by default none. Each start is in the
    ///     frame that is nearest to its time, reckoned from the first, however many hours it goes on. 16 sounds can be
    ///     repeated at once; one more is heard once.
    /// - Returns: The voice; `nil` if ``commandCapacity`` commands wait for their time and this one was not taken, which
    ///   a notice on standard error says too.
    @discardableResult
    public func play(
        _ sample: Sample, at time: RenderTime = .immediately, gain: Float = 1, pan: Float = 0, pitch: Double = 1,
        every interval: Double? = nil
    ) -> Voice? {
        let number = states.voices.take()
        let place = control.withLock { control in control.slots.lastIndex { $0.id == sample.number } }
        // A value that is not a number becomes the default.
        let pitch = pitch.isFinite ? max(1 / 64, min(pitch, 64)) : 1
        let command = SampleCommand(
            action: .start, number: number, sound: sample.number, place: place ?? 0,
            gain: gain.isFinite ? max(0, min(gain, 16)) : 1, pan: pan.isFinite ? max(-1, min(pan, 1)) : 0,
            pitch: pitch, filter: quality == .fast || pitch == 1 ? nil : .filter(for: pitch),
            interval: interval.map { $0.isFinite ? max(0, min($0, 1e6)) : 0 } ?? 0)
        if number == 0 {
            refuse(command)
            return nil
        }
        return send(command, at: time) ? Voice(number: number) : nil
    }

    /// Plays a sample so many semitones higher.
    @discardableResult
    public func play(
        _ sample: Sample, at time: RenderTime = .immediately, gain: Float = 1, pan: Float = 0, semitones: Double
    ) -> Voice? {
        play(sample, at: time, gain: gain, pan: pan, pitch: RenderMath.exp2(semitones / 12))
    }

    /// Starts a sound in a frame of this slice: for a render loop that has a clock of its own, such as a transport.
    /// Before the player is run.
    ///
    /// - Parameters:
    ///   - sample: The sample.
    ///   - frame: The frame, counted from the first of the slice.
    ///   - context: That of the render loop.
    ///   - gain: An amplitude factor, 0…16.
    /// - Returns: The voice; `nil` if ``commandCapacity`` commands wait for their time and this one was not taken.
    ///
    /// Threads: render.
    @discardableResult
    public func play(
        _ sample: Sample, inFrame frame: Int, _ context: borrowing RenderContext, gain: Float = 1
    ) -> Voice? {
        if context.isDryRun { return nil }
        let number = states.voices.take()
        let command = SampleCommand(
            action: .start, number: number, sound: sample.number, gain: gain.isFinite ? max(0, min(gain, 16)) : 1)
        if number != 0 && commands.send(command, inFrame: frame, context) { return Voice(number: number) }
        refuse(command)
        return nil
    }

    /// Changes a voice, and its repeats: gain and pan glide for 10 ms, and the pitch changes at once, without a step in the
    /// wave. A voice that waits begins with the new values; one that is over stays so. A start that a transaction has for a later
    /// time is not known before that: change it in the same transaction.
    ///
    /// - Parameters:
    ///   - voice: The voice.
    ///   - gain: An amplitude factor, 0…16; by default it stays as it is.
    ///   - pan: In a stereo player, -1 (left) to 1 (right); by default it stays as it is.
    ///   - pitch: The speed, as a factor, 1/64…64; by default it stays as it is.
    ///   - time: The time; by default as soon as possible.
    /// - Returns: `false` if ``commandCapacity`` commands wait for their time and this one was not taken.
    @discardableResult
    public func change(
        _ voice: Voice, gain: Float? = nil, pan: Float? = nil, pitch: Double? = nil, at time: RenderTime = .immediately
    ) -> Bool {
        // A value that is not a number changes nothing.
        let pitch = pitch.flatMap { $0.isFinite ? max(1 / 64, min($0, 64)) : nil }
        return send(
            SampleCommand(
                action: .change, number: voice.number,
                gain: gain.flatMap { $0.isFinite ? max(0, min($0, 16)) : nil } ?? .nan,
                pan: pan.flatMap { $0.isFinite ? max(-1, min($0, 1)) : nil } ?? .nan, pitch: pitch ?? 0,
                filter: quality == .fast ? nil : pitch.map { .filter(for: $0) }), at: time)
    }

    /// Stops a voice and its repeats: it fades out in 5 ms. One that waits for its time does not begin.
    ///
    /// - Returns: `false` if ``commandCapacity`` commands wait for their time and this one was not taken.
    @discardableResult
    public func stop(_ voice: Voice, at time: RenderTime = .immediately) -> Bool {
        send(SampleCommand(action: .stopVoice, number: voice.number), at: time)
    }

    /// Stops all voices of a sound, and its repeats.
    @discardableResult
    public func stop(_ sample: Sample, at time: RenderTime = .immediately) -> Bool {
        send(SampleCommand(action: .stopSound, sound: sample.number), at: time)
    }

    /// Stops all voices and repeats. Samples that wait for their time still begin.
    @discardableResult
    public func stopAll(at time: RenderTime = .immediately) -> Bool {
        send(SampleCommand(action: .stopAll), at: time)
    }

    /// Returns the stage of a voice, after the last cycle.
    public func stage(of voice: Voice) -> Stage {
        switch states.voices.state(of: voice.number) {
        case VoiceStates.State.waiting: .waiting
        case VoiceStates.State.sounding: .sounding
        default: .over
        }
    }

    /// Waits until a voice is over, which it notices within some milliseconds. A voice whose renderer does not run stays
    /// where it is, and so does who waits for it; a cancelled task does not wait.
    public func wait(for voice: Voice) async {
        let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
        let number = control.withLock { control in
            control.lastWaiting += 1
            control.waiting[control.lastWaiting] = (voice.number, { @Sendable in continuation.finish() })
            return control.lastWaiting
        }
        Collector.shared.add(self)
        for await _ in stream {}
        control.withLock { _ = $0.waiting.removeValue(forKey: number) }
    }

    /// Sends a command. One that a transaction cannot send is refused as well.
    private func send(_ command: SampleCommand, at time: RenderTime) -> Bool {
        let isSent = commands.send(
            command, at: time, ifRefused: { [weak self] in self?.refuse(command) },
            ifNever: { [weak self] in self?.forget(command) })
        if !isSent { refuse(command) }
        return isSent
    }

    /// Frees the place of a voice that will not begin.
    private func forget(_ command: SampleCommand) {
        if command.action == .start { states.voices.set(VoiceStates.State.over, of: command.number) }
    }

    /// Counts a command that was not taken. On any thread.
    private func refuse(_ command: SampleCommand) {
        forget(command)
        refused.add(1)
    }
}

extension SamplePlayer: Collectable {
    /// Lets go of sounds that were unloaded, when no voice uses them; tells those who wait, and of refused commands.
    package func collect() -> Bool {
        let (told, news) = control.withLock { control in
            let over = control.waiting.filter { states.voices.state(of: $0.value.voice) == VoiceStates.State.over }
            for key in over.keys { control.waiting[key] = nil }
            return (over.values.map(\.tell), takeNewsOfRefused(&control))
        }
        for tell in told { tell() }
        if news > 0 {
            StandardError.say(
                "\(name): \(news) starts, stops or changes were not taken: \(SamplePlayer.commandCapacity) may wait at once"
            )
        }
        let isAwaited = control.withLock { !$0.waiting.isEmpty || $0.toldRefused != refused.value }
        return collectSounds() || isAwaited
    }

    /// Returns the number of refused commands to tell of: once a second, and 0 in between.
    private func takeNewsOfRefused(_ control: inout Control) -> Int {
        let (count, now) = (refused.value, HostClock.now)
        guard count != control.toldRefused, now.subtractingSaturated(control.toldTime) > 1_000_000_000 else { return 0 }
        defer { (control.toldRefused, control.toldTime) = (count, now) }
        return count - control.toldRefused
    }

    private func collectSounds() -> Bool {
        control.withLock { control in
            let isWaiting = control.slots.contains(where: \.isLeaving)
            // This is not done while a transaction is open: it would be seen before its time.
            guard control.openChanges == 0, control.slots.contains(where: \.isFree) else { return isWaiting }
            control.slots.removeAll(where: \.isFree)
            updateSounds(control)
            return true
        }
    }
}

/// A sound in the list, as the control side sees it.
final class SampleSlot: Sendable {
    /// The stages of unloading: used as ever; unloaded, while cycles are under way; only its voices are left.
    private enum Stage { case loaded, leaving, left }

    let id: Int
    let version: Int
    let sound: Sound
    /// The words that it shares with its ``LoadedSound``.
    let shared = SharedWords()
    private let stage = Lock(Stage.loaded)

    init(id: Int, version: Int, _ sound: Sound) {
        self.id = id
        self.version = version
        self.sound = sound
        shared[LoadedWord.isLoaded] = 1
    }

    var isLeaving: Bool { stage.withLock { $0 != .loaded } }

    /// Indicates whether the sound cannot be used any more.
    var isFree: Bool { stage.withLock { $0 == .left } && shared[LoadedWord.users] == 0 }

    func leave() {
        stage.withLock { if $0 == .loaded { $0 = .leaving } }
        shared[LoadedWord.isLoaded] = 0
    }

    func passCycles() { stage.withLock { $0 = .left } }
}
