public import RenderStack

extension Options.Extra {
    /// `--input live`: the machine's input is heard in the place of the program's sound.
    public static let input = text("input", "live", "what comes in through JACK or ALSA, in the place of a sine")
}

extension Options {
    /// Plays a sound through an effect, as the options say: the file that was named, the machine's input, or a tone. If
    /// that cannot be done, a sentence ends the program.
    ///
    /// - Parameters:
    ///   - effect: Edits one buffer.
    ///   - tone: The generator that is heard if no other is asked for.
    public func play(_ effect: ClosureModule, on tone: Oscillator) async {
        do {
            if let input = text("input"), input != "live" || !files.isEmpty {
                Terminal.stop("\(Terminal.programName): --input \(input): it must be live, without a file", status: 2)
            }
            let sound = try files.first.map { path in try FilePlayer(path: path) }
            let input = text("input").map { _ in AudioInput(channels: 2) }
            let meter = LevelMeter()
            let recorder = try self.recorder()

            let renderer = try Renderer { context in
                if let sound {
                    context.run(sound)  // pushes 1
                } else if let input {
                    context.run(input)  // pushes 1
                } else {
                    context.run(tone)  // pushes 1
                }
                context.run(effect)  // edits the top
                context.run(meter)  // listens to the top
                context.output()  // onto the output
                if let recorder { context.run(recorder) }  // listens to the top
            }
            sound?.play()
            recorder?.begin()
            try await play(renderer, meter)
            try await finish(recorder)
        } catch {
            Terminal.stop("\(Terminal.programName): \(error)", status: 1)
        }
    }
}
