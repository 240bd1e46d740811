import Foundation
import RenderStack
import Testing

@Suite struct ReverbPresetTests {
    @Test("The thirteen presets have Apple's names, and are written and read as they are") func roundTrip() throws {
        let names = [
            "smallRoom", "mediumRoom", "largeRoom", "mediumHall", "largeHall", "plate", "mediumChamber", "largeChamber",
            "cathedral", "largeRoom2", "mediumHall2", "mediumHall3", "largeHall2",
        ]
        #expect(Reverb.Preset.all.map(\.name) == names)
        #expect(Set(Reverb.Preset.all).count == 13)
        for preset in Reverb.Preset.all {
            #expect(try Reverb.Preset(text: preset.text) == preset)
            #expect(try JSONDecoder().decode(Reverb.Preset.self, from: JSONEncoder().encode(preset)) == preset)
            let reverb = Reverb()
            reverb.load(preset)
            #expect(reverb.settings(named: preset.name) == preset)
            #expect(Reverb(preset).settings(named: preset.name) == preset)
        }
    }

    @Test("Text may have comments, empty lines and spaces, and leave out numbers") func lenientText() throws {
        let preset = try Reverb.Preset(text: "# mine\r\n\r\n  name =  My cellar = cold \n decay=0.7\n")
        #expect(preset == Reverb.Preset(name: "My cellar = cold", decay: 0.7))
        #expect(Reverb.Preset(name: "a\nb = 1").text.hasPrefix("name = a b = 1\ndecay"))
    }

    @Test(
        "Damaged text gives a sentence",
        arguments: [
            ("", "empty"), ("\0\u{1}", "must be a name"), ("decay", "must be a name"), ("decay = ", "from 0.1 to 60.0"),
            ("decay = nan", "from 0.1 to 60.0"), ("decay = 1e9", "from 0.1"), ("size = inf", "from 2.0"),
            ("= 3", "there is no "), ("decoy = 1", "there is no decoy"), ("early = 1\nearly = 1", "Line 2"),
        ])
    func damagedText(text: String, says: String) {
        #expect {
            try Reverb.Preset(text: text)
        } throws: {
            says.isEmpty || "\($0)".contains(says)
        }
    }

    @Test("Damaged JSON gives an error") func damagedJSON() {
        for (json, says) in [
            ("{\"decay\": 1000}", "decay is 1000.0; it must be a number from 0.1 to 60.0"), ("{\"decay\": \"x\"}", ""),
            ("[1]", ""), ("{", ""),
        ] {
            #expect {
                try JSONDecoder().decode(Reverb.Preset.self, from: Data(json.utf8))
            } throws: {
                says.isEmpty || "\($0)".contains(says)
            }
        }
    }

    @Test("A preset out of range is brought into it") func clamped() {
        var preset = Reverb.Preset(name: "wild", decay: .infinity, size: -.infinity)
        preset.early = .nan
        let reverb = Reverb(preset)
        #expect(reverb.decay.value == 60 && reverb.size.value == 2 && reverb.early.value == 0.35)
        #expect(preset.decayTime(at: 1_000).isFinite)
    }
}
