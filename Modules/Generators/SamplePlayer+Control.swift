public import RenderCore
internal import Synchronization

extension SamplePlayer {
    /// A sound that was loaded: what ``SamplePlayer/play(_:at:gain:pan:pitch:every:)`` plays.
    public struct Sample: Sendable, Hashable {
        let number: Int
    }

    /// One start of a sound, with its repeats: what can be stopped.
    public struct Voice: Sendable, Hashable {
        let number: Int
    }

    /// What control code keeps. Under its lock.
    struct Control {
        /// The renderer's rate, when it is known.
        var sampleRate: Double?
        /// Every sound in the list, in its order.
        var slots: [SampleSlot] = []
        var lastNumber = 0
        /// Changes of the list that the render thread may not have seen.
        var openChanges = 0
    }

    // MARK: Sounds

    /// Loads a sound. It can be played at once, also while others play.
    ///
    /// It is converted if it has another rate than the renderer: where that is known, before this returns.
    ///
    /// - Precondition: it has fewer than 2³¹ frames.
    /// - Complexity: O(*n*) of the sounds that are loaded.
    public func load(_ sound: Sound) -> Sample {
        let number = control.withLock { control in
            control.lastNumber += 1
            return control.lastNumber
        }
        insert(sound, number: number, inPlaceOf: nil)
        return Sample(number: number)
    }

    /// Puts another sound in the place of one: what begins from now on is the new one, also where it was asked for
    /// before. Voices that play the old one play it to its end.
    ///
    /// - Returns: `false` if the old one is not loaded; then nothing is.
    @discardableResult
    public func replace(_ sample: Sample, with sound: Sound) -> Bool {
        let old = control.withLock { control in
            control.slots.last { $0.id == sample.number && !$0.isLeaving }
        }
        guard let old else { return false }
        insert(sound, number: sample.number, inPlaceOf: old)
        return true
    }

    /// Unloads a sound. Voices that play it play it to its end; stop them if they are not to. Starts that wait for their
    /// time, and repeats, are silent. The memory is freed when no voice uses it any more.
    ///
    /// - Returns: `false` if it is not loaded.
    @discardableResult
    public func unload(_ sample: Sample) -> Bool {
        let slots = control.withLock { control in
            control.slots.filter { $0.id == sample.number && !$0.isLeaving }
        }
        for slot in slots { retire(slot) }
        return !slots.isEmpty
    }

    /// How many sounds are loaded.
    public var loadedCount: Int {
        control.withLock { control in Set(control.slots.filter { !$0.isLeaving }.map(\.id)).count }
    }

    private func insert(_ sound: Sound, number: Int, inPlaceOf old: SampleSlot?) {
        precondition(sound.frameCount < 1 << 31, "SamplePlayer: a sound of \(sound.frameCount) frames is too long")
        let rate = control.withLock { $0.sampleRate }
        _ = rate.map(sound.at)  // takes long: not under the lock
        let retireList = control.withLock { control in
            control.lastNumber += 1
            let slot = SampleSlot(id: number, version: control.lastNumber, sound)
            control.slots.append(slot)
            control.openChanges += 1
            return exchange(
                control,
                whenSeen: { [weak self] in
                    if let old { self?.retire(old) }
                    self?.control.withLock { $0.openChanges -= 1 }
                },
                undo: { [weak self] in
                    self?.control.withLock { control in
                        control.openChanges -= 1
                        control.slots.removeAll { $0 === slot }
                    }
                })
        }
        retireList()
    }

    /// Makes the list what the slots are.
    private func exchange(
        _ control: Control, whenSeen: (@Sendable () -> Void)?, undo: (@Sendable () -> Void)?
    ) -> () -> Void {
        let slots = control.slots
        let rate = control.sampleRate
        return sounds.exchange(slots.map(\.version), whenOldIsReleased: whenSeen, undo: undo) { _, index in
            LoadedSound(slots[index], rate.map(slots[index].sound.at) ?? slots[index].sound, table)
        }
    }

    private func retire(_ slot: SampleSlot) {
        slot.leave()
        Collector.shared.add(self)
    }

    /// Converts what is loaded, where the renderer has another rate than it was made for.
    public func prepare(_ preparation: Preparation) {
        let slots: [SampleSlot] = control.withLock { control in
            if control.sampleRate == preparation.sampleRate { return [] }
            control.sampleRate = preparation.sampleRate
            return control.slots
        }
        for slot in slots {
            sounds.replace(slot.version, with: LoadedSound(slot, slot.sound.at(preparation.sampleRate), table))
        }
    }

    // MARK: Voices

