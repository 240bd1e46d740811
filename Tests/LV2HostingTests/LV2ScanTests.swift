import Foundation
import RenderStack
import TestSupport
import Testing

@Suite struct LV2ScanTests {
    @Test("a scan survives plug-ins that crash, hang, exit or print, and says what they do")
    func bad() throws {
        let names = [
            "gain", "crashes", "hangs", "exits", "prints", "refuses", "demands", "beyond", "late", "closes", "haunts",
            "naps",
        ]
        let folder = try TemporaryFolder()
        var scan = LV2Scan(
            cache: folder.path + "/deep/er/cache", timeLimit: .seconds(5), bundles: [try TestBundle.path])
        let results = try scan.run(names.map(TestBundle.uri))
        let problems = Dictionary(uniqueKeysWithValues: zip(names, results.map(\.problem)))
        #expect(results.map(\.uri) == names.map(TestBundle.uri))
        #expect(problems["gain"] == .some(nil) && problems["prints"] == .some(nil) && problems["late"] == .some(nil))
        #expect(problems["crashes"]??.contains("crashes when it is tried (signal") == true)
        #expect(problems["hangs"]??.contains("does not come back within 5.0 seconds") == true)
        #expect(problems["exits"]??.contains("ends the program that tries it (status 0)") == true)
        #expect(problems["refuses"]??.contains("cannot be loaded") == true)
        #expect(problems["demands"]??.contains("It requires https://renderstack.example/feature") == true)
        #expect(problems["beyond"]??.contains("writes beyond") == true)
        #expect(problems["closes"]??.contains("does not come back within 5.0 seconds") == true)
        // One that crashes when the next is tried does not harm that one's name.
        #expect(problems["naps"] == .some(nil))
        // All is known now, and nothing is tried again.
        var tried = 0
        let again = try scan.run(names.map(TestBundle.uri)) { _, _ in tried += 1 }
        #expect(tried == 0 && again.allSatisfy(\.isFromCache) && again.map(\.problem) == results.map(\.problem))
        // A library that changes is tried again.
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: 1)], ofItemAtPath: TestBundle.path + "/test.so")
        #expect(try scan.run([TestBundle.uri("gain")]).first?.isFromCache == false)
        // A damaged file of results is none.
        try Data("RenderStack LV2 scan 1\nnonsense\n\t\t\t\t".utf8).write(to: URL(fileURLWithPath: scan.cache!))
        #expect(try scan.run([TestBundle.uri("gain")]).first?.problem == nil)
        scan.bundles = ["/nowhere"]
        #expect(throws: LV2Error.self) { try scan.run() }
    }
}
