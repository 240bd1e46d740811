internal import CALSA
internal import Glibc
internal import RenderCore

/// A client of ALSA's sequencer, for the MIDI thread. There is the kernel's, and there are those of the tests.
protocol SequencerDevice: AnyObject {
    /// Sleeps until something comes in, the descriptor can be read, or the time is over.
    func wait(for descriptor: Int32, milliseconds: Int32)
    /// Looks at the next event that has come in, if there is one: `false` if not. The number of our input is `nil` for
    /// events about the ports themselves. The event is valid in the closure only.
    func next(_ body: (_ event: UnsafePointer<snd_seq_event_t>, _ input: Int?) -> Void) -> Bool
    /// Compares its queue with the host clock.
    func measureClock() -> QueueClock?
    /// Takes an event that is to leave by one of our outputs at the queue's time that is in it. `false`: not now.
    func send(_ event: UnsafeMutablePointer<snd_seq_event_t>, output: Int) -> Bool
    /// Hands on the events that it has taken.
    func flush()
    /// Returns the ports of other clients.
    func ports() -> [ALSAMIDIPort]
    /// Makes a connection; an error number below 0 if that fails.
    func connect(_ link: SequencerLink) -> Int32
}

/// There is no MIDI, and why.
struct SequencerFailure: Error, Hashable {
    /// A sentence or two.
    let sentence: String

    /// Creates the failure for an opening that failed.
    ///
    /// - Parameters:
    ///   - error: The error number.
    ///   - hasDevice: `true` if the kernel has a sequencer.
    init(opening error: Int32, hasDevice: Bool) {
        let why =
            switch error {
            case EACCES, EPERM:
                "this user may not open /dev/snd/seq: join the group `audio` (`sudo adduser $USER audio`) and log in again"
            case _ where !hasDevice:
                "this kernel has no sequencer, there is no /dev/snd/seq: `sudo modprobe snd-seq` brings it"
            case ENOENT: "ALSA's configuration names no sequencer: see ALSA_CONFIG_PATH and /usr/share/alsa/alsa.conf"
            default: "the sequencer cannot be used: \(ALSAError.text(error))"
            }
        sentence = "No MIDI: \(why). The sound goes on without."
    }
}

/// The kernel's sequencer, through libasound.
@safe final class KernelSequencer: SequencerDevice, @unchecked Sendable {
    // Unchecked because one thread at a time uses it: the one that makes it, and then the MIDI thread.
    private let sequencer: OpaquePointer
    private let queue: Int32
    private var inputs: [Int32] = []
    private var outputs: [Int32] = []
    private var hasUnsent = false

    /// Creates a client with these ports, and a queue that runs.
    init(name: String, inputs: [String], outputs: [String]) throws(SequencerFailure) {
        func check(_ error: Int32) throws(SequencerFailure) {
            guard error < 0 else { return }
            throw SequencerFailure(opening: -error, hasDevice: unsafe access("/dev/snd/seq", F_OK) == 0)
        }
        let messages = ALSAMessages()
        defer { messages.end() }
        var opened: OpaquePointer?
        unsafe try check(snd_seq_open(&opened, "default", SND_SEQ_OPEN_DUPLEX, SND_SEQ_NONBLOCK))
        guard let sequencer = unsafe opened else { throw SequencerFailure(opening: ENOENT, hasDevice: false) }
        unsafe self.sequencer = sequencer
        queue = unsafe snd_seq_alloc_named_queue(sequencer, name)
        // From here on the deinitializer closes it.
        try check(queue)
        unsafe snd_seq_set_client_name(sequencer, name)
        // Room for long system exclusive messages; where the kernel gives less, its own numbers stay.
        unsafe snd_seq_set_client_pool_input(sequencer, 1000)
        unsafe snd_seq_set_client_pool_output(sequencer, 1000)
        unsafe snd_seq_set_input_buffer_size(sequencer, 65_536)
        unsafe snd_seq_set_output_buffer_size(sequencer, 65_536)
        for port in inputs {
            let number = unsafe makePort(port, SND_SEQ_PORT_CAP_WRITE | SND_SEQ_PORT_CAP_SUBS_WRITE)
            try check(number)
            self.inputs.append(number)
        }
        for port in outputs {
            let number = unsafe makePort(port, SND_SEQ_PORT_CAP_READ | SND_SEQ_PORT_CAP_SUBS_READ)
            try check(number)
            self.outputs.append(number)
        }
        // The port at which the kernel reports ports that come and go.
        let news = unsafe makePort("news", SND_SEQ_PORT_CAP_WRITE | SND_SEQ_PORT_CAP_NO_EXPORT)
        if news >= 0 {
            unsafe snd_seq_connect_from(
                sequencer, news, Int32(SND_SEQ_CLIENT_SYSTEM), Int32(SND_SEQ_PORT_SYSTEM_ANNOUNCE))
        }
        unsafe try check(snd_seq_control_queue(sequencer, queue, Int32(SND_SEQ_EVENT_START.rawValue), 0, nil))
        unsafe try check(snd_seq_drain_output(sequencer))
    }

