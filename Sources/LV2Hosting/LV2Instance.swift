internal import CPluginHost
package import PluginHosting
internal import RenderCore
internal import Supply

/// A plug-in that is loaded. It is freed on the control side, once no render thread has it.
@safe final class LV2Instance: PluginInstance, @unchecked Sendable {
    // Unchecked because the C code lets one thread at a time run, reset or restore the plug-in.
    let pointer: OpaquePointer
    let memory: PluginMemory
    let controls: UnsafeMutablePointer<Float>

    init(_ uri: String, rate: Double, frames: Int, latency: Int, in memory: PluginMemory) throws(LV2Error) {
        unsafe pointer = try LV2Error.calling {
            unsafe clv2_instance_new(uri, rate, Int32(frames), Int32(latency), memory.pointer, $0)
        }
        self.memory = memory
        unsafe controls = clv2_controls(pointer)
    }

    deinit { unsafe clv2_instance_free(pointer) }

    var code: any PluginCode { unsafe LV2Code(pointer: pointer) }

    func serve() { unsafe clv2_service(pointer) }
}

/// The functions of a plug-in for the render thread.
@safe struct LV2Code: PluginCode {
    let pointer: OpaquePointer

    var latency: Int { unsafe Int(clv2_latency(pointer)) }

    func begin(isOffline: Bool) -> Bool { unsafe clv2_begin(pointer, isOffline) }

    func add(_ event: MIDIEvent) {
        let frame = Int32(truncatingIfNeeded: event.frame)
        unsafe event.message.withBytes { bytes, count, ends in
            unsafe clv2_add_midi(pointer, frame, bytes, Int32(count), ends)
        }
    }

    func add(_ position: Transport, frames: Int) {
        let bars = position.bars ?? MusicalPosition()
        var told = clv2_position(
            frame: position.frame, speed: position.isRolling ? 1 : 0, bar_beat: Double(bars.beat - 1) + bars.fraction,
            beats_per_bar: bars.beatsPerBar, beats_per_minute: bars.beatsPerMinute, bar: Int64(bars.bar - 1),
            beat_unit: Int32(bars.beatType))
        unsafe clv2_add_position(pointer, &told, Int32(frames))
    }

    func render(frames: Int) { unsafe clv2_run(pointer, Int32(frames)) }

    func forEachMessage(_ body: (Int, MIDIMessage) -> Void) {
        var cursor: UInt32 = 0
        var (frame, count): (Int32, Int32) = (0, 0)
        var bytes: UnsafePointer<UInt8>?
        while unsafe clv2_next_midi(pointer, &cursor, &frame, &bytes, &count) {
            unsafe MIDIMessage.read(UnsafeRawBufferPointer(start: bytes, count: Int(count))) { body(Int(frame), $0) }
        }
    }

    func end() { unsafe clv2_end(pointer) }

    func reset(isOffline: Bool) { unsafe clv2_ask_for_reset(pointer, isOffline) }
}

extension LV2Description: PluginFormat {
    package var placeCount: Int { portCount }
    package var settable: [PluginControl] {
        controls.filter { !$0.isOutput }.map { control in (control.symbol, control.port, { control.parameter() }) }
    }

    package func makeInstance(
        rate: Double, frames: Int, latency: Int, in memory: PluginMemory
    ) throws -> any PluginInstance {
        try LV2Instance(uri, rate: rate, frames: frames, latency: latency, in: memory)
    }

    package func handOver(_ old: any PluginInstance, _ values: [Float], to new: [any PluginInstance]) {
        guard let old = old as? LV2Instance, let saved = old.save(values) else { return }
        for case let instance as LV2Instance in new {
            _ = unsafe try? instance.restored(self) { places, found, error in
                unsafe clv2_restore(instance.pointer, saved, places, found, error)
            }
        }
    }
}
