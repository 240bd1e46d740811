internal import RenderCore
package import Sharing

/// The tuning of a module that plays voices: set by control code, read by the render thread at the beginning of each note.
package struct TunedKeys: ~Copyable, Sendable {
    // One lock for both, so that the newest of several tunings is the one that is heard.
    private let kept = Lock(Kept(), .module)
    /// The tuning as the render thread reads it.
    package let table = ManagedValue(TuningTable())

    private struct Kept {
        var tuning = Tuning.equal
        var version = 0
    }

    /// Creates keys in equal temperament.
    package init() {}

    /// The tuning.
    package var tuning: Tuning {
        get { kept.withLock { $0.tuning } }
        nonmutating set {
            kept.withLock { kept in
                kept.tuning = newValue
                kept.version += 1
                table.set(TuningTable(newValue, version: kept.version))
            }
        }
    }
}

/// The notes of the 128 keys in semitones.
package struct TuningTable: BitwiseCopyable, Sendable {
    /// Different for each tuning that a module gets; 0 for the first one.
    package let version: Int
    private let notes: InlineArray<128, Float>

    /// Creates equal temperament.
    @_noLocks @_noAllocation
    package init() {
        version = 0
        var notes = InlineArray<128, Float>(repeating: 0)
        for key in 0..<128 { notes[key] = Float(Int32(truncatingIfNeeded: key)) }
        self.notes = notes
    }

    init(_ tuning: Tuning, version: Int) {
        self.version = version
        notes = InlineArray { tuning.notes[$0] }
    }

    /// Returns the note of a key in semitones; no number for one that is silent.
    ///
    /// Between two keys it lies on the line from one to the other, and beyond all keys it goes on in semitones.
    @_noLocks @_noAllocation
    package func note(ofKey key: Float) -> Float {
        if key < 0 { return notes[0] + key }
        if key >= 127 { return notes[127] + (key - 127) }
        let whole = Int(key)
        let part = key - Float(Int32(truncatingIfNeeded: whole))
        return part == 0 ? notes[whole] : notes[whole] + part * (notes[whole &+ 1] - notes[whole])
    }
}
