internal import CPluginGuest
internal import Outputs
internal import RenderCore
internal import RenderStack
internal import SignalBlocks

/// An instance of a plug-in that a host has made, with the memory of its ports.
@safe final class PluginInstance: @unchecked Sendable {
    // Unchecked because a host calls one function of an instance at a time, and RenderCore is safe between threads.
    private let renderer: Renderer
    private let driver: UInt
    let body: PluginBody
    private let parameters: [ParameterReference]
    /// The values that the parameters' ports had.
    private let seen: UnsafeMutablePointer<Float>
    private let ports: PluginPorts
    private let places: UnsafeMutablePointer<UnsafeMutableRawPointer?>
    private var cycle: OutputCycle
    private let news = MIDINews()
    private let input: AudioInput
    private let words: guest_words
    private let midiType: UInt32
    private let sequenceType: UInt32
    private let textType: UInt32
    /// The host's number for the text of the state.
    private let stateKey: UInt32
    private let counts: (inputs: Int, outputs: Int)
    private let longest: Int
    /// A copy of the inputs, for hosts whose outputs are their inputs too.
    private let copies: UnsafeMutablePointer<Float>
    /// The input of the past, for the bypass of a plug-in whose sound is late.
    private let past: UnsafeMutablePointer<Float>
    private let pastLength: Int
    private var pastPlace = 0
    private let latency: Int
    /// The part of the plug-in's sound, on its way to 1 or 0.
    private var part: Float = 1
    private var startsOver = true
    private let rate: Double

    @unsafe init(
        _ plugin: Plugin, rate: Double, _ features: UnsafePointer<UnsafePointer<guest_feature>?>?
    ) throws {
        guard rate >= 1, rate <= 1_000_000 else {
            throw PluginError("the host asks for a sample rate of \(rate) Hz; it must be 1…1,000,000")
        }
        let body = try plugin.make(rate)
        self.body = body
        self.rate = rate
        ports = PluginPorts(plugin, body)
        counts = (plugin.inputs, plugin.outputs)
        let input = AudioInput(channels: max(1, plugin.inputs), name: plugin.name)
        self.input = input
        let loop = body.loop
        let channels = plugin.inputs
        let hasInput = body.hasInput && channels > 0
        let told = unsafe Int(guest_longest_block(features))
        longest = told > 0 ? min(max(told, 64), 8_192) : 4_096
        renderer = try Renderer(
            sampleRate: rate, channels: plugin.outputs,
            layout: StackLayout(channels: max(8, plugin.inputs, plugin.outputs))
        ) { context in
            if hasInput { context.run(input) }
            // No module runs in a dry run, and the loop may count on the channels that are declared.
            if hasInput && context.isDryRun {
                context.pop()
                context.push(channels: channels)
            }
            loop(&context)
            context.output()
        }
        driver = try renderer.beginDriving(as: plugin.name)
        latency = renderer.latency
        parameters = body.parameters
        unsafe seen = .allocate(capacity: parameters.count + 1)
        unsafe seen.initialize(repeating: .nan, count: parameters.count + 1)
        unsafe places = .allocate(capacity: ports.count)
        unsafe places.initialize(repeating: nil, count: ports.count)
        unsafe copies = .allocate(capacity: max(1, plugin.inputs) * longest)
        unsafe copies.initialize(repeating: 0, count: max(1, plugin.inputs) * longest)
        pastLength = latency > 0 ? latency + longest : 0
        unsafe past = .allocate(capacity: max(1, pastLength * plugin.inputs))
        unsafe past.initialize(repeating: 0, count: max(1, pastLength * plugin.inputs))
        cycle = OutputCycle(
            renderer, news, patience: 1, inputs: plugin.inputs > 0 ? [input] : [],
            midiInputs: [body.midiInput].compactMap(\.self), midiOutputs: [body.midiOutput].compactMap(\.self),
            frames: 0)
        cycle.hasInput = hasInput
        func number(_ uri: String) -> UInt32 { unsafe guest_map(features, uri) }
        let (atom, time) = ("http://lv2plug.in/ns/ext/atom#", "http://lv2plug.in/ns/ext/time#")
        midiType = number("http://lv2plug.in/ns/ext/midi#MidiEvent")
        sequenceType = number(atom + "Sequence")
        textType = number(atom + "String")
        stateKey = number(plugin.uri + (plugin.uri.contains("#") ? "-state" : "#state"))
        words = guest_words(
            object: number(atom + "Object"), position: number(time + "Position"), speed: number(time + "speed"),
            frame: number(time + "frame"), bar: number(time + "bar"), bar_beat: number(time + "barBeat"),
            beat_unit: number(time + "beatUnit"), beats_per_bar: number(time + "beatsPerBar"),
            beats_per_minute: number(time + "beatsPerMinute"), type_float: number(atom + "Float"),
            type_double: number(atom + "Double"), type_int: number(atom + "Int"), type_long: number(atom + "Long"))
    }

