/// The options of the examples on the command line.
public struct Options: Sendable {
    /// The places to which the sound can go.
    public enum Output: Sendable, Equatable {
        /// The best output of this machine: ``AudioOutput`` chooses.
        case any
        /// Through a JACK server.
        case jack
        /// Through PipeWire, to a device by its name, or the default one.
        case pipeWire(String?)
        /// Straight to a sound card, by the name of the device.
        case alsa(String)
        /// To the clock: as fast as sound is, into the void.
        case clock
        /// Into a file, as fast as it goes.
        case file(String)

        /// Indicates whether the output runs at the speed of sound's own clock, live.
        public var isLive: Bool {
            if case .file = self { false } else { true }
        }
    }
    /// The place to which the sound goes.
    public var output = Output.any
    /// The duration in seconds; `nil` for until Ctrl-C.
    public var seconds: Double?
    /// A file that keeps the played sound; `nil` for none.
    public var save: String?
    /// The number of seconds that are rendered before a file begins.
    public var skip = 0.0
    /// The files that were named; none, or as many as the program asks for.
    public var files: [String] = []
    /// The program's own options, by name.
    private var numbers: [String: Double] = [:]
    private var texts: [String: String] = [:]

    /// An option that only one program has.
    public struct Extra: Sendable {
        let name: String
        let meaning: String
        let placeholder: String
        let number: (initial: Double, range: ClosedRange<Double>)?

        /// `--name N`: a number in a range.
        public static func number(
            _ name: String, _ initial: Double, in range: ClosedRange<Double>, _ meaning: String
        ) -> Extra {
            Extra(name: name, meaning: meaning, placeholder: "N", number: (initial, range))
        }

        /// `--name TEXT`, which may be left out.
        public static func text(_ name: String, _ placeholder: String, _ meaning: String) -> Extra {
            Extra(name: name, meaning: meaning, placeholder: placeholder, number: nil)
        }

        /// `--name`, which is given or not.
        public static func flag(_ name: String, _ meaning: String) -> Extra {
            Extra(name: name, meaning: meaning, placeholder: "", number: nil)
        }
    }

    /// A number that the program asks for.
    ///
    /// - Precondition: It is among its extra options.
    public subscript(_ name: String) -> Double {
        guard let number = numbers[name] else { preconditionFailure("There is no option --\(name)") }
        return number
    }

    /// The sound file that is made; `nil` if none is.
    public var soundPath: String? {
        if let save { return save }
        if case .file(let path) = output { return path }
        return nil
    }

    /// A text that the program asks for; `nil` if it was not given.
    public func text(_ name: String) -> String? { texts[name] }

    /// Returns whether a flag that the program asks for was given.
    public func has(_ name: String) -> Bool { texts[name] != nil }

    /// A request that cannot be followed, or one for help: the text to print, and the exit status.
    public struct Stop: Error {
        /// The text to print.
        public let text: String
        /// 0 for help, 2 for a mistake.
        public let status: Int32
    }

    /// Reads the arguments of this program. If they make no sense, or ask for help, it prints a text and ends the
    /// program.
    public static func read(
        about: String, seconds: Double? = nil, files: String = "", extras: [Extra] = [], offline: String? = nil,
        save: String? = nil, length: String? = nil
    ) -> Options {
        do throws(Stop) {
            return try Options(
                CommandLine.arguments.dropFirst(), about: about, seconds: seconds, files: files, extras: extras,
                offline: offline, save: save, length: length)
        } catch {
            Terminal.stop(error.text, status: error.status)
        }
    }

