internal import AudioFiles
internal import DiskFiles
internal import DiskStreaming
internal import RenderCore
internal import Sharing
internal import Synchronization

// Takes that wait for the render loop, each with its open file.

extension FileRecorder {
    /// Has files ready for takes that the render loop begins (``begin(inFrame:_:)``), at any time so many.
    ///
    ///     recorder.prepareTakes()                                         // "take.wav", "take-2.wav", …
    ///     recorder.prepareTakes(3) { number in "bar-\(number).wav" }       // names of your own
    ///
    /// The first files are there when this returns, unless there was an error: then ``events`` and ``finish()`` tell it, and no more
    /// are prepared. A thread of RenderStack's own makes another one within some milliseconds after one has been begun. Prepare
    /// as many as may begin within 50 ms.
    ///
    /// Files that were prepared and never begun are removed when the recorder goes, or with `prepareTakes(0)`; then the file that the
    /// recorder was made with stays, for ``begin(at:)``. That takes one of them too.
    ///
    /// - Parameters:
    ///   - count: The number of files, 0…64; a number outside becomes the nearest one, with a notice on standard error. Each takes
    ///     the memory of a ring.
    ///   - named: Returns the path of a file: the first one that is made gets 1, the next one 2, and so on. A file of that name is
    ///     emptied. It is called here, and later on the thread that reads and writes for all players and recorders: it must not
    ///     wait. By default files are named as those of ``begin(at:)`` are.
    public func prepareTakes(_ count: Int = 2, named: (@Sendable (Int) -> String)? = nil) {
        let count = nearest(to: count, in: 0...64, "FileRecorder: \(count) files to be prepared; it must be 0…64")
        let (unwanted, number) = control.withLock { control in
            adoptBegun(&control)
            // Another thread that makes a file for the last wish lets it go.
            let number = control.preparation.number + 1
            control.preparation = Preparing(number: number, isBusy: true, count: count, named: named)
            // Files with other names, and those that are too many, go.
            let kept = named == nil ? count : 0
            var unwanted: [DiskTake] = []
            while control.ready.count > kept, let index = control.ready.lastIndex(where: { $0.claim() }) {
                let take = control.ready.remove(at: index)
                if control.armed == nil && take.path == control.path && !take.isOver {
                    control.armed = take
                } else {
                    unwanted.append(take)
                }
            }
            showReady(control)
            return (unwanted, number)
        }
        for take in unwanted {
            FileRecorder.discard(take)
            control.withLock { control in control.takes.removeAll { $0 === take && !$0.isInUse } }
        }
        prepare(number)
        DiskThread.shared.wake()
    }

    /// The wish for takes that are ready.
    struct Preparing: Sendable {
        /// The number of the wish.
        var number = 0
        /// Indicates whether a thread makes files for it.
        var isBusy = false
        var count = 0
        var named: (@Sendable (Int) -> String)?
        /// The number of names that were asked for.
        var nameCount = 0
        var hasFailed = false
    }

    /// Makes files until as many are ready as are wanted. On the control side; one thread at a time, others go on.
    func replenish() {
        let number = control.withLock { control -> Int? in
            guard control.lacksTakes, !control.preparation.isBusy else { return nil }
            control.preparation.isBusy = true
            return control.preparation.number
        }
        if let number { prepare(number) }
    }

    /// Makes files for a wish, until it is fulfilled or there is another one.
    private func prepare(_ number: Int) {
        func isWanted() -> Bool {
            control.withLock { control in
                guard control.preparation.number == number else { return false }
                control.preparation.isBusy = control.lacksTakes
                return control.lacksTakes
            }
        }
        while isWanted() { prepareOne(number) }
    }

