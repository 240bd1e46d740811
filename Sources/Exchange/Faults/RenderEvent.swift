/// An event that a renderer reports.
///
/// Threads: control.
public enum RenderEvent: Sendable, Hashable, CustomStringConvertible {
    /// A mistake on the render thread that was made harmless.
    case fault(Fault)
    /// A job was scheduled for a time that had passed, and was done at once: the number of such jobs, and the most
    /// frames by which one was late.
    case late(count: Int, frames: Int64, sampleTime: Int64)
    /// The render loop is used as it is, but probably not as it was meant: the sentence says what to do.
    case notice(String)
    /// A cycle has not ended for a second, or offline for two seconds longer than it sounds: the module in which it is, `nil`
    /// for the render loop itself. It is reported once for each such cycle.
    case endless(module: String?, nanoseconds: Int64)
    /// The sample rate, channels or layout have changed by ``/RenderCore/Renderer/configure(sampleRate:channels:layout:)``, which
    /// an output calls when it starts, for instance.
    case configured(sampleRate: Double, channels: Int)

    /// Indicates whether the event reports a mistake that ought to be mended.
    package var isMistake: Bool {
        switch self {
        case .fault, .notice, .endless: true
        case .late, .configured: false
        }
    }

    /// The event in one sentence.
    public var description: String {
        switch self {
        case .fault(let fault): "Fault at frame \(fault.sampleTime): \(fault)."
        case .late(let count, let frames, let sampleTime):
            "\(count) scheduled \(count == 1 ? "event was" : "events were") done up to \(frames) frames late, "
                + "at frame \(sampleTime)."
        case .notice(let sentence): "\(sentence)."
        case .endless(let module, let nanoseconds):
            "The render loop has not ended for \(nanoseconds / 100_000_000 * 100) ms: it is "
                + (module.map { "in \($0.shown)." } ?? "in the render loop's own code.")
        case .configured(let sampleRate, let channels): "Now rendering \(channels) channels at \(sampleRate) Hz."
        }
    }
}
