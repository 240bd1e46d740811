import ExampleSupport
import RenderStack

#if Everything || LV2
    /// The plug-ins of this machine, in words.
    enum Catalogue {
        static func list(matching word: String) throws {
            let all = LV2Description.all
            let found = all.filter { plugin in
                word.isEmpty
                    || [plugin.name, plugin.category, plugin.author, plugin.uri].contains {
                        $0.lowercased().contains(word.lowercased())
                    }
            }
            if found.isEmpty {
                throw LV2Error(
                    all.isEmpty
                        ? "This machine has no LV2 plug-ins; Debian's x42-plugins, say, has some."
                        : "None of \(all.count) plug-ins has \"\(word)\" in its name, class, author or URI.")
            }
            for plugin in found {
                print("\(plugin.name)\(plugin.category.isEmpty ? "" : " (\(plugin.category))"): \(channels(plugin))")
                print("    \(plugin.uri)")
            }
            print("\(found.count) of \(all.count) plug-ins")
        }

        static func describe(_ plugin: LV2Plugin) throws {
            let about = plugin.description
            print("\(about.name)\(about.category.isEmpty ? "" : ", a plug-in of the class \(about.category)")")
            print("  URI        \(about.uri)")
            if !about.author.isEmpty { print("  author     \(about.author)") }
            if !about.license.isEmpty { print("  licence    \(about.license)") }
            print("  folder     \(about.bundle)")
            print("  sound      \(channels(about))")
            if about.hasLatency { print("  latency    \(plugin.latency(at: 48_000)) frames at 48 kHz") }
            let traits = [
                (about.takesMIDI, "hears MIDI"), (about.sendsMIDI, "sends MIDI"),
                (about.takesTransport, "follows the tempo"),
                (about.hasWorker, "works beside the audio"),
                (about.isRealtimeCapable, "is fit for an audio thread, its authors say"),
            ].filter(\.0).map(\.1)
            if !traits.isEmpty { print("  it         \(traits.joined(separator: ", "))") }
            var group = ""
            if !about.controls.isEmpty { print("  controls") }
            for control in about.controls {
                if control.group != group { print("    \(control.group.isEmpty ? "(others)" : control.group)") }
                group = control.group
                print("    \(control)")
                for point in control.points { print("        \(point.value) is \(point.label)") }
            }
            let presets = plugin.presets
            if !presets.isEmpty { print("  presets    \(presets.map(\.name).joined(separator: ", "))") }
        }

        static func scan() throws {
            let results = try LV2Scan().run { done, all in
                if Terminal.isInteractive { Terminal.draw("\(done) of \(all) plug-ins") }
            }
            Terminal.endDrawing()
            for result in results where result.problem != nil { print(result) }
            print("\(results.count { $0.problem == nil }) of \(results.count) plug-ins can be used")
        }

        private static func channels(_ plugin: LV2Description) -> String {
            let side = plugin.sideInputs == 0 ? "" : " and \(plugin.sideInputs) of the side-chain"
            return "\(plugin.inputs)\(side) in, \(plugin.outputs) out"
        }
    }
#endif
