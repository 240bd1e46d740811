import Glibc

/// The command line.
struct LiveOptions {
    /// The place to which the sound goes.
    enum Output: Equatable {
        case any, jack, clock
        case alsa(String)
        case file(String)
    }

    var loop = ""
    var output = Output.any
    var seconds: Double?
    var fade = 0.03
    var ringOut = 0.0
    var followsFile = false
    var record: String?
    var render: String?
    var new = false
    var package: String?

    static let usage = """
        Plays a loop file, and plays each version of it as soon as it is saved.

        Usage: scripts/live [options] LOOP.swift
          LOOP.swift         the loop, or a folder whose Swift files are one loop
          --new              writes a first loop under that name, and plays it
          --output WHERE     jack, alsa, alsa:DEVICE, clock, or file:PATH, which renders the file as it is now;
                             by default JACK if a server runs, else a card, else the clock
          --seconds N        how long to play, more than 0 (until Ctrl-C if not given; file:PATH needs it)
          --fade N           seconds of the cross-fade from a version to the next, 0 (none) to 60 (0.03 if not given)
          --ring-out N       seconds for which delays and reverbs that have gone ring out, 0 to 600 (0 if not given)
          --turned keep|file whether parameters that were turned by hand keep their value until the file has another number
                             for them (keep, if not given), or go back to the file's at each save (file)
          --record FOLDER    records the sound, and each version beside it
          --render FOLDER    renders a recorded performance again, into --output file:PATH
          --package FOLDER   the package whose library targets the loop imports (by default the one around the loop)
          --watch            says at once which calls in the loop block: runs it under rtwatch
          --help             this text

        Keys: m mutes, p goes back to the previous version, s saves this version under a name of its own, l lists the
        parameters, : begins a line such as :set delay.feedback 0.6, q ends. Without a terminal the same words are lines on
        the standard input: mute, previous, save, list, set NAME VALUE, status, quit.
        """

    /// A request that cannot be followed, or one for help.
    struct Stop: Error {
        let text: String
        let status: Int32
    }

    init(_ arguments: ArraySlice<String>) throws(Stop) {
        var rest = arguments.flatMap { argument -> [String] in
            guard argument.hasPrefix("--"), let equals = argument.firstIndex(of: "=") else { return [argument] }
            return [String(argument[..<equals]), String(argument[argument.index(after: equals)...])]
        }[...]
        func value(_ flag: String) throws(Stop) -> String {
            guard let value = rest.popFirst() else {
                throw Stop(text: "live: \(flag) needs a value; see scripts/live --help", status: 2)
            }
            return value
        }
        func number(_ flag: String, _ range: ClosedRange<Double>) throws(Stop) -> Double {
            let text = try value(flag)
            guard let number = Double(text), range.contains(number) else {
                throw Stop(
                    text: "live: \(flag) \(text): it must be a number from \(range.lowerBound) to \(range.upperBound)",
                    status: 2)
            }
            return number
        }
        while let word = rest.popFirst() {
            switch word {
            case "--help", "-h": throw Stop(text: Self.usage, status: 0)
            case "--new": new = true
            case "--seconds": seconds = try number(word, 0.001...1e6)
            case "--fade": fade = try number(word, 0...60)
            case "--ring-out": ringOut = try number(word, 0...600)
            case "--record": record = try value(word)
            case "--render": render = try value(word)
            case "--package": package = try value(word)
            case "--turned":
                let text = try value(word)
                guard text == "keep" || text == "file" else {
                    throw Stop(text: "live: --turned \(text): it must be keep or file", status: 2)
                }
                followsFile = text == "file"
            case "--output": output = try Self.output(try value(word))
            case _ where word.hasPrefix("-") && word.count > 1:
                throw Stop(text: "live: there is no option \(word); see scripts/live --help", status: 2)
            default:
                guard loop.isEmpty else {
                    throw Stop(
                        text: "live: \(loop) and \(word): it plays one loop; give a folder for several files", status: 2
                    )
                }
                loop = word
            }
        }
        if loop.isEmpty && render == nil {
            throw Stop(
                text: "live: no loop is given. A first one: scripts/live --new LOOP.swift (see scripts/live --help)",
                status: 2)
        }
        if case .file = output {
            if seconds == nil && render == nil {
                throw Stop(text: "live: --output file:PATH needs --seconds", status: 2)
            }
            if record != nil {
                throw Stop(text: "live: --record goes with a live output, not with file:PATH", status: 2)
            }
        } else if render != nil {
            throw Stop(text: "live: --render needs --output file:PATH", status: 2)
        }
        if render != nil && !loop.isEmpty {
            throw Stop(text: "live: --render plays the recorded versions; it takes no loop (\(loop))", status: 2)
        }
    }

    private static func output(_ text: String) throws(Stop) -> Output {
        switch text {
        case "jack": return .jack
        case "alsa": return .alsa("default")
        case "clock": return .clock
        case _ where text.hasPrefix("alsa:") && text.count > 5: return .alsa(String(text.dropFirst(5)))
        case _ where text.hasPrefix("file:") && text.count > 5: return .file(String(text.dropFirst(5)))
        default:
            throw Stop(
                text: "live: --output \(text): it must be jack, alsa, alsa:DEVICE, clock or file:PATH", status: 2)
        }
    }
}

/// The loop that `--new` writes.
let firstLoop = """
    import RenderStackLive

    func loop(_ live: Live) throws -> RenderLoop {
        let tone = live.keep("tone") { Oscillator(.saw, frequency: 110, level: 0.2) }
        let filter = live.keep("filter") { LowPass(cutoff: 800, resonance: 6) }
        let delay = live.keep("delay") { Delay(time: 0.25, feedback: 0.4) }

        return { context in
            context.run(tone)  // pushes a buffer
            context.run(filter)  // edits it: try another cutoff, and save
            context.run(delay)  // edits it
            context.output()  // adds it to the output
        }
    }

    """
