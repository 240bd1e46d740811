public import RenderCore
internal import Sharing
public import Voices

/// A record of what was done with a ``Sequencer``: its commands, the edits and settings of its tracks, and what became of the renderer's
/// tempo, each with the frame on which it took effect.
///
///     sequencer.keepJournal()                                         // before the renderer runs
///     …                                                               // the concert
///     if let journal = sequencer.endJournal() {
///         let again = Sequencer(capacity: journal.capacity)           // with instruments that have played nothing yet
///         let renderer = try Renderer { context in
///             context.run(again)
///             context.run(synth)
///             …
///         }
///         try journal.perform(on: again, of: renderer, targets: ["bass": synth]) { block in try file.write(block) }
///     }
///
/// It gives the same notes on the same frames, and the same bits of sound if the modules do the same, when ``remarks`` is empty. What your
/// code does with the parameters of modules is not in it.
///
/// Threads: control.
public struct SequencerJournal: Sendable {
    /// The sample rate of the renderer.
    public internal(set) var sampleRate = 0.0
    /// The number of tracks that the sequencer has room for.
    public internal(set) var capacity: Int
    /// The frames of the renderer that it is about; it is performed from frame 0 on.
    public internal(set) var frames: Range<Int64> = 0..<0
    /// Sentences that say why it may not give the same bits: nothing was kept of something, or notes were late.
    public internal(set) var remarks: [String] = []
    /// The number of commands, edits and settings.
    public var count: Int { entries.count }

    struct TrackName: Sendable, Equatable {
        var name: String
        var channel: Int
        /// Indicates that clips begin again after their length.
        var repeats = true
    }

    struct Entry: Sendable {
        var frame: Int64
        var act: Act
    }

    enum Act: Sendable {
        /// The renderer's clock, and the number of its map; 0 for none.
        indirect case clock(BeatClock, map: Int)
        case ownTempo(Double)
        case ownMap(Int)
        case loop(SongLoop)
        case follows(Bool)
        case joins(place: Int, stay: Int, content: Int)
        case leaves(place: Int)
        case content(place: Int, content: Int)
        case settings(place: Int, TrackSettings)
        case command(SequencerCommand)
        case reset
    }

    var entries: [Entry] = []
    /// The tracks by the numbers of their stays, and the contents by their numbers.
    var tracks: [Int: TrackName] = [:]
    var contents: [Int: TrackSource.Content] = [:]
    /// The maps of the tempo by their numbers.
    var maps: [Int: TempoMap] = [:]

    init(capacity: Int) { self.capacity = capacity }

    mutating func add(_ remark: String) {
        if !remarks.contains(remark) { remarks.append(remark) }
    }

    /// Takes in marks, of which those from a frame on are left out.
    ///
    /// - Parameter clocks: The clocks that marks speak of.
    mutating func read(_ marks: [JournalMark], _ clocks: [BeatClock], until end: Int64) {
        var begin: Int64?
        var end = end
        if let over = marks.first(where: { $0.kind == .startsOver }) {
            add("The renderer began anew; what came then, and its last slice before, is missing.")
            end = over.frame
        }
        for mark in marks {
            // Of two lives of a renderer the first counts.
            if mark.kind == .startsOver || mark.frame >= end && mark.kind != .begins { break }
            switch mark.kind {
            case .begins:
                begin = mark.frame
                sampleRate = mark.a
                if mark.b != 0 {
                    add("The journal began while the sequencer played: notes that sounded then are missing.")
                }
            case .foreign:
                add("Something else led the tempo: a transport, a renderer around this one or another sample rate.")
            case .clock:
                guard Int(mark.a) < clocks.count else { continue }
                entries.append(Entry(frame: mark.frame, act: .clock(clocks[Int(mark.a)], map: mark.number)))
            default:
                if let act = Self.act(mark) { entries.append(Entry(frame: mark.frame, act: act)) }
            }
        }
        if let begin { frames = begin..<max(begin, end) }
    }

    private static func act(_ mark: JournalMark) -> Act? {
        switch mark.kind {
        case .begins, .foreign, .startsOver, .clock: nil
        case .ownTempo: .ownTempo(mark.a)
        case .ownMap: .ownMap(mark.number)
        case .loop: .loop(SongLoop(mark.a, mark.b))
        case .follows: .follows(mark.a != 0)
        case .joins: .joins(place: mark.track, stay: mark.stay, content: mark.number)
        case .leaves: .leaves(place: mark.track)
        case .content: .content(place: mark.track, content: mark.number)
        case .settings: .settings(place: mark.track, mark.settings)
        case .command: .command(mark.command)
        case .reset: .reset
        }
    }

    // MARK: Again

