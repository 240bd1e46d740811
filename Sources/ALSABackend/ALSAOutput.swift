public import RenderCore
internal import Synchronization

/// Plays a renderer straight on a sound card, and records from one, without a sound server.
///
///     let output = ALSAOutput(renderer, device: "hw:0", period: 128)
///     try output.start()
///     print(output.configuration)          // what the card has agreed to
///
/// The renderer gets the card's sample rate, unless it is told one. When the card interrupts the sound, sleeps, stands still or is unplugged,
/// the output brings it back and goes on with the next frame; an `OutputEvent.gap(frames:hostTime:)` tells how long that
/// took.
///
/// Latency: what the card's memory holds, `period` × `periods` frames, and what the card adds.
public final class ALSAOutput: RenderOutput {
    private let session: ALSASession

    /// An output; ``start()`` opens the devices.
    ///
    /// - Parameters:
    ///   - renderer: what it drives.
    ///   - device: ALSA's name of the card that plays: "hw:0", "plughw:CARD=Box"; `nil` to record only.
    ///   - inputDevice: the card that records; the same if nothing is said. Another card's clock is followed.
    ///   - inputs: where sound comes in; those that the renderer's closure runs if nothing is said. Without any, nothing
    ///     is recorded.
    ///   - rate: frames per second that the renderer is to run at, whatever the card can do: where it cannot, the sound is
    ///     converted, at its nearest rate. If nothing is said, the card is asked for the renderer's rate, and the renderer
    ///     then runs at the card's.
    ///   - format: how samples lie in the card's memory; the best that it has if nothing is said.
    ///   - period: frames in a cycle that the card is asked for, 16…65,536.
    ///   - periods: how many of them its memory is to hold, 2…64.
    ///   - dither: whether 16-bit samples get dither.
    ///   - priority: the real-time priority of its thread, 1…99; 0 for an ordinary thread.
    ///   - midiInputs: where events come in, through ALSA's sequencer.
    ///   - midiOutputs: where events go out.
    ///   - midiConnect: where those are connected at the start.
    ///   - midiName: what other programs see.
    ///   - ifLost: what it does when the card goes away.
    ///   - compensatesLatency: whether host times are those at which a frame is heard, and was captured; else those at
    ///     which its cycle began.
    /// - Precondition: the numbers are in range.
    public convenience init(
        _ renderer: Renderer, device: String? = "default", inputDevice: String? = nil, inputs: [AudioInput]? = nil,
        rate: Double? = nil, format: ALSAFormat? = nil, period: Int = 256, periods: Int = 3, dither: Bool = false,
        priority: Int = 70, midiInputs: [MIDIInput] = [], midiOutputs: [MIDIOutput] = [],
        midiConnect: ALSAMIDIConnect = .none, midiName: String = "RenderStack", ifLost: ALSALossPolicy = .wait,
        compensatesLatency: Bool = true
    ) {
        precondition((16...65_536).contains(period), "ALSAOutput: a period of \(period) frames; it must be 16…65,536")
        precondition((2...64).contains(periods), "ALSAOutput: \(periods) periods; there must be 2…64")
        precondition((0...99).contains(priority), "ALSAOutput: a priority of \(priority); it must be 0…99")
        precondition(
            rate.map { $0 >= 1 && $0 <= 1_000_000 } ?? true,
            "ALSAOutput: a rate of \(rate ?? 0); it must be 1…1,000,000")
        precondition(device != nil || inputDevice != nil, "ALSAOutput: neither a device to play nor one to record")
        let inputs = inputs ?? renderer.modules.compactMap { $0 as? AudioInput }
        var settings = ALSASettings(
            device: device, inputDevice: inputs.isEmpty ? nil : inputDevice ?? device, inputs: inputs, rate: rate,
            format: format, period: period, periods: periods, isDithered: dither, priority: priority,
            lossPolicy: ifLost, compensatesLatency: compensatesLatency)
        settings.isPaced = true
        settings.midiInputs = midiInputs
        settings.midiOutputs = midiOutputs
        settings.midiConnect = midiConnect
        settings.midiName = midiName
        self.init(renderer, settings)
    }

    init(_ renderer: Renderer, _ settings: ALSASettings) { session = ALSASession(renderer, settings) }

    deinit {
        stop()
        session.hub.finish()
    }

    /// Opens the devices and begins to render. Does nothing if it has been started. The statistics begin anew.
    ///
    /// - Throws: ``ALSAError``.
    public func start() throws { try session.start() }

    /// Ends after the cycle that is being rendered, and closes the devices. May be started again.
    public func stop() { session.stop() }

    /// Whether it is rendering, or waiting for its device to come back.
    public var state: OutputState { session.state }

    /// How it has been doing since it was started last. Interruptions count as missed deadlines.
    public var statistics: OutputStatistics {
        var statistics = session.load.statistics
        statistics.faults = session.renderer.faultCount - session.faultsBefore.load(ordering: .relaxed)
        statistics.slowestModule = session.renderer.moduleTimes.max { $0.nanoseconds < $1.nanoseconds }
        return statistics
    }

    /// What happens to it, from now on.
    public var events: AsyncStream<OutputEvent> { session.hub.subscribe() }

    /// What the card that plays has agreed to; `nil` before the first start, or where none plays.
    public var configuration: ALSAConfiguration? { session.configurations.playback }

    /// What the card that records has agreed to; `nil` before the first start, or where none records.
    public var inputConfiguration: ALSAConfiguration? { session.configurations.capture }

    /// Samples that were too loud for an integer format, since the card was opened last.
    public var clippedSamples: Int { session.clippedSamples }

    /// The card that records, `nil` for none: may be changed at any time. While it runs, the sound is interrupted for
    /// that.
    public var inputDevice: String? { session.settings.inputDevice }

    /// Turns recording on or off, or records from another card.
    ///
    /// - Throws: ``ALSAError`` if a card cannot be opened; it is tried again.
    public func setInputDevice(_ name: String?) throws {
        try session.change { $0.inputDevice = name }
    }
}
