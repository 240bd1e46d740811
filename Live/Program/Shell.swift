import Glibc

/// A program that runs beside this one, with its text caught.
final class ChildProcess {
    private(set) var output = ""
    private let process: pid_t
    private let pipe: Int32
    private let deadline: Double
    private var bytes: [UInt8] = []
    /// Indicates whether it was ended because it took too long.
    private(set) var tookTooLong = false

    /// The way in which a program ended.
    enum End: Equatable {
        case exited(Int32)
        case killed(signal: Int32)
    }

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - arguments: The path of the program, and its arguments.
    ///   - seconds: The time after which it is ended.
    ///   - plain: `true` for a program that must not be watched: without `LD_PRELOAD`.
    init(_ arguments: [String], within seconds: Double, plain: Bool = true) throws(LiveError) {
        var ends: [Int32] = [0, 0]
        guard unsafe Glibc.pipe(&ends) == 0 else { throw LiveError("No pipe can be made: \(errorText())") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], 2)
        unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        // A group of its own: Ctrl-C is for the player alone.
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF))
        // The child does not inherit this program's treatment of these signals.
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        for signal in [SIGPIPE, SIGHUP, SIGINT] { unsafe sigaddset(&signals, signal) }
        unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
        var words: [UnsafeMutablePointer<CChar>?] = unsafe arguments.map { unsafe strdup($0) } + [nil]
        var environment: [UnsafeMutablePointer<CChar>?] = unsafe []
        var next = unsafe environ
        while let entry = unsafe next.pointee {
            let isLeftOut =
                unsafe plain && strncmp(entry, "LD_PRELOAD=", 11) == 0
                || strncmp(entry, "SWIFT_BACKTRACE=", 16) == 0
            if !isLeftOut { unsafe environment.append(entry) }
            unsafe next += 1
        }
        // Swift's runtime prints a trap with its place, and asks no question.
        unsafe words.append(strdup("SWIFT_BACKTRACE=enable=yes,color=no,interactive=no,registers=none,images=none"))
        unsafe environment.append(words.last!)
        unsafe environment.append(nil)
        defer { unsafe words.forEach { unsafe free($0) } }
        var child: pid_t = 0
        let result = unsafe posix_spawn(&child, arguments[0], &actions, &attributes, &words, &environment)
        close(ends[1])
        guard result == 0 else {
            close(ends[0])
            throw LiveError("\(arguments[0]) cannot be run: \(unsafe String(cString: strerror(result)))")
        }
        process = child
        pipe = ends[0]
        // When the memory of the machine runs out, the kernel is to end this program, and not the one that plays.
        try? Folder.append("1000", to: "/proc/\(child)/oom_score_adj")
        _ = fcntl(pipe, F_SETFL, O_NONBLOCK)
        deadline = now() + seconds
    }

    /// Returns the way in which the program has ended; `nil` while it runs.
    func poll() -> End? {
        read()
        var status: Int32 = 0
        if unsafe waitpid(process, &status, WNOHANG) == process {
            read()
            close(pipe)
            output = String(decoding: bytes, as: UTF8.self)
            let signal = status & 0x7F
            return signal == 0 ? .exited(status >> 8 & 0xFF) : .killed(signal: signal)
        }
        if now() > deadline {
            tookTooLong = true
            kill(-process, SIGKILL)
        }
        return nil
    }

    /// Waits for the end.
    func wait() -> End {
        while true {
            if let end = poll() { return end }
            usleep(1_000)
        }
    }

    /// The seconds since the program was started.
    var age: Double { now() - start }
    private let start = now()

    /// Ends the program, and those that it has started.
    func stop() {
        kill(-process, SIGKILL)
        _ = wait()
    }

    private func read() {
        var buffer = [UInt8](repeating: 0, count: 8_192)
        while true {
            let count = unsafe Glibc.read(pipe, &buffer, buffer.count)
            // A program that prints without end must not fill the memory.
            if count > 0 { if bytes.count < 1 << 20 { bytes += buffer[..<count] } } else { return }
        }
    }
}

/// A sentence for the user.
struct LiveError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// The seconds on the machine's clock.
func now() -> Double {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
}

func errorText(_ error: Int32 = errno) -> String { unsafe String(cString: strerror(error)) }
