internal import RenderCore

/// The shape of a tone. Each begins where it rises, and its fundamental is in phase with the sine; that of a pulse whose width
/// is not ½ is ahead of it by ½ - width of half a turn.
///
/// Threads: any.
public enum Waveform: Sendable, Hashable, BitwiseCopyable, CaseIterable {
    /// A sine between -1 and 1: one harmonic.
    case sine
    /// A triangle between -1 and 1: odd harmonics, 8 / (π² k²).
    case triangle
    /// A rising saw between -1 and 1, which falls at the half turn: all harmonics, 2 / (π k).
    case saw
    /// A pulse, 2 from low to high and free of DC: 4 |sin(π k width)| / (π k). A square, ±1, at a width of ½.
    case square
}

/// The arithmetic of a tone, for an ``Oscillator`` and the voice of a synthesiser.
///
///     struct Voice: ~Copyable, Sendable {
///         var tone = ToneCore()
///         …
///     }
///     voice.tone.render(.saw, step: ToneCore.step(frequency: 220, sampleRate: rate), edges: table, into: &samples)
///
/// It keeps a phase and nothing else. The phase counts 2^64 to the turn, so that it wraps by itself and never drifts.
/// Frames come out the same, bit for bit, however they are cut into slices. The lowest 12 bits of a step do not count.
/// An ``EdgeTable`` is shared by any number of tones of one wave.
///
/// Threads: any.
public struct ToneCore: Sendable, BitwiseCopyable {
    /// The place in its turn of the next frame: 2^64 to the turn.
    public var phase: UInt64

    /// Creates a tone.
    ///
    /// - Parameter phase: The phase at which it begins: 2^64 to the turn.
    @_noLocks @_noAllocation
    public init(phase: UInt64 = 0) { self.phase = phase }

    /// Returns the part of a turn that a frame takes: 0.49 of one at most, either way. A frequency that is no number
    /// stands still.
    @_noLocks @_noAllocation
    public static func step(frequency: Double, sampleRate: Double) -> Int64 {
        let turns = frequency / sampleRate
        let held = turns > 0.49 ? 0.49 : turns < -0.49 ? -0.49 : turns == turns ? turns : 0
        return Int64(held * 0x1p52) &<< 12
    }

    /// Returns a number of turns as a phase. Beyond 1,024 of them, where a number has no part of a turn to speak of, it
    /// is 0.
    @_noLocks @_noAllocation
    public static func phase(turns: Float) -> UInt64 {
        // This also holds for a value that is not a number.
        guard abs(turns) <= 1_024 else { return 0 }
        return UInt64(truncatingIfNeeded: Int64(Double(turns) * 0x1p52) &<< 12)
    }

    /// Returns the width of a pulse, 0 to 1 and neither, as a phase. It counts 2^32 to the turn, which is the
    /// resolution of an edge. Any other width is silent: 0.
    @_noLocks @_noAllocation
    public static func width(_ turns: Float) -> UInt64 {
        guard turns > 0 && turns < 1 else { return 0 }
        return UInt64(truncatingIfNeeded: Int64(Double(turns) * 0x1p32) &<< 32)
    }

    /// Renders frames of one frequency: the fast way.
    ///
    /// - Parameters:
    ///   - wave: The shape.
    ///   - step: From ``step(frequency:sampleRate:)``.
    ///   - offset: The offset of the phase, from ``phase(turns:)``.
    ///   - width: Of a pulse, from ``width(_:)``.
    ///   - edges: The table that was made for the wave.
    ///   - level: The factor of the wave.
    ///   - samples: Receives the wave.
    @_noLocks @_noAllocation
    public mutating func render(
        _ wave: Waveform, step: Int64, offset: UInt64 = 0, width: UInt64 = 1 << 63, edges: borrowing EdgeTable,
        level: Float = 1, into samples: inout MutableSpan<Float>
    ) {
        if wave == .sine && step >= 0 {
            let step = UInt64(bitPattern: (step &>> 12) &<< 12)
            Signal.sine(phase: phase &+ offset, step: step, level: level, into: &samples)
            phase &+= step &* UInt64(truncatingIfNeeded: samples.count)
        } else {
            render(wave, (step &>> 12) &<< 12, offset, width, edges, &samples)
            Glide(level).apply(to: &samples)
        }
    }

    @_noLocks @_noAllocation
    private mutating func render(
        _ wave: Waveform, _ step: Int64, _ offset: UInt64, _ width: UInt64, _ edges: borrowing EdgeTable,
        _ samples: inout MutableSpan<Float>
    ) {
        if step < 0 {
            for i in samples.indices {
                samples[i] = next(wave, step: step, offset: offset, width: width, edges: edges)
            }
            return
        }
        let start = phase &+ offset
        let count = samples.count
        Self.fill(wave, start, step, width, &samples)
        phase &+= UInt64(bitPattern: step) &* UInt64(truncatingIfNeeded: count)
        guard step > 0 else { return }
        switch wave {
        case .sine: break
        case .triangle:
            let height = Float(Double(step) * 0x1p-61)  // 8 to the turn
            Self.addEdges(height, start &- (3 << 62), step, edges, &samples)
            Self.addEdges(-height, start &- (1 << 62), step, edges, &samples)
        case .saw: Self.addEdges(-2, start &- (1 << 63), step, edges, &samples)
        case .square:
            Self.addEdges(2, start, step, edges, &samples)
            Self.addEdges(-2, start &- width, step, edges, &samples)
        }
    }

