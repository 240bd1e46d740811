import Foundation
import RenderStack
import TestSupport
import Testing

/// The plug-ins of plugins.c, compiled and described in a folder that is there as long as the tests run.
enum TestBundle {
    /// The path of the folder, or why there is none.
    static let result = Result { try make() }

    static var path: String { get throws { try result.get() } }

    static func uri(_ name: String) -> String { "https://renderstack.example/test#\(name)" }

    static func plugin(_ name: String, copies: Int = 2) throws -> LV2Plugin {
        try LV2Plugin(bundle: path, uri: uri(name), copies: copies)
    }

    private static func make() throws -> String {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("lv2-\(UUID().uuidString)/Test.lv2")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let parent = folder.deletingLastPathComponent().path
        setenv("RENDERSTACK_TEST_BUNDLE", parent, 1)
        // The machine's own plug-ins would take seconds to read.
        setenv("LV2_PATH", parent, 1)
        atexit {
            if let path = unsafe getenv("RENDERSTACK_TEST_BUNDLE") {
                try? FileManager.default.removeItem(atPath: unsafe String(cString: path))
            }
        }
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
            "Plugins/plugins.c")
        let library = folder.appendingPathComponent("test.so").path
        let compiled = try Program(
            "gcc", ["-shared", "-fPIC", "-O1", "-o", library, source.path, "-lm", "-lpthread"], seconds: nil
        ).wait()
        try #require(compiled.status == 0, "gcc cannot compile the plug-ins of the tests: \(compiled.text)")
        let prefixes = """
            @prefix lv2: <http://lv2plug.in/ns/lv2core#> .
            @prefix atom: <http://lv2plug.in/ns/ext/atom#> .
            @prefix doap: <http://usefulinc.com/ns/doap#> .
            @prefix midi: <http://lv2plug.in/ns/ext/midi#> .
            @prefix pg: <http://lv2plug.in/ns/ext/port-groups#> .
            @prefix pset: <http://lv2plug.in/ns/ext/presets#> .
            @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
            @prefix state: <http://lv2plug.in/ns/ext/state#> .
            @prefix time: <http://lv2plug.in/ns/ext/time#> .
            @prefix units: <http://lv2plug.in/ns/extensions/units#> .
            @prefix work: <http://lv2plug.in/ns/ext/worker#> .
            @prefix test: <https://renderstack.example/test#> .

            """
        var manifest = prefixes
        var descriptions = prefixes
        for (name, ports, more) in plugins {
            manifest += "test:\(name) a lv2:Plugin ; lv2:binary <test.so> ; rdfs:seeAlso <test.ttl> .\n"
            let list = ports.enumerated().map { "[ lv2:index \($0) ; \($1) ]" }.joined(separator: " , ")
            descriptions += """
                test:\(name) a lv2:Plugin ; doap:name "Test \(name)" ; doap:license <http://opensource.org/licenses/isc> ;
                  \(more) lv2:port \(list) .

                """
        }
        manifest += """
            test:loud a pset:Preset ; lv2:appliesTo test:gain ; rdfs:seeAlso <test.ttl> .
            test:long a pset:Preset ; lv2:appliesTo test:keeps ; rdfs:seeAlso <test.ttl> .

            """
        descriptions += """
            test:levels a pg:Group ; lv2:symbol "levels" ; lv2:name "Levels" .
            test:loud a pset:Preset ; lv2:appliesTo test:gain ; rdfs:label "Loud" ; lv2:port [ lv2:symbol "by" ; pset:value 4.0 ] .
            test:long a pset:Preset ; lv2:appliesTo test:keeps ; rdfs:label "Long" ;
              state:state [ test:text "a text of this length" ] .

            """
        try Data(manifest.utf8).write(to: folder.appendingPathComponent("manifest.ttl"))
        try Data(descriptions.utf8).write(to: folder.appendingPathComponent("test.ttl"))
        return folder.path
    }

    private static let input = "a lv2:InputPort , lv2:AudioPort ; lv2:symbol \"in\" ; lv2:name \"In\""
    private static let output = "a lv2:OutputPort , lv2:AudioPort ; lv2:symbol \"out\" ; lv2:name \"Out\""
    private static let by = """
        a lv2:InputPort , lv2:ControlPort ; lv2:symbol "by" ; lv2:name "Factor" ; lv2:default 1.0 ; lv2:minimum 0.0 ;
        lv2:maximum 8.0 ; units:unit units:coef ; pg:group test:levels ;
        lv2:scalePoint [ rdfs:label "twice" ; <http://www.w3.org/1999/02/22-rdf-syntax-ns#value> 2.0 ] ,
          [ rdfs:label "off" ; <http://www.w3.org/1999/02/22-rdf-syntax-ns#value> 0.0 ]
        """
    private static func meter(_ symbol: String) -> String {
        "a lv2:OutputPort , lv2:ControlPort ; lv2:symbol \"\(symbol)\" ; lv2:name \"\(symbol)\""
    }
    private static func audio(_ direction: String, _ symbol: String, _ more: String = "") -> String {
        "a lv2:\(direction)Port , lv2:AudioPort ; lv2:symbol \"\(symbol)\" ; lv2:name \"\(symbol)\" \(more)"
    }
    private static func events(_ direction: String, _ what: String) -> String {
        """
        a lv2:\(direction)Port , atom:AtomPort ; lv2:symbol "events\(direction)" ; lv2:name "Events" ; atom:bufferType atom:Sequence ;
        atom:supports \(what)
        """
    }

    private static let plugins: [(name: String, ports: [String], more: String)] = [
        ("gain", [input, output, by, meter("twice")], ""),
        (
            "swaps",
            [audio("Input", "left"), audio("Input", "right"), audio("Output", "outLeft"), audio("Output", "outRight")],
            ""
        ),
        ("less", [input, audio("Input", "side", "; lv2:portProperty lv2:isSideChain"), output], ""),
        ("late", [input, output, meter("latency") + " ; lv2:designation lv2:latency"], ""),
        ("peak", [input, output], ""),
        ("beyond", [input, output], ""),
        ("rounds", [input, output], ""),
        ("synth", [events("Input", "midi:MidiEvent"), audio("Output", "left"), audio("Output", "right")], ""),
        ("octave", [events("Input", "midi:MidiEvent"), events("Output", "midi:MidiEvent")], ""),
        (
            "transport",
            [events("Input", "time:Position"), output, meter("speed"), meter("tempo"), meter("barBeat")], ""
        ),
        ("works", [input, output], "lv2:extensionData work:interface ; lv2:requiredFeature work:schedule ;"),
        ("tells", [input, output], ""),
        (
            "keeps",
            [
                input, output,
                "a lv2:InputPort , lv2:ControlPort ; lv2:symbol \"length\" ; lv2:name \"Length\" ; lv2:default 0.0 ; "
                    + "lv2:minimum 0.0 ; lv2:maximum 60.0 ; lv2:portProperty lv2:integer",
            ], "lv2:extensionData state:interface ;"
        ),
        ("crashes", [input, output, by, meter("twice")], ""),
        ("hangs", [input, output, by, meter("twice")], ""),
        ("exits", [input, output, by, meter("twice")], ""),
        ("prints", [input, output, by, meter("twice")], ""),
        ("refuses", [input, output, by, meter("twice")], ""),
        (
            "demands", [input, output, by, meter("twice")],
            "lv2:requiredFeature <https://renderstack.example/feature> ;"
        ),
        ("closes", [input, output, by, meter("twice")], ""),
        ("haunts", [input, output, by, meter("twice")], ""),
        ("naps", [input, output, by, meter("twice")], ""),
        ("scribbles", [input, output, by, meter("twice")], ""),
        (
            "moves",
            [
                input, output,
                "a lv2:InputPort , lv2:ControlPort ; lv2:symbol \"by\" ; lv2:name \"By\" ; lv2:default 0 ; "
                    + "lv2:minimum 0 ; lv2:maximum 4000",
                meter("latency") + " ; lv2:designation lv2:latency",
            ], ""
        ),
        ("spills", [events("Input", "midi:MidiEvent"), events("Output", "midi:MidiEvent")], ""),
        ("wild", [events("Input", "midi:MidiEvent"), events("Output", "midi:MidiEvent")], ""),
        (
            "fetches", [input, output],
            "lv2:extensionData work:interface , state:interface ; lv2:requiredFeature work:schedule ;"
        ),
    ]
}
