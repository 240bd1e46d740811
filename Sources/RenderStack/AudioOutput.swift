internal import Glibc

/// Plays a renderer on the best output of this machine: a JACK server if one runs, else PipeWire if it has a device, else ALSA's
/// default device, which may be a card or a sound server, else the first card that can be opened, else the clock alone.
///
///     let output = try AudioOutput(renderer)
///     try output.start()
///     print(output.choice)            // "JACK: a server is running."
///
/// `RENDERSTACK_OUTPUT` in the environment overrides the choice: `jack`, `pipewire`, `pipewire:DEVICE`, `alsa`, `alsa:DEVICE`, `clock`,
/// or the name of an output that
/// has joined the list (``join(_:isThere:make:)``). The property ``choice`` and the first event that a listener gets say what was
/// chosen and why.
///
/// Threads: control.
public final class AudioOutput: RenderOutput {
    /// The output that was chosen.
    public let output: any RenderOutput
    /// A sentence that says what was chosen and why.
    public let choice: String

    /// Chooses an output, and leaves it stopped.
    ///
    /// - Parameters:
    ///   - renderer: The renderer to drive.
    ///   - name: The name that other programs see.
    ///   - midiInputs: The inputs for events, if the output has such ports.
    ///   - midiOutputs: The outputs for events.
    /// - Throws: An error if `RENDERSTACK_OUTPUT` names an output that does not exist.
    public convenience init(
        _ renderer: Renderer, name: String = "RenderStack", midiInputs: [MIDIInput] = [], midiOutputs: [MIDIOutput] = []
    ) throws {
        try self.init(
            renderer, name: name, midiInputs: midiInputs, midiOutputs: midiOutputs, machine: Machine.asItIs)
    }

    /// The outputs that a machine offers.
    struct Machine {
        /// The text of `RENDERSTACK_OUTPUT`.
        var wanted: String?
        /// Indicates whether a JACK server runs.
        var hasServer: () -> Bool = { false }
        /// Indicates whether PipeWire runs and has a device to play on, and says why it is not taken.
        var hasDaemon: () -> (isThere: Bool, why: String) = { (false, "PipeWire is not running") }
        /// The name of a sound card that can be played on now, or why there is none.
        var card: () -> (name: String?, why: String) = { (nil, "there is no sound card.") }

        /// The reason why JACK is not taken.
        static var noServer: String {
            #if Everything || JACK
                "no JACK server is running"
            #else
                "JACK is not built in (it is the trait `JACK` of the package)"
            #endif
        }

        /// This machine.
        static var asItIs: Machine {
            var machine = Machine(wanted: unsafe getenv("RENDERSTACK_OUTPUT").map { unsafe String(cString: $0) })
            #if Everything || JACK
                machine.hasServer = {
                    #if Everything || PipeWire
                        // PipeWire itself is nearer.
                        if JACKOutput.isPipeWireForAll { return false }
                    #endif
                    return JACKOutput.isServerRunning()
                }
            #endif
            #if Everything || PipeWire
                machine.hasDaemon = {
                    do throws(PipeWireError) {
                        return (try PipeWireDevice.all().contains(where: \.isSink), "PipeWire has no device to play on")
                    } catch {
                        return (false, error == .notAnswering ? "PipeWire does not answer" : "PipeWire is not running")
                    }
                }
            #endif
            #if Everything || ALSA
                machine.card = { card(among: ALSADevice.all) }
            #endif
            return machine
        }

        #if Everything || ALSA
            /// Returns the default device if that can be opened, with a card or without, else the first card that can.
            static func card(among devices: [ALSADevice]) -> (name: String?, why: String) {
                let cards = devices.filter { $0.isHardware && $0.canPlay }.map(\.name)
                var errors: [ALSAError] = []
                for name in ["default"] + cards {
                    do throws(ALSAError) {
                        _ = try ALSADevice.abilities(of: name)
                        return (name, "\(noServer).")
                    } catch {
                        errors.append(error)
                    }
                }
                if let error = errors.last, !cards.isEmpty { return (nil, "no sound card can be opened. \(error)") }
                // ALSA's own configuration makes the default device of the first card.
                if case .noDevice? = errors.first {
                    return (nil, "no sound card is found. \(MachineCheck.absenceOfCard)")
                }
                return (nil, "no sound card is found. \(errors.first.map { "\($0)" } ?? "")")
            }
        #endif
    }

    /// A wish for an output, by which one is made that has joined the list.
    ///
    /// Threads: control.
    public struct Request: Sendable {
        /// The renderer to drive.
        public let renderer: Renderer
        /// The name that other programs see.
        public let name: String
        /// The device that `RENDERSTACK_OUTPUT` names behind a colon; `nil` if it names none.
        public let device: String?
        /// The inputs for events.
        public let midiInputs: [MIDIInput]
        /// The outputs for events.
        public let midiOutputs: [MIDIOutput]
    }

    /// Lets an output of another package be chosen: by its name in `RENDERSTACK_OUTPUT`, and, before all others, where it is there.
    ///
    ///     AudioOutput.join("cable") { CableOutput($0.renderer, midiInputs: $0.midiInputs, midiOutputs: $0.midiOutputs) }
    ///
    /// - Parameters:
    ///   - name: The name, in small letters. Another output of the name goes.
    ///   - isThere: Returns whether its server or device is there, so that it is taken without a wish.
    ///   - make: Makes the output, stopped.
    public static func join(
        _ name: String, isThere: @escaping @Sendable () -> Bool = { false },
        make: @escaping @Sendable (Request) throws -> any RenderOutput
    ) {
        let kind = Kind(
            name: name, title: { "The output \"\(name)\"\($0.isEmpty ? "" : " for the device \"\($0)\"")" },
            find: { isThere() ? ("", "it is there.") : nil }, make: make)
        joined.withLock { joined in joined = joined.filter { $0.name != name } + [kind] }
    }

