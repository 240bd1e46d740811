internal import CJACK
internal import Dispatch
internal import LinuxRealtime
internal import Outputs
internal import RenderCore
internal import Supply
internal import Synchronization

/// One connection to a server: opened, ports made, called, closed. Used by one thread at a time, that which holds the
/// gate of ``JACKLibrary``.
@safe final class JACKClient: @unchecked Sendable {
    // Unchecked because it is used with the library's gate held only; the parts that JACK's threads touch are in the
    // cycle.
    let client: OpaquePointer
    let cycle: JACKCycle
    /// The name that the server has given.
    let name: String
    private(set) var ports: [JACKPort]
    /// The object that the callbacks reach, held until the client is closed.
    private let held: Unmanaged<JACKCycle>
    /// The queue on which the server is asked: one question after the other.
    private let questions = DispatchQueue(label: "rs-jack-questions")
    /// Indicates whether the server has not answered.
    private(set) var isStuck = false

    /// The time that an answer, and a connection, may take, in seconds. Both take milliseconds, even on a busy machine.
    static let patience = 5.0

    /// Connects to a server.
    ///
    /// - Throws: The error that the server gives, or an error if it does not answer.
    static func open(
        _ name: String, renderer: Renderer, run: OutputRun, memory: JACKMemory, settings: JACKSettings,
        startsServer: Bool
    ) throws(JACKError) -> JACKClient {
        leaving.wrappingAdd(1, ordering: .acquiringAndReleasing)
        // A server that JACK starts itself takes seconds.
        let opened = withPatience(
            startsServer ? 6 * patience : patience,
            tooLate: { (result: Result<JACKClient, JACKError>) in
                if case .success(let client) = result { client.close() }
                leaving.wrappingSubtract(1, ordering: .acquiringAndReleasing)
            }
        ) {
            Result { () throws(JACKError) in
                try JACKClient(
                    name, renderer: renderer, run: run, memory: memory, settings: settings, startsServer: startsServer
                )
            }
        }
        guard let opened else { throw .notAnswering }
        leaving.wrappingSubtract(1, ordering: .acquiringAndReleasing)
        return try opened.get()
    }

    /// Asks the server for something, and waits for its answer. `nil`: it stands still; from then on nothing is asked.
    func ask<Answer: Sendable>(_ question: @escaping @Sendable (JACKClient) -> Answer) -> Answer? {
        guard !isStuck else { return nil }
        let answer = withPatience(JACKClient.patience, on: questions) { question(self) }
        isStuck = answer == nil
        return answer
    }

    private init(
        _ name: String, renderer: Renderer, run: OutputRun, memory: JACKMemory, settings: JACKSettings,
        startsServer: Bool
    ) throws(JACKError) {
        // It claims more, and then takes 63 bytes.
        try JACKError.checkName(name, room: min(64, Int(jack_client_name_size())))
        var status: UInt32 = 0
        let options = startsServer ? 0 : JackNoStartServer.rawValue
        var opened = unsafe JACKClient.connect(name, options, settings.server, &status)
        // PipeWire lets two programs have one name, and then their ports could not be told apart.
        var number = 1
        while let client = unsafe opened, number < 100, unsafe JACKClient.hasPorts(client) {
            unsafe jack_client_close(client)
            unsafe opened = JACKClient.connect(
                "\(name)-\(number < 10 ? "0" : "")\(number)", options, settings.server, &status)
            number += 1
        }
        guard let client = unsafe opened else {
            if status & UInt32(JackServerFailed.rawValue) != 0 || status == UInt32(JackFailure.rawValue) {
                let name = settings.serverName == "default" ? "" : settings.serverName
                throw .noServer(name: name, advice: SharedMemory.advice)
            }
            throw .refused(status: status)
        }
        unsafe self.client = client
        self.name = unsafe jack_get_client_name(client).map { unsafe String(cString: $0) } ?? name
        CycleInputs.settle(settings.inputs, on: unsafe JACKClient.sourceCount(settings.connect, client))
        var ports: [JACKPort] = []
        for plan in JACKPortPlan.ports(outputs: renderer.outputChannelCounts, settings) {
            guard let port = unsafe JACKClient.register(plan, with: client) else {
                unsafe jack_client_close(client)
                throw .portRefused(plan.name)
            }
            unsafe ports.append(JACKPort(plan: plan, port: port))
        }
        self.ports = ports
        renderer.configureElsewhere(sampleRate: unsafe Double(jack_get_sample_rate(client)))
        // Others may have joined, or have more channels here than on the server before.
        if !memory.cycle.isMade(for: settings.inputs) {
            var inputs = CycleInputs(settings.inputs, frames: 0)
            memory.cycle.exchange(&inputs)
        }
        cycle = unsafe JACKCycle(
            client, run: run, memory: memory, settings: settings, outputs: renderer.outputChannelCounts, ports: ports)
        unsafe held = .passRetained(cycle)
        setCallbacks()
        describePorts()
    }

