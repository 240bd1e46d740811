internal import CJACK
public import RenderCore
internal import Synchronization

// The session's position in its piece, for control code; the render loop asks `context.transport`.

extension JACKOutput {
    /// Returns the transport as it is now.
    ///
    /// - Throws: ``JACKError/notRunning``.
    public func transport() throws(JACKError) -> Transport {
        try withClient { client in unsafe JACKCycle.transport(cjack_transport_query(client.client)) }
    }

    /// Starts the transport, for all programs.
    ///
    /// - Throws: ``JACKError/notRunning``.
    public func startTransport() throws(JACKError) { try withClient { unsafe jack_transport_start($0.client) } }

    /// Stops the transport, for all programs.
    ///
    /// - Throws: ``JACKError/notRunning``.
    public func stopTransport() throws(JACKError) { try withClient { unsafe jack_transport_stop($0.client) } }

    /// Goes to a frame, for all programs.
    ///
    /// - Parameter frame: 0 up to 4,294,967,295, a day's worth.
    /// - Throws: ``JACKError/notRunning``, ``JACKError/unfitFrame(_:)``.
    public func locateTransport(_ frame: Int64) throws(JACKError) {
        guard let place = UInt32(exactly: frame) else { throw .unfitFrame(frame) }
        _ = try withClient { unsafe jack_transport_locate($0.client, place) }
    }

    /// Leads the tempo: all programs see the bars and beats of this one, until it stops or another one leads.
    ///
    /// - Parameters:
    ///   - beatsPerMinute: The tempo, up to 100,000; 0 leads no more.
    ///   - beatsPerBar: 1 to 1,000.
    ///   - ifNobodyDoes: `true` to leave it to a program that leads already.
    /// - Returns: `true` if this program leads now.
    /// - Throws: ``JACKError/notRunning``, ``JACKError/notAnswering``,
    ///   ``JACKError/unfitTempo(beatsPerMinute:beatsPerBar:)``.
    @discardableResult
    public func leadTempo(
        _ beatsPerMinute: Double, beatsPerBar: Double = 4, ifNobodyDoes: Bool = false
    ) throws(JACKError) -> Bool {
        let isLeading = beatsPerMinute != 0
        guard !isLeading || beatsPerMinute > 0 && beatsPerMinute <= JACKError.mostBeatsPerMinute,
            !isLeading || beatsPerBar >= 1 && beatsPerBar <= JACKError.mostBeatsPerBar
        else { throw .unfitTempo(beatsPerMinute: beatsPerMinute, beatsPerBar: beatsPerBar) }
        let answer = try withClient { client in
            client.cycle.beatsPerBar.store(beatsPerBar.bitPattern, ordering: .relaxed)
            client.cycle.beatsPerMinute.store(beatsPerMinute.bitPattern, ordering: .relaxed)
            return client.leadTempo(isLeading, onlyIfFree: ifNobodyDoes)
        }
        guard let answer else { throw .notAnswering }
        return answer
    }

    /// Makes the server run without a clock, as fast as all programs go, or by its clock again.
    ///
    /// - Throws: ``JACKError/notRunning``, ``JACKError/notAnswering``.
    public func setFreewheel(_ isOn: Bool) throws(JACKError) {
        let answer = try withClient { client in client.ask { unsafe jack_set_freewheel($0.client, isOn ? 1 : 0) } }
        if answer == nil { throw .notAnswering }
    }

    /// Returns JACK's frame at a host time, by the clock of the last cycle; its frames count on here where JACK's wrap.
    ///
    /// - Throws: ``JACKError/notRunning``.
    public func frame(atHostTime time: Int64) throws(JACKError) -> Int64? {
        try withClient { $0.cycle.clock.now }?.frame(atHostTime: time)
    }

    /// Returns the host time at one of JACK's frames, by the clock of the last cycle.
    ///
    /// - Throws: ``JACKError/notRunning``.
    public func hostTime(atFrame frame: Int64) throws(JACKError) -> Int64? {
        try withClient { $0.cycle.clock.now }?.hostTime(atFrame: frame)
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