    deinit { unsafe snd_seq_close(sequencer) }

    /// Makes a port that stamps input with the queue's time. Returns its number, or an error below 0.
    @unsafe private func makePort(_ name: String, _ capabilities: Int32) -> Int32 {
        var made: OpaquePointer?
        guard unsafe snd_seq_port_info_malloc(&made) == 0, let info = unsafe made else { return -ENOMEM }
        defer { unsafe snd_seq_port_info_free(info) }
        unsafe snd_seq_port_info_set_name(info, name)
        unsafe snd_seq_port_info_set_capability(info, UInt32(capabilities))
        unsafe snd_seq_port_info_set_type(
            info, UInt32(SND_SEQ_PORT_TYPE_MIDI_GENERIC | SND_SEQ_PORT_TYPE_SOFTWARE | SND_SEQ_PORT_TYPE_APPLICATION))
        unsafe snd_seq_port_info_set_midi_channels(info, 16)
        unsafe snd_seq_port_info_set_timestamping(info, 1)
        unsafe snd_seq_port_info_set_timestamp_real(info, 1)
        unsafe snd_seq_port_info_set_timestamp_queue(info, queue)
        let error = unsafe snd_seq_create_port(sequencer, info)
        return error < 0 ? error : unsafe snd_seq_port_info_get_port(info)
    }

    func wait(for descriptor: Int32, milliseconds: Int32) {
        let events = Int16(hasUnsent ? POLLIN | POLLOUT : POLLIN)
        let count = unsafe snd_seq_poll_descriptors_count(sequencer, events)
        let alarm = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        var polls = [pollfd](repeating: alarm, count: Int(count) + 1)
        unsafe polls.withUnsafeMutableBufferPointer { polls in
            guard let first = polls.baseAddress else { return }
            unsafe snd_seq_poll_descriptors(sequencer, first + 1, UInt32(count), events)
            // Events that are in the library's own buffer already do not show at the descriptor.
            let isThere = unsafe snd_seq_event_input_pending(sequencer, 0) > 0
            unsafe poll(first, UInt(polls.count), isThere ? 0 : milliseconds)
        }
    }

    func next(_ body: (_ event: UnsafePointer<snd_seq_event_t>, _ input: Int?) -> Void) -> Bool {
        var event: UnsafeMutablePointer<snd_seq_event_t>?
        while true {
            let error = unsafe snd_seq_event_input(sequencer, &event)
            // The kernel's queue was full, and some are gone: those that are there follow.
            if error == -ENOSPC || error == -EINTR { continue }
            guard error >= 0, let event = unsafe event else { return false }
            let port = unsafe Int32(event.pointee.dest.port)
            unsafe body(event, inputs.firstIndex(of: port))
            return true
        }
    }

    func measureClock() -> QueueClock? {
        var made: OpaquePointer?
        guard unsafe snd_seq_queue_status_malloc(&made) == 0, let status = unsafe made else { return nil }
        defer { unsafe snd_seq_queue_status_free(status) }
        let before = HostClock.now
        guard unsafe snd_seq_get_queue_status(sequencer, queue, status) == 0 else { return nil }
        let after = HostClock.now
        guard let time = unsafe snd_seq_queue_status_get_real_time(status) else { return nil }
        let said = unsafe Int64(time.pointee.tv_sec) * 1_000_000_000 + Int64(time.pointee.tv_nsec)
        return QueueClock(queue: said, before: before, after: after)
    }

    func send(_ event: UnsafeMutablePointer<snd_seq_event_t>, output: Int) -> Bool {
        unsafe event.pointee.source.port = UInt8(outputs[output])
        unsafe event.pointee.dest = snd_seq_addr_t(
            client: UInt8(SND_SEQ_ADDRESS_SUBSCRIBERS), port: UInt8(SND_SEQ_ADDRESS_UNKNOWN))
        unsafe event.pointee.queue = UInt8(queue)
        unsafe event.pointee.flags |= UInt8(SND_SEQ_TIME_STAMP_REAL | SND_SEQ_TIME_MODE_ABS)
        hasUnsent = true
        // Events that the library refuses for another reason than a full buffer would be refused forever.
        return unsafe snd_seq_event_output(sequencer, event) != -EAGAIN
    }

    func flush() { hasUnsent = unsafe snd_seq_drain_output(sequencer) == -EAGAIN }

    func ports() -> [ALSAMIDIPort] { unsafe ALSAMIDIPort.list(sequencer) }

    func connect(_ link: SequencerLink) -> Int32 {
        let (client, port) = (Int32(link.client), Int32(link.port))
        return link.isInput
            ? unsafe snd_seq_connect_from(sequencer, inputs[link.index], client, port)
            : unsafe snd_seq_connect_to(sequencer, outputs[link.index], client, port)
    }
}
