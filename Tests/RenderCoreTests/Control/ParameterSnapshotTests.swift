import RenderStack
import Testing

@testable import RenderCore

/// Parameters by name, and their values as text.
@Suite struct ParameterSnapshotTests {
    private final class Filter: Effect {
        let name: String
        let cutoff = Parameter(800, in: 20...20_000, unit: .hertz)
        let mix = Parameter(1, in: 0...1)
        let bypass = Switch()
        init(_ name: String = "Filter") { self.name = name }
        var parameters: [ParameterReference] { [cutoff.named("cutoff"), mix.named("mix"), bypass.named("bypass")] }
        @_noLocks @_noAllocation
        func process(_ context: inout RenderContext) { context.gain(mix) }
    }

    /// Asked here, since a test's condition copies what it looks at, and a switch cannot be copied.
    private func isOn(_ filter: Filter) -> Bool { filter.bypass.isOn }

    private func renderer(_ filters: [Filter]) throws -> Renderer {
        try Renderer { context in
            context.push()
            for filter in filters { context.run(filter) }
            context.output()
        }
    }

    @Test("A reference shares its number with the parameter, knows all about it, and outlives its module")
    func reference() throws {
        var filter: Filter? = Filter()
        let cutoff = try #require(filter!.parameters["cutoff"])
        cutoff.value = 1_200
        #expect(filter!.cutoff.value == 1_200)
        filter!.cutoff.value = 30_000
        #expect(cutoff.value == 20_000)
        #expect((cutoff.range, cutoff.initialValue, cutoff.unit) == (20...20_000, 800, .hertz))
        #expect(cutoff.description == "cutoff = 20000.0 Hz, 20.0…20000.0")
        #expect(cutoff.inside("Low").inside("Desk").name == "Desk.Low.cutoff")
        filter = nil
        cutoff.reset()
        #expect(cutoff.value == 800)
    }

