/// A render loop: called once per slice on the render thread.
///
/// It may capture modules, parameters, values and constants. It must not allocate, lock or wait: the watchdog finds
/// where it does.
public typealias RenderLoop = @Sendable (inout RenderContext) -> Void
