import RenderStack

/// Runs a module of any kind.
final class AnyRunner: Sendable {
    private let body: @Sendable (inout RenderContext) -> Void
    init(_ module: any Module) { body = Self.runner(module) }
    private static func runner<M: Module>(_ module: M) -> @Sendable (inout RenderContext) -> Void {
        { context in context.run(module) }
    }
    func run(_ context: inout RenderContext) { body(&context) }
}
