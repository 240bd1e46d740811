internal import RealtimeWatch
public import RenderStack

extension Options {
    /// Renders as the options say: live with a meter, or into a file as fast as the machine can.
    ///
    /// - Parameters:
    ///   - renderer: The renderer to be heard.
    ///   - meter: The meter that a terminal shows while the renderer plays.
    ///   - midiInputs: The MIDI inputs, live.
    ///   - midiOutputs: The MIDI outputs, live.
    ///   - keys: The closure for a key that is pressed while the renderer plays live.
    ///   - keysAreElsewhere: `true` if the standard input is for something else than keys.
    ///   - status: The text to show in the place of the meter.
    ///   - screen: The lines to show in the place of both, on the whole terminal; below them stand load and lateness.
    ///   - begun: The closure that gets the live output when it plays.
    ///   - listening: The closure that is called fifty times a second, live by the clock, in a file every 20 ms of its
    ///     sound.
    ///   - encore: The sound to play when it is over, in the same file if it goes into one.
    public func play(
        _ renderer: Renderer, _ meter: LevelMeter, midiInputs: [MIDIInput] = [], midiOutputs: [MIDIOutput] = [],
        keys: (@Sendable (Character) -> Void)? = nil, keysAreElsewhere: Bool = false,
        status: (@Sendable () -> String)? = nil, screen: (@Sendable () -> [String])? = nil,
        begun: (@Sendable (any RenderOutput) -> Void)? = nil, listening: (@Sendable () async -> Void)? = nil,
        encore: (@Sendable () async throws -> Encore)? = nil
    ) async throws {
        let reading = keys.flatMap { keys in
            output.isLive ? Task { await Terminal.readKeys(isElsewhere: keysAreElsewhere, keys) } : nil
        }
        let session = Session(
            meter: meter, midiInputs: midiInputs, midiOutputs: midiOutputs, status: status, screen: screen,
            begun: begun, listening: listening,
            encore: encore)
        do {
            try await play(renderer, session)
        } catch {
            reading?.cancel()
            await reading?.value
            throw error
        }
        reading?.cancel()
        await reading?.value
        if output.isLive, let encore = try await encore?() {
            print("And once more:")
            var again = self
            again.seconds = encore.seconds
            try await again.play(encore.renderer, encore.meter)
        }
    }

    /// The sound that is played after another one.
    public struct Encore: Sendable {
        let renderer: Renderer
        let meter: LevelMeter
        let seconds: Double

        /// A renderer, its meter, and how long it plays.
        public init(_ renderer: Renderer, _ meter: LevelMeter, seconds: Double) {
            self.renderer = renderer
            self.meter = meter
            self.seconds = seconds
        }
    }

    /// The actions beside the sound.
    private struct Session: Sendable {
        let meter: LevelMeter
        let midiInputs: [MIDIInput]
        let midiOutputs: [MIDIOutput]
        let status: (@Sendable () -> String)?
        let screen: (@Sendable () -> [String])?
        let begun: (@Sendable (any RenderOutput) -> Void)?
        let listening: (@Sendable () async -> Void)?
        let encore: (@Sendable () async throws -> Encore)?
    }

    private func play(_ renderer: Renderer, _ session: Session) async throws {
        let faults = renderer.by({ $0() }) { event in Terminal.note("\(event)") }
        let result: Result<Void, any Error>
        do { result = .success(try await playOut(renderer, session)) } catch { result = .failure(error) }
        // Faults of the last moment are told too.
        await faults.finish()
        try result.get()
    }

    private func playOut(_ renderer: Renderer, _ session: Session) async throws {
        let (name, midi, sent) = (Terminal.programName, session.midiInputs, session.midiOutputs)
        switch output {
        case .file(let path): try await write(renderer, path, session)
        case .any: try await play(AudioOutput(renderer, name: name, midiInputs: midi, midiOutputs: sent), session)
        case .clock: try await play(ClockOutput(renderer), session)
        case .jack:
            #if Everything || JACK
                try await play(JACKOutput(renderer, name: name, midiInputs: midi, midiOutputs: sent), session)
            #else
                throw Missing(trait: "JACK")
            #endif
        case .pipeWire(let device):
            #if Everything || PipeWire
                let target = device.map { PipeWireTarget.device($0) } ?? .standard
                try await play(
                    PipeWireOutput(renderer, name: name, target: target, midiInputs: midi, midiOutputs: sent), session)
            #else
                throw Missing(trait: "PipeWire")
            #endif
        case .alsa(let device):
            #if Everything || ALSA
                try await play(
                    ALSAOutput(renderer, device: device, midiInputs: midi, midiOutputs: sent, midiName: name), session)
            #else
                throw Missing(trait: "ALSA")
            #endif
        }
    }

    /// The package was built without an output.
    private struct Missing: Error, CustomStringConvertible {
        let trait: String
        var description: String { "this build has no \(trait): build the package with its trait \(trait)" }
    }