    /// Plays it again, offline.
    ///
    /// - Parameters:
    ///   - sequencer: A sequencer without tracks, which has not played yet.
    ///   - renderer: The renderer whose render loop runs it, which has rendered nothing yet.
    ///   - targets: What plays the tracks, by the names of those.
    ///   - cycle: Frames in a cycle, 1…16,777,216: it makes no difference to the sound.
    ///   - consume: Gets each cycle; if it throws, that is the end.
    /// - Throws: A ``SequencerJournalError`` if it cannot be played with these, or what `consume` throws.
    public func perform(
        on sequencer: Sequencer, of renderer: Renderer, targets: [String: any NoteTarget], cycle: Int = 512,
        each consume: (borrowing AudioBlock) throws -> Void
    ) throws {
        try check(sequencer, renderer, targets)
        var stage = JournalStage(self, sequencer, renderer, targets)
        let cycle = Int64(max(1, min(cycle, 1 << 24)))
        let order = entries.enumerated().sorted { ($0.element.frame, $0.offset) < ($1.element.frame, $1.offset) }
        var (here, index): (Int64, Int) = (0, 0)
        while true {
            while index < order.count, order[index].element.frame <= here {
                try stage.play(order[index].element.act)
                index += 1
            }
            let next = index < order.count ? min(order[index].element.frame, frames.upperBound) : frames.upperBound
            if next <= here { return }
            let count = Int(min(cycle, next - here))
            try consume(renderer.renderOffline(frames: count, cycle: count))
            here += Int64(count)
        }
    }

    private func check(_ sequencer: Sequencer, _ renderer: Renderer, _ targets: [String: any NoteTarget]) throws {
        var reason: String?
        let names = Set(tracks.values.map(\.name)).subtracting(targets.keys).sorted()
        if renderer.sampleRate != sampleRate {
            reason = "The journal is one of \(sampleRate) Hz, and the renderer has \(renderer.sampleRate) Hz."
        } else if renderer.sampleTime != 0 {
            reason = "The renderer has rendered already: make another one, with modules that have played nothing."
        } else if !sequencer.tracks.isEmpty {
            reason = "The sequencer has tracks already: make another one, without any."
        } else if sequencer.capacity < capacity {
            reason =
                "The sequencer has room for \(sequencer.capacity) tracks: make one with room for \(capacity), as the journal says."
        } else if let name = names.first {
            reason = "Nothing plays the track \"\(name)\": name a target for it."
        }
        if let reason { throw SequencerJournalError(reason) }
    }
}

/// A journal cannot be performed, written or read: a sentence.
///
/// Threads: control.
public struct SequencerJournalError: Error, Hashable, CustomStringConvertible {
    /// The sentence.
    public let description: String

    init(_ description: String) { self.description = description }
}

/// A journal that is performed.
private struct JournalStage {
    private let journal: SequencerJournal
    private let sequencer: Sequencer
    private let renderer: Renderer
    private let targets: [String: any NoteTarget]
    /// The tracks in their places.
    private var places: [Int: Track] = [:]
    /// The numbers that stays have now, by those that they had: a command may come before its track, and after it.
    private var stays: [Int: Int] = [:]
    /// Those that have joined.
    private var joined: Set<Int> = []

    init(
        _ journal: SequencerJournal, _ sequencer: Sequencer, _ renderer: Renderer, _ targets: [String: any NoteTarget]
    ) {
        (self.journal, self.sequencer, self.renderer, self.targets) = (journal, sequencer, renderer, targets)
    }

    mutating func play(_ act: SequencerJournal.Act) throws {
        switch act {
        case .clock(let clock, let number): renderer.tempo.restore(clock, number == 0 ? nil : try map(number))
        case .ownTempo(let tempo):
            sequencer.ownTempo.set(SongTempo(beatsPerMinute: tempo > 0 ? tempo : nil))
        case .ownMap(let number): sequencer.tempoMap = try map(number)
        case .loop(let loop):
            _ = sequencer.named(loop.start)
            sequencer.songLoop.set(loop)
        case .follows(let follows): sequencer.followsTransport = follows
        case .joins(let place, let stay, let number):
            guard let name = journal.tracks[stay], let target = targets[name.name] else {
                throw SequencerJournalError("The journal has a track \(stay) of which it does not say what it is.")
            }
            let track = Track(
                name.name, try content(number), to: target, channel: name.channel, repeats: name.repeats)
            // A text may have one stay twice.
            if !joined.insert(stay).inserted { stays[stay] = nil }
            guard sequencer.append(track, at: place, stay: self.stay(stay)) else {
                throw SequencerJournalError("The journal has two tracks in the place \(place).")
            }
            places[place] = track
        case .leaves(let place):
            if let track = places.removeValue(forKey: place) { sequencer.remove(track) }
        case .content(let place, let number): places[place]?.replace(with: try content(number))
        case .settings(let place, let settings): places[place]?.set(settings)
        case .command(var command):
            if command.isForTrack { command.stay = stay(command.stay) }
            if !command.beat.isNaN { _ = sequencer.named(command.beat) }
            guard sequencer.commands.send(command) else {
                throw SequencerJournalError("The journal has more than 256 commands on one frame.")
            }
        case .reset: try renderer.messages.send { [sequencer] context in context.reset(sequencer) }
        }
    }

    private mutating func stay(_ old: Int) -> Int {
        if let stay = stays[old] { return stay }
        let stay = Track.makeStay()
        stays[old] = stay
        return stay
    }

    private func map(_ number: Int) throws -> TempoMap {
        guard let map = journal.maps[number] else {
            throw SequencerJournalError("The journal has a tempo map \(number) of which it does not say what it is.")
        }
        return map
    }

    private func content(_ number: Int) throws -> TrackSource.Content {
        guard let content = journal.contents[number] else {
            throw SequencerJournalError("The journal has a content \(number) of which it does not say what it is.")
        }
        return content
    }
}
