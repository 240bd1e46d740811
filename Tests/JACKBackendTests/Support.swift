import Glibc
import RenderStack
import TestSupport
import Testing

@testable import JACKBackend

/// All tests of JACK: one after the other, because libjack keeps state for the whole process.
@Suite("JACK", .serialized, .needs(.jackServer)) struct JACKTests {}

extension JACKTests {
    /// Waits until an output has looked at its links: of the next two looks the second has begun later than this.
    static func linksAreSeen(by output: JACKOutput) async -> Bool {
        let looks = output.session.linkLooks.load(ordering: .acquiring)
        return await becomesTrue { output.session.linkLooks.load(ordering: .acquiring) >= looks + 2 }
    }

    /// An output called "sender", on whose two ports frames are counted. It is connected to nothing.
    static func sender(on server: DummyServer) throws -> JACKOutput {
        let counter = FrameCounter(channels: 2)
        let renderer = try Renderer { context in
            context.run(counter)
            context.output()
        }
        return JACKOutput(renderer, name: "sender", server: server.name, connect: .none)
    }

    /// The first place at which sounds differ. In an expectation, unlike `==`, which looks for the shortest way from one array to the
    /// other: of a million samples that takes hours.
    static func firstDifference(_ some: some Collection<Float>, _ others: some Collection<Float>) -> Int? {
        if some.count != others.count { return min(some.count, others.count) }
        return zip(some, others).enumerated().first { $0.element.0 != $0.element.1 }?.offset
    }

    /// The text of a file; empty where there is none.
    static func contents(of path: String) -> String {
        guard let file = fopen(path, "r") else { return "" }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        while true {
            let byte = getc(file)
            if byte == EOF { return String(decoding: bytes, as: UTF8.self) }
            bytes.append(UInt8(truncatingIfNeeded: byte))
        }
    }
}
