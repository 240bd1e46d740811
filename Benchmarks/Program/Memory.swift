import CBench
import RenderStack

/// The memory that modules take, as the C library counts it: objects, states and samples, with a loop that runs them.
enum Memory {
    /// Returns bytes for one more of each thing.
    static func measure(files: [String]) throws -> [(name: String, bytes: Int)] {
        var found: [(name: String, bytes: Int)] = []
        // All live until the end: what is freed later would count against what is made then.
        var kept: [any Sendable] = []
        func cost(_ make: () throws -> any Sendable) rethrows -> Int {
            let before = bench_heap()
            kept.append(try make())
            return Int(bench_heap()) - Int(before)
        }
        func measure(_ name: String, _ count: Int, _ make: (Int) throws -> any Sendable) rethrows {
            // The first ones also make what all share.
            _ = try cost { try make(count) }
            let few = try cost { try make(count) }
            let many = try cost { try make(2 * count) }
            found.append((name, (many - few) / count))
        }
        let layout = StackLayout(slots: 8, channels: 2, frames: 512)
        func renderer(of list: ModuleList) throws -> any Sendable {
            try Renderer(layout: layout) { context in
                context.push(channels: 2)
                context.run(list)
                context.output()
            }
        }
        try measure("a voice of W2: oscillator, band-pass, pan", 200) { count in try Voices.modules(count) }
        try measure("a voice of W2-bank", 256) { count in try Voices.bank(count) }
        try measure("a Bandpass", 200) { count in
            try renderer(of: ModuleList(chaining: (0..<count).map { _ in Bandpass(center: 1_000) }))
        }
        try measure("a source of a Mixer", 64) { count in
            let mixer = Mixer((0..<count).map { _ in MixerSource(Oscillator()) })
            return try Renderer(layout: layout) { context in
                context.run(mixer)
                context.output()
            }
        }
        for path in files {
            try measure("a FilePlayer of \(path.split(separator: "/").last ?? "a file")", 8) { count in
                let players = try (0..<count).map { _ in try FilePlayer(path: path) }
                return try renderer(of: ModuleList(mixing: 2, players))
            }
        }
        withExtendedLifetime(kept) {}
        return found
    }
}