    /// Makes ports for inputs that have joined. `nil`: the server refuses them, or does not answer.
    func grow(to plans: [JACKPortPlan], inputs: [AudioInput], outputs counts: [Int]) -> [JACKPort]? {
        let known = Set(ports.map(\.plan.name))
        let new = plans.filter { !known.contains($0.name) }
        let made = ask { client -> [JACKPort]? in
            var made: [JACKPort] = []
            for plan in new {
                guard let port = unsafe client.register(plan) else {
                    for port in made { unsafe jack_port_unregister(client.client, port.port) }
                    return nil
                }
                made.append(unsafe JACKPort(plan: plan, port: port))
            }
            return made
        }
        guard let made = made ?? nil else { return nil }
        // In the order of the plans, which is that of the channels.
        let all = Dictionary(uniqueKeysWithValues: (ports + made).map { ($0.plan.name, $0) })
        ports = plans.compactMap { all[$0.name] }
        guard cycle.grow(ports, inputs: inputs, outputs: counts) else { return nil }
        describePorts()
        return made
    }

    private func register(_ plan: JACKPortPlan) -> OpaquePointer? { unsafe JACKClient.register(plan, with: client) }

    private static func register(_ plan: JACKPortPlan, with client: OpaquePointer) -> OpaquePointer? {
        let flags = plan.isInput ? JackPortIsInput : JackPortIsOutput
        let kind = plan.isMIDI ? JACK_DEFAULT_MIDI_TYPE : JACK_DEFAULT_AUDIO_TYPE
        return unsafe jack_port_register(client, plan.name, kind, UInt(flags.rawValue), 0)
    }

    private static func connect(
        _ name: String, _ options: UInt32, _ server: String?, _ status: inout UInt32
    ) -> OpaquePointer? {
        if let server { return unsafe cjack_client_open(name, options, server, &status) }
        return unsafe cjack_client_open(name, options, nil, &status)
    }

    /// The ports from which a whole device is recorded.
    func sourceCount(_ connect: JACKConnect) -> Int { unsafe JACKClient.sourceCount(connect, client) }

    /// The ports from which a whole device is recorded: those that are named, or the physical ones.
    @unsafe private static func sourceCount(_ connect: JACKConnect, _ client: OpaquePointer) -> Int {
        if case .ports(_, let inputs) = connect { return inputs.count }
        let flags = JackPortIsPhysical.rawValue | JackPortIsOutput.rawValue
        return unsafe take(jack_get_ports(client, nil, JACK_DEFAULT_AUDIO_TYPE, UInt(flags))).count
    }

    /// Returns whether there are ports under the name of a client that has not made any.
    @unsafe private static func hasPorts(_ client: OpaquePointer) -> Bool {
        guard let name = unsafe jack_get_client_name(client).map({ unsafe String(cString: $0) }) else { return false }
        return unsafe take(jack_get_ports(client, nil, nil, 0)).contains { $0.hasPrefix("\(name):") }
    }

    /// Has the server call: from here on cycles are rendered.
    func activate() throws(JACKError) {
        guard let status = ask({ unsafe jack_activate($0.client) }), status == 0 else {
            close()
            throw isStuck ? .notAnswering : .notActivated
        }
    }