    private static let joined = Lock([Kind]())

    /// A kind of output that can be chosen.
    private struct Kind: @unchecked Sendable {
        // Unchecked because those that are kept have closures that are Sendable.
        let name: String
        let title: (_ device: String) -> String
        /// Finds the device to take without a wish, and a sentence that says why it is taken; `nil` if there is none.
        let find: () -> (device: String, why: String)?
        let make: (Request) throws -> any RenderOutput
    }

    init(
        _ renderer: Renderer, name: String, midiInputs: [MIDIInput], midiOutputs: [MIDIOutput], machine: Machine
    ) throws {
        var why = Machine.noServer
        var kinds = Self.joined.withLock { $0 }
        #if Everything || JACK
            kinds.append(
                Kind(
                    name: "jack", title: { _ in "JACK" },
                    find: { machine.hasServer() ? ("", "a server is running.") : nil }
                ) {
                    JACKOutput(
                        $0.renderer, name: $0.name, midiInputs: $0.midiInputs, midiOutputs: $0.midiOutputs)
                })
        #endif
        #if Everything || PipeWire
            kinds.append(
                Kind(
                    name: "pipewire", title: { $0.isEmpty ? "PipeWire" : "PipeWire's device \"\($0)\"" },
                    find: {
                        let daemon = machine.hasDaemon()
                        if !daemon.isThere { why += ", \(daemon.why)" }
                        return daemon.isThere ? ("", "\(Machine.noServer).") : nil
                    }
                ) {
                    PipeWireOutput(
                        $0.renderer, name: $0.name, target: $0.device.map { .device($0) } ?? .standard,
                        midiInputs: $0.midiInputs, midiOutputs: $0.midiOutputs)
                })
        #endif
        #if Everything || ALSA
            func card() -> (device: String, why: String)? {
                let card = machine.card()
                why += card.name == nil ? ", and \(card.why)" : ""
                return card.name.map { ($0, card.why) }
            }
            kinds.append(
                Kind(name: "alsa", title: { "The sound device \"\($0.isEmpty ? "default" : $0)\"" }, find: card) {
                    ALSAOutput(
                        $0.renderer, device: $0.device ?? "default", midiInputs: $0.midiInputs,
                        midiOutputs: $0.midiOutputs, midiName: $0.name)
                })
        #endif
        kinds.append(
            Kind(
                name: "clock", title: { _ in "The clock alone" },
                find: { nil },
                make: { ClockOutput($0.renderer) }))
        let wanted = machine.wanted ?? ""
        // The clock is always there.
        var chosen = (kind: kinds[kinds.count - 1], device: "", why: "")
        if wanted.isEmpty {
            for kind in kinds where chosen.why.isEmpty {
                if let found = kind.find() { chosen = (kind, found.device, ": \(found.why)") }
            }
            if chosen.why.isEmpty { chosen.why = ", without sound: \(why.hasSuffix(".") ? why : why + ".")" }
        } else {
            let word = wanted.prefix { $0 != ":" }
            let device = String(wanted.dropFirst(word.count + 1))
            guard let kind = kinds.first(where: { $0.name == word.lowercased() }),
                word == wanted || !device.isEmpty && kind.name != "jack" && kind.name != "clock"
            else {
                let known = kinds.flatMap {
                    ["alsa", "pipewire"].contains($0.name) ? ["`\($0.name)`", "`\($0.name):DEVICE`"] : ["`\($0.name)`"]
                }
                throw OutputError("RENDERSTACK_OUTPUT says \"\(wanted)\"; it may say \(known.joined(separator: ", ")).")
            }
            chosen = (kind, device, ", as RENDERSTACK_OUTPUT says.")
        }
        output = try chosen.kind.make(
            Request(
                renderer: renderer, name: name, device: chosen.device.isEmpty ? nil : chosen.device,
                midiInputs: midiInputs, midiOutputs: midiOutputs))
        choice = chosen.kind.title(chosen.device) + chosen.why
    }

    /// Begins to render.
    public func start() throws { try output.start() }

    /// Ends after the cycle that is being rendered.
    public func stop() { output.stop() }

    /// The state of the output.
    public var state: OutputState { output.state }

    /// The statistics since the output was started.
    public var statistics: OutputStatistics { output.statistics }

    /// The frames of the renderer after which the sound of a cycle is heard; 0 where the output knows none.
    public var playbackLatency: Int { output.playbackLatency }

    /// The age in frames of the sound that comes into a cycle; 0 where the output knows none.
    public var captureLatency: Int { output.captureLatency }

    /// Indicates whether host times are those at which a frame is heard, and was captured; else they are those at which its cycle
    /// began. It may be changed while it plays.
    public var compensatesLatency: Bool {
        get { output.compensatesLatency }
        set { output.compensatesLatency = newValue }
    }

    /// The output's events. The first one says what was chosen and why.
    public var events: AsyncStream<OutputEvent> {
        if let core = (output as? any CoredOutput)?.core { return core.hub.subscribe(greeting: .notice(choice)) }
        let (greeted, continuation) = AsyncStream.makeStream(of: OutputEvent.self)
        continuation.yield(.notice(choice))
        let task = Task { [events = output.events] in
            for await event in events { continuation.yield(event) }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return greeted
    }
}
