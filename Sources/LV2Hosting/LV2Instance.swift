internal import CPluginHost
internal import Glibc
internal import RenderCore
internal import SignalBlocks

/// A plug-in that is loaded. It is freed on the control side, once no render thread has it.
@safe final class LV2Instance: @unchecked Sendable {
    // Unchecked because the C code lets one thread at a time run, reset or restore the plug-in.
    let pointer: OpaquePointer

    /// The floats before and behind a port's memory that a plug-in must leave as they are: so many find a run of a wrong
    /// length too, in a debug build.
    private static var guardLength: Int32 {
        #if DEBUG
            4_096
        #else
            16
        #endif
    }

    init(_ uri: String, rate: Double, frames: Int, latency: Int) throws(LV2Error) {
        unsafe pointer = try LV2Error.calling {
            unsafe clv2_instance_new(uri, rate, Int32(frames), Self.guardLength, Int32(latency), $0)
        }
        LV2Service.shared.add(self)
    }

    deinit { unsafe clv2_instance_free(pointer) }

    /// Does what the plug-in has asked for.
    func serve() { unsafe clv2_service(pointer) }
}

/// The thread that does for plug-ins what does not belong on a render thread: their work, and resets.
final class LV2Service: Sendable {
    static let shared = LV2Service()
    private let instances = Lock(WeakList<LV2Instance>())
    private init() {}

    private let thread = ServiceThread(name: "rs-plugins") { LV2Service.shared.run() }

    func add(_ instance: LV2Instance) {
        instances.withLock { $0.add(ObjectIdentifier(instance)) { [weak instance] in instance } }
        thread.wake()
    }

    private func run() {
        while true {
            let all = instances.withLock { $0.living }
            for instance in all { instance.serve() }
            if all.isEmpty { thread.sleep(milliseconds: 60_000) } else { thread.nap(milliseconds: 4) }
        }
    }
}

/// The instances of a plug-in module, as its state: one, or of a mono plug-in one for each channel.
@safe struct LV2Instances: ~Copyable, @unchecked Sendable {
    // Unchecked because the tables do not change.
    private let owners: [LV2Instance]
    let view: LV2View

    /// No instance.
    init() {
        owners = []
        unsafe view = LV2View(
            count: 0, channelLimit: 1, instances: .allocate(capacity: 1), controls: .allocate(capacity: 1),
            sent: .allocate(capacity: 1))
    }

    init(_ owners: [LV2Instance], channelLimit: Int) {
        self.owners = owners
        unsafe view = LV2View(
            count: owners.count, channelLimit: channelLimit, instances: .allocate(capacity: owners.count),
            controls: .allocate(capacity: owners.count), sent: .allocate(capacity: LV2View.mostSent))
        for (index, owner) in owners.enumerated() {
            unsafe (view.instances + index).initialize(to: owner.pointer)
            unsafe (view.controls + index).initialize(to: clv2_controls(owner.pointer))
        }
    }

    deinit {
        unsafe view.instances.deallocate()
        unsafe view.controls.deallocate()
        unsafe view.sent.deallocate()
    }
}

/// The instances as the render thread sees them, for a slice.
@safe struct LV2View: BitwiseCopyable, @unchecked Sendable {
    // Unchecked because only the render thread that has the state uses it.
    let count: Int
    /// The most channels that a buffer of the renderer can have.
    let channelLimit: Int
    let instances: UnsafeMutablePointer<OpaquePointer>
    let controls: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
    /// Room for the messages of control code in a slice. On the stack it would be cleared in each.
    let sent: UnsafeMutablePointer<MIDIEvent>
    static var mostSent: Int { @_noLocks @_noAllocation get { 64 } }

    /// Sets the value of a port in all instances.
    @_noLocks @_noAllocation @inline(__always)
    func set(_ port: Int, _ value: Float) {
        var index = 0
        while index < count {
            unsafe controls[index][port] = value
            index &+= 1
        }
    }
}