    /// Ends the connection; afterwards nothing is called any more. Once.
    ///
    /// A server that stands still, or a render loop that does not end, keeps a closing client waiting. After two
    /// seconds the rest is left to a thread of its own, and ``leaving`` counts it.
    ///
    func close() {
        JACKClient.leaving.wrappingAdd(1, ordering: .acquiringAndReleasing)
        JACKClient.closing.withLock { $0.append(cycle) }
        let isReachable =
            !isStuck && cycle.shutdown.load(ordering: .relaxed) == 0 && !cycle.isInDoubt.load(ordering: .relaxed)
        // The close comes after the questions that the server has not answered.
        _ = withPatience(JACKClient.farewell, on: questions) { [self] in
            if isReachable { forgetPorts() }
            unsafe jack_deactivate(client)
            // If the server is dead the call returns -1, and the client is closed all the same.
            unsafe jack_client_close(client)
            unsafe held.release()
            JACKClient.closing.withLock { $0.removeAll { $0 === cycle } }
            JACKClient.leaving.wrappingSubtract(1, ordering: .acquiringAndReleasing)
        }
    }

    /// The time that closing waits, in seconds.
    static let farewell = 2.0

    /// The number of connections that are being opened or closed. While there are any, none may be opened.
    static let leaving = Atomic<Int>(0)

    /// The cycles of connections that are being closed.
    private static let closing = Lock([JACKCycle]())

    /// The reason why no client may be opened; `nil` if it may.
    static var hindrance: JACKError? {
        guard leaving.load(ordering: .acquiring) != 0 else { return nil }
        let now = HostClock.now
        let isInside = closing.withLock { $0.contains { ($0.run.cycleAge(now) ?? 0) > OutputRun.patience } }
        return isInside ? .closureNotEnded : .notAnswering
    }

    // MARK: Callbacks

    private func setCallbacks() {
        let this = unsafe held.toOpaque()
        unsafe jack_set_process_callback(
            client,
            { frames, this in
                unsafe JACKCycle.run(this) { $0.process(frames) }
                return 0
            }, this)
        unsafe jack_set_xrun_callback(
            client,
            { this in
                unsafe JACKCycle.run(this) { $0.run.noteXrun() }
                return 0
            }, this)
        unsafe jack_set_buffer_size_callback(
            client,
            { frames, this in
                unsafe JACKCycle.run(this) { $0.bufferSize.store(Int(frames), ordering: .relaxed) }
                return 0
            }, this)
        unsafe jack_set_sample_rate_callback(
            client,
            { rate, this in
                unsafe JACKCycle.run(this) { $0.sampleRate.store(Int(rate), ordering: .relaxed) }
                return 0
            }, this)
        unsafe jack_set_freewheel_callback(
            client,
            { isOn, this in
                unsafe JACKCycle.run(this) { $0.noteFreewheel(isOn != 0) }
            }, this)
        unsafe jack_set_graph_order_callback(
            client,
            { this in
                unsafe JACKCycle.run(this) { $0.graphChanged.store(true, ordering: .releasing) }
                return 0
            }, this)
        unsafe jack_set_port_connect_callback(
            client,
            { one, other, isThere, this in
                unsafe JACKCycle.run(this) { $0.noteLink(one, other, isThere: isThere != 0) }
            }, this)
        unsafe jack_set_port_registration_callback(
            client,
            { port, isThere, this in
                unsafe JACKCycle.run(this) { $0.notePort(port, isThere: isThere != 0) }
            }, this)
        unsafe jack_set_thread_init_callback(
            client,
            { this in
                unsafe JACKCycle.run(this) { cycle in
                    nameThread("rs-jack")
                    cycle.run.prepareServersThread()
                }
            }, this)
        // jackd2 calls the one that says why, where both are set; PipeWire only the other one.
        unsafe jack_on_info_shutdown(
            client,
            { status, _, this in
                unsafe JACKCycle.run(this) { $0.noteShutdown(UInt32(status.rawValue)) }
            }, this)
        unsafe jack_on_shutdown(
            client,
            { this in
                unsafe JACKCycle.run(this) { $0.isInDoubt.store(true, ordering: .relaxed) }
            }, this)
        unsafe jack_set_latency_callback(
            client,
            { mode, this in
                unsafe JACKCycle.run(this) { $0.latencies.update(mode, $0) }
            }, this)
    }
}

extension JACKCycle {
    /// Runs a closure with the object that a callback's argument stands for. Without a count: the client's owner holds
    /// it until it is closed. JACK ends its threads when a client is closed, in the middle of a callback even.
    @unsafe static func run(_ this: UnsafeMutableRawPointer?, _ body: (JACKCycle) -> Void) {
        guard let this = unsafe this else { return }
        withoutCancellation {
            unsafe Unmanaged<JACKCycle>.fromOpaque(this)._withUnsafeGuaranteedRef { body($0) }
        }
    }
}
