package import Glibc

/// A program that a test runs: in a process group of its own, under `timeout`, with no signal blocked.
///
/// Tests do without Foundation's `Process`. A program that it starts from a concurrency thread inherits blocked signals, and
/// ignores SIGTERM. And its `waitUntilExit()` gives that thread a run loop: a run of CI crashed in Foundation and Dispatch alone,
/// probably while it took such a run loop down.
package struct Program {
    package let identifier: pid_t
    private let output: Int32
    private let input: Int32?

    /// Starts it. It ends after `seconds` at the latest; with `nil` the caller ends it.
    ///
    /// - Parameters:
    ///   - environment: Variables besides those of this process, or in their place.
    ///   - isHeard: `true` to read its output: else it would stand still some 64 kB on.
    ///   - hasInput: `true` to write to its standard input; else it has that of the tests.
    ///   - errors: A file for what it says to standard error; with `nil` that is among the rest.
    package init(
        _ name: String, _ arguments: [String], environment: [String: String] = [:], seconds: Int? = 60,
        isHeard: Bool = true, hasInput: Bool = false, errors: String? = nil
    ) throws {
        let all = (seconds.map { ["timeout", "-k", "2", "\($0)"] } ?? []) + [name] + arguments
        let said = try Self.pipe()
        let told = hasInput ? try Self.pipe() : nil
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        if let told { unsafe posix_spawn_file_actions_adddup2(&actions, told.read, 0) }
        if isHeard {
            unsafe posix_spawn_file_actions_adddup2(&actions, said.write, 1)
            if let errors {
                unsafe posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
            } else {
                unsafe posix_spawn_file_actions_adddup2(&actions, said.write, 2)
            }
        } else {
            unsafe posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
            unsafe posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        }
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        var none = sigset_t()
        unsafe sigemptyset(&none)
        var every = sigset_t()
        unsafe sigfillset(&every)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setsigdefault(&attributes, &every)
        unsafe posix_spawnattr_setpgroup(&attributes, 0)
        unsafe posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
        var variables: [String: String] = [:]
        var next = unsafe environ
        while let entry = unsafe next.pointee {
            let parts = unsafe String(cString: entry).split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
            unsafe next += 1
        }
        variables.merge(environment) { $1 }
        var words: [UnsafeMutablePointer<CChar>?] = unsafe all.map { unsafe strdup($0) } + [nil]
        var settings: [UnsafeMutablePointer<CChar>?] = unsafe variables.map { unsafe strdup("\($0)=\($1)") } + [nil]
        var child = pid_t()
        let error = unsafe posix_spawnp(&child, all[0], &actions, &attributes, &words, &settings)
        unsafe (words + settings).forEach { unsafe free($0) }
        unsafe posix_spawn_file_actions_destroy(&actions)
        unsafe posix_spawnattr_destroy(&attributes)
        close(said.write)
        if let told { close(told.read) }
        guard error == 0 else {
            close(said.read)
            if let told { close(told.write) }
            throw Failure(what: unsafe "\(name): \(String(cString: strerror(error)))")
        }
        identifier = child
        output = said.read
        input = told?.write
    }

    private static func pipe() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [0, 0]
        guard unsafe Glibc.pipe(&ends) == 0 else { throw Failure(what: "no pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    /// Sends a signal to it and to all that it has started.
    package func signal(_ number: Int32) { kill(-identifier, number) }

    /// Writes to its standard input.
    package func write(_ text: String) {
        guard let input else { return }
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(input, $0.baseAddress, $0.count) }
            if count < 0 && errno != EINTR { return }
            bytes = bytes.dropFirst(max(0, count))
        }
    }

    /// Waits until it says something or ends, and returns what it has said; an empty text if it has ended.
    package func read() -> String {
        String(decoding: next(), as: UTF8.self)
    }

    /// Waits for some bytes of its output, and returns them; none at its end.
    private func next() -> ArraySlice<UInt8> {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = unsafe Glibc.read(output, &buffer, buffer.count)
        return buffer.prefix(max(0, count))
    }

    /// Ends its standard input, waits until it has ended, and returns what it has said and its status: −1 if a signal
    /// ended it.
    @discardableResult package func wait() -> (text: String, status: Int32) {
        if let input { close(input) }
        var bytes: [UInt8] = []
        while case let more = next(), !more.isEmpty { bytes += more }
        close(output)
        var status: Int32 = 0
        while unsafe waitpid(identifier, &status, 0) < 0 && errno == EINTR {}
        return (String(decoding: bytes, as: UTF8.self), status & 0x7F == 0 ? (status >> 8) & 0xFF : -1)
    }

    package struct Failure: Error, CustomStringConvertible {
        package let what: String
        package var description: String { what }

        package init(what: String) { self.what = what }
    }
}
