internal import CKernels

/// The arithmetic of a bank of voices, sixteen at a time: each a sine through a band-pass of its own, between left and right.
///
/// A voice that gets other numbers glides there, all of them at once in a straight line: the frequency, the gains, the
/// place of the band (as the tangent of its angle, so that it is a filter at every point of the way) and its width.
@safe package struct VoiceLanes: ~Copyable, Sendable {
    /// The numbers of a voice.
    package struct Numbers: Sendable, BitwiseCopyable {
        /// 2³² to the turn.
        package var step: UInt32
        /// `tan(π f / rate)` of the band's centre.
        package var g: Double
        /// 1 / Q.
        package var k: Double
        package var left: Float
        package var right: Float

        package init(step: UInt32, g: Double, k: Double, left: Float, right: Float) {
            self.step = step
            self.g = g
            self.k = k
            self.left = left
            self.right = right
        }

        var inC: kernel_voice {
            @_noLocks @_noAllocation get { kernel_voice(g: g, k: k, left: left, right: right, step: step) }
        }

        /// No sound.
        package static var silence: Numbers { Numbers(step: 0, g: 0.1, k: 1, left: 0, right: 0) }
    }

    /// Voices there are.
    package let count: Int
    private let groups: Int
    private let voices: AlignedMemory<kernel_voices>
    private let glides: AlignedMemory<kernel_voice_glides>
    /// The time on the clock at which the last glide of sixteen voices is over.
    private let ends: AlignedMemory<Int32>
    private let lanes: AlignedMemory<Float>
    /// Frames since some moment, from which glides are reckoned.
    private var clock: Int32 = 0
    private var version = -1
    private var sampleRate = 0.0

    /// Voices that are computed together.
    private static var lanesOfGroup: Int { @_noLocks @_noAllocation get { kernel_lanes } }
    /// Frames that are rendered at once, those whose number on the clock has the same multiple of it.
    private static var chunk: Int { @_noLocks @_noAllocation get { 64 } }
    /// The longest glide. Frames are counted in `Float`, which knows every whole number up to 2²⁴.
    private static var longest: Int { @_noLocks @_noAllocation get { 1 << 22 } }

    /// Voices at the start of their turns, all silent.
    package init(count: Int) {
        self.count = max(0, count)
        groups = (self.count + VoiceLanes.lanesOfGroup - 1) / VoiceLanes.lanesOfGroup
        voices = AlignedMemory(count: groups)
        glides = AlignedMemory(count: groups)
        ends = AlignedMemory(count: groups)
        lanes = AlignedMemory(count: 16 * VoiceLanes.chunk)
        for voice in 0..<groups * VoiceLanes.lanesOfGroup { put(.silence, voice) }
    }

    /// Starts all turns anew, empties the filters, and ends the glides.
    @_noLocks @_noAllocation
    package mutating func reset() {
        clock = 0
        unsafe kernel_voices_reset(voices.base, glides.base, ends.base, groups)
    }

    /// Gives a voice other numbers, at once.
    @_noLocks @_noAllocation
    package mutating func put(_ numbers: Numbers, _ voice: Int) {
        guard voice >= 0 && voice < groups &* VoiceLanes.lanesOfGroup else { return }
        unsafe kernel_voice_put(voices.base, glides.base, voice, numbers.inC)
    }

    /// Lets a voice glide to other numbers, from its present ones, in so many frames. The same numbers change nothing.
    @_noLocks @_noAllocation
    package mutating func glide(to numbers: Numbers, _ voice: Int, frames: Int) {
        guard voice >= 0 && voice < count else { return }
        let frames = Int32(truncatingIfNeeded: max(0, min(frames, VoiceLanes.longest)))
        unsafe kernel_voice_glide(voices.base, glides.base, ends.base, voice, numbers.inC, clock, frames)
    }

    /// Lets voices glide to the numbers of a table, unless they have them from it already; where the sample rate is another,
    /// at once.
    @_noLocks @_noAllocation
    package mutating func take(_ table: VoiceTable.Reference) {
        if version == table.version { return }
        let frames = sampleRate == table.sampleRate ? table.glideFrames : 0
        (version, sampleRate) = (table.version, table.sampleRate)
        for voice in 0..<min(count, table.count) { unsafe glide(to: table.numbers[voice], voice, frames: frames) }
    }

    /// Renders the sum of all voices into two channels, which have that many frames.
    @_noLocks @_noAllocation
    package mutating func render(
        _ left: UnsafeMutablePointer<Float>, _ right: UnsafeMutablePointer<Float>, count: Int
    ) {
        var done = 0
        while done < count {
            // Decisions by the clock (which frames are blocks, where faded filters are emptied) must be the same
            // however the frames come.
            let place = Int(clock) & (VoiceLanes.chunk &- 1)
            let frames = min(VoiceLanes.chunk &- place, count &- done)
            if place == 0 && clock > VoiceLanes.longest {
                unsafe kernel_voices_turn_back(glides.base, ends.base, groups, clock)
                clock = 0
            }
            unsafe kernel_voices(
                voices.base, glides.base, ends.base, groups, clock, left + done, right + done, lanes.base, frames)
            clock &+= Int32(truncatingIfNeeded: frames)
            done &+= frames
        }
    }
}

/// The numbers of all voices, swapped whole when some change.
@safe package struct VoiceTable: ~Copyable, Sendable {
    private let numbers: AlignedMemory<VoiceLanes.Numbers>
    private let count: Int
    private let version: Int
    private let sampleRate: Double
    private let glideFrames: Int

    /// Creates a table.
    ///
    /// - Parameters:
    ///   - numbers: Those of each voice.
    ///   - version: Different for each table of a bank.
    ///   - sampleRate: The rate that the numbers were made for.
    ///   - glideFrames: The number of frames that a voice takes to other numbers.
    package init(_ numbers: [VoiceLanes.Numbers], version: Int, sampleRate: Double, glideFrames: Int) {
        count = numbers.count
        self.numbers = AlignedMemory(numbers)
        self.version = version
        self.sampleRate = sampleRate
        self.glideFrames = glideFrames
    }

    /// The table to be read in this cycle, and not to be kept for another.
    package var reference: Reference {
        @_noLocks @_noAllocation get {
            unsafe Reference(
                numbers: numbers.base, count: count, version: version, sampleRate: sampleRate, glideFrames: glideFrames)
        }
    }

    /// A reference that keeps a table alive.
    @safe package struct Reference {
        fileprivate let numbers: UnsafeMutablePointer<VoiceLanes.Numbers>
        fileprivate let count: Int
        fileprivate let version: Int
        fileprivate let sampleRate: Double
        fileprivate let glideFrames: Int

        @_noLocks @_noAllocation
        fileprivate init(
            numbers: UnsafeMutablePointer<VoiceLanes.Numbers>, count: Int, version: Int, sampleRate: Double,
            glideFrames: Int
        ) {
            unsafe self.numbers = numbers
            self.count = count
            self.version = version
            self.sampleRate = sampleRate
            self.glideFrames = glideFrames
        }
    }
}
