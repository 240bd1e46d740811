import Glibc
import Testing

@testable import SignalBlocks

@Suite struct SignalPanTests {
    @Test("Volume 0.5 and balance -1: left halved, right silent, exactly")
    func leftOnly() {
        let tone = testTone()
        var (left, right) = (tone, tone)
        var (volume, balance) = (Signal.Fader(0.5), Signal.Fader(-1))
        var leftSpan = left.mutableSpan
        var rightSpan = right.mutableSpan
        Signal.applyVolumeAndBalance(
            0.5, fader: &volume, balance: -1, fader: &balance, to: &leftSpan, &rightSpan)
        #expect(left == tone.map { $0 * 0.5 })
        #expect(right.allSatisfy { $0 == 0 })
    }

    @Test("Only the far channel fades", arguments: [-2, -1, -0.25, 0, 0.5, 1, 7] as [Float])
    func linearBalance(balance: Float) {
        let held = min(max(balance, -1), 1)
        let gains = Signal.balanceGains(balance)
        #expect(gains.left == (held > 0 ? 1 - held : 1))
        #expect(gains.right == (held < 0 ? 1 + held : 1))
    }

    @Test("Both glide, whole or in blocks the same bits", arguments: [[1], [100, 13], [512]])
    func glides(blocks: [Int]) {
        var noise = SignalNoise(seed: 7)
        let (first, second) = (noise.samples(900), noise.samples(900))
        var (left, right) = (first, second)
        var (volume, balance) = (Signal.Fader(1), Signal.Fader(0))
        var (start, turn) = (0, 0)
        while start < 900 {
            let count = min(blocks[turn % blocks.count], 900 - start)
            onPart(of: &left, from: start, count: count) { leftSpan in
                onPart(of: &right, from: start, count: count) {
                    Signal.applyVolumeAndBalance(
                        0.3, fader: &volume, balance: 0.8, fader: &balance, frames: 300, to: &leftSpan, &$0)
                }
            }
            start += count
            turn += 1
        }
        let gain = { (i: Int) in 1 - 0.7 * min(Double(i) / 300, 1) }
        let expectedLeft = first.indices.map { Double(first[$0]) * gain($0) * (1 - 0.8 * min(Double($0) / 300, 1)) }
        let expectedRight = second.indices.map { Double(second[$0]) * gain($0) }
        #expect(largestError(left, expectedLeft) <= SignalTolerance.rounding)
        #expect(largestError(right, expectedRight) <= SignalTolerance.rounding)
        #expect(volume.value == 0.3 && balance.value == 0.8)
    }

    @Test("A pan keeps the power and reaches the sides exactly")
    func equalPower() {
        for place in stride(from: -1.0, through: 1.0, by: 0.01) {
            let gains = Signal.panGains(Float(place))
            #expect(abs(gains.left * gains.left + gains.right * gains.right - 1) <= 1e-6)
            #expect(abs(Double(gains.right) - sin((place + 1) * .pi / 4)) <= SignalTolerance.rounding)
        }
        #expect(Signal.panGains(-1) == (1, 0) && Signal.panGains(1) == (0, 1))
        let middle = Signal.panGains(0)
        #expect(middle.left == middle.right)
    }

    @Test("A pan glides, whole or in blocks the same bits", arguments: [[1], [40, 7]])
    func panFaders(blocks: [Int]) {
        var noise = SignalNoise(seed: 8)
        let source = noise.samples(400)
        var (left, right) = ([Float](repeating: 9, count: 400), [Float](repeating: 9, count: 400))
        var fader = Signal.Fader(-1)
        var (start, turn) = (0, 0)
        while start < 400 {
            let count = min(blocks[turn % blocks.count], 400 - start)
            onPart(of: &left, from: start, count: count) { leftSpan in
                onPart(of: &right, from: start, count: count) {
                    let part = Samples(source.span.extracting(start..<(start + count)))
                    Signal.pan(part, to: 1, fader: &fader, frames: 256, into: &leftSpan, &$0)
                }
            }
            start += count
            turn += 1
        }
        let angle = { (i: Int) in min(Double(i) / 256, 1) * .pi / 2 }
        #expect(
            largestError(left, source.indices.map { Double(source[$0]) * cos(angle($0)) }) <= SignalTolerance.rounding)
        #expect(
            largestError(right, source.indices.map { Double(source[$0]) * sin(angle($0)) }) <= SignalTolerance.rounding)
        #expect(right[256...].elementsEqual(source[256...]))
    }
}
