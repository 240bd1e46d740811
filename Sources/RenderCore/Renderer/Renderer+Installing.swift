internal import CRender
internal import Glibc
internal import Synchronization

// Putting loops in place.
//
// A change (another render loop, other settings, other members of a list) is noted under the lock and made without it:
// making it runs code of a user, above all `prepare`. One thread at a time installs, and goes on until all changes that
// were asked for are in place, also those that came meanwhile. Other threads wait for it, so that a change is in place
// when the call returns; but not those that are inside of an installation themselves, nor the thread that frees things:
// they would wait for one another.

extension Renderer {
    /// Makes a change, and sees to it that it is in place. `false`: there was nothing to change. A loop that leaves, and the
    /// modules that it holds, go after the lock is released.
    @discardableResult
    func change(_ edit: (inout Control) -> Bool) -> Bool {
        guard let number = ask(edit) else { return false }
        bringInPlace(number)
        return true
    }

    /// Notes a change. Returns its number; `nil` if there is nothing to change.
    private func ask(_ edit: (inout Control) -> Bool) -> Int? {
        control.change { control in
            guard edit(&control) else { return nil }
            control.asked += 1
            return control.asked
        }
    }

    /// Sets the sample rate, for an output that holds its own lock while it opens a device: the modules are prepared on
    /// another thread. The call waits for that, two seconds at most, since a module may be waiting for that lock.
    package func configureElsewhere(sampleRate: Double) {
        let number = ask { control in
            guard control.settings.sampleRate != sampleRate else { return false }
            control.settings.sampleRate = sampleRate
            return true
        }
        guard let number else { return }
        if Reclaimer.shared.isCurrent {
            bringInPlace(number)
        } else {
            Reclaimer.shared.runErrand { [self] in bringInPlace(number) }
            for _ in 0..<Self.patience where control.withLock({ $0.inPlace < number }) { usleep(500) }
        }
        reporter.tell(.configured(sampleRate: sampleRate, channels: channelCount))
    }

    /// The number of times that a thread looks whether another one has done the work, every half a millisecond: two
    /// seconds. A module whose `prepare` waits for the thread that is waiting here would otherwise stop both.
    private static let patience = 4_000

    /// The number of changes that one call makes: modules that ask for another change each time they are prepared would
    /// keep it.
    private static let rounds = 16

    func bringInPlace(_ number: Int) {
        var rounds = 0
        for _ in 0..<Self.patience {
            let turn = control.withLock { $0.takeTurn(number) }
            switch turn {
            case .isDone: return
            case .isAnothers:
                if crender_installing_get() > 0 || Reclaimer.shared.isCurrent { return }
                usleep(500)
            case .isMine(let wanted):
                install(wanted)
                rounds += 1
                if rounds == Self.rounds { return reporter.lookSoon() }
            }
        }
    }

    /// Puts a loop in place. The caller has the turn, and has given it back when this returns.
    private func install(_ wanted: Control) {
        HeldLocks.expectNone(before: "a loop is put in place")
        crender_installing_set(crender_installing_get() + 1)
        let old = wanted.image
        let members = LoopImage.withMembers(wanted.modules)
        attachComposites(members)
        let entrance = Entrance(state.inbox)
        let image = LoopImage(
            wanted.renderLoop, modules: members, settings: wanted.settings,
            stack: old.settings.layout == wanted.settings.layout ? old.stack : StackMemory(wanted.settings.layout),
            token: token, log: state.log, newcomers: state.newcomers, loopID: wanted.loopID, names: reporter.names)
        image.claimModules(for: token, entrance)
        if let job = entrance.makeJob() { state.entrances.push(job, for: image.id) }
        Renderer.align(members, along: wanted.paths, at: wanted.settings.sampleRate)
        reporter.aligns.store(Renderer.isAligning(members), ordering: .relaxed)
        // Offline host times count from the last cycle at the old settings.
        if wanted.settings != old.settings { state.offlineOrigin.store(.min, ordering: .relaxed) }
        let address = state.exchange(image)
        control.withLock { control in
            control.image = image
            control.inPlace = wanted.asked
            if control.loopID == wanted.loopID && control.asked == wanted.asked { control.loopID = image.loopID }
            control.isInstalling = false
        }
        crender_installing_set(crender_installing_get() - 1)

        // Outside of a cycle the render thread does not see the old loop any more, and its modules are free at once.
        // Changes that they have made for a loop that was never rendered go with them.
        if state.counter.isOutside {
            let entrances = state.entrances.count
            // A renderer that stands still, and is configured again and again, would keep them all.
            if entrances > 8 || entrances > 0 && haveLeft(old.modules, for: members) { state.settleEntrances() }
            Leases.shared.withdraw(old.modules, from: old.id)
            Reclaimer.shared.retire { unsafe CycleState.image(address).release() }
        } else {
            Reclaimer.shared.retire {
                let old = unsafe CycleState.image(address).takeRetainedValue()
                Leases.shared.withdraw(old.modules, from: old.id)
            }
        }
    }

    private func haveLeft(_ old: [any Module], for new: [any Module]) -> Bool {
        !Set(old.map(ObjectIdentifier.init)).isSubset(of: new.map(ObjectIdentifier.init))
    }

    func attachComposites(_ modules: [any Module]) {
        for case let composite as any CompositeModule in modules { composite.attach(self) }
    }

    /// Looks at the modules inside of modules again, after they have changed.
    package func refreshModules() {
        let control = self.control.withLock { $0 }
        let isCurrent =
            !control.isInstalling && control.asked == control.inPlace
            && LoopImage.withMembers(control.modules).elementsEqual(control.image.modules, by: ===)
        if !isCurrent { change { _ in true } }
    }

    /// Looks at the modules soon, after some have left: once for all that leave in a few milliseconds, since it is not
    /// urgent.
    package func refreshModulesSoon() { reporter.lookSoon() }

    /// Takes in modules that the render thread has met, and looks at those inside of others.
    func lookAtModules() {
        let met = state.newcomers.take(after: state.counter)
        let loopID = control.withLock { $0.image.loopID }
        var newcomers: [any Module] = []
        for newcomer in met where newcomer.loopID == loopID {
            if newcomer.isKept {
                newcomers.append(newcomer.module)
            } else {
                state.log.total.wrappingAdd(1, ordering: .relaxed)
                reporter.tell(.fault(.madeInLoop(newcomer.module.name, at: sampleTime)))
            }
        }
        let isNew = change { control in
            guard control.image.loopID == loopID, control.loopID == loopID else { return false }
            let new = newcomers.filter { newcomer in !control.image.modules.contains { $0 === newcomer } }
            control.loop.modules += new
            return !new.isEmpty
        }
        if !isNew { refreshModules() }
    }
}

extension Renderer.Control {
    /// The outcome of asking for the turn to put changes in place.
    enum Turn {
        /// The changes that were asked for are in place.
        case isDone
        /// Another thread is at it, and will do this too.
        case isAnothers
        /// The turn is the caller's, with the present wishes.
        case isMine(Renderer.Control)
    }

    mutating func takeTurn(_ number: Int) -> Turn {
        if isInstalling { return inPlace >= number ? .isDone : .isAnothers }
        if inPlace >= asked { return .isDone }
        isInstalling = true
        return .isMine(self)
    }
}