    @Test("A renderer's parameters have their module's name, and the second of a name has a number")
    func ofRenderer() throws {
        let filters = [Filter(), Filter("Echo"), Filter()]
        let parameters = try renderer(filters).parameters
        #expect(
            parameters.map(\.name) == [
                "Filter.cutoff", "Filter.mix", "Filter.bypass", "Echo.cutoff", "Echo.mix", "Echo.bypass",
                "Filter 2.cutoff", "Filter 2.mix", "Filter 2.bypass",
            ])
        parameters["Filter 2.cutoff"]?.value = 99
        #expect(filters[2].cutoff.value == 99 && filters[0].cutoff.value == 800)
        #expect(parameters["Filter 3.cutoff"] == nil)
    }

    @Test("In a transaction they are heard together, and one that throws sets nothing")
    func transaction() throws {
        struct Thrown: Error {}
        let filter = Filter()
        let renderer = try renderer([filter])
        let snapshot = try ParameterSnapshot(text: "Filter.cutoff = 50 Hz\nFilter.bypass = 1\n")
        #expect(throws: Thrown.self) {
            try renderer.transaction {
                snapshot.restore(to: renderer.parameters)
                #expect(filter.cutoff.value == 50 && isOn(filter))
                throw Thrown()
            }
        }
        #expect(filter.cutoff.value == 800 && !isOn(filter))
        renderer.transaction { snapshot.restore(to: renderer.parameters) }
        #expect(filter.cutoff.value == 50 && isOn(filter))
    }

    @Test("A restore brings back every saved value, to the last bit, whatever the names")
    func roundTrip() throws {
        let names = [
            "Filter", "with = and \" and \\", "# no remark", " spaces ", "two\nlines\r\u{2028}\u{0}", "Übung 🎚", "",
        ]
        let filters = names.map { Filter($0) }
        let parameters = filters.flatMap { $0.parameters.inside($0.name) } + [filters[0].mix.named("")]
        var random = SystemRandomNumberGenerator()
        for parameter in parameters { parameter.value = Float.random(in: parameter.range, using: &random) }
        let saved = ParameterSnapshot(parameters)
        let text = saved.text
        #expect(text.split(whereSeparator: \.isNewline).count == parameters.count)
        let again = try ParameterSnapshot(text: text)
        #expect(again == saved)
        let values = parameters.map(\.value)
        for parameter in parameters { parameter.reset() }
        #expect(again.restore(to: parameters) == [])
        #expect(parameters.map(\.value) == values)
        #expect(again["Filter.cutoff"] == filters[0].cutoff.value)
    }

    @Test("A restore returns a sentence for each value that it cannot set as saved, and sets the rest")
    func problems() throws {
        let filter = Filter()
        let snapshot = try ParameterSnapshot(
            text: """
                # of last week

                cutoff = 1e5 Hz
                resonance = 3 dB
                mix = 0.5 Hz
                bypass = 1
                """)
        let problems = snapshot.restore(to: filter.parameters)
        #expect(
            problems == [
                "cutoff goes from 20.0 to 20000.0; 100000.0 became 20000.0.",
                "There is no parameter resonance; its value 3.0 is left out.",
                "mix counts a bare number, not Hz; its value 0.5 is left out.",
            ])
        #expect(filter.cutoff.value == 20_000 && filter.mix.value == 1 && isOn(filter))
    }

    @Test(
        "A text that is none says in which line, and what is expected",
        arguments: [
            ("a", "a name, = and a number are expected"), ("\n\na = ", "Line 3: behind the ="),
            ("a = x", "\"x\" is not a number"), ("a = nan", "is not a number"), ("a = inf", "is not a number"),
            ("a = 1e99", "is not a number"), ("a = 1 furlongs", "\"furlongs\" is not a unit"),
            ("a = 1 Hz Hz", "behind the ="), (" = 1", "the name before the = is missing"),
            ("\"a = 1", "quotation marks around the name do not end"), ("\"a\" 1", "a = is expected"),
            ("\"\\x\" = 1", "behind a \\"), ("\"\\u{110000}\" = 1", "behind \\u"), ("\"\\u{\" = 1", "behind \\u"),
            ("\"\\u", "behind \\u"), ("\"\\", "behind a \\"), ("a = 1\r\na = 2", "Line 2: a has a value in line 1"),
        ])
    func damaged(_ text: String, _ sentence: String) {
        #expect {
            try ParameterSnapshot(text: text)
        } throws: { error in
            "\(error)".contains(sentence)
        }
    }

    @Test("Random bytes are refused or read, and never crash")
    func random() {
        var random = SystemRandomNumberGenerator()
        let alphabet = Array("a.=\"\\u{}0Hz#\n\r \u{2028}1-eé🎚".unicodeScalars)
        for _ in 0..<20_000 {
            var text = String.UnicodeScalarView()
            for _ in 0..<Int.random(in: 0..<24, using: &random) { text.append(alphabet.randomElement(using: &random)!) }
            guard let snapshot = try? ParameterSnapshot(text: String(text)) else { continue }
            #expect((try? ParameterSnapshot(text: snapshot.text)) == snapshot)
        }
    }
}

/// Yes and no, on both sides.
@Suite struct SwitchTests {
    private final class Gate: Effect {
        let open = Switch(glide: .linear(.seconds(0.01)))
        @_noLocks @_noAllocation
        func process(_ context: inout RenderContext) {
            let share = open.glide(context)
            let isOn: Float = open.isOn(context) ? 2 : 1
            var top = context.top
            for channel in 0..<top.channelCount {
                var samples = top[channel]
                for index in samples.indices { samples[index] = share[index] * isOn }
            }
        }
    }

    @Test("A switch is on at the frame of its transaction, and glides as the module asks")
    func atTime() throws {
        let gate = Gate()
        let renderer = try Renderer(sampleRate: 10_000, channels: 1) { context in
            context.push(channels: 1)
            context.run(gate)
            context.output()
        }
        try renderer.transaction(at: .sample(50)) { gate.open.isOn = true }
        let heard = Array(renderer.renderOffline(frames: 200, cycle: 7).array(0))
        #expect(heard[..<50].allSatisfy { $0 == 0 })
        #expect(abs(heard[100] - 1) < 0.03)
        #expect(heard[150...].allSatisfy { $0 == 2 })
        let isOn = gate.open.isOn
        #expect(isOn)
    }
}
