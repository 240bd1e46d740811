import Foundation
import RenderStack

/// Our side and C's.
private func lines(_ workload: String, _ size: Int) throws -> (lines: [any Line], operations: Double) {
    let frames = Double(Score.cycle)
    switch workload {
    case "W2":
        let all = Voices.contestants(size, inLanes: false, ours: try Voices.modules(size))
        return (all, frames * Double(size))
    case "W2-bank":
        let all = Voices.contestants(size, inLanes: true, ours: try Voices.bank(size))
        return (all, frames * Double(size))
    case "W2-lanes":
        let all = Voices.contestants(size, inLanes: true, ours: try Voices.lanes(size))
        return (all, frames * Double(size))
    case "W2-full":
        return ([RendererLine("RenderStack", try Voices.full(size))], frames * Double(size))
    case "W3-gains":
        let all: [any Line] = [RendererLine("RenderStack", try Chains.gains(size))]
        return (all + Tuned.all.map { Chains.TunedLine($0, count: size, sums: false) }, Double(size))
    case "W3-sources":
        let all: [any Line] = [RendererLine("RenderStack", try Chains.sources(size))]
        return (all + Tuned.all.map { Chains.TunedLine($0, count: size, sums: true) }, Double(size))
    case "W5":
        let input = try Options.given.text("input").map { try read($0, channels: 2) }
        return (Conversion.lines(input ?? [noise(65_536, seed: 1), noise(65_536, seed: 2)]), frames)
    default:
        let input = try Options.given.text("input").map { try read($0, channels: 2) }
        let sound = input ?? [noise(48_000, seed: 1), noise(48_000, seed: 2)].map { $0.map { 4 * $0 } }
        guard let found = try Effects.lines(workload, sound) else { stop("there is no workload \(workload)") }
        return found
    }
}

private func measure(_ workload: String, _ size: Int) throws {
    let options = Options.given
    if workload == "W7-convolution" {
        let input = try read(options.text("input") ?? "", channels: 2)
        let response = try read(options.text("response") ?? "", channels: 2)
        for (name, isSpread) in [("RenderStack", false), ("RenderStack, spread over the cycles", true)] {
            let costs = try Rooms.measure(
                input, response, cycle: size, isSpread: isSpread, rounds: options.number("rounds", 3))
            tell(workload, name, median(costs))
        }
        return
    }
    if workload.hasPrefix("W9") {
        let rounds = options.number("rounds", 3)
        let costs = try Sources.measure(workload, sources: size, cycle: options.number("cycle", 64), rounds: rounds)
        tell(workload, "RenderStack", costs.min() ?? .nan)
        return
    }
    let milliseconds = Double(options.number("milliseconds", 20))
    if workload == "W4" {
        for kernel in try Kernels.all() {
            let all = [(name: "RenderStack", work: kernel.ours)] + kernel.tuned
            for (name, work) in kernel.tuned {
                // Both from their start: once, and once more with what they remember.
                for _ in 0..<2 {
                    kernel.ours.run()
                    work.run()
                }
                let difference = zip(kernel.ours.result(), work.result()).reduce(0) { max($0, abs($1.0 - $1.1)) }
                if tuned(name) == 0 { tell("difference", kernel.name, difference, kernel.tolerance) }
                if tuned(name) == 0 && !(difference <= kernel.tolerance) {
                    stop("\(kernel.name): \(name) differs by \(difference)")
                }
            }
            var measurement = Measurement(
                all.map { Contestant(name: $0.name, operations: kernel.operations, run: $0.work.run) },
                milliseconds: milliseconds / 4)
            measurement.measure(rounds: options.number("rounds", 5))
            for one in measurement.medians { tell(kernel.name, one.name, one.nanoseconds) }
        }
        return
    }
    let (lines, operations) = try lines(workload, size)
    for case let line as RendererLine in lines { line.renderer.settle() }
    var measurement = Measurement(
        lines.map { line in
            Contestant(name: line.name, operations: operations) { line.render(frames: Score.cycle) }
        }, milliseconds: milliseconds)
    measurement.measure(rounds: options.number("rounds", 5))
    for one in measurement.medians { tell(workload, one.name, one.nanoseconds) }
    for case let line as RendererLine in lines where line.renderer.faultCount > 0 {
        stop("\(workload): \(line.renderer.faultCount) faults")
    }
}

