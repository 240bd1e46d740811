public import Outputs
public import RenderCore
public import Supply
internal import Synchronization

/// Plays a renderer straight on a sound card, and records from one, without a sound server.
///
///     let output = ALSAOutput(renderer, device: "hw:0", period: 128)
///     try output.start()
///     print(output.configuration)          // what the card has agreed to
///
/// The renderer gets the card's sample rate, unless the program sets one. When the card interrupts the sound, sleeps,
/// stands still or is unplugged, the output brings it back and goes on with the next frame. An
/// `OutputEvent.gap(frames:hostTime:)` says how long that took.
///
/// The latency is that of the card's memory, `period` × `periods` frames, and that of the card itself.
///
/// Threads: control.
public final class ALSAOutput: RenderOutput, CoredOutput {
    private let session: ALSASession

    /// Creates an output; ``start()`` opens the devices.
    ///
    /// - Parameters:
    ///   - renderer: The renderer to drive.
    ///   - device: ALSA's name of the card that plays: "hw:0", "plughw:CARD=Box"; `nil` to record only.
    ///   - inputDevice: The card that records; by default the same. The output follows the clock of another card.
    ///   - inputs: The inputs for sound; by default those that the renderer's loop runs, those that a later loop brings included: for these
    ///     the cards are opened anew while it plays. Without any, nothing is
    ///     recorded.
    ///   - rate: Frames per second that the renderer is to run at, whatever the card can do: where it cannot, the sound
    ///     is converted, at its nearest rate. By default, the card is asked for the renderer's rate, and the
    ///     renderer then runs at the card's.
    ///   - format: The format of samples in the card's memory; by default the best that it has.
    ///   - period: Frames in a cycle that the card is asked for, 16…65,536.
    ///   - periods: The number of periods in the card's memory, 2…64. If the device moves by more frames at once than that
    ///     memory holds, as a sound server does, the output opens it again with longer periods, and sends a notice.
    ///   - dither: `true` to dither 16-bit samples.
    ///   - priority: The real-time priority of its thread, 1…99; 0 for an ordinary thread.
    ///   - midiInputs: The inputs for events, through ALSA's sequencer.
    ///   - midiOutputs: The outputs for events.
    ///   - midiConnect: The ports to which those are connected at the start.
    ///   - midiName: The name that other programs see.
    ///   - ifLost: The behaviour when the card goes away.
    ///   - compensatesLatency: `true` for host times at which a frame is heard, and was captured; `false` for those at
    ///     which its cycle began. The property of that name changes it later.
    /// - Precondition: The numbers are in range.
    public convenience init(
        _ renderer: Renderer, device: String? = "default", inputDevice: String? = nil, inputs: [AudioInput]? = nil,
        rate: Double? = nil, format: ALSAFormat? = nil, period: Int = 256, periods: Int = 3, dither: Bool = false,
        priority: Int = 70, midiInputs: [MIDIInput] = [], midiOutputs: [MIDIOutput] = [],
        midiConnect: ALSAMIDIConnect = .none, midiName: String = "RenderStack", ifLost: ALSALossPolicy = .wait,
        compensatesLatency: Bool = true
    ) {
        demand((16...65_536).contains(period), "ALSAOutput: a period of \(period) frames; it must be 16…65,536")
        demand((2...64).contains(periods), "ALSAOutput: \(periods) periods; there must be 2…64")
        demand((0...99).contains(priority), "ALSAOutput: a priority of \(priority); it must be 0…99")
        demand(
            rate.map { $0 >= 1 && $0 <= 1_000_000 } ?? true,
            "ALSAOutput: a rate of \(rate ?? 0); it must be 1…1,000,000")
        demand(device != nil || inputDevice != nil, "ALSAOutput: neither a device to play nor one to record")
        let followsInputs = inputs == nil
        let inputs = inputs ?? renderer.inputs
        var settings = ALSASettings(
            device: device, inputDevice: inputs.isEmpty ? nil : inputDevice ?? device, inputs: inputs, rate: rate,
            format: format, period: period, periods: periods, isDithered: dither, priority: priority,
            lossPolicy: ifLost, compensatesLatency: compensatesLatency)
        (settings.followsInputs, settings.laterInputDevice) = (followsInputs, inputDevice ?? device)
        settings.isPaced = true
        settings.growsBuffers = true
        settings.midiInputs = midiInputs
        settings.midiOutputs = midiOutputs
        settings.midiConnect = midiConnect
        settings.midiName = midiName
        self.init(renderer, settings)
    }

    init(_ renderer: Renderer, _ settings: ALSASettings) { session = ALSASession(renderer, settings) }

    deinit { stop() }

    /// Opens the devices and begins to render. Does nothing if it has been started. The statistics begin anew.
    ///
    /// - Throws: ``ALSAError``.
    public func start() throws { try session.start() }

    /// Ends after the cycle that is being rendered, and closes the devices. May be started again.
    public func stop() { core.stop { session.stop() } }
    package var core: OutputCore { session.core }

    /// The state of the output: running, stopped, or waiting for its device to come back.
    public var state: OutputState { session.core.state }

    /// The statistics since the output was started last. Interruptions count as missed deadlines.
    public var statistics: OutputStatistics { session.core.statistics }

    /// The output's events from now on.
    public var events: AsyncStream<OutputEvent> { session.core.events }

    /// The settings that the card that plays has agreed to; `nil` before the first start, or if none plays.
    public var configuration: ALSAConfiguration? { session.configurations.playback }

    /// The settings that the card that records has agreed to; `nil` before the first start, or if none records.
    public var inputConfiguration: ALSAConfiguration? { session.configurations.capture }

    /// Samples that were too loud for an integer format, since the card was opened last.
    public var clippedSamples: Int { session.clippedSamples }

    /// The card that records, `nil` for none: may be changed at any time. While it runs, the sound is interrupted for
    /// that.
    public var inputDevice: String? { session.settings.inputDevice }

    /// Returns the gain and the mute of the card itself that plays, or of the one that records. It may be asked before the start, too.
    ///
    /// - Parameter isCapture: `true` for the card that records.
    /// - Throws: ``ALSAError/noGain(name:isCapture:)`` if the card has none, or if there is no such card.
    public func hardwareGain(isCapture: Bool = false) throws(ALSAError) -> ALSAGain {
        let settings = session.settings
        guard let device = isCapture ? settings.inputDevice : settings.device else {
            throw .noGain(name: "", isCapture: isCapture)
        }
        return try ALSAGain(of: device, isCapture: isCapture)
    }

    /// Turns recording on or off, or records from another card.
    ///
    /// - Throws: ``ALSAError`` if a card cannot be opened; it is tried again.
    public func setInputDevice(_ name: String?) throws {
        try session.change { ($0.inputDevice, $0.laterInputDevice) = (name, name) }
    }
}
