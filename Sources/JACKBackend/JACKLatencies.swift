internal import CJACK
internal import Outputs
internal import RenderCore
internal import Supply
internal import Synchronization

/// The latencies that our ports report, and those behind and before them.
final class JACKLatencies: @unchecked Sendable {
    // Unchecked because the lists do not change, and JACK's functions for latencies may be called from any thread.

    /// Frames from each input of the program to each output of the renderer: the least and the most; `nil` if no
    /// way leads from the one to the other.
    typealias Ways = [[ClosedRange<Int>?]]

    /// The audio ports of each input, and of each output.
    private let inputs: [[JACKPort]]
    private let outputs: [[JACKPort]]
    private let ways = Lock<Ways>([])

    init(_ ports: [JACKPort], inputs: [AudioInput], outputs: [Int]) {
        self.inputs = JACKLatencies.split(
            ports.filter { $0.plan.isInput && !$0.plan.isMIDI }, inputs.map(\.channelCount))
        self.outputs = JACKLatencies.split(ports.filter { !$0.plan.isInput && !$0.plan.isMIDI }, outputs)
    }

    private static func split(_ ports: [JACKPort], _ counts: [Int]) -> [[JACKPort]] {
        var rest = ports[...]
        return counts.map { count in
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }
    }

    /// Takes the ways through the render loop. `true`: they have changed.
    func set(_ new: Ways) -> Bool {
        ways.withLock { ways in
            defer { ways = new }
            return ways != new
        }
    }

    /// Passes latencies on through the program, as JACK asks. The output is as late as the input, and the modules on
    /// the way besides; the input will be heard as late as the output, and the modules on the way besides. Sound that
    /// is made here and not captured is not late.
    func update(_ mode: jack_latency_callback_mode_t, _ cycle: JACKCycle) {
        let isCapture = mode == JackCaptureLatency
        let (from, to) = isCapture ? (inputs, outputs) : (outputs, inputs)
        let ranges = from.map { range($0, mode) }
        let isConnected = ranges.contains { $0 != nil }
        let most = ranges.compactMap { $0?.upperBound }.max() ?? 0
        if isCapture { cycle.run.latency.capture = most } else { cycle.run.latency.playback = most }
        let ways = ways.withLock { $0 }
        for (target, ports) in to.enumerated() {
            var sum: ClosedRange<Int>?
            for (source, range) in ranges.enumerated() {
                let (input, output) = isCapture ? (source, target) : (target, source)
                // Of several only those that are connected count.
                guard ways.indices.contains(input), ways[input].indices.contains(output), let way = ways[input][output],
                    let range = range ?? (isConnected ? nil : 0...0)
                else { continue }
                let (least, most) = (range.lowerBound + way.lowerBound, range.upperBound + way.upperBound)
                sum = min(least, sum?.lowerBound ?? least)...max(most, sum?.upperBound ?? most)
            }
            for port in ports {
                unsafe cjack_set_latency(
                    port.port, mode, UInt32(clamping: sum?.lowerBound ?? 0), UInt32(clamping: sum?.upperBound ?? 0))
            }
        }
    }

    /// Returns the least and the most of those ports that are connected; `nil` if none is.
    private func range(_ ports: [JACKPort], _ mode: jack_latency_callback_mode_t) -> ClosedRange<Int>? {
        var result: ClosedRange<Int>?
        for port in ports {
            guard unsafe jack_port_connected(port.port) > 0 else { continue }
            var (low, high) = (jack_nframes_t(0), jack_nframes_t(0))
            unsafe cjack_get_latency(port.port, mode, &low, &high)
            let (least, most) = (Int(low), Int(max(low, high)))
            result = min(least, result?.lowerBound ?? least)...max(most, result?.upperBound ?? most)
        }
        return result
    }
}