    private func prepareOne(_ wish: Int) {
        let naming = control.withLock { control -> (named: @Sendable (Int) -> String, number: Int)? in
            guard control.preparation.number == wish, let named = control.preparation.named else { return nil }
            control.preparation.nameCount += 1
            return (named, control.preparation.nameCount)
        }
        // It is the user's code, and runs without the lock.
        let path = naming.map { $0.named($0.number) }
        control.withLock { control in
            guard control.preparation.number == wish, control.lacksTakes else { return }
            do throws(AudioFileError) {
                let take: DiskTake
                if let path {
                    if control.takes.contains(where: { !$0.isDone && FileDescriptor.isSame($0.path, path) }) {
                        throw FileRecorder.isTaken(path)
                    }
                    take = try makeTake(path, control)
                } else if let armed = control.armed {
                    take = armed
                    take.unclaim()
                    control.armed = nil
                } else {
                    // A take that is running may need the file in which it goes on.
                    take = try makeNextTake(&control, takesSequel: false)
                }
                if !control.takes.contains(where: { $0 === take }) { control.takes.append(take) }
                control.ready.append(take)
                showReady(control)
            } catch {
                control.preparation.hasFailed = true
                control.failure = error
                hub.send(.failed(error))
            }
        }
    }

    /// Shows the render thread the takes that are ready.
    func showReady(_ control: Control) {
        // Nobody has asked for this: no transaction takes it back.
        OpenTransaction.suspended { ready.set(ReadyTakes(control.ready)) }
    }

    /// Notes the takes that the render loop has begun.
    func adoptBegun(_ control: inout Control) {
        let begun = control.ready.filter { $0.hasBegun || $0.isOver }
        if begun.isEmpty { return }
        control.ready.removeAll { take in begun.contains { $0 === take } }
        if let last = begun.last(where: \.hasBegun) { control.begunInCycle = last }
        showReady(control)
    }

    /// Returns a take that was prepared, for the control side.
    func claimReady(_ control: inout Control) -> DiskTake? {
        guard let index = control.ready.firstIndex(where: { !$0.isOver && $0.claim() }) else { return nil }
        defer { showReady(control) }
        return control.ready.remove(at: index)
    }

    /// Returns the take that has a file already and has not begun, so that no other one is made that writes to it too.
    func claimTake(in path: String, _ control: inout Control) throws(AudioFileError) -> DiskTake? {
        let found = control.takes.last { !$0.isDone && FileDescriptor.isSame($0.path, path) }
        guard let take = found else { return nil }
        if take === control.armed {
            control.armed = nil
            return take
        }
        if let index = control.ready.firstIndex(where: { $0 === take }), !take.isOver && take.claim() {
            control.ready.remove(at: index)
            showReady(control)
            return take
        }
        // It is begun at another time.
        if let latest = control.latest, latest.take === take && !latest.isStaged && !take.hasBegun && !take.isOver {
            return take
        }
        throw FileRecorder.isTaken(path)
    }

    private static func isTaken(_ path: String) -> AudioFileError {
        AudioFileError(
            path: path, reason: .notPermitted,
            explanation: "another take is being written to it; give each take a name of its own")
    }

    /// Makes the files that are ready anew, at the renderer's new sample rate.
    func remakeReady(_ control: inout Control) throws(AudioFileError) {
        control.preparation.hasFailed = false
        defer { showReady(control) }
        var failure: AudioFileError?
        for take in control.ready where take.callOff() {
            let index = control.ready.firstIndex { $0 === take }
            do throws(AudioFileError) {
                let new = try remake(take, &control)
                if let index { control.ready[index] = new }
            } catch {
                // Those that follow are made anew all the same: none with the old rate may be left.
                if let index { control.ready.remove(at: index) }
                failure = failure ?? error
            }
        }
        if let failure {
            control.preparation.hasFailed = true
            throw failure
        }
    }

    /// Tells of beginnings that found no file.
    func tellRefused() {
        let refused = refused.load(ordering: .relaxed)
        let told = refusedTold.exchange(refused, ordering: .relaxed)
        if refused > told { hub.send(.unprepared(count: refused - told)) }
    }

    /// Closes a take that has not begun, and removes its file.
    static func discard(_ take: DiskTake) {
        guard take.callOff() else { return }
        while !take.isDone { _ = take.serve { _ in } }
        FileDescriptor.remove(take.path)
    }
}
