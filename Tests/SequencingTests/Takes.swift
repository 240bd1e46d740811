import RenderStack
import TestSupport

/// A target that writes down what it is given, with the frames of the renderer's clock.
final class Takes: NoteTarget, @unchecked Sendable {
    struct Entry: Equatable, CustomStringConvertible {
        enum Kind { case on, off, message }
        var frame: Int64
        var kind: Kind
        var number: Float
        var voice: Int
        var description: String { "\(frame) \(kind) \(number)" }
    }

    let hasKeys: Bool
    private let memory: UnsafeMutablePointer<Entry>
    private let capacity: Int
    private(set) var count = 0
    /// The number of times that `end` refuses at first.
    var refusals = 0

    init(capacity: Int = 100_000, hasKeys: Bool = false) {
        self.hasKeys = hasKeys
        self.capacity = capacity
        unsafe memory = .allocate(capacity: capacity)
    }

    deinit { unsafe memory.deallocate() }

    private func add(_ entry: Entry) {
        guard count < capacity else { return }
        unsafe (memory + count).initialize(to: entry)
        count += 1
    }

    func begin(_ note: TargetNote, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool {
        add(Entry(frame: context.sampleTime + Int64(frame), kind: .on, number: note.number, voice: note.voice))
        return true
    }

    func end(_ note: TargetNote, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool {
        if refusals > 0 {
            refusals -= 1
            return false
        }
        add(Entry(frame: context.sampleTime + Int64(frame), kind: .off, number: note.number, voice: note.voice))
        return true
    }

    func send(_ message: MIDIMessage, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool {
        add(Entry(frame: context.sampleTime + Int64(frame), kind: .message, number: 0, voice: 0))
        return true
    }

    func entry(_ index: Int) -> Entry { unsafe memory[index] }
    /// The entries so far.
    var entries: [Entry] { (0..<count).map { unsafe memory[$0] } }
    /// The notes that began, with their frames.
    var begun: [[Double]] { entries.filter { $0.kind == .on }.map { [Double($0.frame), Double($0.number)] } }
    /// The notes that ended, with their frames.
    var ended: [[Double]] { entries.filter { $0.kind == .off }.map { [Double($0.frame), Double($0.number)] } }
    /// The notes that have begun and not ended.
    var hanging: Int {
        var open: Set<Int> = []
        for entry in entries {
            if entry.kind == .on { open.insert(entry.voice) }
            if entry.kind == .off { open.remove(entry.voice) }
        }
        return open.count
    }
}

/// A sequencer in a renderer that plays nothing else.
struct Rig {
    let sequencer: Sequencer
    let renderer: Renderer

    init(_ tracks: Track..., rate: Double = 48_000, capacity: Int = 64) throws {
        let sequencer = Sequencer(tracks: tracks, capacity: capacity)
        self.sequencer = sequencer
        renderer = try Renderer(sampleRate: rate) { context in
            context.run(sequencer)
            context.push()
            context.output()
        }
    }

    /// Renders so many frames in cycles of one length.
    func render(_ frames: Int, cycle: Int = 256) { _ = renderer.renderOffline(frames: frames, cycle: cycle) }
}
