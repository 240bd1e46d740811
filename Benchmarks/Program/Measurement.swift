import CBench
import RenderStack

/// One way of doing a workload: ours, or C.
struct Contestant {
    let name: String
    /// Operations in one call of `run`: voice-samples, modules, frames.
    let operations: Double
    let run: () -> Void
}

/// Times contestants in turn, so that what else the machine does falls on all of them.
struct Measurement {
    /// Nanoseconds of processor time per operation, a value a round, for each contestant.
    private(set) var samples: [[Double]]
    private let contestants: [Contestant]
    private var calls: [Int]

    /// - Parameter milliseconds: The time that a round of one contestant takes, about.
    init(_ contestants: [Contestant], milliseconds: Double) {
        self.contestants = contestants
        samples = contestants.map { _ in [] }
        calls = contestants.map { contestant in
            var calls = 1
            while true {
                let start = bench_thread_time()
                for _ in 0..<calls { contestant.run() }
                let took = Double(bench_thread_time() - start) / 1e6
                if took >= milliseconds * 0.5 || calls > 1 << 30 { return calls }
                calls = max(calls + 1, Int(Double(calls) * min(10, milliseconds / max(took, 0.001))))
            }
        }
    }

    mutating func measure(rounds: Int) {
        for _ in 0..<rounds {
            for (index, contestant) in contestants.enumerated() {
                let start = bench_thread_time()
                for _ in 0..<calls[index] { contestant.run() }
                let took = Double(bench_thread_time() - start)
                samples[index].append(took / (Double(calls[index]) * contestant.operations))
            }
        }
    }

    /// The median of each, with its name.
    var medians: [(name: String, nanoseconds: Double)] {
        zip(contestants, samples).map { ($0.name, median($1)) }
    }
}

extension Renderer {
    /// Renders more than the second in which a new loop is searched for samples that are no numbers: the cycles after
    /// it are those of a program that plays for hours.
    func settle() {
        var block = AudioBlock(channels: channelCount, frames: 4_096)
        for _ in 0..<12 { render(into: &block, hostTime: 0, isOffline: true) }
    }
}

func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    return sorted.isEmpty ? .nan : sorted[sorted.count / 2]
}

/// A part of the values lies below this one.
func percentile(_ part: Double, _ sorted: [Double]) -> Double {
    sorted.isEmpty ? .nan : sorted[min(sorted.count - 1, Int(Double(sorted.count) * part))]
}
