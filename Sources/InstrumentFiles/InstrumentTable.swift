package import RenderCore

/// The generators of SoundFont 2.04 (section 8.1.2) by their numbers.
package enum SoundFontGenerator {
    static let instrument = 41
    static let keyRange = 43
    static let velocityRange = 44
    static let sampleID = 53
    static let sampleModes = 54
    static let scaleTuning = 56
    static let exclusiveClass = 57
    static let rootKey = 58
    package static var attenuation: Int { @_noLocks @_noAllocation get { 48 } }
    /// The number of generators.
    package static var count: Int { @_noLocks @_noAllocation get { 61 } }

    /// Returns the value of a generator that no zone sets.
    static func initial(_ generator: Int) -> Int16 {
        switch generator {
        case 8: 13_500
        case 21, 23, 25...28, 30, 33...36, 38: -12_000
        case 43, 44: 0x7F00
        case 46, 47, 58: -1
        case 56: 100
        default: 0
        }
    }
}

/// A link from a controller to a generator (SoundFont 2.04, section 8.2).
package struct InstrumentModulator: BitwiseCopyable, Sendable, Hashable {
    /// The controllers, as the file has them.
    package var source: UInt16
    package var secondSource: UInt16
    package var target: UInt16
    package var amount: Int16
    /// 0, or 2 for the absolute value.
    package var transform: UInt16

    init(_ source: UInt16, _ target: UInt16, _ amount: Int16, _ second: UInt16 = 0, transform: UInt16 = 0) {
        self.source = source
        secondSource = second
        self.target = target
        self.amount = amount
        self.transform = transform
    }

    func isSame(_ other: InstrumentModulator) -> Bool {
        source == other.source && secondSource == other.secondSource && target == other.target
            && transform == other.transform
    }

    /// The links that each SoundFont has (section 8.4), but for the one from velocity to the filter, which the fonts of
    /// the field do not expect: FluidSynth leaves it out, too.
    static let defaults: [InstrumentModulator] = [
        InstrumentModulator(0x0502, 48, 960),  // velocity to attenuation
        InstrumentModulator(0x000D, 6, 50),  // pressure to vibrato
        InstrumentModulator(0x0081, 6, 50),  // modulation wheel to vibrato
        InstrumentModulator(0x0587, 48, 960),  // volume to attenuation
        InstrumentModulator(0x028A, 17, 500),  // pan
        InstrumentModulator(0x058B, 48, 960),  // expression to attenuation
        InstrumentModulator(0x00DB, 16, 200),  // reverb send
        InstrumentModulator(0x00DD, 15, 200),  // chorus send
        InstrumentModulator(0x020E, 52, 12_700, 0x0010),  // bend to pitch, times its range
    ]
}

/// A sample with everything that a voice needs to know to play it.
package struct InstrumentRegion: BitwiseCopyable, Sendable {
    package var keys: (low: UInt8, high: UInt8) = (0, 127)
    package var velocities: (low: UInt8, high: UInt8) = (0, 127)
    /// The number of the sample in the table.
    package var sample: Int32 = 0
    /// Frames of the sample.
    package var start: Int32 = 0
    package var end: Int32 = 0
    package var loopStart: Int32 = 0
    package var loopEnd: Int32 = 0
    /// Indicates whether it loops, and whether only until the key is released.
    package var loops = false
    package var loopsUntilRelease = false
    /// Indicates whether the key's release changes nothing.
    package var isOneShot = false
    /// Indicates whether it begins when its key is released.
    package var beginsOnRelease = false
    /// A class, one voice of which sounds at a time, and the class that ends this voice; 0 for none.
    package var exclusiveClass: Int32 = 0
    package var endingClass: Int32 = 0
    /// In tenths of a decibel.
    package var attenuation: Float = 0
    /// Decibels that nothing attenuates.
    package var boost: Float = 0
    /// The pitch of the sample, in cents, and the cents from one key to the next.
    package var rootPitch: Float = 6_000
    package var scaleTuning: Float = 100
    package var sampleRate = 44_100.0
    /// The key and the velocity that take the place of those that are played; -1 for none.
    package var key: Int16 = -1
    package var velocity: Int16 = -1
    /// Indicates whether a resonance lowers the level, and no wave raises it above that of the note, as in a SoundFont.
    package var isSoundFont = true
    /// The turn in a sequence of notes, and its length.
    package var turn: Int32 = 1
    package var turns: Int32 = 1
    /// The part of 0…1 in which a random number must be.
    package var random: (low: Float, high: Float) = (0, 1)
    /// The links, in the table.
    package var firstModulator: Int32 = 0
    package var modulatorCount: Int32 = 0
}

/// A program: a range of regions.
package struct InstrumentPreset: BitwiseCopyable, Sendable {
    package var bank: Int32
    package var program: Int32
    package var first: Int32
    package var count: Int32
}

