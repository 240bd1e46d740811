import Foundation
import RenderStack
import TestSupport
import Testing

/// Plug-ins that Debian has, beside lv2apply, which runs them frame by frame.
@Suite struct DebianPluginTests {
    /// Folders of packages that scripts/test installs. scripts/checks/plugins names others, and one plug-in at a time.
    private static let bundles =
        variable("RENDERSTACK_LV2_BUNDLE").map { [$0] } ?? ["/usr/lib/lv2/mda.lv2", "/usr/lib/lv2/fomp.lv2"]
    private static let only = variable("RENDERSTACK_LV2_URI")
    private static let isInstalled = bundles.allSatisfy { FileManager.default.fileExists(atPath: $0) }
    private static let isLong = variable("RENDERSTACK_LV2_BUNDLE") != nil

    private static func variable(_ name: String) -> String? { ProcessInfo.processInfo.environment[name] }

    @Test("plug-ins of Debian play, and what lv2apply plays sounds the same bit for bit", .enabled(if: isInstalled))
    func all() async throws {
        _ = try TestBundle.path
        var uris: [String] = []
        for bundle in Self.bundles { uris += try LV2Description.uris(bundle: bundle) }
        if let only = Self.only { uris = [only] }
        let results = try LV2Scan(cache: nil, timeLimit: .seconds(60), bundles: Self.bundles).run(uris)
        var (playable, same) = (0, 0)
        for result in results {
            if let problem = result.problem {
                print("refused \(result.uri) \(problem)")
                continue
            }
            let about = try LV2Description(uri: result.uri)
            // First what is compared: some plug-ins keep noise in memory that all their instances share.
            if about.inputs > 0, about.outputs > 0, about.sideInputs == 0,
                let difference = try await Self.compared(about)
            {
                print(difference == 0 ? "same \(result.uri)" : "differs \(result.uri) \(difference)")
                if difference == 0 { same += 1 }
                #expect(Self.isLong || difference == 0, "\(result.uri) \(difference)")
            }
            let frames = Self.isLong ? 480_000 : 4_800
            let plugin: LV2Plugin
            do throws(LV2Error) {
                plugin = try LV2Plugin(about, copies: 1)
            } catch {
                print("refused \(result.uri) \(error)")
                continue
            }
            let sound = try Self.sound(of: plugin, frames: frames, cycle: 256, note: 60)
            #expect(sound.allSatisfy { $0.allSatisfy(\.isFinite) }, "\(result.uri)")
            playable += 1
            print("plays \(result.uri)")
        }
        #expect(Self.isLong || (playable >= 30 && same >= 30))
    }

    /// Returns the largest difference to what lv2apply makes of the plug-in; `nil` if one of both refuses it.
    private static func compared(_ about: LV2Description) async throws -> Float? {
        // As in a program that has just begun: some make noise with rand().
        srand(1)
        guard let alone = try? LV2Plugin(about, copies: 1),
            let theirs = try await applied(alone, frames: 4_800)
        else { return nil }
        let ours = try sound(of: alone, frames: 4_800, cycle: 1)
        return zip(ours, theirs).map(largestDifference).max() ?? .infinity
    }

    /// Noise, the same each time, in a range far from denormal numbers.
    private static func noise(channels: Int, frames: Int) -> [[Float]] {
        (0..<channels).map { channel in
            var generator = SplitMix(state: UInt64(channel) + 7)
            return (0..<frames).map { _ in Float(Double(generator.next() >> 11) * 0x1p-53 - 0.5) * 0.4 }
        }
    }

    /// Renders a plug-in, with noise in all of its inputs.
    private static func sound(of plugin: LV2Plugin, frames: Int, cycle: Int, note: UInt8? = nil) throws -> [[Float]] {
        let about = plugin.description
        let player = BufferPlayer(channels: max(1, about.inputs))
        player.schedule(
            Sound(AudioBlock(noise(channels: max(1, about.inputs), frames: min(frames, 48_000))), sampleRate: 48_000))
        let effect = plugin.stackEffect
        let renderer = try Renderer(
            sampleRate: 48_000, channels: max(1, about.outputs),
            layout: StackLayout(channels: max(8, about.inputs, about.outputs))
        ) { context in
            if effect.pops > 1 { context.push(channels: max(1, about.sideInputs)) }
            if effect.pops > 0 { context.run(player) }
            context.run(plugin)
            if effect.pushes > 0 { context.output() }
        }
        player.play()
        if about.takesMIDI, let note { plugin.send(.noteOn(channel: 0, note: note, velocity: 100), at: .sample(64)) }
        let block = renderer.renderOffline(frames: frames, cycle: cycle)
        return (0..<block.channelCount).map { block.array($0) }
    }

    /// Returns what lv2apply makes of the noise; `nil` if it refuses the plug-in.
    private static func applied(_ plugin: LV2Plugin, frames: Int) async throws -> [[Float]]? {
        let folder = try TemporaryFolder()
        let input = try folder.write(
            noise(channels: plugin.description.inputs, frames: frames), "in.wav", format: .wav(.float32))
        var arguments = ["-i", input, "-o", folder.path + "/out.wav"]
        // lv2apply does not multiply by the sample rate.
        for control in plugin.description.controls where control.isPartOfRate && !control.isOutput {
            arguments += ["-c", control.symbol, "\(plugin[control.symbol]?.value ?? 0)"]
        }
        arguments += [plugin.description.uri]
        let program = try Program(
            "lv2apply", arguments, environment: ["LV2_PATH": "/usr/lib/lv2"], seconds: nil, isHeard: false)
        guard program.wait().status == 0 else { return nil }
        let block = try await AudioBlock.load(path: folder.path + "/out.wav")
        return (0..<block.channelCount).map { block.array($0) }
    }
}
