import Glibc

/// A program that a test runs: in a process group of its own, under `timeout`, with no signal blocked.
///
/// Not Foundation's `Process`: what it starts from a concurrency thread inherits blocked signals, and ignores SIGTERM.
struct Program {
    let identifier: pid_t
    private let output: Int32

    /// Starts it. It ends after `seconds` at the latest; with `nil` it is for the caller to end it.
    ///
    /// - Parameters:
    ///   - isHeard: `true` to read its output: else it would stand still some 64 kB on.
    ///   - errors: A file for what it says to standard error; none: that is among the rest.
    init(
        _ name: String, _ arguments: [String], environment: [String: String] = [:], seconds: Int? = 60,
        isHeard: Bool = true, errors: String? = nil
    ) throws {
        let all = (seconds.map { ["timeout", "-k", "2", "\($0)"] } ?? []) + [name] + arguments
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw Failure(what: "no pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        if isHeard {
            posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
            if let errors {
                posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
            } else {
                posix_spawn_file_actions_adddup2(&actions, ends[1], 2)
            }
        } else {
            posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
            posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        var none = sigset_t()
        sigemptyset(&none)
        var every = sigset_t()
        sigfillset(&every)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &every)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
        var variables: [String: String] = [:]
        var next = environ
        while let entry = next.pointee {
            let parts = String(cString: entry).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
            next += 1
        }
        variables.merge(environment) { $1 }
        var words: [UnsafeMutablePointer<CChar>?] = all.map { strdup($0) } + [nil]
        var settings: [UnsafeMutablePointer<CChar>?] = variables.map { strdup("\($0)=\($1)") } + [nil]
        var child = pid_t()
        let error = posix_spawnp(&child, all[0], &actions, &attributes, &words, &settings)
        for word in words + settings { free(word) }
        posix_spawn_file_actions_destroy(&actions)
        posix_spawnattr_destroy(&attributes)
        close(ends[1])
        guard error == 0 else {
            close(ends[0])
            throw Failure(what: "\(name): \(String(cString: strerror(error)))")
        }
        identifier = child
        output = ends[0]
    }

    /// Sends a signal to it and to all that it has started.
    func signal(_ number: Int32) { kill(-identifier, number) }

    /// Waits until it has ended, and returns what it has said and its status.
    @discardableResult func wait() -> (text: String, status: Int32) {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(output, &buffer, buffer.count)
            if count <= 0 { break }
            bytes += buffer[0..<count]
        }
        close(output)
        var status: Int32 = 0
        while waitpid(identifier, &status, 0) < 0 && errno == EINTR {}
        return (String(decoding: bytes, as: UTF8.self), status & 0x7F == 0 ? (status >> 8) & 0xFF : -1)
    }

    struct Failure: Error, CustomStringConvertible {
        let what: String
        var description: String { what }
    }
}