    private func write(_ renderer: Renderer, _ path: String, _ session: Session) async throws {
        let output = try FileOutput(renderer, path: path)
        let wasWhole = try await untilInterrupted {
            try await output.preroll(for: .seconds(skip))
            if let listen = session.listening {
                let wanted = Int64(((seconds ?? 0) * output.sampleRate).rounded())
                while output.frameCount < wanted {
                    try Task.checkCancellation()
                    let rest = Double(wanted - output.frameCount) / output.sampleRate
                    try await output.run(for: .seconds(min(0.02, rest)))
                    await listen()
                }
            } else {
                try await output.run(for: .seconds(seconds ?? 0)) { progress in Terminal.show(progress, of: path) }
            }
            if let encore = try await session.encore?() {
                await output.use(encore.renderer)
                try await output.run(for: .seconds(encore.seconds))
            }
        }
        try await output.finish()
        Terminal.endDrawing()
        print("\(wasWhole ? "" : "Ended early. ")\(path): \(output.frameCount) frames")
    }

    private func play(_ output: some RenderOutput, _ session: Session) async throws {
        let notices = output.by({ $0() }) { event in
            // The error says it.
            if case .abandoned = event { return }
            Terminal.note("\(event)")
        }
        if let begun = session.begun {
            try output.start()
            begun(output)
        }
        let beside = session.listening.map { listen in
            Task {
                while !Task.isCancelled {
                    await listen()
                    try? await Task.sleep(for: .milliseconds(20))
                }
            }
        }
        // Without a terminal nothing is drawn.
        let drawing = Terminal.isInteractive ? Task { await draw(session, output) } : nil
        let result: Result<Bool, any Error>
        do {
            result = .success(try await output.run(for: seconds.map { .seconds($0) }))
        } catch {
            result = .failure(error)
        }
        drawing?.cancel()
        beside?.cancel()
        await drawing?.value
        await beside?.value
        await notices.finish()
        print(try result.get() ? "\(output.statistics)" : "Ended early. \(output.statistics)")
    }

    /// Returns the recorder of the file that `--save` names, if it does.
    public func recorder() throws -> FileRecorder? { try save.map { path in try recorder(path: path) } }

    /// Returns a recorder that says when it goes on in another file, because the sample rate has changed, and when the disk was too
    /// slow or failed.
    public func recorder(path: String) throws -> FileRecorder {
        let recorder = try FileRecorder(path: path)
        let events = recorder.events
        Task {
            for await event in events {
                switch event {
                case .rateChanged, .gap, .unprepared, .failed: Terminal.note("\(event)")
                case .began, .finished: break
                }
            }
        }
        return recorder
    }

    /// Ends a recording that was asked for, and says what is in its file; in its files, if the sample rate has changed.
    public func finish(_ recorder: FileRecorder?) async throws {
        guard let recorder else { return }
        try await recorder.finish()
        if recorder.takes.isEmpty { print("\(recorder.path): 0 frames") }
        for take in recorder.takes { print("\(take.path): \(take.frameCount) frames") }
    }

    /// Draws a sound file that was made, beside it, and says so.
    ///
    /// - Parameters:
    ///   - path: The sound file; the picture has its name, with `.png`.
    ///   - below: A picture that is put below it, and the name that it has.
    public func draw(_ path: String, below: (picture: Picture, name: String)? = nil) throws {
        var picture = try SoundPicture.draw(path)
        if let below { picture = picture.above(below.picture) }
        let name = path.split(separator: "/").last ?? ""
        let ending = name.lastIndex(of: ".").map { name.distance(from: $0, to: name.endIndex) } ?? 0
        let stem = path.dropLast(ending)
        try picture.write(to: stem + ".png")
        let all = ["its waveform", "its spectrogram"] + (below.map { [$0.name] } ?? [])
        print("\(stem).png: \(all.dropLast().joined(separator: ", ")) and \(all.last ?? "")")
    }

    /// Says what the watchdog thinks of the program, or how it is asked.
    public func sayVerdict() {
        if RealtimeWatch.isPresent {
            print("The watchdog's verdict:")
        } else {
            print("For the watchdog's verdict: rtwatch -- \(CommandLine.arguments.joined(separator: " "))")
        }
    }

    /// Shows the levels ten times a second.
    private func draw(_ show: Session, _ output: some RenderOutput) async {
        if show.screen != nil { Screen.begin() }
        while !Task.isCancelled {
            let statistics = output.statistics
            let load = "load \(Int((100 * statistics.loadMedian).rounded())) %, \(statistics.missedDeadlines) missed"
            if let screen = show.screen {
                Screen.draw(screen() + ["", load])
            } else if let status = show.status {
                Terminal.draw("\(status())  \(load)")
            } else {
                Terminal.drawMeters(show.meter.levels.map(\.peak), load)
            }
            try? await Task.sleep(for: .milliseconds(show.screen == nil ? 100 : 50))
        }
        if show.screen != nil { Screen.end() } else { Terminal.endDrawing() }
    }
}
