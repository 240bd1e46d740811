/// What a renderer tells.
public enum RenderEvent: Sendable, Hashable, CustomStringConvertible {
    /// A mistake on the render thread that was made harmless.
    case fault(Fault)
    /// Something was scheduled for a time that had passed, and was done at once: how often, and by how many frames at
    /// most.
    case late(count: Int, frames: Int64, sampleTime: Int64)
    /// What is rendered for has changed: ``Renderer/configure(sampleRate:channels:layout:)``, as by an output that starts.
    case configured(sampleRate: Double, channels: Int)

    /// One sentence.
    public var description: String {
        switch self {
        case .fault(let fault): "Fault at frame \(fault.sampleTime): \(fault)."
        case .late(let count, let frames, let sampleTime):
            "\(count) scheduled \(count == 1 ? "event was" : "events were") done up to \(frames) frames late, "
                + "at frame \(sampleTime)."
        case .configured(let sampleRate, let channels): "Now rendering \(channels) channels at \(sampleRate) Hz."
        }
    }
}
