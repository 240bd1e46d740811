internal import CJACK
public import RenderCore
internal import Synchronization

// Where the session is in its piece, for control code; the closure asks `context.transport`.

extension JACKOutput {
    /// Where the transport is now.
    ///
    /// - Throws: ``JACKError/notRunning``.
    public func transport() throws(JACKError) -> Transport {
        try withClient { client in unsafe JACKCycle.transport(cjack_transport_query(client.client)) }
    }

    /// Has the transport roll, for all programs.
    ///
    /// - Throws: ``JACKError/notRunning``.
    public func startTransport() throws(JACKError) { try withClient { unsafe jack_transport_start($0.client) } }

    /// Stops the transport, for all programs.
    ///
    /// - Throws: ``JACKError/notRunning``.
    public func stopTransport() throws(JACKError) { try withClient { unsafe jack_transport_stop($0.client) } }

    /// Goes to a frame, for all programs.
    ///
    /// - Parameter frame: 0 up to a day's worth.
    /// - Throws: ``JACKError/notRunning``.
    public func locateTransport(_ frame: Int64) throws(JACKError) {
        _ = try withClient { unsafe jack_transport_locate($0.client, UInt32(clamping: frame)) }
    }

    /// Leads the tempo: all programs see bars and beats that this one says, until it stops or another one leads.
    ///
    /// - Parameters:
    ///   - beatsPerMinute: the tempo; 0 leads no more.
    ///   - beatsPerBar: 1 or more.
    ///   - ifNobodyDoes: whether to leave it to a program that leads already.
    /// - Returns: whether this one leads now.
    /// - Throws: ``JACKError/notRunning``, ``JACKError/notAnswering``.
    @discardableResult
    public func leadTempo(
        _ beatsPerMinute: Double, beatsPerBar: Double = 4, ifNobodyDoes: Bool = false
    ) throws(JACKError) -> Bool {
        let answer = try withClient { client in
            let isLeading = beatsPerMinute > 0 && beatsPerBar >= 1
            client.cycle.beatsPerBar.store(beatsPerBar.bitPattern, ordering: .relaxed)
            client.cycle.beatsPerMinute.store((isLeading ? beatsPerMinute : 0).bitPattern, ordering: .relaxed)
            return client.leadTempo(isLeading, onlyIfFree: ifNobodyDoes)
        }
        guard let answer else { throw .notAnswering }
        return answer
    }

    /// Has the server run without a clock, as fast as all programs go, or by its clock again.
    ///
    /// - Throws: ``JACKError/notRunning``, ``JACKError/notAnswering``.
    public func setFreewheel(_ isOn: Bool) throws(JACKError) {
        let answer = try withClient { client in client.ask { unsafe jack_set_freewheel($0.client, isOn ? 1 : 0) } }
        if answer == nil { throw .notAnswering }
    }

    /// JACK's frame at a host time, by the clock of the last cycle; its frames count on here where JACK's wrap.
    ///
    /// - Throws: ``JACKError/notRunning``.
    public func frame(atHostTime time: Int64) throws(JACKError) -> Int64? {
        try withClient { $0.cycle.clock.now }.map {
            $0.frame + Int64((Double(time - $0.hostTime) / $0.nanosecondsPerFrame).rounded())
        }
    }

    /// The host time at one of JACK's frames, by the clock of the last cycle.
    ///
    /// - Throws: ``JACKError/notRunning``.
    public func hostTime(atFrame frame: Int64) throws(JACKError) -> Int64? {
        try withClient { $0.cycle.clock.now }.map {
            $0.hostTime + Int64((Double(frame - $0.frame) * $0.nanosecondsPerFrame).rounded())
        }
    }
}

extension JACKClient {
    fileprivate func leadTempo(_ isOn: Bool, onlyIfFree: Bool) -> Bool? {
        let status: Int32? = ask { this in
            guard isOn else { return unsafe jack_release_timebase(this.client) }
            return unsafe cjack_set_timebase(
                this.client, onlyIfFree ? 1 : 0,
                { _, _, position, _, this in
                    guard let position = unsafe position else { return }
                    unsafe JACKCycle.run(this) { unsafe $0.lead(position) }
                }, Unmanaged.passUnretained(this.cycle).toOpaque())
        }
        return status.map { isOn && $0 == 0 }
    }
}