    deinit {
        renderer.endDriving(driver)
        unsafe past.deallocate()
        unsafe copies.deallocate()
        unsafe places.deallocate()
        unsafe seen.deallocate()
    }

    @unsafe func connect(_ port: Int, _ data: UnsafeMutableRawPointer?) {
        if port >= 0 && port < ports.count { unsafe places[port] = data }
    }

    /// The sound begins anew with the next run: what was held down before ends there.
    func activate() { startsOver = true }

    /// Gives the host the text of the state. While the plug-in plays too.
    @unsafe func save(_ store: UnsafeMutableRawPointer?, _ handle: UnsafeMutableRawPointer?) -> Int32 {
        guard let state = body.state else { return 0 }
        return unsafe guest_store_text(store, handle, stateKey, textType, state.save())
    }

    /// Goes back to the text that the host has kept, if it has one.
    @unsafe func restore(_ retrieve: UnsafeMutableRawPointer?, _ handle: UnsafeMutableRawPointer?) -> Int32 {
        var length = 0
        guard let state = body.state,
            let text = unsafe guest_retrieve_text(retrieve, handle, stateKey, textType, &length)
        else { return 0 }
        do {
            let bytes = unsafe UnsafeRawBufferPointer(start: text, count: length)
            try state.restore(unsafe String(decoding: bytes, as: UTF8.self))
            return 0
        } catch {
            StandardError.say("the plug-in \(input.name) cannot restore its state: \(error)")
            return 1
        }
    }

    // MARK: The render thread

    /// Renders a block of any length. On the host's audio thread.
    func run(_ frames: Int) {
        setParameters()
        if let told = unsafe places[ports.latency] {
            unsafe told.assumingMemoryBound(to: Float.self).pointee = Float(latency)
        }
        guard frames > 0 else { return }
        for channel in 0..<counts.outputs {
            guard unsafe places[ports.outputs.lowerBound + channel] != nil else { return }
        }
        var capacity: UInt32 = 0
        let eventsOut = unsafe ports.eventsOut.flatMap { unsafe places[$0] }
        if let eventsOut = unsafe eventsOut { capacity = unsafe guest_begin_events(eventsOut, sequenceType) }
        setTransport()
        // The host was deactivated meanwhile, or has taken its events away.
        if unsafe startsOver || places[ports.eventsIn] == nil { news.endNotes() }
        var done = 0
        while done < frames {
            let count = min(frames - done, longest)
            setChannels(from: done, count)
            cycle.begin(frames: count)
            cycle.startsOver = startsOver
            startsOver = false
            receive(from: done, isLast: done + count == frames)
            cycle.render(driver)
            cycle.transport = cycle.transport.advanced(by: count, sampleRate: rate)
            bypass(count)
            if let eventsOut = unsafe eventsOut { unsafe send(eventsOut, capacity, from: done) }
            done += count
        }
    }

    /// Takes values from the ports that have changed.
    private func setParameters() {
        for index in parameters.indices {
            guard let place = unsafe places[ports.controls.lowerBound + index] else { continue }
            let value = unsafe place.assumingMemoryBound(to: Float.self).pointee
            if unsafe seen[index] != value && !value.isNaN {
                unsafe seen[index] = value
                parameters[index].value = value
            }
        }
    }

    /// Reads where the host is in its piece.
    private func setTransport() {
        guard let sequence = unsafe places[ports.eventsIn] else { return }
        // A host need not repeat a value that has not changed.
        let before = cycle.transport
        var position = guest_position()
        position.speed = before.isRolling ? 1 : 0
        position.frame = before.frame
        if let bars = before.bars {
            position.has_tempo = true
            position.beats_per_minute = bars.beatsPerMinute
            position.beats_per_bar = bars.beatsPerBar
            position.beat_unit = Int32(bars.beatType)
            position.bar = Int64(bars.bar - 1)
            position.bar_beat = Double(bars.beat - 1) + bars.fraction
        }
        if unsafe withUnsafePointer(to: words, { unsafe guest_find_position(sequence, $0, &position) }) {
            var transport = Transport(isRolling: position.speed != 0, frame: position.frame)
            if position.has_tempo {
                let beat = max(0, position.bar_beat)
                transport.bars = MusicalPosition(
                    bar: Int(position.bar) + 1, beat: Int(beat) + 1, fraction: beat - Double(Int(beat)),
                    beatsPerBar: position.beats_per_bar > 0 ? position.beats_per_bar : 4,
                    beatType: position.beat_unit > 0 ? Double(position.beat_unit) : 4,
                    beatsPerMinute: position.beats_per_minute)
            }
            cycle.transport = transport
        }
    }