/// Returns the index of the C table that a name means.
private func tuned(_ name: String) -> Int { Tuned.all.firstIndex { $0.name == name } ?? -1 }

/// Does what the command line asks for.
func run() async throws {
    let options = Options.given
    let words = options.words
    let size = options.number("size", 64)
    if words.count > 2 { stop("\(words[2]) is one word too many; a size is given by --size") }
    let needy = ["measure", "render", "cycles", "growth", "cycle-tail"]
    if let command = words.first, words.count < 2, needy.contains(command) {
        stop("\(command) needs a workload behind it, as in: bench measure W2 --size 64")
    }
    switch words.first {
    case "score":
        let encoder = JSONEncoder()
        let data = words.last == "W1" ? try encoder.encode(Score.Flow()) : try encoder.encode(Score.voices(size))
        print(String(decoding: data, as: UTF8.self))
    case "measure": try measure(words[1], size)
    case "render":
        let folder = options.text("folder") ?? "."
        if words[1] == "W7-convolution" {
            let input = try read(options.text("input") ?? "", channels: 2)
            let response = try read(options.text("response") ?? "", channels: 2)
            let renderer = try Rooms.renderer(input, try Rooms.reverb(response, false))
            let heard = renderer.renderOffline(frames: options.number("frames", 4_800), cycle: size)
            try write([heard.array(0), heard.array(1)], to: "\(options.text("folder") ?? ".")/RenderStack.f32")
            return
        }
        if words[1].hasPrefix("W9") {
            let renderer = try Sources.renderer(words[1], sources: size)
            let heard = renderer.renderOffline(
                frames: options.number("frames", 4_800), cycle: options.number("cycle", 64))
            try write([heard.array(0), heard.array(1)], to: "\(folder)/RenderStack.f32")
            return
        }
        for line in try lines(words[1], size).lines {
            try write(line.render(options.number("frames", 4_800)), to: "\(folder)/\(line.name).f32")
        }
    case "scenes":
        // For scripts/checks/space.
        let (list, heads) = (try String(contentsOfFile: options.text("file") ?? "", encoding: .utf8), try Scene.Heads())
        for line in list.split(separator: "\n") {
            let scene = Scene(line)
            try write(scene.render(heads), to: "\(options.text("folder") ?? ".")/\(scene.name).f32")
        }
    case "flow":
        let (files, folder) = (options.list("files"), options.text("folder") ?? ".")
        let frames = options.number("frames", 480_000)
        let seconds = Double(frames) / Score.sampleRate * 1e9
        if files.count != 3 { stop("the flow takes three files") }
        for _ in 0..<options.number("rounds", 1) {
            let time = try await Flow.ours(files, output: "\(folder)/RenderStack.wav", frames: frames)
            tell("W1", "RenderStack", seconds / time.processor, seconds / time.wall)
            if options.text("tuned") == "no" { continue }
            for tuned in Tuned.all {
                let time = Flow.tuned(tuned, files, output: "\(folder)/\(tuned.name).wav", frames: frames)
                tell("W1", tuned.name, seconds / time.processor, seconds / time.wall)
            }
        }
    case "cycles":
        if words[1] == "W1" {
            let frames = options.number("cycles", 1_000) * Score.cycle
            let path = "\(FileManager.default.temporaryDirectory.path)/bench-\(getpid()).wav"
            defer { try? FileManager.default.removeItem(atPath: path) }
            _ = try await Flow.ours(options.list("files"), output: path, frames: frames)
        } else {
            guard let line = try lines(words[1], size).lines.first, line.name == "RenderStack" else { return }
            (line as? RendererLine)?.renderer.settle()
            for _ in 0..<options.number("cycles", 1_000) { line.render(frames: Score.cycle) }
        }
    case "memory":
        for one in try Memory.measure(files: options.list("files")) { tell(one.name, Double(one.bytes)) }
    case "growth":
        let kind = words[1]
        for size in Growth.sizes(kind) {
            let point = try Growth.measure(kind, size, files: options.list("files"), seconds: options.seconds(0.5))
            tell(kind, size, point.median, point.high, point.highest)
        }
    case "stamps":
        try await Stamps.play(
            on: options.text("output") ?? "", cycle: options.number("cycle", 256), seconds: options.seconds(5))
    case "tail":
        let tail = try await Live.tail(seconds: options.seconds(10))
        let sorted = tail.times.sorted(), stalls = tail.stalls.sorted()
        tell("voices", tail.voices)
        tell("period", tail.period)
        tell("cycles", sorted.count)
        for part in [0.5, 0.9, 0.99, 0.999] { tell("p\(part)", percentile(part, sorted)) }
        tell("max", sorted.last ?? .nan)
        tell("missed", tail.missed)
        tell("stalls", stalls.count)
        tell("longest stall", stalls.last ?? 0)
        tell("stalled", stalls.reduce(0, +))
    case "cycle-tail":
        let tail: CycleTail
        var least: [Double] = []
        if words[1] == "W2" {
            let found = try CycleTail.voices(seconds: options.seconds(10))
            tell("voices", found.voices)
            tail = found.tail
            least = try CycleTail.leastTimes(of: 1_500, replays: options.number("replays", 30)) {
                try Voices.modules(found.voices)
            }
        } else if words[1] == "W8-stretch" {
            tail = CycleTail(of: try Effects.stretcher(), seconds: options.seconds(10))
            least = try CycleTail.leastTimes(
                of: 3_000, replays: options.number("replays", 60), Effects.stretcher)
        } else {
            let rooms = try Rooms.tail(seconds: options.seconds(10), isSpread: options.text("spread") == "yes")
            tell("late", rooms.lateCount)
            tail = rooms.tail
        }
        for (name, times) in [("cycle", tail.cycles), ("reference", tail.reference)] {
            let sorted = times.sorted()
            tell(
                name, [0.5, 0.9, 0.99, 0.999].map { "\(percentile($0, sorted))" }.joined(separator: "\t"),
                sorted.last ?? .nan)
        }
        tell("realtime", tail.isRealtime ? 1 : 0)
        if words[1] == "W8-stretch" {
            // A hop of 1,536 frames is 24 cycles.
            let places = tail.places(24)
            for (name, times) in [("cycle by place", places.cycles), ("reference by place", places.reference)] {
                tell(name, times.map { "\(Int($0))" }.joined(separator: "\t"))
            }
        }
        if !least.isEmpty { tell("least", least.map { "\(Int($0))" }.joined(separator: "\t")) }
    case "start":
        let start = try await Live.start()
        tell("first sample", start.firstSample)
        tell("resident", start.resident)
        tell("locked", start.locked)
    case "features":
        let (cycle, costs) = try Features.measure(rounds: options.number("rounds", 15))
        tell("a cycle of W2 with 64 voices", cycle)
        for cost in costs { tell(cost.name, cost.nanoseconds) }
    case "sequences":
        let rounds = options.number("rounds", 5)
        for count in [1_000, 65_536] { tell("idle", count, try Sequences.idle(count, rounds: rounds)) }
        let events = try Sequences.events(rounds: rounds)
        tell("events", events.count, events.note, events.whole, events.second)
    case "onsets":
        try write(try Sequences.onsets(), to: "\(options.text("folder") ?? ".")/RenderStack.f32")
        for tick in Sequences.ticks { tell(tick) }
    case "parallel":
        for voices in [1, 4, 16, 32, 64, 128, 256, 512] {
            let workers = options.text("workers").flatMap { Int($0) }
            let point = try Branches.measure(voices, workers: workers, rounds: options.number("rounds", 20))
            tell("parallel", point.voices, point.serial, point.parallel, point.helped)
        }
    case "operations":
        for one in try Operation.measure(rounds: options.number("rounds", 41)) { tell(one.nanoseconds, one.name) }
    default: stop("a program for scripts/bench; see its --help")
    }
}
