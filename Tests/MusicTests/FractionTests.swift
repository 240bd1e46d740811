import RenderStack
import TestSupport
import Testing

@Suite struct FractionTests {
    @Test("Thirds, tenths and sums have their exact values, in lowest terms")
    func knownAnswers() {
        let third = Fraction(1, 3)
        #expect(third + third + third == 1 && Fraction(2, 6) == third && Fraction(2, 6).hashValue == third.hashValue)
        #expect(Fraction(-4, -6) == Fraction(2, 3) && Fraction(4, -6) == Fraction(-2, 3))
        #expect(
            Fraction(1, 6) + Fraction(1, 10) == Fraction(4, 15) && Fraction(1, 2) - Fraction(1, 3) == Fraction(1, 6))
        #expect(
            Fraction(3, 4) * Fraction(2, 9) == Fraction(1, 6) && Fraction(3, 4) / Fraction(-3, 2) == Fraction(-1, 2))
        #expect(
            third.value == 1.0 / 3 && Fraction(7).value == 7 && -third < 0 && third < 0.5
                && Fraction(-1, 2) < Fraction(-1, 3))
        let literals: [Fraction] = [0.1, 0.5, 2.75, -0.3, 3]
        #expect(literals == [Fraction(1, 10), Fraction(1, 2), Fraction(11, 4), Fraction(-3, 10), Fraction(3)])
        #expect(
            Fraction.beats(3) == 3 && Fraction.bars(2) == 8 && Fraction.bars(2, of: 3) == 6 && Fraction.bars(1 / 2) == 2
        )
    }

    @Test("Parts round as those of numbers do, also below 0")
    func wholeParts() {
        #expect([-2.5, -2, -0.25, 0, 0.25, 2, 2.5].map { Fraction($0).floor } == [-3, -2, -1, 0, 0, 2, 2])
        #expect([-2.5, -1.75, -0.25, 0.5, 2.4].map { Fraction($0).rounded } == [-2, -2, 0, 1, 2])
        #expect(Fraction(-1, 3).remainder(by: 4) == Fraction(11, 3) && Fraction(9).remainder(by: 4) == 1)
        #expect(Fraction(9).remainder(by: -4) == 1 && Fraction(9).remainder(by: 0) == 0)
        #expect(Fraction(7, 3).remainder(by: 1 / 2) == Fraction(1, 3))
    }

    @Test("Random sums, products and comparisons are those of integers with 128 bits")
    func againstWideIntegers() {
        var random = SplitMix(state: 1)
        for _ in 0..<20_000 {
            let size = Int.random(in: 1...30, using: &random)
            func part() -> Int { Int.random(in: -(1 << size)...(1 << size), using: &random) }
            let (a, b) = (Fraction(part(), max(1, abs(part()))), Fraction(part(), max(1, abs(part()))))
            let (an, ad, bn, bd) = (
                Int128(a.numerator), Int128(a.denominator), Int128(b.numerator), Int128(b.denominator)
            )
            func equals(_ result: Fraction, _ n: Int128, _ d: Int128) -> Bool {
                Int128(result.numerator) * d == n * Int128(result.denominator) && result.denominator > 0
            }
            #expect(equals(a + b, an * bd + bn * ad, ad * bd) && equals(a - b, an * bd - bn * ad, ad * bd))
            #expect(equals(a * b, an * bn, ad * bd) && (b == 0 || equals(a / b, an * bd, ad * bn)))
            #expect((a < b) == (an * bd < bn * ad) && (a == b) == (an * bd == bn * ad))
            let rest = a.remainder(by: b)
            #expect(b == 0 ? rest == 0 : rest >= 0 && rest < b.magnitude && ((a - rest) / b).denominator == 1)
        }
    }

    @Test("The nearest fraction with a small denominator is that of a search through all of them")
    func nearest() {
        var random = SplitMix(state: 2)
        for limit in [1, 2, 3, 7, 16, 50] {
            for _ in 0..<300 {
                // A power of two below the point, so that the number and the distances are exact.
                let value = Double(Int.random(in: -40_000...40_000, using: &random)) / 4_096
                let found = Fraction(value, largestDenominator: limit)
                var best = Double.infinity
                for denominator in 1...limit {
                    let over = (value * Double(denominator)).rounded()
                    best = min(best, abs(value * Double(denominator) - over) / Double(denominator))
                }
                let distance =
                    abs(value * Double(found.denominator) - Double(found.numerator)) / Double(found.denominator)
                #expect(distance <= best * (1 + 1e-12) && found.denominator <= limit, "\(value) \(limit) \(found)")
            }
        }
        #expect(Fraction(Double.pi, largestDenominator: 10) == Fraction(22, 7))
        #expect(Fraction(Double.pi, largestDenominator: 1_000) == Fraction(355, 113))
        #expect(Fraction(1 / 3.0) == Fraction(1, 3) && Fraction(-2 / 7.0) == Fraction(-2, 7))
    }

    @Test("What has no room becomes the nearest fraction, and nothing ends the program")
    func overflow() {
        let (most, least) = (Fraction(.max), Fraction(.min))
        #expect(
            least == -most && most + 1 == most && most * most == most && least * most == least && most - least == most)
        #expect(Fraction(1, 0) == most && Fraction(-1, 0) == least && Fraction(0, 0) == 0)
        #expect(Fraction(1) / 0 == most && Fraction(-1) / 0 == least && Fraction(0) / 0 == 0)
        #expect(Fraction(.infinity) == most && Fraction(-.infinity) == least && Fraction(.nan) == 0)
        #expect(
            Fraction(1e300) == most && Fraction(-1e300) == least && Fraction(1e-300) == 0
                && Fraction(0x1p62).numerator == 1 << 62)
        #expect(Fraction(.min, .min) == 1 && Fraction(.min, 2).numerator == -(1 << 62) && Fraction(1, .min) < 0)
        #expect(Fraction(0.3, largestDenominator: 0) == 0 && Fraction(0.7, largestDenominator: -5) == 1)
        // The parts of these sums have some 100 bits.
        let fine = Fraction(1, 3_000_000_019) + Fraction(1, 4_000_000_007) + Fraction(1, 5_000_000_029)
        #expect(abs(fine.value - (1 / 3_000_000_019.0 + 1 / 4_000_000_007.0 + 1 / 5_000_000_029.0)) < 1e-25)
        let tiny = Fraction(1, .max)
        #expect(tiny * tiny == 0 && tiny + tiny == Fraction(2, .max) && tiny / most == 0 && 1 / tiny == most)
        let edges = [0, 1, -1, 2, 3, .max, .min, .max - 1, 1 << 32, 0x5555_5555_5555_5555]
        for a in edges {
            for b in edges {
                for c in edges {
                    let (x, y) = (Fraction(a, b), Fraction(c, b))
                    for result in [x + y, x - y, x * y, x / y, x.remainder(by: y), -x, x.magnitude] {
                        #expect(result.denominator > 0 && result.numerator > .min)
                    }
                    _ = (x.floor, x.rounded, x < y, "\(x)")
                }
            }
        }
    }

    @Test("Text is read as it is written")
    func text() {
        for fraction in [Fraction(1, 3), -7, 0, Fraction(-22, 7), Fraction(.max), Fraction(1, .max)] {
            #expect(Fraction("\(fraction)") == fraction)
        }
        #expect("\(Fraction(2, 6)) \(Fraction(-4, 2))" == "1/3 -2")
        #expect(
            Fraction("0.25") == Fraction(1, 4) && Fraction("-1.5") == Fraction(-3, 2)
                && Fraction("2/4") == Fraction(1, 2))
        for wrong in [
            "", "/", "1/", "/2", "1/0", "1/-2", "1.", ".5", "a", "1 /2", "1e3", "0.0000000001", "--1", "-", "٣",
        ] {
            #expect(Fraction(wrong) == nil, "\(wrong)")
        }
    }
}
