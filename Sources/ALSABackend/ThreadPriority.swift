internal import CRender
internal import Glibc

/// The ladder by which a render thread comes to its priority: what the user may do, else what rtkit may do for the user,
/// else none, which is said.
enum ThreadPriority {
    /// How long a closure may compute before it is put back to ordinary priority, in microseconds.
    private static var guardTime: UInt32 { 500_000 }

    /// Raises the calling thread, and locks the memory of the process.
    ///
    /// - Parameter tell: gets a sentence for each thing that is not to be had.
    static func raise(to priority: Int, tell: (String) -> Void) {
        let refusal = crender_make_realtime(Int32(priority), guardTime)
        if refusal != 0 {
            let address = unsafe getenv("DBUS_SYSTEM_BUS_ADDRESS").map { unsafe String(cString: $0) }
            let answer = RealtimeKit.raise(to: priority, address: address ?? RealtimeKit.standardAddress)
            if let sentence = sentence(refusal: refusal, answer: answer) { tell(sentence) }
        }
        let memory = crender_lock_memory()
        if memory != 0 {
            tell(
                "The memory is not locked (\(ALSAError.text(memory))): the sound may be interrupted when the machine "
                    + "swaps. Allow it with a `memlock` line in /etc/security/limits.d.")
        }
    }

    /// What is to be said of a refusal and of what rtkit says to it; nothing where it helped as asked.
    static func sentence(refusal: Int32, answer: RealtimeKit.Answer) -> String? {
        let advice =
            ": the sound may be interrupted when the machine is busy. Allow it with an `rtprio` line in "
            + "/etc/security/limits.d, or install rtkit."
        return switch answer {
        case .raised(let priority): "rtkit has given a real-time priority of \(priority)."
        case .notThere: "No real-time priority (\(ALSAError.text(refusal)); no rtkit)\(advice)"
        case .refused(let why): "No real-time priority (\(ALSAError.text(refusal)); rtkit: \(why))\(advice)"
        }
    }
}

/// The service that gives real-time priority to programs of users who may not take it themselves.
enum RealtimeKit {
    enum Answer: Equatable {
        /// It has raised the thread to a priority.
        case raised(Int)
        /// There is none.
        case notThere
        /// It does not, and gives this reason.
        case refused(String)
    }

    static var standardAddress: String { "unix:path=/run/dbus/system_bus_socket" }
    private static var name: String { "org.freedesktop.RealtimeKit1" }
    private static var path: String { "/org/freedesktop/RealtimeKit1" }

    /// Has the calling thread raised.
    ///
    /// rtkit wants a hard limit on how long a thread computes, as it ends a program that does not wait; the guard, which
    /// only takes the priority away, comes at the half of that.
    static func raise(to priority: Int, address: String) -> Answer {
        guard var bus = SystemBus(address: address) else { return .notThere }
        guard let most = property("MaxRealtimePriority", &bus), most > 0 else { return .notThere }
        let time = property("RTTimeUSecMax", &bus) ?? 200_000
        let error = crender_accept_priority(UInt32(clamping: time))
        guard error == 0 else { return .refused(ALSAError.text(error)) }
        let granted = min(priority, Int(most))
        var body = BusBytes()
        body.add(UInt64(getpid()))
        body.add(UInt64(crender_thread_id()))
        body.add(UInt32(granted))
        let reply = bus.call(
            name, path: path, interface: name, member: "MakeThreadRealtimeWithPID", signature: "ttu", body: body)
        return switch reply {
        case .value: .raised(granted)
        case .error(let error): .refused(error)
        case .none: .refused("no answer")
        }
    }

    /// A number that it tells.
    private static func property(_ property: String, _ bus: inout SystemBus) -> Int64? {
        var body = BusBytes()
        body.add(name)
        body.add(property)
        let reply = bus.call(
            name, path: path, interface: "org.freedesktop.DBus.Properties", member: "Get", signature: "ss", body: body)
        guard case .value(let bytes) = reply else { return nil }
        var reader = BusReader(bytes: bytes)
        return switch reader.signature() {
        case "i": reader.uint32().map { Int64(Int32(bitPattern: $0)) }
        case "x": reader.uint64().map { Int64(bitPattern: $0) }
        default: nil
        }
    }
}
