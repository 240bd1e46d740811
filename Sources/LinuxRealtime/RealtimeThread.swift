internal import CRender
internal import Glibc

/// The one way by which a render thread comes to real-time priority, whatever its output: the priority that the user
/// may set, else the one that rtkit may set for the user, else none, which is reported. And the locks that keep the
/// program's memory from being swapped.
package enum RealtimeThread {
    /// Raises the calling thread, with a guard against a closure that never ends, and locks the memory of the process.
    ///
    /// - Parameters:
    ///   - priority: 1…99.
    ///   - runsServers: `false` if the thread runs no code of a sound server or a card, which then is not locked.
    ///   - tell: Gets a sentence for each thing that is not to be had.
    /// - Returns: The priority that it has now; 0 for an ordinary thread.
    package static func raise(to priority: Int, runsServers: Bool = true, tell: (String) -> Void) -> Int {
        let refusal = take(priority)
        if refusal != 0 {
            let answer = RealtimeKit.raise(to: priority, address: address)
            if let sentence = sentence(refusal: refusal, answer: answer) { tell(sentence) }
        }
        lockMemory(runsServers: runsServers, tell: tell)
        let policy = crender_thread_policy()
        return policy.is_realtime ? Int(policy.priority) : 0
    }

    /// Raises the calling thread, with the same guard, where the user may do so: for threads that help a render thread, which
    /// has raised itself and has told what is missing. It asks no service, because a cycle may be waiting for the thread.
    ///
    /// - Returns: `true` if the thread has the priority now.
    package static func raiseHelper(to priority: Int) -> Bool { take(priority) == 0 }

    /// Takes a priority by the user's own right. Every thread of the package comes to it here.
    ///
    /// - Returns: the number of the error, 0 for none.
    static func take(_ priority: Int) -> Int32 { crender_make_realtime(Int32(priority), PriorityGuard.time) }

    /// Asks rtkit for another thread of this program: one that has earned its priority back.
    package static func ask(for thread: Int64, priority: Int) {
        _ = RealtimeKit.raise(to: priority, address: address, thread: thread)
    }

    /// Locks the memory of the process, what the render thread touches first, for threads that get their priority from
    /// elsewhere. Where the limit is lower, it tells what is missing.
    package static func lockMemory(runsServers: Bool = true, tell: (String) -> Void) {
        let result = crender_lock_memory(runsServers)
        guard result.error != 0 else { return }
        tell(sentence(result))
    }

    /// Returns the sentence to report where not all memory could be locked.
    static func sentence(_ locks: crender_locks) -> String {
        func megabytes(_ bytes: Int) -> String {
            "\((bytes + 52_429) / 104_858 / 10).\((bytes + 52_429) / 104_858 % 10) MB"
        }
        let audio =
            locks.audio == locks.audio_wanted
            ? "all \(megabytes(locks.audio)) of the audio's buffers are locked"
            : "\(megabytes(locks.audio)) of the audio's \(megabytes(locks.audio_wanted)) of buffers are locked"
        return "The memory is locked in part (\(errorText(locks.error))): \(audio), but "
            + "\(megabytes(locks.wanted - locks.locked)) of \(megabytes(locks.wanted)) that the program uses with its code are "
            + "not: the sound may be interrupted when the machine swaps. Allow it with a `memlock` line in "
            + "/etc/security/limits.d."
    }

    private static var address: String {
        unsafe getenv("DBUS_SYSTEM_BUS_ADDRESS").map { unsafe String(cString: $0) } ?? RealtimeKit.standardAddress
    }

    /// Returns the sentence to report on a refusal and on rtkit's answer to it; `nil` if rtkit granted what was asked.
    static func sentence(refusal: Int32, answer: RealtimeKit.Answer) -> String? {
        let advice =
            ": the sound may be interrupted when the machine is busy. Allow it with an `rtprio` line in "
            + "/etc/security/limits.d, or install rtkit."
        return switch answer {
        case .raised(let priority): "rtkit has given a real-time priority of \(priority)."
        case .notThere: "No real-time priority (\(errorText(refusal)); no rtkit)\(advice)"
        case .refused(let why): "No real-time priority (\(errorText(refusal)); rtkit: \(why))\(advice)"
        }
    }
}