    /// Reads arguments.
    ///
    /// - Parameters:
    ///   - arguments: Those of the program, without its name.
    ///   - about: The purpose of the program, for `--help`.
    ///   - seconds: The seconds that it plays by default.
    ///   - names: The files that may be named, for `--help`; all or none.
    ///   - extras: The program's own options.
    ///   - save: The file for the played sound, by default.
    ///   - length: A text that says how long the program plays by itself, if it knows that.
    ///   - offline: A text about the files that it writes, if it writes files only, and knows how long they are to be.
    public init(
        _ arguments: ArraySlice<String>, about: String, seconds: Double? = nil, files names: String = "",
        extras: [Extra] = [], offline: String? = nil, save defaultSave: String? = nil, length: String? = nil
    ) throws(Stop) {
        let isOffline = offline != nil
        self.seconds = seconds
        for extra in extras { numbers[extra.name] = extra.number?.initial }
        let name = Terminal.programName
        let usage = """
            \(about)

            Usage: \(name) [options]\(names.isEmpty ? "" : " [\(names)]")\(Self.describe(extras))
              --seconds N        how long to play, more than 0\(seconds.map { " (\($0) s if not given)" } ?? length.map { " (\($0) if not given)" } ?? "")
              \(offline.map { "--output file:PATH \($0)" } ?? Self.liveUsage)\(defaultSave.map { "; live, \($0) if not given" } ?? "")
              --help             this text
            \(names.isEmpty ? "" : "Without files it makes its own. ")Ctrl-C ends it.
            """
        var rest = Self.apart(arguments)
        func value(of flag: String) throws(Stop) -> String {
            guard let value = rest.popFirst() else {
                throw Stop(text: "\(name): \(flag) needs a value; see \(name) --help", status: 2)
            }
            return value
        }
        while let flag = rest.popFirst() {
            switch flag {
            case "--help", "-h": throw Stop(text: usage, status: 0)
            case "--seconds":
                let text = try value(of: flag)
                guard let number = Double(text), number > 0, number < 1e6 else {
                    throw Stop(text: "\(name): --seconds \(text): it must be a number above 0", status: 2)
                }
                self.seconds = number
            case "--output":
                let text = try value(of: flag)
                if isOffline, !text.hasPrefix("file:") || text.count == 5 {
                    throw Stop(text: "\(name): --output \(text): it must be file:PATH", status: 2)
                } else if text == "clock" {
                    output = .clock
                } else if text == "jack" {
                    output = .jack
                } else if text == "pipewire" {
                    output = .pipeWire(nil)
                } else if text.hasPrefix("pipewire:"), text.count > 9 {
                    output = .pipeWire(String(text.dropFirst(9)))
                } else if text == "alsa" {
                    output = .alsa("default")
                } else if text.hasPrefix("alsa:"), text.count > 5 {
                    output = .alsa(String(text.dropFirst(5)))
                } else if text.hasPrefix("file:"), text.count > 5 {
                    output = .file(String(text.dropFirst(5)))
                } else {
                    let all = "jack, pipewire, pipewire:DEVICE, alsa, alsa:DEVICE, clock or file:PATH"
                    throw Stop(text: "\(name): --output \(text): it must be \(all)", status: 2)
                }
            case "--save" where isOffline, "--skip" where isOffline:
                throw Stop(text: "\(name): there is no option \(flag); see \(name) --help", status: 2)
            case "--skip": skip = try number(try value(of: flag), in: 0...1e6, name, flag)
            case "--save": save = try value(of: flag)
            case _ where flag.hasPrefix("--") && extras.contains { "--\($0.name)" == flag }:
                for extra in extras where "--\(extra.name)" == flag {
                    let text = extra.placeholder.isEmpty ? "" : try value(of: flag)
                    if let (_, range) = extra.number {
                        numbers[extra.name] = try number(text, in: range, name, flag)
                    } else {
                        texts[extra.name] = text
                    }
                }
            case _ where flag.hasPrefix("-") || names.isEmpty:
                throw Stop(text: "\(name): there is no option \(flag); see \(name) --help", status: 2)
            default: files.append(flag)
            }
        }
        let count = names.split(separator: " ").count
        if !files.isEmpty && files.count != count {
            throw Stop(text: "\(name): \(files.count) files; it takes \(count) (\(names)), or none", status: 2)
        }
        if output.isLive && !isOffline { save = save ?? defaultSave }
        if case .file = output {
            if self.seconds == nil && length == nil && !isOffline {
                throw Stop(text: "\(name): --output file:PATH needs --seconds", status: 2)
            }
        } else if skip > 0 {
            throw Stop(text: "\(name): --skip needs --output file:PATH", status: 2)
        }
    }

    private static let liveUsage = """
        --output jack      live, through a JACK server (the default where one runs)
          --output pipewire  live, through PipeWire (the default on most desktops); pipewire:NAME for a device that it stays at
          --output alsa      live, straight to a sound card (the default where there is one); alsa:NAME for another
          --output clock     live, without sound, by the clock of this machine (the default elsewhere)
          --output file:PATH into a file, as fast as it can; the name chooses the format (.wav, .flac, .ogg …)
          --skip N           with file:PATH: renders N seconds before the file begins
          --save PATH        records the sound into a file
        """

    /// `--seconds=2` is `--seconds 2`.
    private static func apart(_ arguments: ArraySlice<String>) -> ArraySlice<String> {
        arguments.flatMap { argument -> [String] in
            guard argument.hasPrefix("--"), let equals = argument.firstIndex(of: "=") else { return [argument] }
            return [String(argument[..<equals]), String(argument[argument.index(after: equals)...])]
        }[...]
    }

    private func number(
        _ text: String, in range: ClosedRange<Double>, _ program: String, _ flag: String
    ) throws(Stop) -> Double {
        if let number = Double(text), range.contains(number) { return number }
        let ends = "\(Self.short(range.lowerBound)) to \(Self.short(range.upperBound))"
        throw Stop(text: "\(program): \(flag) \(text): it must be a number from \(ends)", status: 2)
    }

    /// The lines of `--help` for the extra options.
    private static func describe(_ extras: [Extra]) -> String {
        extras.map { extra in
            let flag = extra.placeholder.isEmpty ? "--\(extra.name)" : "--\(extra.name) \(extra.placeholder)"
            let gap = String(repeating: " ", count: max(1, 19 - flag.count))
            var line = "\n  \(flag)\(gap)\(extra.meaning)"
            if let (initial, range) = extra.number {
                line += ", \(short(range.lowerBound)) to \(short(range.upperBound)) (\(short(initial)) if not given)"
            }
            return line
        }.joined()
    }

    /// A number without a needless ".0".
    private static func short(_ number: Double) -> String {
        number == number.rounded() && abs(number) < 1e9 ? "\(Int(number))" : "\(number)"
    }
}
