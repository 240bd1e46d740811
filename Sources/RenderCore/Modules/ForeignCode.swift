internal import CRender

/// The one place where code that the compiler cannot look into may run on the render thread: a plug-in, a function of a
/// C library.
///
///     private let code = ForeignCode("gverb", because: "gverb_do computes in its own memory and calls nothing")
///     …
///     code.call(&context) { context in gverb_do(handle, …) }          // in an annotated `process`
///
/// The annotations on `process` do not reach into the closure, so you must know that it neither locks nor allocates,
/// and say why you believe so. Everything around the call stays checked.
///
/// Foreign code is kept apart in four ways:
/// - Samples that are infinite or not a number do not reach it, and do not come out of it: the buffers become silent,
///   and a ``/Exchange/Fault`` with the name reports it. If they came out of the code, the module is reset.
/// - Changes that it makes to the thread's rounding and to its treatment of denormal numbers are undone.
/// - The watchdog's report gives the name beside each call that it finds inside.
/// - In a dry run it is not called.
///
/// It belongs to the module that calls it first, as a ``RenderState`` does: any other caller gets a fault, and the code
/// is not called. So a plug-in's handle can be an ordinary `let` of the module, which frees it in its `deinit`. The
/// closure takes such things from local variables: to capture the module itself counts references, which the compiler
/// refuses.
///
/// Threads: control.
@safe public struct ForeignCode: ~Copyable, @unchecked Sendable {
    // Unchecked because of the text, which does not change.
    /// The name of the code in faults and in the watchdog's report.
    public let name: String
    /// The reason to believe that the code neither locks, nor allocates, nor waits.
    public let reason: String
    private let text: UnsafeMutablePointer<CChar>
    private let number: Int
    /// A state that is in use while the code runs.
    private let isRunning = RenderState<Bool>(false)

    /// Creates a place for foreign code.
    ///
    /// - Parameters:
    ///   - name: The name in faults and in the watchdog's report, which shows its first 59 bytes.
    ///   - reason: The reason why it may run on a render thread, for those who read the module.
    public init(_ name: String, because reason: String) {
        self.name = name
        self.reason = reason
        let bytes = Array(name.utf8).prefix { $0 != 0 }
        unsafe text = .allocate(capacity: bytes.count + 1)
        for (index, byte) in bytes.enumerated() { unsafe text[index] = CChar(bitPattern: byte) }
        unsafe text[bytes.count] = 0
        number = ForeignNames.number(of: name)
    }

    deinit { unsafe text.deallocate() }

    /// Calls the foreign code, and checks every buffer that the module can reach before and after.
    ///
    /// `body` is called once, or not at all in a dry run. On the render thread.
    ///
    /// - Parameters:
    ///   - context: The context.
    ///   - body: Calls the code. Nothing in it is checked by the compiler.
    ///
    /// Threads: render.
    @_semantics("no_performance_analysis") @inline(never)
    public borrowing func call(_ context: inout RenderContext, _ body: (inout RenderContext) -> Void) {
        if context.isDryRun { return }
        isRunning.with(&context) { _, context in
            _ = context.silenceUnlessFinite(around: number, isOutput: false)
            let rounding = crender_rounding_word()
            let outer = unsafe crender_foreign_begins(text)
            body(&context)
            unsafe crender_foreign_ends(outer)
            crender_rounding_restore(rounding)
            if !context.silenceUnlessFinite(around: number, isOutput: true) { context.resetAtEnd() }
        }
    }

    /// Reports that the code has written beyond the memory that it was given. On the render thread.
    @_noLocks @_noAllocation
    package borrowing func reportOverrun(_ context: borrowing RenderContext) {
        context.fault(.wroteBeyond, .foreignCode, wanted: number, found: 0)
    }
}

extension RenderContext {
    /// Silences buffers with samples that are not finite, among all within reach. `false`, with one fault: there was
    /// something.
    fileprivate mutating func silenceUnlessFinite(around code: Int, isOutput: Bool) -> Bool {
        let buffers = bufferCount
        if areFinite(buffers) { return true }
        silenceTop(buffers)
        fault(.notFinite, .foreignCode, wanted: code, found: isOutput ? 0 : 1)
        return false
    }

    /// Has the module at work reset when it ends.
    fileprivate func resetAtEnd() {
        if unsafe core.pointee.current != core.pointee.loopRecord { unsafe core.pointee.mustReset = true }
    }
}

extension AudioBuffer {
    /// Calls `body` with the channels as C has them, `float **`: for ``ForeignCode``.
    ///
    ///     var top = context.top
    ///     unsafe top.withUnsafeChannels { channels, frames in unsafe plugin_run(handle, channels, Int32(frames)) }
    ///
    /// - Parameter body: The closure. It gets the table of ``channelCount`` channels, each of which has ``frameCount``
    ///   samples that it may read and write, and the number of frames. Changes in the table itself have no effect.
    ///   `nil` stands for no channel.
    public mutating func withUnsafeChannels(
        _ body: (UnsafeMutablePointer<UnsafeMutablePointer<Float>?>, Int) -> Void
    ) {
        if unsafe entry.pointee.kind == StackEntry.readOnly { unsafe CycleMemory.makeOwn(entry, in: core) }
        // Neither generic nor of optional pointers: Swift would put such types together at the first call, under a
        // lock.
        let size = unsafe MemoryLayout<UnsafeMutablePointer<Float>>.stride
        unsafe withUnsafeTemporaryAllocation(byteCount: channelCount * size, alignment: size) { bytes in
            // There is at least one channel.
            let table = bytes.baseAddress!
            for channel in 0..<channelCount {
                unsafe table.storeBytes(
                    of: UInt(bitPattern: memory(channel)), toByteOffset: channel * size, as: UInt.self)
            }
            unsafe body(table.assumingMemoryBound(to: UnsafeMutablePointer<Float>?.self), frameCount)
        }
    }
}
