import Foundation
import RenderStack
import TestSupport
import Testing

@Suite struct SoundFontTuningTests {
    private static let scale = "31 steps\n31\n" + (1...31).map { "\(1_200 * Double($0) / 31)\n" }.joined()

    private func heard(
        _ tuning: Tuning?, _ messages: [(Int, MIDIMessage)], at frame: Int = 0, frames: Int = 30_000
    ) throws -> [Float] {
        // A sine of 480 Hz is on key 69, as the pitch test has it.
        let font = try SoundFont(bytes: FontMaker.sine([(48, 100), (52, 30)]).bytes)
        let player = SoundFontPlayer(font)
        let sender = FrameSender(messages, to: player)
        let renderer = try Renderer { context in
            context.run(sender)
            context.run(player)
            context.output()
        }
        if let tuning {
            if frame == 0 {
                player.tuning = tuning
            } else {
                try renderer.transaction(at: .sample(Int64(frame))) { player.tuning = tuning }
            }
        }
        return render(renderer, frames: frames)[0]
    }

    @Test("A key has the pitch of the tuning, and keeps it when the tuning changes")
    func pitch() throws {
        let tuning = try Tuning(sclText: Self.scale)
        for key in [UInt8(60), 69, 80] {
            let cents = 30 + 100 * (Double(try #require(tuning.note(ofKey: Int(key)))) - 69)
            let fit = SineFit(
                try heard(tuning, [(0, on(key))])[10_000...], frequency: 480 * exp2(cents / 1_200) / 48_000,
                from: 10_000)
            #expect(fit.signalToNoise > 40, "\(key): \(fit.signalToNoise) dB")
        }
        let plain = try heard(nil, [(0, on(72))])
        #expect(try heard(tuning, [(0, on(72))], at: 5_000) == plain)
        let twelve = try Tuning(sclText: "12\n12\n" + (1...12).map { "\($0)00.0\n" }.joined())
        #expect(try heard(twelve, [(0, on(72)), (9_000, on(41))]) == heard(nil, [(0, on(72)), (9_000, on(41))]))
    }

    @Test("A key that the keyboard leaves out is silent")
    func silent() throws {
        let kbm = "2\n0\n127\n60\n60\n261.6\n1\n0\nx"
        let tuning = try Tuning(sclText: Self.scale, kbmText: kbm)
        #expect(try heard(tuning, [(0, on(61))], frames: 5_000).allSatisfy { $0 == 0 })
        #expect(try heard(tuning, [(0, on(62))], frames: 5_000).contains { $0 != 0 })
    }
}
