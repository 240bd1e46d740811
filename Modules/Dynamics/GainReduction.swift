internal import RenderCore
internal import Synchronization

/// The reductions that a module has at the moment, on their way to control code.
struct GainReduction: ~Copyable, Sendable {
    /// In dB, as the bits of floats.
    private let values = InlineArray<64, Atomic<UInt32>> { _ in Atomic(0) }
    private let count = Atomic<Int>(0)
    /// The host time at which the last slice is over; `.max` if time does not count, `.min` for never.
    private let end = Atomic<Int64>(.min)

    init() {}

    /// The reductions in dB; they fall to 0 within a second when the audio stops.
    var all: [Float] {
        let share = share()
        return (0..<count.load(ordering: .relaxed)).map { share * value($0) }
    }

    /// The largest of them; 0 if there is none.
    var largest: Float {
        let share = share()
        return share * (0..<count.load(ordering: .relaxed)).reduce(0) { max($0, value($1)) }
    }

    /// Returns one of them; 0 if it does not exist.
    func one(_ index: Int) -> Float {
        index >= 0 && index < count.load(ordering: .relaxed) ? share() * value(index) : 0
    }

    private func value(_ index: Int) -> Float { Float(bitPattern: values[index].load(ordering: .relaxed)) }

    private func share() -> Float {
        let end = end.load(ordering: .relaxed)
        if end == .min { return 0 }
        let silence = end == .max ? 0 : Double(HostClock.now &- end) * 1e-9
        return Float(max(0, min(1, 1.05 - silence)))
    }

    // MARK: On the render thread

    /// Shows a reduction.
    @_noLocks @_noAllocation
    func show(_ reduction: Float, at index: Int) {
        guard index >= 0 && index < 64 else { return }
        values[index].store(reduction.bitPattern, ordering: .relaxed)
    }

    /// Notes the number of reductions, and the slice that they belong to.
    @_noLocks @_noAllocation
    func finish(_ count: Int, _ context: borrowing RenderContext) {
        if context.isDryRun { return }
        self.count.store(count < 64 ? count : 64, ordering: .relaxed)
        let length = Int64(Double(context.frameCount) * 1e9 / context.sampleRate)
        end.store(context.isOffline ? .max : context.hostTime &+ length, ordering: .relaxed)
    }

    /// Shows nothing any more.
    @_noLocks @_noAllocation
    func forget() { end.store(.min, ordering: .relaxed) }
}