    /// Returns the next frame, for a frequency that changes from frame to frame; at one that does not, the bits are
    /// those of ``render(_:step:offset:width:edges:level:into:)``. A negative step runs backwards.
    @_noLocks @_noAllocation
    public mutating func next(
        _ wave: Waveform, step: Int64, offset: UInt64 = 0, width: UInt64 = 1 << 63, edges: borrowing EdgeTable
    ) -> Float {
        let step = (step &>> 12) &<< 12
        let now = phase &+ offset
        phase &+= UInt64(bitPattern: step)
        var sample = Self.sharp(wave, UInt32(truncatingIfNeeded: now &>> 32), width)
        let speed = step < 0 ? 0 &- step : step
        guard speed > 0 else { return sample }
        switch wave {
        case .sine: break
        case .triangle:
            let height = Float(Double(speed) * 0x1p-61)
            Self.addEdges(height, now &- (3 << 62), speed, edges, to: &sample)
            Self.addEdges(-height, now &- (1 << 62), speed, edges, to: &sample)
        case .saw: Self.addEdges(-2, now &- (1 << 63), speed, edges, to: &sample)
        case .square:
            Self.addEdges(2, now, speed, edges, to: &sample)
            Self.addEdges(-2, now &- width, speed, edges, to: &sample)
        }
        return sample
    }

    // MARK: The wave with its sharp edges

    /// A sum of integers does not depend on how it is cut.
    @_noLocks @_noAllocation
    private static func fill(
        _ wave: Waveform, _ start: UInt64, _ step: Int64, _ width: UInt64, _ samples: inout MutableSpan<Float>
    ) {
        let step = UInt64(bitPattern: step)
        switch wave {
        case .sine: Signal.sine(phase: start, step: step, into: &samples)
        case .triangle: Signal.triangle(phase: start, step: step, into: &samples)
        case .saw: Signal.saw(phase: start, step: step, into: &samples)
        case .square:
            let part = UInt32(truncatingIfNeeded: width &>> 32)
            Signal.pulse(phase: start, step: step, width: part, low: Float(part) * -0x1p-31, into: &samples)
        }
    }

    @_noLocks @_noAllocation
    @inline(__always) private static func sharp(_ wave: Waveform, _ phase: UInt32, _ width: UInt64) -> Float {
        switch wave {
        case .sine: return RenderMath.sin(phase: phase)
        case .triangle:
            let fromCrest = Float(Int32(bitPattern: phase &- (1 << 30))) * 0x1p-30
            return 1 - (fromCrest < 0 ? -fromCrest : fromCrest)
        case .saw: return Float(Int32(bitPattern: phase)) * 0x1p-31
        case .square:
            let low = Float(width &>> 32) * -0x1p-31
            return phase < UInt32(truncatingIfNeeded: width &>> 32) ? low + 2 : low
        }
    }

    // MARK: Its edges, rounded off
    //
    // An edge is seen from the first frame after it: how many frames ago that was, and how far behind the edge it lies.
    // Both come from whole numbers, so every slice that an edge reaches into sees the same.

    /// Rounds off one edge in each turn: those within reach of these frames, the oldest first.
    ///
    /// - Parameter phase: The distance from the edge to the first frame.
    @_noLocks @_noAllocation
    private static func addEdges(
        _ height: Float, _ phase: UInt64, _ step: Int64, _ edges: borrowing EdgeTable,
        _ samples: inout MutableSpan<Float>
    ) {
        let step52 = step &>> 12
        let reach = EdgeTable.reach
        // Parts are counted in 2^-52 of a turn, which leaves room for 2048 turns.
        let part = 1024
        var first = 0
        var phase = phase
        while first < samples.count {
            let count = min(part, samples.count &- first)
            var since = oldestEdge(phase, step52)
            while true {
                let ago = floor(since, step52)
                let start = 0 &- ago &- reach
                if start >= count { break }
                let low = max(start, 0)
                let high = min(start &+ 2 &* reach, count)
                if high > low {
                    edges.add(
                        height, since: since &- Int64(ago) &* step52, step: step52, from: low &- start,
                        count: high &- low, at: first &+ low, to: &samples)
                }
                since &-= 1 << 52
            }
            phase &+= UInt64(bitPattern: step) &* UInt64(truncatingIfNeeded: count)
            first &+= count
        }
    }

    /// Adds the edges to one frame.
    @_noLocks @_noAllocation
    private static func addEdges(
        _ height: Float, _ phase: UInt64, _ step: Int64, _ edges: borrowing EdgeTable, to sample: inout Float
    ) {
        let step52 = step &>> 12
        let reach = EdgeTable.reach
        var since = oldestEdge(phase, step52)
        while true {
            let ago = floor(since, step52)
            let tap = ago &+ reach
            if tap < 0 { break }
            if tap < 2 &* reach {
                sample += edges.value(height, since: since &- Int64(ago) &* step52, step: step52, tap: tap)
            }
            since &-= 1 << 52
        }
    }

    /// Returns the distance of a frame from the oldest edge that still matters, or from the last edge if none does.
    @_noLocks @_noAllocation
    private static func oldestEdge(_ phase: UInt64, _ step: Int64) -> Int64 {
        let last = Int64(truncatingIfNeeded: phase &>> 12)
        let room = Int64(EdgeTable.reach) &* step &- 1 &- last
        return room > 0 ? last &+ (room &>> 52) &<< 52 : last
    }

    @_noLocks @_noAllocation
    private static func floor(_ value: Int64, _ step: Int64) -> Int {
        Int(value < 0 ? 0 &- (step &- 1 &- value) / step : value / step)
    }
}
