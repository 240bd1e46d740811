internal import Synchronization

/// The beats of a renderer: the clock that its cycles count by, and the part of it that control code sees.
@safe final class BeatKeeper: @unchecked Sendable {
    // Unchecked because only the thread that has claimed the renderer's cycle counter touches the clocks behind the
    // pointers.
    /// The clock of the renderer while no other renderer is around it.
    private let own: UnsafeMutablePointer<BeatClock>
    /// The clock of the renderer inside of a renderer whose frames have another length.
    private let followed: UnsafeMutablePointer<BeatClock>
    /// Not the generic `Published`: its metadata would be made in the first cycle that stores.
    private let shown: PublishedWords
    private let asked = Lock(Asked())
    private let versions = Atomic<UInt64>(0)
    /// The number of settings that were ignored because they were no numbers.
    let ignored = Atomic<Int>(0)

    /// The settings of control code, and the maps that they lead to.
    private struct Asked {
        /// The settings that the render thread may not have seen yet: tempo, metre, position.
        var settings: [(setting: BeatClock.Setting, version: UInt64)?] = [nil, nil, nil]
        /// The maps that a clock leads to or may lead to, with the versions of the settings; `nil` for those that wait for a time.
        var maps: [(map: KeptTempoMap, version: UInt64?)] = []

        mutating func note(_ map: KeptTempoMap, _ version: UInt64?) {
            guard let place = maps.firstIndex(where: { $0.map === map }) else { return }
            if let version { maps[place].version = version } else { maps.remove(at: place) }
        }

        /// Lets go of a map that another setting has overtaken.
        mutating func withdraw(_ map: KeptTempoMap, _ version: UInt64?) {
            if let version, settings[0]?.version == version { return }
            maps.removeAll { $0.map === map }
        }

        /// Lets go of the maps that are older than the tempo that the render thread has: it never goes back to them.
        mutating func letGo(before seen: UInt64) {
            maps.removeAll { ($0.version ?? .max) < seen }
        }
    }

    init(sampleRate: Double) {
        let clock = BeatClock(sampleRate: sampleRate)
        unsafe own = .allocate(capacity: 1)
        unsafe own.initialize(to: clock)
        unsafe followed = .allocate(capacity: 1)
        unsafe followed.initialize(to: clock)
        shown = PublishedWords(clock)
    }

    deinit {
        unsafe own.deallocate()
        unsafe followed.deallocate()
    }

    func makeVersion() -> UInt64 { versions.wrappingAdd(1, ordering: .relaxed).newValue }

    // MARK: Control side

    /// Keeps the settings of control code until the render thread has seen it. Returns its version.
    ///
    /// - Parameter map: The map that the setting leads to.
    func ask(_ setting: BeatClock.Setting, _ map: KeptTempoMap? = nil) -> UInt64 {
        asked.withLock { asked in
            let version = makeVersion()
            asked.settings[setting.index] = (setting, version)
            if let map { asked.note(map, version) }
            asked.letGo(before: shownClock().tempoVersion)
            return version
        }
    }

    /// Keeps a map for a setting that is to come.
    func hold(_ map: KeptTempoMap) { asked.withLock { $0.maps.append((map, nil)) } }

    /// Notes the version with which a setting has led to a map; `nil` if it never will.
    func note(_ map: KeptTempoMap, _ version: UInt64?, wasWithdrawn: Bool) {
        asked.withLock { asked in
            if wasWithdrawn { asked.withdraw(map, version) } else { asked.note(map, version) }
            asked.letGo(before: shownClock().tempoVersion)
        }
    }

    /// Returns the map that leads a clock.
    func map(at frame: Int64, sampleRate: Double) -> TempoMap? {
        if let staged = TempoChange.staged(self, 0) { return staged.map?.map }
        guard let places = ask(at: frame, sampleRate: sampleRate, \.map) else { return nil }
        return asked.withLock { asked in asked.maps.first { $0.map.map.table.places.number == places.number }?.map.map }
    }

    private func shownClock() -> BeatClock {
        var clock = BeatClock(sampleRate: 48_000)
        unsafe shown.load(to: &clock, tries: .max)
        return clock
    }

