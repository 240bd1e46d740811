import RenderStack
import TestSupport
import Testing

/// What is set while a source plays. The source looks at one number to see that nothing was set: each setting must count there.
@Suite struct SettingTests {
    private static let names = [
        "x", "y", "z", "velocityX", "velocityY", "velocityZ", "yaw", "pitch", "width", "coneInner", "coneOuter",
        "coneLevel",
        "minimumDistance", "maximumDistance", "rollOff", "occlusion", "obstruction", "send", "doppler", "airAbsorption",
        "distanceModel", "rendering", "taps", "relative",
    ]

    /// The sound of a source with all that there is, of which one setting may change on the way.
    private static func heard(_ name: String?, inTransaction: Bool = false) throws -> [[Float]] {
        let environment = Environment(hrtf: try sparseKemar.get(), reverb: Gain(0.5))
        environment.listener.position = SpatialPoint(0.5, 0, 0)
        let source = SpatialSource(
            Noise(channels: 2, seed: 3), rendering: .hrtf(taps: 32), position: SpatialPoint(1, 0.5, -4))
        source.velocity = SpatialPoint(0.5, 0, 1)
        (source.yaw.value, source.pitch.value, source.width.value) = (100, 10, 30)
        (source.coneInner.value, source.coneOuter.value, source.coneLevel.value) = (30, 300, 0.3)
        (source.distanceModel, source.maximumDistance.value, source.rollOff.value) = (.linear, 10, 0.8)
        (source.occlusion.value, source.obstruction.value, source.send.value) = (-3, -3, 0.4)
        source.airAbsorption.value = 1
        environment.append(source, fadesIn: false)
        let renderer = try renderer(environment)
        var sound = render(renderer, frames: 4_800)
        if let name {
            let setting = try #require(source.parameters[name])
            // Of the numbers of cases, of taps and of a switch another one; of all else the half and a bit.
            let others: [String: Float] = ["distanceModel": 0, "rendering": 0, "taps": 64, "relative": 1]
            let value = others[name] ?? (setting.value * 0.5 + 0.12)
            if inTransaction {
                renderer.transaction { setting.value = value }
            } else {
                setting.value = value
            }
        }
        let rest = render(renderer, frames: 4_800)
        for channel in sound.indices { sound[channel] += rest[channel] }
        return sound
    }

    private static let before = Result { try heard(nil) }

    @Test("Each setting is heard while nothing else is set", arguments: names)
    func settings(name: String) throws {
        let (before, after) = (try Self.before.get(), try Self.heard(name))
        #expect(largestDifference(before[0], after[0]) > 1e-5, "\(name) was not heard")
        #expect(before[0][..<4_800] == after[0][..<4_800])
        #expect(try Self.heard(name, inTransaction: true) == after)
    }
}
