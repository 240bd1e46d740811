internal import Glibc

/// Plays a renderer on the best output of this machine: a JACK server if one runs, else ALSA's default device, which may be
/// a card or a sound server, else the first card that can be opened, else the clock alone.
///
///     let output = try AudioOutput(renderer)
///     try output.start()
///     print(output.choice)            // "JACK: a server is running."
///
/// `RENDERSTACK_OUTPUT` in the environment overrides the choice: `jack`, `alsa`, `alsa:DEVICE` or `clock`. The property
/// ``choice`` and the first event that a listener gets say what was chosen and why.
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
                machine.hasServer = { JACKOutput.isServerRunning() }
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

    init(
        _ renderer: Renderer, name: String, midiInputs: [MIDIInput], midiOutputs: [MIDIOutput], machine: Machine
    ) throws {
        let asked = "as RENDERSTACK_OUTPUT says."
        let wanted = machine.wanted ?? ""
        #if Everything || JACK
            let hasServer = wanted.isEmpty && machine.hasServer()
            if wanted.lowercased() == "jack" || hasServer {
                output = JACKOutput(renderer, name: name, midiInputs: midiInputs, midiOutputs: midiOutputs)
                choice = hasServer ? "JACK: a server is running." : "JACK, \(asked)"
                return
            }
        #endif
        var why = "\(Machine.noServer)."
        #if Everything || ALSA
            func card(_ device: String) -> ALSAOutput {
                ALSAOutput(
                    renderer, device: device, midiInputs: midiInputs, midiOutputs: midiOutputs, midiName: name)
            }
            if wanted.lowercased() == "alsa" || wanted.lowercased().hasPrefix("alsa:"), wanted.count != 5 {
                let device = wanted.count > 5 ? String(wanted.dropFirst(5)) : "default"
                output = card(device)
                choice = "The sound device \"\(device)\", \(asked)"
                return
            }
            if wanted.isEmpty {
                let found = machine.card()
                if let device = found.name {
                    output = card(device)
                    choice = "The sound device \"\(device)\": \(found.why)"
                    return
                }
                why = "\(Machine.noServer), and \(found.why)"
            }
        #endif
        guard wanted.isEmpty || wanted.lowercased() == "clock" else {
            throw OutputError(
                "RENDERSTACK_OUTPUT says \"\(wanted)\"; it may say \(Self.known.joined(separator: ", ")).")
        }
        output = ClockOutput(renderer)
        choice = wanted.isEmpty ? "The clock alone, without sound: \(why)" : "The clock alone, \(asked)"
    }

    /// The values that the environment variable may have.
    private static var known: [String] {
        var names: [String] = []
        #if Everything || JACK
            names.append("`jack`")
        #endif
        #if Everything || ALSA
            names += ["`alsa`", "`alsa:DEVICE`"]
        #endif
        return names + ["`clock`"]
    }

    /// Begins to render.
    public func start() throws { try output.start() }

    /// Ends after the cycle that is being rendered.
    public func stop() { output.stop() }

    /// The state of the output.
    public var state: OutputState { output.state }

    /// The statistics since the output was started.
    public var statistics: OutputStatistics { output.statistics }

    /// The output's events. The first one says what was chosen and why.
    public var events: AsyncStream<OutputEvent> {
        (output as? any CoredOutput)?.core.hub.subscribe(greeting: .notice(choice)) ?? output.events
    }
}
