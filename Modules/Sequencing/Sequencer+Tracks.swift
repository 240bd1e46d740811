internal import RenderCore
internal import Sharing

// Tracks that come and go.

extension Sequencer {
    /// Adds a track. Returns `false` if there is no room for it, or if it is in a sequencer already.
    @discardableResult
    public func append(_ track: Track) -> Bool { append(track, at: nil) }

    /// Adds a track in a place, or where there is room.
    func append(_ track: Track, at place: Int?, stay: Int? = nil) -> Bool {
        provide([track])
        guard seat(track, at: place, stay: stay) != nil else { return false }
        // At once, also in a transaction: it may be called off, and the track has its place.
        control.withLock { _ = show(&$0) }
        return true
    }

    /// Takes a track out. Its notes get their ends, commands that wait for it do nothing, and its place is free for another one. The
    /// track may join this sequencer again, or another one.
    ///
    ///     sequencer.remove(track)
    ///     try renderer.transaction(at: renderer.tempo.time(ofBeat: 64)) { sequencer.remove(track) }    // with the other changes of it
    ///
    /// In a transaction the track leaves on the transaction's frame. It counts as one of the ``tracks`` until then, and cannot join a
    /// sequencer before.
    ///
    /// - Returns: `false` if it is not in this sequencer, or if a transaction is taking it out.
    @discardableResult
    public func remove(_ track: Track) -> Bool {
        guard let stay = track.stay(in: self) else { return false }
        guard OpenTransaction.exists else { return dismiss(track, stay) }
        track.end(stay)
        OpenTransaction.afterCycles { [weak self] in _ = self?.dismiss(track, stay) }
        return true
    }

    /// Gives a track a place, which is not shown yet. Returns the number of its stay; `nil` if it cannot have it.
    ///
    /// - Parameter number: The number that the stay is to have, from ``Track/makeStay()``.
    @discardableResult
    func seat(_ track: Track, at wanted: Int? = nil, stay number: Int? = nil) -> Int? {
        control.withLock { control in
            guard control.tracks.count < capacity else { return nil }
            var place = wanted ?? control.vacant.last ?? control.places.count
            place = max(0, min(place, capacity - 1))
            if place < control.places.count && control.places[place] != nil { return nil }
            guard let stay = track.join(self, flags, index: place, stay: number ?? Track.makeStay()) else { return nil }
            while control.places.count <= place {
                control.vacant.insert(control.places.count, at: 0)
                control.places.append(nil)
            }
            control.vacant.removeAll { $0 == place }
            control.places[place] = SeatedTrack(track: track, stay: stay)
            control.tracks.append(track)
            control.journal?.name(track, stay)
            return stay
        }
    }

    /// Shows the places to the render thread. Returns the version of the list.
    func show(_ control: inout Control) -> UInt64 {
        let version = list.makeVersion()
        for place in control.places.indices where control.places[place]?.arrival == .max {
            control.places[place]?.arrival = version
        }
        OpenTransaction.suspended { list.set(TrackList(control.places), version: version) }
        return version
    }

    /// Ends a stay at once.
    private func dismiss(_ track: Track, _ stay: Int) -> Bool {
        let isGone = control.change { control in
            guard let place = control.places.firstIndex(where: { $0?.stay == stay }), let seat = control.places[place]
            else { return false }
            control.places[place] = nil
            control.vacant.append(place)
            control.tracks.removeAll { $0 === track }
            let version = show(&control)
            // After the list: who sets a value of the track from now on tells nobody.
            track.leave(stay)
            control.leaving.append((seat, version))
            return true
        }
        // When the cycle that is under way is over, it is known which tracks it has begun.
        OpenTransaction.suspended {
            OpenTransaction.afterCycles { [weak self] in self?.release(afterCyclesOf: stay) }
        }
        return isGone
    }

    /// Lets go of tracks that the render thread does not need any more, as soon as the cycle is over that has said so.
    func release() {
        let settled = seen[1]
        release { $0.departure <= settled }
    }

    /// Lets go of a track that has left, if the render thread has never seen it.
    private func release(afterCyclesOf stay: Int) {
        let last = seen[0]
        release { $0.seat.stay == stay && $0.seat.arrival > last }
        release()
    }

    private func release(where isOver: ((seat: SeatedTrack, departure: UInt64)) -> Bool) {
        let gone = control.withLock { control in
            if control.leaving.isEmpty { return control.leaving }
            let gone = control.leaving.filter(isOver)
            if !gone.isEmpty { control.leaving.removeAll(where: isOver) }
            return gone
        }
        if gone.isEmpty { return }
        OpenTransaction.suspended { OpenTransaction.afterCycles { withExtendedLifetime(gone) {} } }
    }
}

/// A track in its place.
struct SeatedTrack: Sendable {
    let track: Track
    /// The number of its stay in the sequencer, which no other stay has.
    let stay: Int
    /// The version of the list with which it came.
    var arrival = UInt64.max
}
