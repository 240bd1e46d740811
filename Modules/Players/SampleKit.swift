public import RenderCore
public import Voices

/// The samples of a ``SamplePlayer`` by the words of patterns: the kit that a sequencer's track plays.
///
///     let kit = player.kit(["kick": player.load(kick), "hat": player.load(hat)])
///     let beat = Track("beat", Pattern("kick hat kick hat"), to: kit)
///
/// Each note plays its sample to its end, with the velocity as its gain. Numbers mean the samples in the order of their words, from 0
/// on.
///
/// Threads: control.
public final class SampleKit: NoteTarget {
    /// The player that has the samples.
    public let player: SamplePlayer
    /// The words, in their order.
    public let words: [String]
    private let samples: [SamplePlayer.Sample]

    init(_ player: SamplePlayer, _ samples: [String: SamplePlayer.Sample]) {
        self.player = player
        let sorted = samples.sorted { $0.key < $1.key }
        words = sorted.map(\.key)
        self.samples = sorted.map(\.value)
    }

    /// Returns the number of the sample for a word, or for a number.
    public func number(forWord word: String, _ number: Double?) -> Double? {
        if let index = words.firstIndex(of: word) { return Double(index) }
        guard let number, number >= 0, number < Double(samples.count) else { return nil }
        return number.rounded(.down)
    }

    /// Plays the sample.
    ///
    /// Threads: render.
    public func begin(_ note: TargetNote, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool {
        guard note.number >= 0, note.number < Float(samples.count) else { return false }
        return player.play(samples[Int(note.number)], inFrame: frame, context, gain: note.velocity) != nil
    }
}

extension SamplePlayer {
    /// Makes a target of samples for the words of patterns.
    public func kit(_ samples: [String: Sample]) -> SampleKit { SampleKit(self, samples) }
}