/// Everything that the render thread needs of an instrument, in memory that does not change.
@safe package final class InstrumentTable: @unchecked Sendable {
    // Unchecked because the memory is written in the initialiser only.
    private let regions: AlignedMemory<InstrumentRegion>
    private let generators: AlignedMemory<Int16>
    private let modulators: AlignedMemory<InstrumentModulator>
    private let presets: AlignedMemory<InstrumentPreset>
    private let samples: AlignedMemory<SampleFrames>
    private let counts: (regions: Int, modulators: Int, presets: Int, samples: Int)
    /// The owners of the samples.
    private let owners: [SampleOwner]
    /// The samples that are streamed; `nil` if none is.
    package let disk: SampleDisk?

    init(_ draft: InstrumentDraft, samples frames: [SampleFrames], owners: [SampleOwner], disk: SampleDisk?) {
        counts = (draft.regions.count, draft.modulators.count, draft.presets.count, frames.count)
        regions = AlignedMemory(draft.regions)
        generators = AlignedMemory(draft.generators)
        modulators = AlignedMemory(draft.modulators)
        presets = AlignedMemory(draft.presets)
        samples = AlignedMemory(frames)
        self.owners = owners
        self.disk = disk
    }

    /// The table for the render thread. Its holder keeps the table alive.
    package var reference: Reference {
        unsafe Reference(
            regions: regions.base, generators: generators.base, modulators: modulators.base, presets: presets.base,
            samples: samples.base, counts: counts)
    }

    /// A table as the render thread knows it.
    @safe package struct Reference: BitwiseCopyable, @unchecked Sendable {
        // Unchecked because the pointers lead to memory that is not written any more.
        fileprivate let regions: UnsafeMutablePointer<InstrumentRegion>
        fileprivate let generators: UnsafeMutablePointer<Int16>
        fileprivate let modulators: UnsafeMutablePointer<InstrumentModulator>
        fileprivate let presets: UnsafeMutablePointer<InstrumentPreset>
        fileprivate let samples: UnsafeMutablePointer<SampleFrames>
        fileprivate let counts: (regions: Int, modulators: Int, presets: Int, samples: Int)

        /// The number of presets.
        package var presetCount: Int { @_noLocks @_noAllocation get { counts.presets } }

        /// Returns a preset.
        @_noLocks @_noAllocation
        package func preset(_ index: Int) -> InstrumentPreset {
            precondition(index >= 0 && index < counts.presets)
            return unsafe presets[index]
        }

        /// Returns a region.
        @_noLocks @_noAllocation
        package func region(_ index: Int) -> InstrumentRegion {
            precondition(index >= 0 && index < counts.regions)
            return unsafe regions[index]
        }

        /// Returns whether a key of a velocity belongs to a region.
        @_noLocks @_noAllocation
        package func region(_ index: Int, has key: UInt8, _ velocity: UInt8) -> Bool {
            precondition(index >= 0 && index < counts.regions)
            let (keys, velocities) = unsafe (regions[index].keys, regions[index].velocities)
            return key >= keys.low && key <= keys.high && velocity >= velocities.low && velocity <= velocities.high
        }

        /// Returns the value of a generator of a region.
        @_noLocks @_noAllocation
        package func generator(_ generator: Int, of region: Int) -> Float {
            precondition(region >= 0 && region < counts.regions && generator >= 0 && generator < 64)
            return unsafe Float(generators[region &* 64 &+ generator])
        }

        /// Returns a link.
        @_noLocks @_noAllocation
        package func modulator(_ index: Int) -> InstrumentModulator {
            precondition(index >= 0 && index < counts.modulators)
            return unsafe modulators[index]
        }

        /// Returns the frames of a sample.
        @_noLocks @_noAllocation
        package func frames(_ sample: Int) -> SampleFrames {
            precondition(sample >= 0 && sample < counts.samples)
            return unsafe samples[sample]
        }
    }
}

/// The owner of samples in memory.
package class SampleOwner: @unchecked Sendable {
    // Unchecked because its subclasses have constants and memory that is not written any more.
}

/// Samples as 16-bit numbers, and eight more bits for each if there are any.
final class WordSamples: SampleOwner, @unchecked Sendable {
    // Unchecked because its memory is written before it is shared.
    let words: AlignedMemory<Int16>
    let low: AlignedMemory<UInt8>?

    init(_ words: consuming AlignedMemory<Int16>, low: consuming AlignedMemory<UInt8>?) {
        self.words = words
        self.low = low
    }
}

/// Samples as floating-point numbers.
final class FloatSamples: SampleOwner, @unchecked Sendable {
    // Unchecked because its memory is written before it is shared.
    let floats: AlignedMemory<Float>
    init(_ floats: consuming AlignedMemory<Float>) { self.floats = floats }
}

/// An instrument while it is being read.
struct InstrumentDraft {
    var regions: [InstrumentRegion] = []
    /// 64 for each region.
    var generators: [Int16] = []
    var modulators: [InstrumentModulator] = []
    var presets: [InstrumentPreset] = []
    private var lists: [[InstrumentModulator]: Int32] = [:]

    /// Adds a region with its generators and links.
    mutating func add(_ region: InstrumentRegion, _ values: [Int16], _ links: [InstrumentModulator]) {
        var region = region
        if let first = lists[links] {
            region.firstModulator = first
        } else {
            region.firstModulator = Int32(modulators.count)
            lists[links] = region.firstModulator
            modulators += links
        }
        region.modulatorCount = Int32(links.count)
        regions.append(region)
        generators += values.prefix(64)
        generators += repeatElement(0, count: max(0, 64 - values.count))
    }
}
