public import RenderCore

/// Work for the voices of an ensemble, which the code of the voice's own type does.
///
/// Threads: render.
@safe public struct LaneWork: ~Copyable {
    // Only a LaneEnsemble can make one, of its own memory, for the time of one call.
    @usableFromInline enum Task: BitwiseCopyable, Sendable { case begin, control, render, find }

    @usableFromInline var task = Task.render
    @usableFromInline let voices: UnsafeMutableRawPointer
    /// The voices as they were before the last call.
    @usableFromInline let former: UnsafeMutableRawPointer
    @usableFromInline let notes: UnsafeMutablePointer<NoteLanes>
    @usableFromInline let fades: UnsafeMutablePointer<FadeLanes>
    /// The sum, frame by frame, all channels of a frame side by side.
    @usableFromInline let sums: UnsafeMutablePointer<Lanes>
    /// The groups of eight voices to work on.
    @usableFromInline let groups: UnsafePointer<Int32>
    @usableFromInline var groupCount = 0
    @usableFromInline var frames = 0
    /// The frame in the chunk.
    @usableFromInline var place = 0
    @usableFromInline var lane = 0
    @usableFromInline let lines: UnsafeMutablePointer<Float>?
    @usableFromInline let lineFrames: Int
    @usableFromInline let tables: UnsafePointer<Float>?
    @usableFromInline let tableCount: Int32
    @usableFromInline let tableBits: UInt32
    @usableFromInline var now: Int32 = 0

    @_noLocks @_noAllocation
    init(
        voices: UnsafeMutableRawPointer, former: UnsafeMutableRawPointer, notes: UnsafeMutablePointer<NoteLanes>,
        fades: UnsafeMutablePointer<FadeLanes>, sums: UnsafeMutablePointer<Lanes>, groups: UnsafePointer<Int32>,
        lines: UnsafeMutablePointer<Float>?, lineFrames: Int, tables: UnsafePointer<Float>?, tableCount: Int32,
        tableBits: UInt32
    ) {
        unsafe self.voices = voices
        unsafe self.former = former
        unsafe self.notes = notes
        unsafe self.fades = fades
        unsafe self.sums = sums
        unsafe self.groups = groups
        unsafe self.lines = lines
        self.lineFrames = lineFrames
        unsafe self.tables = tables
        self.tableCount = tableCount
        self.tableBits = tableBits
    }
}

/// The lanes of a group that are in use, and those that fade out.
@usableFromInline struct FadeLanes: BitwiseCopyable, Sendable {
    /// A bit for each lane that is in use, and one for each that fades out.
    @usableFromInline var live: UInt8 = 0
    @usableFromInline var fading: UInt8 = 0
    /// A bit for each lane that its voice says is heard.
    @usableFromInline var sounding: UInt8 = 0
    /// 1 in the lanes that are in use.
    @usableFromInline var use = Lanes.zero
    /// Frames of the fade that are left, and half of its frames' inverse: the turns of a frame. 0 in a lane that does not fade.
    @usableFromInline var left = Lanes.zero
    @usableFromInline var turns = Lanes.zero

    @_noLocks @_noAllocation
    init() {}

    /// The gains of a frame: 0 in a lane that is free. A fade is half a period of a cosine: nowhere steeper than the tones are.
    @inlinable @inline(__always)
    mutating func next() -> Lanes {
        let gain = 0.5 - 0.5 * RenderMath.cos(turns: turns * LaneMath.max(left, .zero))
        left -= 1
        return LaneMath.select(gain, use, where: turns .> 0)
    }
}

