import Foundation
import RenderStack
import Testing

/// The numbers on the modules' pages are those that are measured.
@Suite struct ModuleSoundsTests {
    @Test(arguments: ModuleSounds.all) func numbers(_ sound: ModuleSounds.Sound) throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../..")
        let catalogue = root.appendingPathComponent("Sources/RenderStack/RenderStack.docc")
        let page = try String(
            contentsOf: catalogue.appendingPathComponent("Sounds/\(sound.name).md"), encoding: .utf8)
        let picture = catalogue.appendingPathComponent("Resources/sound-\(sound.name).svg").path
        #expect(FileManager.default.fileExists(atPath: picture))

        let rows = page.split(separator: "\n").filter { $0.hasPrefix("| ") }.map { line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        let (before, after) = try sound.render()
        for (column, sides) in [before, after].compactMap(\.self).enumerated() {
            for (name, value) in ModuleSounds.figures(sides) {
                let row = try #require(rows.first { $0[0] == name }, "\(sound.name)'s page has no row \(name)")
                let shown = row[column + 1]
                let isRight = shown == "below -90" ? value < -89.9 : abs((Float(shown) ?? .nan) - value) < 0.06
                #expect(
                    isRight,
                    "\(sound.name), \(name): \(value) dB, and the page says \(shown): scripts/tools/draw-modules")
            }
        }
    }
}

extension ModuleSounds.Sound: CustomTestStringConvertible {
    var testDescription: String { name }
}