    /// Returns what `body` finds on the clock, as it will be in the cycle that begins at a frame.
    func ask<Result>(at frame: Int64, sampleRate: Double, _ body: (BeatClock) -> Result) -> Result {
        let staged = (0..<3).compactMap { TempoChange.staged(self, $0) }
        // Under the lock, because the clock may lead to a map, and because what was asked is as old as what is shown, or older.
        return asked.withLock { asked in
            let settings = asked.settings.compactMap(\.self)
            var clock = shownClock()
            if clock.framesPerMinute != 60 * sampleRate { clock.setRate(60 * sampleRate, at: frame) }
            for (setting, version) in settings { clock.set(setting, version, at: frame) }
            for change in staged { clock.set(change.setting, .max, at: frame) }
            clock.advance(to: frame)
            return body(clock)
        }
    }

    // MARK: Render thread

    /// Returns the clock for a cycle of this renderer.
    ///
    /// - Parameter source: The beats that it takes: its own, or those of a renderer around it.
    /// - Returns: The clock, and how many frames it is ahead of the sample time.
    func begin(_ source: BeatSource, at frame: Int64) -> (clock: UnsafeMutablePointer<BeatClock>, shift: Int64) {
        switch source {
        case .own: return unsafe (own, 0)
        case .same(let clock, let outerFrame): return unsafe (clock, outerFrame &- frame)
        case .converted(let clock, let position, let ahead, let beatsPerMinute, let framesPerMinute):
            unsafe followed.pointee.follow(
                clock.pointee, position: position, ahead: ahead, beatsPerMinute: beatsPerMinute,
                framesPerMinute: framesPerMinute, at: frame)
            return unsafe (followed, 0)
        }
    }

    /// Takes up the sample rate and the transport, if the cycle counts by the renderer's own clock. It comes behind the
    /// settings of control code for the cycle: a transport that begins to roll begins at that tempo.
    ///
    /// - Parameters:
    ///   - clock: The clock that ``begin(_:at:)`` returned.
    ///   - supply: The supply of a driver.
    func settle(
        _ clock: UnsafeMutablePointer<BeatClock>?, at frame: Int64, sampleRate: Double,
        _ supply: UnsafeMutablePointer<CycleSupply>?
    ) {
        guard unsafe clock == own,
            unsafe own.pointee.framesPerMinute != 60 * sampleRate || own.pointee.isLed || supply != nil
        else { return }
        unsafe settle(frame, 60 * sampleRate, supply?.pointee.transport)
    }

    private func settle(_ frame: Int64, _ framesPerMinute: Double, _ transport: Transport?) {
        let (wasLed, anchor) = unsafe (own.pointee.isLed, own.pointee.frame)
        let (tempo, beatsPerBar) = unsafe (own.pointee.piece, own.pointee.bars.beatsPerBar)
        var isNew = false
        if unsafe own.pointee.framesPerMinute != framesPerMinute {
            unsafe own.pointee.setRate(framesPerMinute, at: frame)
            isNew = true
        }
        if let transport, transport.isRolling {
            unsafe own.pointee.follow(transport, at: frame)
        } else if wasLed {
            unsafe own.pointee.leave(at: frame)
        }
        if unsafe isNew || wasLed != own.pointee.isLed || anchor != own.pointee.frame
            || tempo != own.pointee.piece || beatsPerBar != own.pointee.bars.beatsPerBar
        {
            unsafe shown.store(own)
        }
    }

    /// Takes up the pieces of the map that begin up to a frame. Returns the frame at which a slice from there must end.
    ///
    /// - Parameters:
    ///   - clock: The clock that ``begin(_:at:)`` returned.
    ///   - frame: The first frame of the slice, on that clock.
    func advance(_ clock: UnsafeMutablePointer<BeatClock>?, to frame: Int64) -> Int64 {
        guard let clock = unsafe clock else { return .max }
        if unsafe clock == own, unsafe own.pointee.advance(to: frame) { unsafe shown.store(own) }
        return unsafe clock.pointee.cut(after: frame)
    }

    /// Takes the program's settings, from a frame on.
    func show(_ setting: BeatClock.Setting, _ version: UInt64, at frame: Int64) {
        unsafe own.pointee.set(setting, version, at: frame)
        unsafe shown.store(own)
    }

    /// Begins anew with frame 0.
    func startOver() {
        unsafe own.pointee.startOver()
        unsafe shown.store(own)
    }
}
