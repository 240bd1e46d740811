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

    @Test("a text that is no whole state is refused in a sentence, before lilv sees it")
    func damagedStates() throws {
        let keeps = try TestBundle.plugin("keeps")
        let whole = try keeps.save().text
        try keeps.restore(LV2State(text: whole))
        // Cut short, wherever.
        let bytes = Array(whole.utf8)
        let end = try #require(bytes.lastIndex(of: UInt8(ascii: ".")))
        for count in stride(from: 0, through: end, by: 3) {
            let text = String(decoding: bytes[..<count], as: UTF8.self)
            #expect(throws: LV2Error.self, "\(count) of \(bytes.count) bytes") {
                try keeps.restore(LV2State(text: text))
            }
        }
        let start = "<urn:renderstack:state> a pset:Preset ; lv2:appliesTo <\(TestBundle.uri("keeps"))> ; "
        for (text, reason) in [
            ("<urn:renderstack:state> lv2:port 5 .", "has no state in it"),
            ("<urn:renderstack:state> a pset:Preset .", "does not name its plug-in"),
            ("<urn:renderstack:state> a pset:Preset ; lv2:appliesTo 5 .", "names a plug-in that is none"),
            (start + "lv2:port 5 .", "has a port that is none"),
            (start + "lv2:port [ pset:value 5 ] .", "has a port without a symbol"),
            (start + "lv2:port [ lv2:symbol [] ; pset:value 5 ] .", "has a port without a symbol"),
            (start + "lv2:port [ lv2:symbol \"by\" ; pset:value 5 , 6 ] .", "has a port of several values"),
            (start + "state:state 5 .", "has a content that is none"),
            (start + "state:state [ <urn:a> [ a atom:Vector ] ] .", "holds a vector without a type"),
            (
                start + "state:state [ <urn:a> [ a atom:Vector ; atom:childType atom:Int ; rdf:value ( <urn:b> ) ] ] .",
                "no number"
            ),
            (start + "state:state [ <urn:a> [ a atom:Tuple ; rdf:value 5 ] ] .", "holds a list that is none"),
            (start + "state:state [ <urn:a> [ a atom:Sequence ; rdf:value ( 5 ) ] ] .", "an event without a time"),
            (start + "state:state [ <urn:a> _:x ] . _:x <urn:b> _:x .", "uses the content of brackets twice"),
            (start + "state:state [ <urn:a> <file://x> ] .", "names a file without its path"),
            (start + "state:state [ <urn:a> unknown:x ] .", "is not"),
            (start + "state:state [ <urn:a> <b> ] .", "has a name that is not whole"),
            (
                start + "state:state [ <urn:a> " + String(repeating: "[ <urn:b> ", count: 100_000),
                "more than 100 brackets"
            ),
            (start + "state:state [ <urn:a> ( " + String(repeating: "( ", count: 100_000), "more than 100 brackets"),
            (
                start + "state:state [ <urn:a> \"9\"^^<http://lv2plug.in/ns/ext/midi#MidiEvent> ] .",
                "a MIDI message that is none"
            ),
            (start + ". <urn:other> a pset:Preset .", "holds another one's too"),
            ("\u{0}" + whole, "has no state in it"),
        ] {
            do {
                try keeps.restore(LV2State(text: text))
                Issue.record("\(text.prefix(200))")
            } catch { #expect(error.description.contains(reason), "\(text.prefix(200)): \(error)") }
        }
    }

    @Test("states that were changed at random do no harm", arguments: 1...4)
    func fuzzedStates(seed: UInt64) throws {
        let keeps = try TestBundle.plugin("keeps")
        var random = SplitMix(state: seed)
        // All that lilv writes, what it would not, and words that change the sense of others.
        let values = [
            "5", "true", "1e999", "\"x\"", "\"x\"@de", "\"AAEC\"^^xsd:base64Binary", "\"a/b\"^^atom:Path",
            "<file:///a>", "rdf:nil",
            "\"90\"^^<http://lv2plug.in/ns/ext/midi#MidiEvent>",
            "[ a atom:Tuple ; rdf:value ( 1 [ a atom:Tuple ; rdf:value () ] ) ]",
            "[ a atom:Vector ; atom:childType atom:Float ; rdf:value ( \"1\"^^xsd:float \"2\"^^xsd:float ) ]",
            "[ a atom:Sequence ; rdf:value ( [ atom:frameTime 1 ; rdf:value 5 ] ) ]", "()", "[]", "( 1 2 )",
            "[ a <urn:t> ; rdf:value \"AAAA\"^^xsd:base64Binary ]", "[ a <urn:t> ; <urn:k> [ a <urn:u> ; <urn:l> 2 ] ]",
        ]
        let others = [
            "<file://a>", "<>", "_:x", "[ a atom:Vector ; rdf:value ( 1 ) ]", "[ a atom:Sequence ; rdf:value ( 5 ) ]",
            "lv2:symbol", "pset:value", "lv2:port", "state:state", "rdf:rest", "rdf:first", "[", "]", "(", ")", ";",
            ",", ".", "a",
        ]
        let parts = values + others
        let words = """
            <urn:renderstack:state> a pset:Preset ; lv2:appliesTo <\(TestBundle.uri("keeps"))> ; rdfs:label "x" ;
            lv2:port [ lv2:symbol "by" ; pset:value 4.0 ] , [ lv2:symbol "b" ; lv2:default 3 ; rdfs:label "l" ] ;
            state:state [ <urn:a> \(values.joined(separator: " ; <urn:b> ")) ] .
            """.split { $0.isWhitespace }.map(String.init)
        var taken = 0
        for _ in 0..<1_000 {
            var text = words
            let place = Int.random(in: 0..<text.count, using: &random)
            text[place] = parts[Int.random(in: 0..<parts.count, using: &random)]
            if Int.random(in: 0..<3, using: &random) == 0 {
                text[Int.random(in: 0..<text.count, using: &random)] =
                    values[Int.random(in: 0..<values.count, using: &random)]
            }
            if (try? keeps.restore(LV2State(text: text.joined(separator: " ")))) != nil { taken += 1 }
        }
        #expect(taken > 0)
    }

    @Test("a bundle with a plug-in without a URI, for which lilv has no place, is refused in a sentence")
    func withoutURI() throws {
        _ = try TestBundle.path
        let folder = try TemporaryFolder()
        for (number, content) in ["[ a lv2:Plugin ] lv2:binary <a.so> .", "_:x a lv2:Plugin ."].enumerated() {
            let bundle = folder.path + "/\(number).lv2"
            try FileManager.default.createDirectory(atPath: bundle, withIntermediateDirectories: true)
            let text = """
                @prefix lv2: <http://lv2plug.in/ns/lv2core#> .
                <https://renderstack.example/beside\(number)> a lv2:Plugin ; lv2:binary <a.so> .
                \(content)
                """
            try Data(text.utf8).write(to: URL(fileURLWithPath: bundle + "/manifest.ttl"))
            do {
                _ = try LV2Description(bundle: bundle)
                Issue.record("\(content)")
            } catch { #expect(error.description.contains("is damaged: its manifest.ttl has a plug-in without a URI")) }
        }
    }

    @Test("a preset whose file is damaged is refused in a sentence")
    func damagedPresets() throws {
        let path = try TestBundle.path
        let folder = try TemporaryFolder()
        let bundle = folder.path + "/Presets.lv2"
        try FileManager.default.createDirectory(atPath: bundle, withIntermediateDirectories: true)
        let library = try Data(contentsOf: URL(fileURLWithPath: path + "/test.so"))
        try library.write(to: URL(fileURLWithPath: bundle + "/test.so"))
        let contents = [
            "lv2:port 5", "lv2:port [ lv2:symbol \"by\" ; pset:value [ a atom:Vector ] ]", "state:state [ lv2:x [", "",
        ]
        var manifest = """
            @prefix lv2: <http://lv2plug.in/ns/lv2core#> .
            @prefix atom: <http://lv2plug.in/ns/ext/atom#> .
            @prefix doap: <http://usefulinc.com/ns/doap#> .
            @prefix pset: <http://lv2plug.in/ns/ext/presets#> .
            @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
            @prefix state: <http://lv2plug.in/ns/ext/state#> .

            """
        let prefixes = manifest
        let uri = TestBundle.uri("late")
        for (number, content) in contents.enumerated() {
            let preset = "<https://renderstack.example/damaged-preset\(number)>"
            manifest += "\(preset) a pset:Preset ; lv2:appliesTo <\(uri)> ; rdfs:seeAlso <\(number).ttl> .\n"
            let text =
                "\(preset) a pset:Preset ; lv2:appliesTo <\(uri)> ; rdfs:label \"Damaged \(number)\" ; \(content) .\n"
            try Data((prefixes + text).utf8).write(to: URL(fileURLWithPath: bundle + "/\(number).ttl"))
        }
        manifest +=
            "<https://renderstack.example/with-presets> a lv2:Plugin ; lv2:binary <test.so> ; doap:name \"With presets\" .\n"
        try Data(manifest.utf8).write(to: URL(fileURLWithPath: bundle + "/manifest.ttl"))
        _ = try LV2Description(bundle: bundle)
        let late = try TestBundle.plugin("late")
        let damaged = late.presets.filter { $0.uri.contains("damaged-preset") }
        #expect(damaged.count == contents.count)
        for preset in damaged {
            let isWhole = preset.uri.hasSuffix("3")
            do {
                try late.load(preset)
                #expect(isWhole)
            } catch { #expect(!isWhole && error.description.contains("is damaged: it "), "\(error)") }
        }
        // What has been read is not taken when its file is gone.
        try FileManager.default.removeItem(atPath: bundle + "/0.ttl")
        let first = try #require(damaged.first { $0.uri.hasSuffix("0") })
        #expect(throws: LV2Error.self) { try late.load(first) }
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
