import Foundation
import RenderStack
import RenderStackTesting
import TestSupport
import Testing

@testable import LV2Hosting

/// Descriptions that are damaged, and plug-ins that do what none should.
@Suite struct LV2HostileTests {
    @Test("a description whose ports are numbered wrongly, or of which one is none, is refused in a sentence")
    func damaged() throws {
        _ = try TestBundle.path
        let folder = try TemporaryFolder()
        let path = folder.path + "/Damaged.lv2"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let ports = [
            "lv2:index 1 ; lv2:symbol \"c\"", "lv2:index 0 , 1 ; lv2:symbol \"c\"", "lv2:index -1 ; lv2:symbol \"c\"",
            "lv2:index 99999999999 ; lv2:symbol \"c\"", "lv2:index \"0\" ; lv2:symbol \"c\"", "lv2:index 0",
            "lv2:symbol \"c\"", "lv2:index 0.5 ; lv2:symbol \"c\"",
        ]
        var text = """
            @prefix lv2: <http://lv2plug.in/ns/lv2core#> .
            @prefix doap: <http://usefulinc.com/ns/doap#> .

            """
        for (number, port) in ports.enumerated() {
            text += """
                <https://renderstack.example/damaged\(number)> a lv2:Plugin ; lv2:binary <odd.so> ; doap:name "Damaged" ;
                  lv2:port [ a lv2:InputPort , lv2:ControlPort ; lv2:name "C" ; \(port) ] .

                """
        }
        try Data(text.utf8).write(to: URL(fileURLWithPath: path + "/manifest.ttl"))
        for (number, port) in ports.enumerated() {
            let uri = "https://renderstack.example/damaged\(number)"
            do {
                _ = try LV2Description(bundle: path, uri: uri)
                Issue.record("\(port)")
            } catch { #expect(error.description.contains("\(uri) is damaged: it does not number"), "\(port)") }
        }
        // A scan says so, and goes on.
        let results = try LV2Scan(cache: nil, bundles: [path]).run([
            "https://renderstack.example/damaged2", TestBundle.uri("gain"),
        ])
        #expect(results[0].problem?.contains("is damaged") == true && results[1].problem == nil)
    }

    @Test("a control with an odd range has one that a parameter can have")
    func oddRanges() throws {
        _ = try TestBundle.path
        let folder = try TemporaryFolder()
        let path = folder.path + "/Ranges.lv2"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let ranges: [(text: String, initial: Float, range: ClosedRange<Float>)] = [
            ("lv2:default 5 ; lv2:minimum 10 ; lv2:maximum -10", 5, -10...10),
            ("lv2:default 5 ; lv2:minimum 5 ; lv2:maximum 5", 5, 5...5),
            ("lv2:minimum 20 ; lv2:maximum 20000", 20, 20...20_000),
            ("lv2:maximum -3", -3, -1e6 ... -3),
            ("", 0, -1e6...1e6),
            ("lv2:default 1e400 ; lv2:minimum -1e400 ; lv2:maximum 1e400", 0, -1e6...1e6),
            ("lv2:default 7 ; lv2:minimum 0 ; lv2:maximum 1", 7, 0...7),
            ("lv2:default true", 1, -1e6...1e6),
            ("lv2:default \"a\" ; lv2:minimum lv2:x ; lv2:maximum [ lv2:y 1 ]", 0, -1e6...1e6),
        ]
        var text = """
            @prefix lv2: <http://lv2plug.in/ns/lv2core#> .
            @prefix doap: <http://usefulinc.com/ns/doap#> .
            <https://renderstack.example/ranges> a lv2:Plugin ; lv2:binary <odd.so>

            """
        for (number, range) in ranges.enumerated() {
            text += """
                ; lv2:port [ a lv2:InputPort , lv2:ControlPort ; lv2:name "C" ; lv2:index \(number) ; lv2:symbol "same\(number / 2)"
                  \(range.text.isEmpty ? "" : ";") \(range.text) ]

                """
        }
        try Data((text + ".\n").utf8).write(to: URL(fileURLWithPath: path + "/manifest.ttl"))
        let description = try LV2Description(bundle: path)
        // Without a name it has its URI.
        #expect(description.name == "https://renderstack.example/ranges")
        for (control, range) in zip(description.controls, ranges) {
            #expect(control.initialValue == range.initial && control.range == range.range, "\(range.text): \(control)")
            let parameter = control.parameter()
            #expect(parameter.value == range.initial && parameter.range == range.range)
        }
        #expect(description.controls.count == ranges.count)
    }

    @Test(
        "writing behind the control ports or the room for messages is found too",
        arguments: ["scribbles", "spills"])
    func beyondOthers(_ name: String) throws {
        let plugin = try TestBundle.plugin(name, copies: 1)
        let effect = plugin.stackEffect
        let count = Count()
        let renderer = try Renderer(sampleRate: 48_000, channels: 1) { context in
            if effect.pops > 0 { context.run(count) }
            context.run(plugin)
            if effect.pushes > 0 { context.output() }
        }
        _ = render(renderer, frames: 128, cycles: [64])
        #expect(plugin.overrunCount == 2 && renderer.faultCount == 2)
    }

    @Test("messages that a plug-in sends at wild frames, or that are none, do no harm")
    func wild() throws {
        let wild = try TestBundle.plugin("wild")
        let renderer = try Renderer(sampleRate: 48_000, channels: 1) { context in context.run(wild) }
        _ = render(renderer, frames: 256, cycles: [64])
        #expect(wild.overrunCount == 0)
    }

    @Test("a latency that changes while it plays is that of the renderer too, and of the bypass")
    func renewed() throws {
        let moves = try TestBundle.plugin("moves", copies: 1)
        let count = Count()
        let renderer = try Renderer(sampleRate: 48_000, channels: 1) { context in
            context.run(count)
            context.run(moves)
            context.output()
        }
        #expect(renderer.latency == 0)
        moves["by"]?.value = 3_000
        _ = render(renderer, frames: 128, cycles: [64])
        #expect(moves.latency(at: 48_000) == 3_000 && renderer.latency == 3_000)
        moves.bypass.value = 1
        let sound = render(renderer, frames: 8_192, cycles: [64])[0]
        // Behind the fade the input, as late as the plug-in says, from a memory that was there before.
        for frame in 4_096..<8_192 { #expect(sound[frame] == Float(frame + 129 - 3_000), "\(frame)") }
    }

    @Test("a worker has done a state's work in an offline run, each time")
    func fetched() throws {
        for _ in 0..<20 {
            let fetches = try TestBundle.plugin("fetches", copies: 1)
            try fetches.restore(try fetches.save())
            let sound = try played([Count()], fetches, channels: 1).sound[0]
            // Twice the length of "nothing".
            #expect(sound[64..<512].allSatisfy { $0 == 14 })
        }
    }
}
