// An effect that calls code of which the compiler knows nothing, from an annotated process: see ForeignCode.
import Glibc
import RenderStack

@safe final class Foreign: Effect, @unchecked Sendable {
    // Unchecked because nothing but the foreign code looks behind the pointer, on one render thread at a time.
    typealias Function =
        @convention(c) @Sendable (UnsafeMutableRawPointer, UnsafeMutablePointer<UnsafeMutablePointer<Float>?>, Int32) ->
        Void

    private let code = ForeignCode("reverb", because: "its documentation says that it neither allocates nor locks")
    private let shaper = ForeignCode("tanhf", because: "libm computes and does nothing else")
    private let function: Function
    private let plugin: UnsafeMutableRawPointer

    init(_ function: @escaping Function, _ plugin: UnsafeMutableRawPointer) {
        unsafe self.function = function
        unsafe self.plugin = plugin
    }

    deinit { unsafe free(plugin) }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        let (function, plugin) = unsafe (function, plugin)
        code.call(&context) { context in
            var top = context.top
            unsafe top.withUnsafeChannels { channels, frames in unsafe function(plugin, channels, Int32(frames)) }
        }
        shaper.call(&context) { context in
            var top = context.top
            for channel in 0..<top.channelCount {
                var samples = top[channel]
                for i in samples.indices { samples[i] = tanhf(samples[i]) }
            }
        }
    }
}
