import CKernels
import TestSupport
import Testing

@testable import SignalBlocks

/// The kernels of CRender, for SSE2, AVX2 and AVX-512, against those in Swift: bit for bit, at every length and alignment.
@Suite("Kernels", .serialized) struct KernelTests {
    /// Noise that reaches beyond full scale, with a few odd numbers.
    static func noise(_ count: Int, seed: UInt32, odd: Bool = false) -> [Float] {
        var state = seed
        var samples = (0..<count).map { _ -> Float in
            state = state &* 1_664_525 &+ 1_013_904_223
            return Float(Int32(bitPattern: state)) * 0x1p-31 * 1.25
        }
        if odd {
            for (index, number) in [Float.nan, .infinity, -.infinity, 1e30, -0.0, 1, -1].enumerated() {
                if index * 5 < count { samples[index * 5] = number }
            }
        }
        return samples
    }

    static let lengths = [0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 513]

    /// Runs a body with each form of the kernels that this processor has.
    func eachForm(_ body: () -> Void) {
        defer { _ = kernel_use_vectors(2) }
        for wanted: Int32 in 0...2 where kernel_use_vectors(wanted) == wanted { body() }
    }

    /// Compares what two functions do to samples, beginning at any place.
    func compare(
        odd: Bool = false, _ kernel: (UnsafeMutablePointer<Float>, [Float], Int) -> Void,
        _ swift: (UnsafeMutablePointer<Float>, [Float], Int) -> Void
    ) {
        eachForm {
            for count in KernelTests.lengths {
                for offset in 0..<3 {
                    let source = KernelTests.noise(count + 32, seed: 7, odd: odd)
                    var (one, two) = (
                        KernelTests.noise(count + 8, seed: 3, odd: odd), KernelTests.noise(count + 8, seed: 3, odd: odd)
                    )
                    one.withUnsafeMutableBufferPointer { kernel($0.baseAddress! + offset, source, count) }
                    two.withUnsafeMutableBufferPointer { swift($0.baseAddress! + offset, source, count) }
                    let (bits, others) = (one.map(\.bitPattern), two.map(\.bitPattern))
                    #expect(
                        zip(bits, others).allSatisfy {
                            $0 == $1 || Float(bitPattern: $0).isNaN && Float(bitPattern: $1).isNaN
                        },
                        "\(count) frames from \(offset)")
                }
            }
        }
    }

    @Test("W4: a sum, a scaled sum, a gain and a spread have the bits of plain Swift")
    func sums() {
        compare(odd: true, { Kernel.add($1, to: $0, $2) }, { SwiftKernel.add($1, to: $0, $2) })
        compare(odd: true, { Kernel.add($1, gain: 0.3, to: $0, $2) }, { SwiftKernel.add($1, gain: 0.3, to: $0, $2) })
        compare({ Kernel.scale($0, 0.7, $2) }, { SwiftKernel.scale($0, 0.7, $2) })
        let factors = SIMD4<Float>(0.7, 1.3, -0.1, 9)
        compare(
            odd: true, { Kernel.scale($0, inTurn: factors, $2) }, { SwiftKernel.scale($0, inTurn: factors, $2) })
        for odd in [false, true] {
            var (kernel, swift): ([Bool], [Bool]) = ([], [])
            compare(
                odd: odd, { kernel.append(Kernel.start($1, sum: $0, $2) == (!odd || $2 == 0)) },
                { swift.append(SwiftKernel.start($1, sum: $0, $2) == (!odd || $2 == 0)) })
            #expect(!kernel.contains(false) && !swift.contains(false))
        }
        let b = KernelTests.noise(600, seed: 11)
        let c = KernelTests.noise(600, seed: 12)
        compare({ Kernel.add($1, b, c, to: $0, $2) }, { SwiftKernel.add($1, b, c, to: $0, $2) })
        for second in [false, true] {
            var (left, right) = (b, c)
            compare(
                { samples, _, count in
                    right.withUnsafeMutableBufferPointer { right in
                        if second {
                            left.withUnsafeMutableBufferPointer {
                                Kernel.spread($0.baseAddress!, samples, (0.3, 0.9), count)
                            }
                        } else {
                            Kernel.spread(samples, right.baseAddress!, (0.3, 0.9), count)
                        }
                    }
                },
                { samples, _, count in
                    (left, right) = (b, c)
                    right.withUnsafeMutableBufferPointer { right in
                        if second {
                            left.withUnsafeMutableBufferPointer {
                                SwiftKernel.spread($0.baseAddress!, samples, (0.3, 0.9), count)
                            }
                        } else {
                            SwiftKernel.spread(samples, right.baseAddress!, (0.3, 0.9), count)
                        }
                    }
                    (left, right) = (b, c)
                })
        }
    }

    @Test("W4: a sine has the bits of RenderMath.sin(phase:)")
    func sine() {
        for step: UInt64 in [0, 1 << 40, 0x0123_4567_89AB_CDEF, 0 &- (1 << 57)] {
            compare({ kernel_sine(1 << 62, step, 1, $0, $2) }, { SwiftKernel.sine(1 << 62, step, 1, $0, $2) })
            compare({ kernel_sine(5, step, 0.3, $0, $2) }, { SwiftKernel.sine(5, step, 0.3, $0, $2) })
        }
    }

    @Test("Sharp waves and what rounds their edges off have the bits of plain Swift")
    func tones() {
        for step: UInt64 in [0, 1 << 40, 0x0123_4567_89AB_CDEF, 0 &- (1 << 57)] {
            for phase: UInt64 in [0, 5, 1 << 62, 1 << 63, .max] {
                compare({ kernel_saw(phase, step, $0, $2) }, { SwiftKernel.saw(phase, step, $0, $2) })
                compare({ kernel_triangle(phase, step, $0, $2) }, { SwiftKernel.triangle(phase, step, $0, $2) })
                for (width, low) in [(UInt32(1) << 31, Float(-1)), (0, -0.0), (.max, -2), (0x1234_5678, -0.142)] {
                    compare(
                        { kernel_pulse(phase, step, width, low, $0, $2) },
                        { SwiftKernel.pulse(phase, step, width: width, low: low, $0, $2) })
                }
            }
        }
        let rows = KernelTests.noise(4 * 600, seed: 9, odd: true)
        let weights = SIMD4<Float>(-0.06, 0.9, 0.2, -0.04)
        compare(
            odd: true,
            { samples, _, count in
                kernel_edge(rows, 600, weights[0], weights[1], weights[2], weights[3], samples, count)
            },
            { samples, _, count in SwiftKernel.addEdge(rows, apart: 600, weights, to: samples, count) })
    }

    @Test("W4: 16-bit integers come and go as in plain Swift, one channel and two, the clipped ones counted")
    func integers() {
        eachForm {
            for count in KernelTests.lengths {
                let source = KernelTests.noise(count + 1, seed: 5, odd: true)
                let other = KernelTests.noise(count + 1, seed: 6, odd: true)
                var (one, two) = (
                    [Int16](repeating: 9, count: 2 * count + 2), [Int16](repeating: 9, count: 2 * count + 2)
                )
                #expect(kernel_to_int16(source, &one, count) == SwiftKernel.convert(source, to: &two, count))
                #expect(one == two)
                #expect(
                    kernel_to_int16_pairs(source, other, &one, count)
                        == SwiftKernel.convert(source, other, toPairs: &two, count))
                #expect(one == two)
                var (a, b, c, d) = (source, source, source, source)
                kernel_from_int16(one, &a, count)
                SwiftKernel.convert(one, to: &b, count)
                #expect(a.map(\.bitPattern) == b.map(\.bitPattern))
                Kernel.convert(pairs: one, to: &a, &b, count)
                SwiftKernel.convert(pairs: one, to: &c, &d, count)
                #expect(a.map(\.bitPattern) == c.map(\.bitPattern) && b.map(\.bitPattern) == d.map(\.bitPattern))
            }
        }
    }

    @Test("W4: what a delay line reads between its samples has the bits of plain Swift")
    func delays() {
        let weights = KernelTests.noise(16, seed: 20)
        for taps in [2, 4, 8, 16] {
            compare({ kernel_combine(weights, taps, $1, $0, $2) }, { SwiftKernel.combine(weights, taps, $1, $0, $2) })
        }
        // Loud enough for the limit of the loop.
        let loud = KernelTests.noise(600, seed: 21).map { 12 * $0 }
        let gains = KernelTests.noise(600, seed: 22)
        let room = [Float](repeating: 0, count: 600)
        var (line, other) = (room, room)
        compare(
            { kernel_feed($1, loud, gains, gains, $0, &line, $2) },
            {
                SwiftKernel.feed(echo: $1, round: loud, feedback: gains, mix: gains, $0, &other, $2)
                #expect(line.map(\.bitPattern) == other.map(\.bitPattern))
                (line, other) = (room, room)
            })
    }

    @Test("W5: a resampler's frame has the bits of plain Swift")
    func resampling() {
        eachForm {
            for groups in [1, 4, 9, 20] {
                let table = AlignedMemory<Float>(count: 32 * groups)
                let taps = AlignedMemory<Float>(count: 8 * groups), others = AlignedMemory<Float>(count: 8 * groups)
                for (index, number) in KernelTests.noise(32 * groups, seed: 30).enumerated() {
                    table.base[index] = number
                }
                let length = 8 * groups + 3
                let left = KernelTests.noise(length, seed: 31), right = KernelTests.noise(length, seed: 32)
                for place: Float in [-1, -0.3, 0.71] {
                    let one = kernel_resample(table.base, groups, place, left)
                    #expect(one == ResamplerKernel.frame(table.base, groups, place, left))
                    #expect(
                        Kernel.resample(table.base, groups, place, left, right)
                            == ResamplerKernel.frame(table.base, groups, place, left, right))
                    kernel_taps(table.base, groups, place, taps.base)
                    ResamplerKernel.row(table.base, groups, place, into: others.base)
                    #expect((0..<8 * groups).allSatisfy { taps.base[$0] == others.base[$0] })
                    let (first, second) = (
                        ResamplerKernel.sum(others.base, groups, left), ResamplerKernel.sum(others.base, groups, right)
                    )
                    #expect(kernel_weigh(taps.base, groups, right) == second)
                    #expect(Kernel.weigh(taps.base, groups, left, right) == (first, second))
                    // Two frames, of which the second has other taps and is three input frames further.
                    let (third, fourth) = (
                        ResamplerKernel.sum(table.base, groups, Array(left[3...])),
                        ResamplerKernel.sum(table.base, groups, Array(right[3...]))
                    )
                    let pairs = Kernel.weigh(taps.base, table.base, groups, left, right, 3)
                    #expect(pairs == SIMD4(first, second, third, fourth))
                }
            }
        }
    }

    @Test("A sound at another pitch is what the resampler's frames are in plain Swift, inside and at its ends")
    func pitched() {
        eachForm {
            let (groups, bits) = (9, 2)
            let table = AlignedMemory<Float>(count: 32 * groups << bits)
            for (index, number) in KernelTests.noise(32 * groups << bits, seed: 40).enumerated() {
                table.base[index] = number
            }
            let silence = [Float](repeating: 0, count: 100)
            let left = KernelTests.noise(50, seed: 41), right = KernelTests.noise(50, seed: 42)
            let (framedLeft, framedRight) = (silence + left + silence, silence + right + silence)
            let filter = kernel_pitch_filter(table: UnsafePointer(table.base), groups: groups, partBits: bits)
            let step: UInt64 = 0x1_2345_6789
            for start in stride(from: UInt64(0), to: 48, by: 7) {
                let position = start << 32 + 0x7654_3210
                let one = Kernel.read(filter, left, 50, position, step, 8)
                let pair = Kernel.read(filter, left, right, 50, position, step, 8)
                for frame in 0..<8 {
                    let place = position + UInt64(frame) * step
                    let fraction = UInt32(truncatingIfNeeded: place)
                    let rest = Int32(truncatingIfNeeded: fraction << UInt32(bits)) ^ .min
                    let row = table.base + Int(fraction >> UInt32(32 - bits)) * 32 * groups
                    let first = 100 + Int(place >> 32) - 4 * groups + 1
                    framedLeft.withUnsafeBufferPointer { left in
                        framedRight.withUnsafeBufferPointer { right in
                            let expected = ResamplerKernel.frame(
                                row, groups, Float(rest) * 0x1p-31, left.baseAddress! + first,
                                right.baseAddress! + first)
                            #expect(one[frame] == expected.0)
                            #expect(pair.0[frame] == expected.0 && pair.1[frame] == expected.1)
                        }
                    }
                }
            }
        }
    }

    @Test("W4: a filter by blocks has the bits of plain Swift, and is the filter frame by frame within 1e-9")
    func filter() {
        let filters = [
            FilterCoefficients(.bandpass, frequency: 1_000, q: 1.4, sampleRate: 48_000),
            FilterCoefficients(.lowPass, frequency: 20, q: 17, sampleRate: 192_000),
            FilterCoefficients(.highShelf, frequency: 20_000, q: 0.7, decibels: 12, sampleRate: 48_000),
        ]
        for coefficients in filters {
            let numbers = RenderMemory<Double>(repeating: 0, count: FilterCoefficients.blockNumberCount)
            coefficients.blockNumbers(numbers.memory.base)
            for cuts in [[4_096], [64], [1], [7, 100, 3, 8]] {
                var first: [Float] = []
                eachForm {
                    let input = KernelTests.noise(4_096, seed: 40)
                    var (fast, plain) = (input, input)
                    var (u, w, s, t, k, l) = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
                    var (pending, others) = ([Float](repeating: 0, count: 8), [Float](repeating: 0, count: 8))
                    var (done, turn, waiting) = (0, 0, 0)
                    while done < input.count {
                        let count = min(cuts[turn % cuts.count], input.count - done)
                        fast.withUnsafeMutableBufferPointer {
                            kernel_filter(
                                numbers.memory.base, &u, &w, &pending, waiting, $0.baseAddress! + done, count)
                        }
                        plain.withUnsafeMutableBufferPointer {
                            SwiftKernel.filter(
                                numbers.memory.base, &s, &t, &others, waiting, $0.baseAddress! + done, count)
                        }
                        waiting = (waiting + count) % 8
                        done += count
                        turn += 1
                    }
                    #expect(fast.map(\.bitPattern) == plain.map(\.bitPattern))
                    #expect(u == s && w == t)
                    let slow = input.map { Float(coefficients.next(Double($0), &k, &l)) }
                    #expect(zip(fast, slow).allSatisfy { abs($0 - $1) <= 1e-7 * max(1, abs($1)) })
                    if first.isEmpty { first = fast }
                    #expect(first == fast)
                }
            }
        }
    }

    @Test("W4: eight channels filtered together have the bits of one after the other")
    func filterEight() {
        let coefficients = FilterCoefficients(.highShelf, frequency: 900, q: 0.6, decibels: -9, sampleRate: 48_000)
        let numbers = RenderMemory<Double>(repeating: 0, count: FilterCoefficients.blockNumberCount)
        coefficients.blockNumbers(numbers.memory.base)
        for cuts in [[512], [64], [1], [7, 100, 3, 8]] {
            eachForm {
                let together = (0..<8).map { channel in
                    let room = UnsafeMutablePointer<Float>.allocate(capacity: 512)
                    room.initialize(from: KernelTests.noise(512, seed: UInt32(50 + channel)), count: 512)
                    return room
                }
                defer { for room in together { room.deallocate() } }
                var (u, w) = ([Double](repeating: 0, count: 8), [Double](repeating: 0, count: 8))
                var pending = [Float](repeating: 0, count: 64)
                var (done, turn, waiting) = (0, 0, 0)
                while done < 512 {
                    let count = min(cuts[turn % cuts.count], 512 - done)
                    kernel_filter_eight(numbers.memory.base, &u, &w, &pending, waiting, together, done, count)
                    waiting = (waiting + count) % 8
                    done += count
                    turn += 1
                }
                for channel in 0..<8 {
                    var alone = KernelTests.noise(512, seed: UInt32(50 + channel))
                    var (s, t, room) = (0.0, 0.0, [Float](repeating: 0, count: 8))
                    SwiftKernel.filter(numbers.memory.base, &s, &t, &room, 0, &alone, 512)
                    #expect((0..<512).allSatisfy { together[channel][$0].bitPattern == alone[$0].bitPattern })
                    #expect(s == u[channel] && t == w[channel])
                }
            }
        }
    }

    @Test("W4: what is infinite or no number is found wherever it is")
    func finite() {
        eachForm {
            for count in KernelTests.lengths {
                var samples = KernelTests.noise(count, seed: 60)
                #expect(Kernel.isFinite(samples, count) && SwiftKernel.isFinite(samples, count))
                for place in 0..<count {
                    for odd in [Float.nan, -.nan, .infinity, -.infinity] {
                        let kept = samples[place]
                        samples[place] = odd
                        #expect(!Kernel.isFinite(samples, count) && !SwiftKernel.isFinite(samples, count))
                        samples[place] = kept
                    }
                }
            }
        }
    }

    @Test("W2: a bank of voices has the same bits in every form, at rest and on the way")
    func voices() {
        var first: [Float] = []
        eachForm {
            let voices = AlignedMemory<kernel_voices>(count: 3)
            let glides = AlignedMemory<kernel_voice_glides>(count: 3)
            let ends = AlignedMemory<Int32>(count: 3)
            let lanes = AlignedMemory<Float>(count: 1_024)
            kernel_voices_reset(voices.base, glides.base, ends.base, 3)
            for voice in 0..<3 * kernel_lanes {
                let number = Double(voice + 1)
                let numbers = kernel_voice(
                    g: 0.003 * number, k: 0.3 + 0.05 * number, left: 0.1, right: 0.02, step: UInt32(6_000_000 * number))
                kernel_voice_put(voices.base, glides.base, voice, numbers)
            }
            var sums: [Float] = []
            for cycle: Int32 in 0..<20 {
                var (left, right) = ([Float](repeating: 0, count: 64), [Float](repeating: 0, count: 64))
                for part in 0..<2 {
                    // In two parts of 27 and 37 frames.
                    let (from, count) = part == 0 ? (0, 27) : (27, 37)
                    if cycle == 5 || cycle == 14 {
                        // Within a block: first on a way, and then, at rest again, at once.
                        let other = kernel_voice(
                            g: 0.2, k: Double(cycle), left: 0, right: 0.3, step: 77_777_777 * UInt32(1 + part))
                        kernel_voice_glide(
                            voices.base, glides.base, ends.base, 21, other, 64 * cycle + Int32(from),
                            cycle == 5 ? 333 : 0)
                    }
                    left.withUnsafeMutableBufferPointer { left in
                        right.withUnsafeMutableBufferPointer { right in
                            kernel_voices(
                                voices.base, glides.base, ends.base, 3, 64 * cycle + Int32(from),
                                left.baseAddress! + from, right.baseAddress! + from, lanes.base, count)
                        }
                    }
                }
                sums += left + right
            }
            if first.isEmpty { first = sums }
            #expect(sums.map(\.bitPattern) == first.map(\.bitPattern))
            #expect(sums.contains { abs($0) > 0.1 })
        }
    }
}
