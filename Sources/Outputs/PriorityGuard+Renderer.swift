package import LinuxRealtime
package import RenderCore

extension PriorityGuard {
    /// Sentences about the guard's actions since the last call, with the module that took too long if that is known.
    package func news(of renderer: Renderer) -> [String] {
        news { renderer.moduleTimes.max { $0.nanoseconds < $1.nanoseconds }.map { ($0.name, $0.nanoseconds) } }
    }
}