    /// Starts a sound, exactly in its frame; at once if the time has passed.
    ///
    /// - Parameters:
    ///   - sample: what is played.
    ///   - time: when; as soon as possible if nothing is said.
    ///   - gain: an amplitude factor, 0…16.
    ///   - pan: in a stereo player, -1 (left) to 1 (right); the far side gets quieter.
    ///   - pitch: how many times as fast, 1/64…64.
    ///   - interval: seconds from one start to the next, until it is stopped; none if nothing is said. Each start is in
    ///     the frame that is nearest to its time, reckoned from the first, however many hours it goes on. 16 sounds can be
    ///     repeated at once; one more is heard once.
    /// - Returns: what can be stopped; `nil` if 64 commands wait for their time and this one was not taken.
    @discardableResult
    public func play(
        _ sample: Sample, at time: RenderTime = .immediately, gain: Float = 1, pan: Float = 0, pitch: Double = 1,
        every interval: Double? = nil
    ) -> Voice? {
        let number = lastVoice.wrappingAdd(1, ordering: .relaxed).newValue
        let place = control.withLock { control in control.slots.lastIndex { $0.id == sample.number } }
        // What is not a number becomes what nothing would have been said for.
        let command = SampleCommand(
            action: .start, number: number, sound: sample.number, place: place ?? 0,
            gain: gain.isFinite ? max(0, min(gain, 16)) : 1, pan: pan.isFinite ? max(-1, min(pan, 1)) : 0,
            pitch: pitch.isFinite ? max(1 / 64, min(pitch, 64)) : 1,
            interval: interval.map { $0.isFinite ? max(0, min($0, 1e6)) : 0 } ?? 0)
        return commands.send(command, at: time) ? Voice(number: number) : nil
    }

    /// The same, so many semitones higher.
    @discardableResult
    public func play(
        _ sample: Sample, at time: RenderTime = .immediately, gain: Float = 1, pan: Float = 0, semitones: Double
    ) -> Voice? {
        play(sample, at: time, gain: gain, pan: pan, pitch: RenderMath.exp2(semitones / 12))
    }

    /// Starts a sound in a frame of this slice: for a render closure that has a clock of its own, such as a transport.
    /// Before the player is run.
    ///
    /// - Parameters:
    ///   - sample: what is played.
    ///   - frame: when, counted from the first frame of the slice.
    ///   - context: the closure's.
    ///   - gain: an amplitude factor, 0…16.
    /// - Returns: what can be stopped; `nil` if 64 commands wait for their time and this one was not taken.
    @discardableResult
    public func play(
        _ sample: Sample, inFrame frame: Int, _ context: borrowing RenderContext, gain: Float = 1
    ) -> Voice? {
        if context.isDryRun { return nil }
        let number = lastVoice.wrappingAdd(1, ordering: .relaxed).newValue
        let command = SampleCommand(
            action: .start, number: number, sound: sample.number, gain: gain.isFinite ? max(0, min(gain, 16)) : 1)
        return commands.send(command, at: .sample(context.sampleTime + Int64(frame))) ? Voice(number: number) : nil
    }

    /// Stops a voice and its repeats: it fades out in 5 ms.
    ///
    /// - Returns: `false` if 64 commands wait for their time and this one was not taken.
    @discardableResult
    public func stop(_ voice: Voice, at time: RenderTime = .immediately) -> Bool {
        commands.send(SampleCommand(action: .stopVoice, number: voice.number), at: time)
    }

    /// Stops all voices of a sound, and its repeats.
    @discardableResult
    public func stop(_ sample: Sample, at time: RenderTime = .immediately) -> Bool {
        commands.send(SampleCommand(action: .stopSound, sound: sample.number), at: time)
    }

    /// Stops all voices and repeats. What waits for its time still begins.
    @discardableResult
    public func stopAll(at time: RenderTime = .immediately) -> Bool {
        commands.send(SampleCommand(action: .stopAll), at: time)
    }
}

extension SamplePlayer: Collectable {
    /// Lets go of sounds that were unloaded, when no voice uses them.
    package func collect() -> Bool {
        var asked: [SampleSlot] = []
        let (retireList, isWaiting): ((() -> Void)?, Bool) = control.withLock { control in
            asked = control.slots.filter { $0.askForCycles() }
            let isWaiting = control.slots.contains(where: \.isLeaving)
            // Not while a transaction is open: it would be seen before its time.
            guard control.openChanges == 0, control.slots.contains(where: \.isFree) else { return (nil, isWaiting) }
            control.slots.removeAll(where: \.isFree)
            return (exchange(control, whenSeen: nil, undo: nil), true)
        }
        retireList?()
        if !asked.isEmpty {
            // Who has begun to use one of them has done so in a cycle that is under way, or before.
            let slots = asked
            cycles.set(0) { for slot in slots { slot.passCycles() } }
        }
        return isWaiting
    }
}

/// A sound in the list, as the control side sees it.
final class SampleSlot: Sendable {
    /// How far it is on its way out: used as ever; unloaded; waiting for the cycles under way; only its voices are left.
    private enum Stage { case loaded, leaving, waiting, left }

    let id: Int
    let version: Int
    let sound: Sound
    /// What it has in common with its ``LoadedSound``.
    let shared = SharedWords()
    private let stage = Lock(Stage.loaded)

    init(id: Int, version: Int, _ sound: Sound) {
        self.id = id
        self.version = version
        self.sound = sound
        shared[LoadedWord.isLoaded] = 1
    }

    var isLeaving: Bool { stage.withLock { $0 != .loaded } }

    /// Whether nobody can use it any more.
    var isFree: Bool { stage.withLock { $0 == .left } && shared[LoadedWord.users] == 0 }

    func leave() {
        stage.withLock { if $0 == .loaded { $0 = .leaving } }
        shared[LoadedWord.isLoaded] = 0
    }

    /// Whether the cycles under way are to be waited for: asked once.
    func askForCycles() -> Bool {
        stage.withLock { stage in
            if stage != .leaving { return false }
            stage = .waiting
            return true
        }
    }

    func passCycles() { stage.withLock { $0 = .left } }
}
