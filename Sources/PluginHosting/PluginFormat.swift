package import RenderCore

/// A format of plug-ins, as a module needs it: it says what a plug-in is, and makes instances of it. A ``HostedPlugin`` does all else:
/// it copies channels, sets parameters, brings and takes messages, fades to the delayed input, finds what is written beyond the memory,
/// and keeps control code, the render thread and the thread for the plug-in's own work apart.
package protocol PluginFormat: Sendable {
    /// The plug-in's name.
    var name: String { get }
    /// The channels of the main sound, of the side-chain, and of the result: 0 to 64 each.
    var inputs: Int { get }
    var sideInputs: Int { get }
    var outputs: Int { get }
    /// Indicates whether the plug-in wants to know the transport and the tempo.
    var takesTransport: Bool { get }
    /// Indicates whether its sound may come late.
    var hasLatency: Bool { get }
    /// The controls that become parameters, in their order.
    var settable: [PluginControl] { get }
    /// The number of places in ``PluginInstance/controls``.
    var placeCount: Int { get }

    /// Loads the plug-in.
    ///
    /// - Parameters:
    ///   - rate: The sample rate.
    ///   - frames: The most frames that a run has.
    ///   - latency: The latency that the instance tells until a run tells another.
    ///   - memory: Gets what the plug-in may write, by `cplugin_memory_add`: its channels, of `frames` samples each, and all else.
    func makeInstance(rate: Double, frames: Int, latency: Int, in memory: PluginMemory) throws -> any PluginInstance

    /// Hands the state of an instance on to new ones, which are not heard yet; `values` has its parameters by their places.
    func handOver(_ old: any PluginInstance, _ values: [Float], to new: [any PluginInstance])
}

/// A control of a plug-in that becomes a parameter: its name, which no other has, and its place in ``PluginInstance/controls``.
package typealias PluginControl = (name: String, place: Int, parameter: @Sendable () -> Parameter)

/// A loaded plug-in of some format, which it frees with its last reference: on the control side, once no render thread has it.
package protocol PluginInstance: AnyObject, Sendable {
    /// The memory that it was made in.
    var memory: PluginMemory { get }
    /// The values of the controls, by their places; the module writes those of its parameters before each run.
    var controls: UnsafeMutablePointer<Float> { get }
    /// For the render thread, which must not count references.
    var code: any PluginCode { get }
    /// Does what the plug-in has asked for that is not for a render thread. On a thread beside the audio, every few milliseconds.
    func serve()
}

/// The functions of a loaded plug-in for the render thread: some pointer to it, as long as its ``PluginInstance`` is there.
///
/// In each slice the thread calls ``begin(isOffline:)``, and unless that says no, `add` for each message and for the transport,
/// ``render(frames:)``, ``forEachMessage(_:)`` and ``end()``, all inside a `ForeignCode`. They must not allocate, lock or wait.
/// They are mutating because they are then called in place, without a copy.
package protocol PluginCode: BitwiseCopyable {
    /// The latency in frames. Any thread asks.
    var latency: Int { get }

    /// Takes the plug-in for a run. `false`: another thread has it, and the module is silent.
    mutating func begin(isOffline: Bool) -> Bool
    /// Adds a message to the events of the run, in the order of time.
    mutating func add(_ event: MIDIEvent)
    /// Tells the transport at the first frame. It has bars.
    mutating func add(_ position: Transport, frames: Int)
    /// Runs the plug-in on the channels in its memory.
    mutating func render(frames: Int)
    /// Calls `body` with the frame of each message that the plug-in has sent, and the message.
    mutating func forEachMessage(_ body: (Int, MIDIMessage) -> Void)
    /// Gives the plug-in back.
    mutating func end()
    /// Has the plug-in forget its sound: at once offline, else in ``PluginInstance/serve()``.
    mutating func reset(isOffline: Bool)
}
