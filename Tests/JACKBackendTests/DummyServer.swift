import Glibc
import Synchronization
import TestSupport

/// A jackd of the test's own, with a clock and no sound card, under a name of its own.
final class DummyServer {
    let name: String
    private var arguments: [String]
    private var program: Program?
    private var guardian: Program?

    private static let numbers = Atomic<Int>(0)

    /// - Parameters:
    ///   - period: Frames in a cycle.
    ///   - channels: Physical channels in each direction.
    ///   - isRealTime: `true` to ask for real-time priority.
    init(period: Int = 256, channels: Int = 2, rate: Int = 48_000, isRealTime: Bool = false) throws {
        let number = Self.numbers.wrappingAdd(1, ordering: .relaxed).newValue
        name = "rs-\(getpid())-\(number)"
        arguments =
            ["-n", name] + (isRealTime ? ["-R", "-P", "10"] : ["-r"]) + [
                "-p", "128", "-d", "dummy", "-r", "\(rate)", "-p", "\(period)", "-C", "\(channels)", "-P",
                "\(channels)",
            ]
        try start()
    }

    deinit { end(SIGTERM) }

    func start() throws {
        let program = try Program("jackd", arguments, environment: environment, seconds: nil, isHeard: false)
        self.program = program
        // The server makes itself a session of its own, out of reach of `timeout`: this one sees that it does not outlive
        // the test.
        let (test, server) = (getpid(), program.identifier)
        let watch =
            "while kill -0 \(test) && kill -0 \(server); do sleep 1; done; "
            + "kill \(server); sleep 2; kill -9 \(server)"
        guardian = try Program("sh", ["-c", watch], seconds: 300)
        for _ in 0..<200 {
            if (try? run("jack_lsp")) != nil { return }
            usleep(50_000)
        }
        throw Program.Failure(what: "jackd \(arguments.joined(separator: " ")) did not start")
    }

    /// Has the next server of this name run at another rate and with another length of cycle.
    func change(period: Int, rate: Int) {
        guard let driver = arguments.firstIndex(of: "dummy") else { return }
        for (name, value) in [("-r", rate), ("-p", period)] {
            if let place = arguments[driver...].firstIndex(of: name) { arguments[place + 1] = "\(value)" }
        }
    }

    /// Ends the server, and waits until it is gone.
    func end(_ signal: Int32) {
        guard let program else { return }
        guardian?.signal(SIGKILL)
        guardian?.wait()
        kill(program.identifier, signal)
        program.wait()
        self.program = nil
    }

    /// Has the server stand still, or go on. Returns when all its threads do.
    func pause(_ isPaused: Bool) {
        guard let program else { return }
        kill(program.identifier, isPaused ? SIGSTOP : SIGCONT)
        guard isPaused else { return }
        var status: Int32 = 0
        while waitpid(program.identifier, &status, WUNTRACED) < 0 && errno == EINTR {}
    }

    var environment: [String: String] { ["JACK_DEFAULT_SERVER": name, "JACK_NO_START_SERVER": "1"] }

    /// Runs one of JACK's own programs against this server, and returns what it says.
    @discardableResult
    func run(_ program: String, _ arguments: String...) throws -> String {
        // If an ordinary user may not lock memory, libjack says so to standard error, and the programs work all the
        // same.
        let errors = "/tmp/\(name)-errors"
        defer { unlink(errors) }
        func attempt() throws -> (text: String, status: Int32) {
            try Program(program, arguments, environment: environment, errors: errors).wait()
        }
        var result = try attempt()
        var said: String { result.text + JACKTests.contents(of: errors) }
        // On a busy machine a server may not answer in the two seconds that libjack waits: then nothing has been done.
        for _ in 0..<2 where result.status != 0 && (program == "jack_lsp" || said.contains("server not running")) {
            result = try attempt()
        }
        guard result.status == 0 else {
            throw Program.Failure(what: "\(program) \(arguments.joined(separator: " ")): \(said)")
        }
        return result.text
    }

    /// Connects two ports. A program's port is on the list before the program is active, and the server refuses to
    /// connect it until then: this asks again until the connection is there.
    func connect(_ source: String, to target: String) async throws {
        var reason = ""
        let isConnected = await becomesTrue {
            do {
                try run("jack_connect", source, target)
                return true
            } catch {
                reason = "\(error)"
                return false
            }
        }
        guard isConnected else { throw Program.Failure(what: reason) }
    }

    /// Starts a program against this server. It ends after `seconds` at the latest; with `nil` it is for the caller to end it.
    func begin(_ program: String, _ arguments: [String], seconds: Int? = 60) throws -> Program {
        try Program(program, arguments, environment: environment, seconds: seconds)
    }
}
