internal import CRender
internal import Glibc

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

    /// Has a thread raised, the calling one by default.
    ///
    /// rtkit wants a hard limit on how long a thread computes, as it ends a program that does not wait; the guard, which
    /// only takes the priority away, comes at the half of that.
    static func raise(to priority: Int, address: String, thread: Int64 = crender_thread_id()) -> Answer {
        guard var bus = SystemBus(address: address) else { return .notThere }
        guard let most = property("MaxRealtimePriority", &bus), most > 0 else { return .notThere }
        let time = property("RTTimeUSecMax", &bus) ?? 200_000
        let error = crender_accept_priority(UInt32(clamping: time))
        guard error == 0 else { return .refused(errorText(error)) }
        let granted = min(priority, Int(most))
        var body = BusBytes()
        body.add(UInt64(getpid()))
        body.add(UInt64(thread))
        body.add(UInt32(granted))
        let reply = bus.call(
            name, path: path, interface: name, member: "MakeThreadRealtimeWithPID", signature: "ttu", body: body)
        return switch reply {
        case .value: .raised(granted)
        case .error(let error): .refused(error)
        case .none: .refused("no answer")
        }
    }

    /// Returns a number from the service.
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
