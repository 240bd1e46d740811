import RenderStack

@testable import RenderCore
@testable import Supply

/// Drives a renderer as an output does, with messages on a MIDI input at frames of its own, and a transport.
final class KeysDriver {
    let keys = MIDIInput()
    private let renderer: Renderer
    private(set) var now = 0
    var isOffline = true
    /// Has the next cycle be frame 0 of another life.
    var startsOver = false
    var transport: (Int) -> Transport = { _ in Transport() }

    init(_ make: (MIDIInput) throws -> Renderer) rethrows { renderer = try make(keys) }

    /// Renders up to a frame, in cycles of one length, with messages at some frames.
    func render(to end: Int, cycle: Int = 256, _ messages: [(frame: Int, message: MIDIMessage)] = []) {
        let messages = messages.enumerated().sorted { ($0.element.frame, $0.offset) < ($1.element.frame, $1.offset) }
        var next = messages.firstIndex { $0.element.frame >= now } ?? messages.count
        while now < end {
            let count = min(cycle, end - now)
            let first = next
            while next < messages.count, messages[next].element.frame < now + count { next += 1 }
            let due = messages[first..<next].map(\.element)
            var events = due.map { MIDIEvent(frame: $0.frame - now, $0.message) } + [MIDIEvent(.clock)]
            let output = AudioBlock(channels: renderer.channelCount, frames: count)
            unsafe events.withUnsafeMutableBufferPointer { events in
                guard let first = events.baseAddress else { return }
                var list = unsafe CycleSupply.Events(
                    identity: UnsafeRawPointer(Unmanaged.passUnretained(keys).toOpaque()), events: first,
                    capacity: due.count)
                list.count = due.count
                unsafe withUnsafeMutablePointer(to: &list) { list in
                    var supply = CycleSupply()
                    unsafe (supply.received, supply.receivedCount) = (list, 1)
                    supply.frameCount = count
                    supply.transport = transport(now)
                    let channels = UnsafeBufferPointer(start: output.pointers, count: output.channelCount)
                    unsafe renderer.render(
                        frames: count, into: channels, hostTime: 0, isOffline: isOffline, supply: &supply,
                        startsOver: startsOver)
                    startsOver = false
                }
            }
            now += count
        }
    }
}

/// A note-on and its note-off.
func played(_ key: UInt8, _ on: Int, _ off: Int, channel: UInt8 = 0, velocity: UInt8 = 127) -> [(
    frame: Int, message: MIDIMessage
)] {
    [
        (on, .noteOn(channel: channel, note: key, velocity: velocity)),
        (off, .noteOff(channel: channel, note: key, velocity: 64)),
    ]
}

extension Clip {
    /// Its notes as key, beginning and length, in frames of 24,000 to a beat.
    var frames: [[Double]] {
        events.compactMap { event in
            event.note.flatMap { note in
                note.number.map { [$0, event.start.value * 24_000, event.length.value * 24_000] }
            }
        }
    }
    /// The messages that are no notes, with their frames.
    var messages: [(frame: Double, message: MIDIMessage)] {
        events.compactMap { event in
            if case .message(let message) = event.content { (event.start.value * 24_000, message) } else { nil }
        }
    }
}

/// A sequencer with a recorder, in a renderer that plays nothing else.
struct RecorderRig {
    let sequencer: Sequencer
    let recorder: ClipRecorder
    let driver: KeysDriver
    let renderer: Renderer

    init(
        _ tracks: [Track] = [], rate: Double = 48_000, channel: Int? = nil, into track: Track? = nil,
        click: Track? = nil, times: Int = 1
    ) throws {
        let sequencer = Sequencer(tracks: tracks)
        var made: (ClipRecorder, Renderer)?
        driver = try KeysDriver { keys in
            let recorder = ClipRecorder(keys, of: sequencer, channel: channel, into: track, click: click)
            let renderer = try Renderer(sampleRate: rate) { context in
                context.run(sequencer)
                for _ in 0..<times { context.run(recorder) }
                context.push()
                context.output()
            }
            made = (recorder, renderer)
            return renderer
        }
        guard let made else { fatalError("no recorder") }
        self.sequencer = sequencer
        (recorder, renderer) = made
    }
}