    /// Reads the host's events of a part of the block; the last part has those behind the end too.
    private func receive(from first: Int, isLast: Bool) {
        guard body.midiInput != nil, let sequence = unsafe places[ports.eventsIn] else { return }
        var cursor: UInt32 = 0
        var (frame, count): (Int64, UInt32) = (0, 0)
        var bytes: UnsafePointer<UInt8>?
        while unsafe guest_next_event(sequence, midiType, &cursor, &frame, &bytes, &count) {
            let frame = Int(clamping: max(0, frame)) - first
            guard let bytes = unsafe bytes, frame >= 0, isLast || frame < cycle.frameCount else { continue }
            unsafe cycle.receive(UnsafeRawBufferPointer(start: bytes, count: Int(count)).bytes, at: frame, on: 0)
        }
    }

    /// Shows the cycle where a part of the host's memory is.
    private func setChannels(from first: Int, _ count: Int) {
        for channel in 0..<counts.outputs {
            guard let memory = unsafe places[ports.outputs.lowerBound + channel] else { return }
            unsafe cycle.setOutput(channel, memory.assumingMemoryBound(to: Float.self) + first)
        }
        for channel in 0..<counts.inputs {
            let memory = unsafe places[ports.inputs.lowerBound + channel]
            let copy = unsafe copies + channel * longest
            guard let memory = unsafe memory?.assumingMemoryBound(to: Float.self) else {
                unsafe copy.clearSamples(count: count)
                unsafe cycle.setInput(channel, copy)
                continue
            }
            var isShared = false
            for output in 0..<counts.outputs {
                let distance = unsafe cycle.outputChannels[output] - (memory + first)
                if distance > -count && distance < count { isShared = true }
            }
            if isShared { unsafe copy.copySamples(from: memory + first, count: count) }
            unsafe cycle.setInput(channel, isShared ? copy : memory + first)
        }
    }

    /// Fades to the input and back, in 10 ms, by the port that says whether the plug-in is on.
    private func bypass(_ count: Int) {
        var isOn = true
        if let place = unsafe places[ports.enabled] {
            isOn = unsafe place.assumingMemoryBound(to: Float.self).pointee > 0
        }
        let isAtRest = part == (isOn ? 1 : 0)
        let hasPast = pastLength > 0
        if hasPast {
            let first = min(count, pastLength - pastPlace)
            for channel in 0..<counts.inputs {
                let line = unsafe past + channel * pastLength
                unsafe (line + pastPlace).copySamples(from: cycle.inputChannels[channel], count: first)
                unsafe line.copySamples(from: cycle.inputChannels[channel] + first, count: count - first)
            }
        }
        if !(isAtRest && isOn) {
            let step = (isOn ? 1 : -1) / (0.01 * Float(rate))
            for channel in 0..<counts.outputs {
                var part = part
                let source = counts.inputs == 0 ? nil : min(channel, counts.inputs - 1)
                for i in 0..<count {
                    part = min(max(part + (isAtRest ? 0 : step), 0), 1)
                    var dry: Float = 0
                    if let source {
                        dry =
                            unsafe hasPast
                            ? past[source * pastLength + (pastPlace + i - latency + 2 * pastLength) % pastLength]
                            : cycle.inputChannels[source][i]
                    }
                    unsafe cycle.outputChannels[channel][i] = dry + part * (cycle.outputChannels[channel][i] - dry)
                }
            }
            part = min(max(part + (isAtRest ? 0 : step * Float(count)), 0), 1)
        }
        if hasPast { pastPlace = (pastPlace + count) % pastLength }
    }

    /// Hands the host the messages of a part of the block.
    @unsafe private func send(_ sequence: UnsafeMutableRawPointer, _ capacity: UInt32, from first: Int) {
        guard body.midiOutput != nil else { return }
        cycle.forEachMessage(on: 0) { frame, bytes in
            unsafe bytes.withUnsafeBytes { bytes in
                guard let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return true }
                return unsafe guest_add_event(
                    sequence, capacity, midiType, Int64(first + frame), start, UInt32(bytes.count))
            }
        }
    }
}
