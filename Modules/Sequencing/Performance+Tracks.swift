internal import RenderCore
internal import Sharing
internal import Voices

// The tracks that come, go and change.

extension Performance {
    /// Returns a track of the list.
    @_noLocks @_noAllocation
    private func listed(_ track: Int, _ context: inout RenderContext) -> TrackEntry? {
        var found: TrackEntry?
        shown?.with(&context) { list, _ in found = list[track] }
        return found
    }

    /// Returns a track.
    @_noLocks @_noAllocation
    func entry(_ track: Int, _ context: inout RenderContext) -> TrackEntry? {
        guard let entry = listed(track, &context), entry.stay == places[track].stay else { return nil }
        return entry
    }

    /// Looks at the tracks that came, went, or whose contents, tables or settings are others than before.
    @_noLocks @_noAllocation
    mutating func refresh(_ context: inout RenderContext) {
        shown = list.snapshot
        let version = shown?.version ?? 0
        var isSoloStale = false
        if version != listVersion || isAllStale {
            (listVersion, isAllStale) = (version, false)
            var count = 0
            shown?.with(&context) { list, _ in count = list.count }
            let last = max(trackCount, count)
            trackCount = count < places.count ? count : places.count
            var track = 0
            while track < last && track < places.count {
                if look(at: track, &context) { isSoloStale = true }
                track &+= 1
            }
        } else if flags.takeAny() {
            var word = 0
            while word < flags.wordCount {
                var up = flags.take(word)
                while up != 0 {
                    let track = word &* 64 &+ up.trailingZeroBitCount
                    up &= up &- 1
                    if track < places.count && look(at: track, &context) { isSoloStale = true }
                }
                word &+= 1
            }
        }
        page.isNew = false
        if isSoloStale { countSolos(&context) }
        settleOrphans()
        if !hasNewPlace { return }
        hasNewPlace = false
        sendStates(&context, from: clock.position(at: base), at: 0)
    }

    /// Looks at one place. Returns whether the tracks that are heard may be others.
    @_noLocks @_noAllocation
    private mutating func look(at track: Int, _ context: inout RenderContext) -> Bool {
        let listed = listed(track, &context)
        let stay = listed?.stay ?? 0
        let hasLeft = listed?.hasLeft(&context) ?? true
        var isSoloStale = false
        if places[track].stay != 0 && (places[track].stay != stay || hasLeft) {
            clear(track, &context)
            isSoloStale = true
        }
        guard let entry = listed, !hasLeft else { return isSoloStale }
        let isNew = places[track].stay == 0 || page.isNew
        if places[track].stay == 0 && entry.cutsSlices {
            places[track].cutsSlices = true
            cutterCount &+= 1
        }
        places[track].stay = stay
        let version = entry.settingsVersion
        let isSet = version != places[track].settingsVersion
        var isMoved = false
        if isSet {
            isSoloStale = true
            isMoved = takeSettings(track, &context, entry, version)
        }
        let table = entry.place(&context)?.table.version ?? 0
        if entry.content.version != places[track].contentVersion || table != places[track].tableVersion {
            takeContent(track, &context, entry, isNew: isNew)
        } else if isMoved {
            // Only now: a table that has another one in its place may be gone.
            seekNow(track, &context, entry)
        }
        if isNew { noteTrack(track, .joins) }
        if isNew || isSet { noteTrack(track, .settings) }
        return isSoloStale
    }

    /// Takes out the track of a place: its notes end, and nothing that waits for it comes.
    @_noLocks @_noAllocation
    private mutating func clear(_ track: Int, _ context: inout RenderContext) {
        cut(track, &context, at: 0)
        next.set(track, .infinity)
        var index = 0
        while index < pendingCount {
            if pending[index].command.isForTrack && pending[index].command.stay == places[track].stay {
                drop(index)
            } else {
                index &+= 1
            }
        }
        noteTrack(track, .leaves)
        if places[track].cutsSlices { cutterCount &-= 1 }
        places[track] = Place()
        // An end that was refused is asked for again, by the place of the target.
        hasOrphans = true
    }

    /// Tells which tracks are not needed any more.
    @_noLocks @_noAllocation
    private mutating func settleOrphans() {
        if hasOrphans {
            hasOrphans = false
            var (item, left) = (0, ends.count)
            while left > 0 && item < sounding.count {
                let its = sounding[item]
                if its.track >= 0 {
                    left &-= 1
                    if its.stay != places[its.track].stay { hasOrphans = true }
                }
                item &+= 1
            }
        }
        if !hasOrphans { settledVersion = listVersion }
    }

    /// Takes the settings of a track. Returns whether it is somewhere else by them.
    @_noLocks @_noAllocation
    private mutating func takeSettings(
        _ track: Int, _ context: inout RenderContext, _ entry: TrackEntry, _ version: UInt64
    ) -> Bool {
        let old = places[track].settings
        let new = entry.settings(&context)
        places[track].settings = new
        places[track].settingsVersion = version
        return old.offset != new.offset || old.rate != new.rate || old.loop != new.loop
    }

    @_noLocks @_noAllocation
    private mutating func countSolos(_ context: inout RenderContext) {
        soloCount = 0
        var track = 0
        while track < trackCount {
            if places[track].settings.isSoloed && !places[track].settings.isMuted { soloCount &+= 1 }
            track &+= 1
        }
        track = 0
        while track < trackCount {
            if !isAudible(places[track].settings) { cut(track, &context, at: 0) }
            track &+= 1
        }
    }

    @_noLocks @_noAllocation
    private mutating func takeContent(_ track: Int, _ context: inout RenderContext, _ entry: TrackEntry, isNew: Bool) {
        let old = places[track].number
        places[track].contentVersion = entry.content.version
        guard let content = entry.place(&context) else { return }
        // The table may be another one by the end of the slice, and stays until then.
        let table = content.table.snapshot
        places[track].table = table
        places[track].tableVersion = table.version
        (places[track].number, places[track].clipLength) = (content.number, content.length)
        seekNow(track, &context, entry)
        if content.number == old { return }
        if !isNew { noteTrack(track, .content) }
        keepWhatIsThere(track, &context)
    }

    /// Of the notes that sound on a track, ends those that its new content does not have.
    @_noLocks @_noAllocation
    private mutating func keepWhatIsThere(_ track: Int, _ context: inout RenderContext) {
        let place = places[track]
        let here = (clock.position(at: base) - place.origin) * place.settings.rate - place.round * place.length
        // Of a pattern, what began longer ago than this may be known or not, as chance will have it: such notes go on. So do those that
        // began where its loop does not come.
        let loop = place.settings.loop
        let isLoop = loop > 0 && loop <= 256
        var item = 0
        var left = ends.count
        while left > 0 && item < sounding.count {
            let its = sounding[item]
            if its.track >= 0 { left &-= 1 }
            if its.track == track {
                let age = here - its.start
                let isUnknown = isLoop ? its.start >= loop : age > Self.window || age < -1
                var isThere = place.clipLength == 0 && isUnknown
                if !isThere {
                    place.table?.with(&context) { table, _ in isThere = table.mayHave(its.start, its.note.number) }
                }
                if !isThere { end(item, &context, at: 0) }
            }
            item &+= 1
        }
    }
}