extension LaneVoice {
    /// Does some work of an ensemble.
    ///
    /// Its loops are compiled with the voice, so that `next` becomes a part of them.
    @inlinable
    public static func perform(_ work: borrowing LaneWork) {
        let voices = unsafe work.voices.assumingMemoryBound(to: Self.self)
        switch work.task {
        case .render: unsafe render(work, voices, work.former.assumingMemoryBound(to: Self.self))
        case .control:
            for k in 0..<work.groupCount {
                let group = unsafe Int(work.groups[k])
                var voice = unsafe voices[group]
                unsafe voice.control(VoiceNotes(work.notes[group]))
                unsafe voices[group] = voice
            }
        case .begin:
            // The voice's other lanes are those of other notes: the ensemble takes one lane of the result.
            let group = unsafe Int(work.groups[0])
            var voice = unsafe voices[group]
            unsafe voice.control(VoiceNotes(work.notes[group]))
            unsafe work.former.assumingMemoryBound(to: Self.self)[group] = voice
        case .find:
            for k in 0..<work.groupCount {
                let group = unsafe Int(work.groups[k])
                let mask = unsafe voices[group].isSounding(VoiceNotes(work.notes[group]))
                var sounding: UInt8 = 0
                for lane in 0..<8 where mask[lane] { sounding |= 1 &<< UInt8(truncatingIfNeeded: lane) }
                unsafe work.fades[group].sounding = sounding
            }
        }
    }

    @inlinable @inline(__always)
    static func render(
        _ work: borrowing LaneWork, _ voices: UnsafeMutablePointer<Self>, _ former: UnsafeMutablePointer<Self>
    ) {
        let (frames, sums) = unsafe (work.frames, work.sums)
        for k in 0..<work.groupCount {
            let group = unsafe Int(work.groups[k])
            var voice = unsafe voices[group]
            unsafe former[group] = voice
            var notes = unsafe VoiceNotes<Self>(work.notes[group])
            notes.core.step &+= notes.core.stepSlope &* UInt32(truncatingIfNeeded: work.place)
            notes.core.place = Float(Int32(truncatingIfNeeded: work.place))
            let line = unsafe work.lines.map { unsafe $0 + group &* work.lineFrames &* 8 }
            var memory = unsafe VoiceMemory(
                line: line, lineMask: Int32(truncatingIfNeeded: work.lineFrames &- 1), tables: work.tables,
                tableCount: work.tableCount, tableBits: work.tableBits, now: work.now)
            var sum = unsafe sums
            if unsafe work.fades[group].live == 255 && work.fades[group].fading == 0 {
                for _ in 0..<frames {
                    let sound = voice.next(notes, &memory)
                    for channel in 0..<Sound.channelCount { unsafe sum[channel] += sound.channel(channel) }
                    unsafe sum += Sound.channelCount
                    notes.core.step &+= notes.core.stepSlope
                    notes.core.place += 1
                    memory.now &+= 1
                }
            } else {
                var fades = unsafe work.fades[group]
                for _ in 0..<frames {
                    let sound = voice.next(notes, &memory)
                    let gain = fades.next()
                    for channel in 0..<Sound.channelCount {
                        // A free lane may hold anything.
                        unsafe sum[channel] += (gain * sound.channel(channel)).replacing(with: 0, where: gain .== 0)
                    }
                    unsafe sum += Sound.channelCount
                    notes.core.step &+= notes.core.stepSlope
                    notes.core.place += 1
                    memory.now &+= 1
                }
            }
            unsafe voices[group] = voice
        }
    }
}

/// The code of a voice behind one indirect call, without a reference count.
class LaneWorker {
    func perform(_ work: borrowing LaneWork) {}
}

final class LaneWorkerOf<Voice: LaneVoice>: LaneWorker {
    override func perform(_ work: borrowing LaneWork) { Voice.perform(work) }
}

// A call that the compiler cannot follow, and does not check: the functions of the voice carry the annotations
// themselves, and the loops around them are those above.
@_semantics("no_performance_analysis") @inline(never)
func call(_ worker: Unmanaged<LaneWorker>, _ work: borrowing LaneWork) {
    unsafe worker._withUnsafeGuaranteedRef { $0.perform(work) }
}
