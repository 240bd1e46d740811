import Glibc
import RenderStack
import TestSupport
import Testing

@testable import PipeWireBackend

/// All tests of PipeWire: one after the other, because the daemon is found by the environment.
@Suite("PipeWire", .serialized) struct PipeWireTests {}

/// A desktop without a screen: a daemon and a session manager of the test's own, two sinks that go nowhere, a microphone that hears
/// nothing.
final class Desktop {
    let folder: TemporaryFolder
    private(set) var daemon: Program?
    private(set) var manager: Program?
    private var guardians: [Program] = []

    /// - Parameters:
    ///   - quantum: The frames of a cycle.
    ///   - rate: Frames per second.
    ///   - hasManager: `false` for a daemon alone.
    ///   - sinks: The names of the sinks.
    ///   - leads: `true` to have programs without a device in the cycles of the first sink.
    init(
        quantum: Int = 256, rate: Int = 48_000, hasManager: Bool = true, sinks: [String] = ["nowhere", "other"],
        leads: Bool = false
    ) throws {
        folder = try TemporaryFolder()
        for (name, value) in [
            ("XDG_RUNTIME_DIR", "run"), ("PIPEWIRE_RUNTIME_DIR", "run"), ("XDG_CONFIG_HOME", "config"),
            ("XDG_STATE_HOME", "state"),
        ] { setenv(name, "\(folder.path)/\(value)", 1) }
        unsetenv("DBUS_SESSION_BUS_ADDRESS")
        let tests = #filePath.split(separator: "/").dropLast().joined(separator: "/")
        try run(
            ["/\(tests)/../../scripts/tools/desktop", "--quantum", "\(quantum)", "--rate", "\(rate)"]
                + ["--sinks", sinks.joined(separator: " "), "--write", folder.path] + (leads ? ["--leads"] : []))
        try startDaemon()
        if hasManager { try startManager() }
    }

    deinit {
        for program in [manager, daemon].compactMap(\.self) + guardians {
            program.signal(SIGKILL)
            program.wait()
        }
        for name in ["XDG_RUNTIME_DIR", "PIPEWIRE_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME"] { unsetenv(name) }
    }

    func startDaemon() throws {
        let daemon = try Program("pipewire", ["-c", "\(folder.path)/pipewire.conf"], seconds: nil, isHeard: false)
        self.daemon = daemon
        try guardProgram(daemon)
        for _ in 0..<200 {
            if (try? PipeWireDevice.all()) != nil { return }
            usleep(50_000)
        }
        throw Program.Failure(what: "pipewire did not start")
    }

    func startManager() throws {
        let manager = try Program("wireplumber", [], seconds: nil, isHeard: false)
        self.manager = manager
        try guardProgram(manager)
        guard (try? PipeWireDevice.all().contains(where: \.isSink)) == true else { return }
        for _ in 0..<200 {
            if (try? PipeWireDevice.all().contains { $0.isSink && $0.isDefault }) == true { break }
            usleep(50_000)
        }
        // WirePlumber 0.5 takes no virtual source by itself.
        if (try? PipeWireDevice.all().contains { !$0.isSink && $0.isDefault }) != true {
            try run("pw-metadata", "0", "default.configured.audio.source", "{ \"name\": \"microphone\" }")
        }
    }

    /// It does not outlive the test, even if that is killed.
    private func guardProgram(_ program: Program) throws {
        let watch =
            "while kill -0 \(getpid()) && kill -0 \(program.identifier); do sleep 1; done; kill -9 \(program.identifier)"
        guardians.append(try Program("sh", ["-c", watch], seconds: 300, isHeard: false))
    }

    func endDaemon(_ signal: Int32 = SIGKILL) {
        daemon?.signal(signal)
        if signal == SIGKILL || signal == SIGTERM {
            daemon?.wait()
            daemon = nil
            unlink("\(folder.path)/run/pipewire-0")
        }
    }

    func endManager() {
        manager?.signal(SIGKILL)
        manager?.wait()
        manager = nil
    }

    /// Runs a program of PipeWire's, and returns what it says.
    @discardableResult func run(_ words: String...) throws -> String { try run(words) }

    @discardableResult private func run(_ words: [String]) throws -> String {
        let result = try Program(words[0], Array(words.dropFirst()), seconds: 20).wait()
        guard result.status == 0 else { throw Program.Failure(what: "\(words.joined(separator: " ")): \(result.text)") }
        return result.text
    }

    /// Sets a setting of the graph, such as "clock.force-quantum".
    func set(_ key: String, _ value: Int) throws { try run("pw-metadata", "-n", "settings", "0", key, "\(value)") }

    /// The links from and to a node, as "from -> to", sorted.
    func links(of node: String) throws -> [String] {
        var links: Set<String> = []
        var port = ""
        for line in try run("pw-link", "-l").split(separator: "\n") {
            let words = line.split(separator: " ")
            if words.count == 1 {
                port = String(words[0])
            } else if words.count == 2 {
                let (from, to) = words[0] == "|->" ? (port, String(words[1])) : (String(words[1]), port)
                links.insert("\(from) -> \(to)")
            }
        }
        return links.filter { $0.contains("\(node):") }.sorted()
    }

    /// The number of a node.
    func number(of node: String) throws -> Int? {
        var number: Int?
        for line in try run("pw-cli", "ls", "Node").split(separator: "\n") {
            let words = line.split { $0 == " " || $0 == "\t" }
            if words.first == "id", words.count > 1 { number = Int(words[1].dropLast()) }
            if line.contains("node.name = \"\(node)\"") { return number }
        }
        return nil
    }

    /// Makes another sink, which is there as long as the program runs that is returned.
    func makeSink(_ name: String) throws -> Program {
        let node =
            "{ factory.name=support.null-audio-sink node.name=\(name) media.class=Audio/Sink audio.position=[FL FR] }"
        return try Program("sh", ["-c", "(echo 'create-node adapter \(node)'; sleep 60) | pw-cli"], isHeard: false)
    }

    /// Starts a peer, a program in C that is built once.
    func peer(_ name: String, _ words: String..., seconds: Int? = 60, hasInput: Bool = false) throws -> Program {
        let program = "\(folder.path)/\(name)"
        if access(program, X_OK) != 0 {
            let source = #filePath.split(separator: "/").dropLast().joined(separator: "/")
            try run(
                "sh", "-c",
                "gcc -O1 -w /\(source)/Peers/\(name).c $(pkg-config --cflags --libs libpipewire-0.3) -o \(program)")
        }
        return try Program(program, words, seconds: seconds, hasInput: hasInput)
    }
}
