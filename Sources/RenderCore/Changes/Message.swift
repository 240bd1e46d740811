/// A closure that the render thread runs once, and another that is called when it has run, or will never run.
final class Message: Change, @unchecked Sendable {
    // Unchecked because a change has one owner at a time: see ``Change``.
    let run: RenderLoop
    private let completion: (@Sendable (End) -> Void)?

    /// - Parameter completion: Called once, with no lock held.
    init(_ run: @escaping RenderLoop, completion: (@Sendable (End) -> Void)? = nil) {
        self.run = run
        self.completion = completion
        super.init()
    }

    /// Runs the closure. The compiler does not check it; the watchdog does.
    override func apply(_ context: inout RenderContext) {
        run(&context)
        context.cleanUp()
    }

    override func letGo(_ end: End) { completion?(end) }
}
