import Foundation
import RenderStack
import TestSupport
import Testing

@Suite struct TuningTests {
    /// A `.scl` text of steps.
    private static func scale(_ steps: [String], name: String = "A scale") -> String {
        "! scale.scl\n!\n\(name)\n \(steps.count)\n!\n" + steps.map { " \($0)\n" }.joined()
    }

    private static func equal(_ count: Int) -> String {
        scale((1...count).map { "\(1_200 * Double($0) / Double(count)) ! step \($0)" })
    }

    private static let just = scale([
        "16/15", "9/8", "6/5", "5/4", "4/3", "45/32", "3/2", "8/5", "5/3", "9/5", "15/8", "2",
    ])

    private static func keyboard(
        size: Int = 0, keys: (Int, Int) = (0, 127), middle: Int = 60, reference: Int = 69, frequency: String = "440.0",
        octave: Int = 0, _ map: [String] = []
    ) -> String {
        let head = ["\(size)", "\(keys.0)", "\(keys.1)", "\(middle)", "\(reference)", frequency, "\(octave)"]
        return "! a keyboard\n" + (head + map).map { "! what comes next\n\($0)\n" }.joined()
    }

    @Test("Twelve equal steps are equal temperament, bit for bit")
    func twelve() throws {
        for kbm in [nil, Self.keyboard(), Self.keyboard(middle: 3, reference: 57, frequency: "220")] {
            let tuning = try Tuning(sclText: Self.equal(12), kbmText: kbm)
            for key in 0..<128 { #expect(tuning.note(ofKey: key) == Float(key)) }
            #expect(tuning.frequency(ofKey: 69) == 440 && tuning.name == "A scale")
        }
        let synths = [Polyphony<WholeVoice>(voices: 8), Polyphony<WholeVoice>(voices: 8)]
        synths[1].tuning = try Tuning(sclText: Self.equal(12), kbmText: Self.keyboard())
        #expect(synths[0].tuning == .equal && synths[1].tuning.name == "A scale")
        let heard = try synths.map { synth in
            for (number, note) in [Float(40), 61.25, 127, -3.5, 130, 88].enumerated() {
                synth.play(note, at: .sample(Int64(number * 700)))
            }
            synth.send(.noteOn(channel: 0, note: 52, velocity: 99), at: .sample(1_000))
            let renderer = try Renderer { context in
                context.run(synth)
                context.output()
            }
            return render(renderer, frames: 9_600)
        }
        #expect(heard[0] == heard[1])
    }

    @Test("31 equal steps, from key 60 on and by a frequency")
    func thirtyOne() throws {
        let plain = try Tuning(sclText: Self.equal(31))
        let tuned = try Tuning(
            sclText: Self.equal(31), kbmText: Self.keyboard(middle: 60, reference: 62, frequency: "300"))
        for key in 20..<110 {
            let expected = 440 * pow(2, (60 - 69) / 12.0) * pow(2, Double(key - 60) / 31)
            #expect(abs(try #require(plain.frequency(ofKey: key)) / expected - 1) < 1e-6)
            let other = 300 * pow(2, Double(key - 62) / 31)
            #expect(abs(try #require(tuned.frequency(ofKey: key)) / other - 1) < 1e-6)
        }
    }

    @Test("A just scale has its ratios in every octave")
    func ratios() throws {
        let tuning = try Tuning(sclText: Self.just, kbmText: Self.keyboard(middle: 62, reference: 62, frequency: "288"))
        for octave in -4...4 {
            let home = 288 * pow(2.0, Double(octave))
            for (step, ratio) in [(0, 1.0), (4, 5.0 / 4), (7, 3.0 / 2), (10, 9.0 / 5), (11, 15.0 / 8)] {
                let frequency = try #require(tuning.frequency(ofKey: 62 + 12 * octave + step))
                #expect(abs(frequency / (home * ratio) - 1) < 1e-6)
            }
        }
    }

    @Test("A map leaves keys out, has an octave of its own, and a range of keys")
    func maps() throws {
        // White keys alone: seven steps of a scale of seven, on twelve keys.
        let seven = Self.scale(["9/8", "5/4", "4/3", "3/2", "5/3", "15/8", "2/1"])
        let kbm = Self.keyboard(
            size: 12, keys: (36, 96), middle: 60, reference: 60, frequency: "264", octave: 7,
            ["0", "x", "1", "x", "2", "3", "x", "4", "x", "5", "x", "6"])
        let tuning = try Tuning(sclText: seven, kbmText: kbm)
        for octave in -1...1 {
            for (key, ratio) in [
                (0, 1.0), (2, 9.0 / 8), (4, 5.0 / 4), (5, 4.0 / 3), (7, 1.5), (9, 5.0 / 3), (11, 1.875),
            ] {
                let frequency = try #require(tuning.frequency(ofKey: 60 + 12 * octave + key))
                #expect(abs(frequency / (264 * ratio * pow(2, Double(octave))) - 1) < 1e-6)
            }
            for key in [1, 3, 6, 8, 10] { #expect(tuning.note(ofKey: 60 + 12 * octave + key) == nil) }
        }
        #expect(tuning.note(ofKey: 35) == 35 && tuning.note(ofKey: 97) == 97)
        #expect(tuning.note(ofKey: -1) == nil && tuning.note(ofKey: 128) == nil)
        // Keys that the map does not name are silent; a scale without steps is one pitch.
        let short = try Tuning(
            sclText: seven, kbmText: Self.keyboard(size: 3, reference: 60, frequency: "264", octave: 1, ["0", "1"]))
        #expect(short.note(ofKey: 62) == nil && short.note(ofKey: 65) == nil && short.note(ofKey: 64) != nil)
        let none = try Tuning(sclText: Self.scale([]))
        #expect((0..<128).allSatisfy { none.note(ofKey: $0) == 60 })
    }

    @Test("Notes begin with the pitch of the tuning, those that sound keep theirs, and silent keys give silence")
    func plays() throws {
        let tuning = try Tuning(sclText: Self.equal(31))
        func heard(_ tuned: Bool) throws -> [Float] {
            let synth = Polyphony<SineVoice>(voices: 8)
            let renderer = try Renderer(channels: 1) { context in
                context.run(synth)
                context.output()
            }
            func note(_ key: Int) -> Float { tuned ? Float(key) : tuning.note(ofKey: key) ?? .nan }
            synth.play(50)
            try renderer.transaction(at: .sample(1_234)) { if tuned { synth.tuning = tuning } }
            synth.play(note(72), at: .sample(1_300))
            synth.play(tuned ? 40.5 : (note(40) + note(41)) / 2, at: .sample(2_000))
            return render(renderer, frames: 6_000, cycles: [200])[0]
        }
        #expect(largestDifference(try heard(true), try heard(false)) < 1e-5)

        let synth = Polyphony<SineVoice>(voices: 8)
        synth.tuning = try Tuning(
            sclText: Self.just, kbmText: Self.keyboard(size: 2, reference: 60, octave: 1, ["0", "x"]))
        synth.play(61)
        synth.play(60.5)
        synth.send(.noteOn(channel: 0, note: 63, velocity: 100))
        let renderer = try Renderer(channels: 1) { context in
            context.run(synth)
            context.output()
        }
        #expect(render(renderer, frames: 600)[0].allSatisfy { $0 == 0 } && synth.soundingCount == 0)
        synth.send(.noteOn(channel: 0, note: 62, velocity: 100))
        #expect(render(renderer, frames: 600)[0].contains { abs($0) > 0.1 })
    }

    @Test("Files are read, and what is wrong is said with the file and the line")
    func files() throws {
        let folder = try TemporaryFolder()
        let (scl, kbm) = (folder.path + "/a.scl", folder.path + "/a.kbm")
        try Data(Self.equal(31).replacingOccurrences(of: "\n", with: "\r\n").utf8).write(to: URL(filePath: scl))
        try Data(Self.keyboard().utf8).write(to: URL(filePath: kbm))
        #expect(try Tuning(scl: scl).note(ofKey: 91) == 72)
        #expect(try abs(#require(Tuning(scl: scl, kbm: kbm).frequency(ofKey: 69)) - 440) < 1e-9)
        #expect(throws: TuningError.self) { _ = try Tuning(scl: folder.path + "/none.scl") }
        #expect(throws: TuningError.self) { _ = try Tuning(scl: "/dev/zero") }
        do {
            _ = try Tuning(scl: scl, kbm: scl)
            Issue.record("a scale was read as a keyboard")
        } catch { #expect(error.path == scl && error.description.contains("a.scl\" is no tuning: in line 3, ")) }
    }

    @Test(
        "A text that is no scale is refused",
        arguments: [
            ("", 1, "empty"), ("! only a comment", 1, "empty"), ("A\n", 2, "nothing"), ("A\nx", 2, "number of steps"),
            ("A\n-1", 2, "number of steps"), ("A\n2\n3/2", 3, "1 of the 2 steps"), ("A\n1\n!\n-3/2", 4, "701.955"),
            ("A\n1\n3/0", 3, "701.955"), ("A\n1\n3/2/1", 3, "701.955"), ("A\n1\nnan", 3, "701.955"),
            ("A\n1\n1.e999", 3, "701.955"), ("A\n1\n99999999999999999999/1", 3, "701.955"),
            ("A\n999999999\n2/1", 2, "number of steps"),
        ])
    func badScales(text: String, line: Int, sentence: String) {
        do {
            _ = try Tuning(sclText: text)
            Issue.record("\(text) was read")
        } catch { #expect(error.line == line && error.description.contains(sentence), "\(error)") }
    }

    @Test(
        "A text that is no keyboard is refused",
        arguments: [
            ("", 1, "size of the map"), ("0\n0\n127\n60\n69", 5, "ends before the frequency"),
            ("-1", 1, "size of the map"),
            ("0\n5\n4\n60\n69\n440\n12", 4, "behind the last"), ("0\n0\n128", 3, "last key"),
            ("0\n0\n127\n60\n69\n0\n12", 6, "no frequency"), ("0\n0\n127\n60\n69\nnan\n12", 6, "no frequency"),
            ("0\n0\n127\n60\n69\n440\n1.5", 7, "octave"), ("1\n0\n127\n60\n60\n440\n12\ny", 8, "no step"),
            ("2\n0\n127\n60\n61\n440\n12\n0\nx", 5, "is silent"),
        ])
    func badKeyboards(text: String, line: Int, sentence: String) {
        do {
            _ = try Tuning(sclText: Self.just, kbmText: text)
            Issue.record("\(text) was read")
        } catch { #expect(error.line == line && error.description.contains(sentence), "\(error)") }
    }

    @Test("Files of any bytes are read or refused, and notes are numbers that can be played")
    func hostile() {
        var numbers = SplitMix(state: 11)
        let texts = [
            Array(Self.just.utf8), Array(Self.keyboard(size: 3, octave: 2, ["0", "x", "1"]).utf8),
        ]
        var read = 0
        for _ in 0..<6_000 {
            let changed = texts.map { text in
                var bytes = text
                for _ in 0..<Int.random(in: 0...4, using: &numbers) where !bytes.isEmpty {
                    let place = Int.random(in: 0..<bytes.count, using: &numbers)
                    switch Int.random(in: 0..<4, using: &numbers) {
                    case 0: bytes[place] = UInt8.random(in: 0...255, using: &numbers)
                    case 1: bytes.remove(at: place)
                    case 2: bytes[place] = Array("0123456789-./x!e\n ".utf8).randomElement(using: &numbers) ?? 0
                    default: bytes.insert(contentsOf: bytes[(place / 2)..<place], at: place)
                    }
                }
                return String(decoding: bytes, as: UTF8.self)
            }
            guard let tuning = try? Tuning(sclText: changed[0], kbmText: changed[1]) else { continue }
            read += 1
            for key in 0..<128 {
                if let note = tuning.note(ofKey: key) { #expect(note >= -128 && note <= 256) }
            }
        }
        #expect(read > 500)
    }
}
