@testable import SignalBlocks

/// Numbers that look random and are the same in every run (SplitMix64).
struct SignalNoise: RandomNumberGenerator {
    var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    mutating func samples(_ count: Int) -> [Float] {
        (0..<count).map { _ in Float.random(in: -1...1, using: &self) }
    }
}

enum SignalTolerance {
    /// The error of rounding to single precision around 1.
    static let rounding = 1e-6
}

/// Lengths around the widths of vectors, and longer ones: none, part of one, one, one and a part.
let signalLengths = [0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127, 257, 512, 1_000]

/// Runs a function on a part of an array that begins anywhere; what lies around it must not change.
func onPart<Result>(
    of array: inout [Float], from start: Int, count: Int, _ body: (inout MutableSpan<Float>) -> Result
) -> Result {
    unsafe array.withUnsafeMutableBufferPointer {
        var span = unsafe MutableSpan(
            _unsafeElements: UnsafeMutableBufferPointer(rebasing: $0[start..<(start + count)]))
        return body(&span)
    }
}

/// Returns the result of a measure for a part of an array, in a form that `#expect` can take apart.
func reading<Result>(_ array: [Float], from start: Int = 0, to end: Int? = nil, _ body: (borrowing Samples) -> Result)
    -> Result
{
    body(Samples(array.span.extracting(start..<(end ?? array.count))))
}

/// The largest difference, infinite where a number is missing.
func largestError(_ result: [Float], _ expected: [Double]) -> Double {
    guard result.count == expected.count else { return .infinity }
    return zip(result, expected).reduce(0) {
        let difference = abs(Double($1.0) - $1.1)
        return difference.isNaN ? .infinity : max($0, difference)
    }
}

/// Runs an in-place function on random lengths at random places in memory. Returns the largest error against a formula,
/// and infinity if it wrote outside of its part.
func largestErrorInPlace(
    seed: UInt64, _ function: (inout MutableSpan<Float>) -> Void, expecting formula: (Int, Double) -> Double
) -> Double {
    var noise = SignalNoise(seed: seed)
    var worst = 0.0
    for count in signalLengths {
        let start = Int.random(in: 0...9, using: &noise)
        let before = noise.samples(count + start + 9)
        var after = before
        onPart(of: &after, from: start, count: count, function)
        let expected = before.indices.map {
            $0 >= start && $0 < start + count ? formula($0 - start, Double(before[$0])) : Double(before[$0])
        }
        worst = max(worst, largestError(after, expected))
    }
    return worst
}

/// Does the same for a function from two inputs (one that needs only one ignores the other), all of different lengths.
func largestErrorOutOfPlace(
    seed: UInt64,
    _ function: (borrowing Samples, borrowing Samples, inout MutableSpan<Float>) -> Void,
    lengthOfSecondCounts: Bool = true, expecting formula: (Int, Double, Double, Double) -> Double
) -> Double {
    var noise = SignalNoise(seed: seed)
    var worst = 0.0
    for count in signalLengths {
        let spare = (0..<3).map { _ in Int.random(in: 0...3, using: &noise) }
        let offset = (0..<3).map { _ in Int.random(in: 0...9, using: &noise) }
        let first = noise.samples(count + spare[0] + offset[0])
        let second = noise.samples(count + (lengthOfSecondCounts ? spare[1] : 0) + offset[1])
        let before = noise.samples(count + spare[2] + offset[2] + 9)
        var after = before
        let counts = [count + spare[0], lengthOfSecondCounts ? count + spare[1] : .max, count + spare[2]]
        let frames = counts.min() ?? 0
        onPart(of: &after, from: offset[2], count: count + spare[2]) {
            function(
                Samples(first.span.extracting(offset[0]...)), Samples(second.span.extracting(offset[1]...)), &$0)
        }
        let expected = before.indices.map { place -> Double in
            let i = place - offset[2]
            if i < 0 || i >= frames { return Double(before[place]) }
            let other = second.indices.contains(offset[1] + i) ? Double(second[offset[1] + i]) : 0
            return formula(i, Double(first[offset[0] + i]), other, Double(before[place]))
        }
        worst = max(worst, largestError(after, expected))
    }
    return worst
}

/// Cuts an array into blocks and runs a function on each: lengths are taken in turn from `blocks`.
func inBlocks(_ array: inout [Float], _ blocks: [Int], _ body: (inout MutableSpan<Float>) -> Void) {
    var (start, turn) = (0, 0)
    while start < array.count {
        let count = min(blocks[turn % blocks.count], array.count - start)
        onPart(of: &array, from: start, count: count, body)
        start += count
        turn += 1
    }
}

/// 512 frames of 440 Hz at 44,100 Hz.
func testTone() -> [Float] {
    var tone = [Float](repeating: 0, count: 512)
    var span = tone.mutableSpan
    _ = Signal.oscillator(rate: 440 / 44_100, position: 0, into: &span)
    return tone
}
