import Glibc
import RenderStackLive

/// The run of a version in a process of its own before it is heard: what traps or never ends there ends that process alone.
enum Trial {
    /// The process that tries a version.
    static func begin(_ library: String, libraries: [String], rate: Double, channels: Int) throws(LiveError)
        -> ChildProcess
    {
        guard let program = Places.program else { throw LiveError("/proc is not mounted.") }
        return try ChildProcess(
            [program, "--trial", library, "\(rate)", "\(channels)"] + libraries, within: 10)
    }

    /// A sentence about a trial that has ended; `nil` if all was well.
    static func sentence(_ process: ChildProcess, _ end: ChildProcess.End, _ sources: LoopSources) -> String? {
        message(process, end).map {
            "\(place(process.output, sources) ?? "\(sources.files[0].path):1:1"): error: \($0)"
        }
    }

    /// The place in the user's files at which a trial has trapped, by the trace of calls that Swift prints.
    private static func place(_ output: String, _ sources: LoopSources) -> String? {
        for line in output.split(separator: "\n") {
            for file in sources.files {
                for path in [file.path, Folder.absolute(file.path) ?? file.path] {
                    guard let found = line.firstRange(of: " at \(path):") else { continue }
                    return "\(file.path):" + line[found.upperBound...].prefix { !$0.isWhitespace }
                }
            }
        }
        return nil
    }

    private static func message(_ process: ChildProcess, _ end: ChildProcess.End) -> String? {
        if process.tookTooLong {
            return "the version's set-up, or its first cycles, took more than 10 s, and were ended"
        }
        let lines = process.output.split(separator: "\n").map(String.init)
        switch end {
        case .exited(0): return nil
        case .exited: return lines.last ?? "the version's set-up failed"
        case .killed(let signal):
            let reason = lines.first { $0.contains("Fatal error") || $0.contains("Precondition failed") }
            let name = unsafe String(cString: strsignal(signal))
            return "the version's set-up, or its first cycles, trapped: \(reason ?? name)"
        }
    }

    /// Tries a version, in the process that was made for it.
    static func run(_ arguments: [String]) -> Never {
        guard arguments.count >= 3, let rate = Double(arguments[1]), let channels = Int(arguments[2]) else { exit(2) }
        // A trap needs no core file and no trace of calls.
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        unsafe setrlimit(__rlimit_resource_t(4), &none)
        // A version that takes all memory ends here, before the kernel looks for something to end. 2 is RLIMIT_DATA.
        let free = Folder.text("/proc/meminfo")?.split(separator: "\n").first { $0.hasPrefix("MemAvailable:") }
        if let kilobytes = free?.split(separator: " ").dropFirst().first.flatMap({ UInt($0) }) {
            var most = rlimit(rlim_cur: kilobytes * 768, rlim_max: kilobytes * 768)
            unsafe setrlimit(__rlimit_resource_t(2), &most)
        }
        do {
            for path in arguments[3...] { _ = unsafe dlopen(path, RTLD_NOW | RTLD_LOCAL) }
            let library = try LoopLibrary(arguments[0])
            let renderer = Renderer(sampleRate: rate, channels: channels)
            let live = Live(
                Keeper(followsFile: false), fade: .zero, ringOut: .zero, sampleRate: rate, isTrial: true)
            let loop = try library.load(live)
            try renderer.replaceLoop(loop)
            _ = renderer.renderOffline(frames: 4_096)
            exit(0)
        } catch {
            write("\(error)", to: STDOUT_FILENO)
            exit(1)
        }
    }
}
