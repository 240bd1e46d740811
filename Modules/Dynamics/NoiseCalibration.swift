internal import RenderCore

/// The time in which a ``Gate`` or an ``Expander`` listens to the noise of a room, and what comes of it.
///
///     let calibration = gate.calibrate()                      // for two seconds nobody plays
///     if case .calibrated(let found) = await calibration.wait() {
///         print("the room has \(found.noise) dB, and the gate opens at \(found.threshold) dB")
///     }
///
/// The module goes on as it is while it listens, and so does its sound. What counts is the level that the detector hears, through the
/// filters of the key and of the loudest channel: of each block of 10 ms the highest. The noise is the level that 19 blocks of 20
/// stay below, so that a single click does not count. Then control code sets the threshold; as any change, it glides.
///
/// It listens to frames, not to a clock: while no renderer runs the module, or a list leaves it out, nothing is heard. After five
/// seconds in which nothing was heard the calibration ends as ``Ending/unheard``. A reset of the module and another sample rate begin
/// the listening anew. Rendered offline, ask for ``ending`` (or ``wait()``) behind the frames that it listens to, and render on then.
/// Without that the threshold comes some milliseconds later by the clock, which may be any number of frames.
///
/// Threads: control.
public final class NoiseCalibration: Sendable {
    /// The noise that was heard, and what was set.
    ///
    /// Threads: any.
    public struct Finding: Sendable, Hashable {
        /// The level of the noise in dB, as the module's detector hears it; -infinity below -150 dB, as in digital silence.
        public let noise: Float
        /// The threshold in dB: the noise and the margin, within the range of the parameter.
        public let threshold: Float
        /// The hysteresis of a gate in dB: as it was, but at most two thirds of the margin, so that the gate closes on the
        /// noise. `nil` of an expander, which has none.
        public let hysteresis: Float?
    }

    /// The ways in which a calibration ends.
    ///
    /// Threads: any.
    public enum Ending: Sendable, Hashable {
        /// The threshold is set.
        case calibrated(Finding)
        /// It was cancelled, or the module was asked for another one. Nothing was set.
        case cancelled
        /// No frame was heard for five seconds, because nothing runs the module. Nothing was set.
        case unheard
    }

    private let desk: CalibrationDesk
    private let number: UInt32
    private let margin: Float
    private let threshold: Parameter
    private let hysteresis: Parameter
    private let isGate: Bool
    private let state = Lock(State())

    private struct State {
        var ending: Ending?
        /// Indicates whether a thread is about to set the threshold.
        var isClaimed = false
        var waiting: [@Sendable (Ending) -> Void] = []
        /// The number of slices that were heard, and the host time at which that was another one.
        var heard: UInt64 = 0
        var last = HostClock.now
    }

    /// The nanoseconds without a frame behind which it gives up.
    private static let patience: Int64 = 5_000_000_000

    init(_ desk: CalibrationDesk, number: UInt32, margin: Float, _ controls: borrowing DynamicsControls) {
        self.desk = desk
        self.number = number
        self.margin = margin
        threshold = Parameter(sharing: controls.threshold)
        hysteresis = Parameter(sharing: controls.knee)
        isGate = controls.shape == .gate
    }

    /// The end of the calibration; `nil` while it listens.
    public var ending: Ending? {
        collect()
        return state.withLock(\.ending)
    }

    /// Waits for the end. If the task is cancelled, so is the calibration.
    public func wait() async -> Ending {
        await withTaskCancellationHandler {
            let (stream, continuation) = AsyncStream.makeStream(of: Ending.self)
            listen { ending in
                continuation.yield(ending)
                continuation.finish()
            }
            collect()
            for await ending in stream { return ending }
            return state.withLock(\.ending) ?? .cancelled
        } onCancel: {
            cancel()
        }
    }

    /// Calls a closure at the end, in a task of its own.
    public func when(_ handler: @escaping @Sendable (Ending) async -> Void) {
        listen { ending in Task { await handler(ending) } }
        collect()
    }

    /// Ends the calibration, and leaves the threshold as it is. Behind its end this does nothing.
    public func cancel() {
        let isMine = state.withLock { state in
            defer { state.isClaimed = true }
            return !state.isClaimed
        }
        if isMine { end(.cancelled) }
    }

    private func listen(_ tell: @escaping @Sendable (Ending) -> Void) {
        let ending: Ending? = state.withLock { state in
            if state.ending == nil { state.waiting.append(tell) }
            return state.ending
        }
        if let ending { tell(ending) }
    }

    private func end(_ ending: Ending) {
        desk.withdraw(number)
        let told = state.withLock { state in
            state.ending = ending
            defer { state.waiting = [] }
            return state.waiting
        }
        for tell in told { tell(ending) }
    }
}

extension NoiseCalibration: Collectable {
    /// Looks for the answer of the render thread. Returns whether it may still come.
    @discardableResult
    package func collect() -> Bool {
        let (answer, heard, now) = (desk.words[1], desk.words[2], HostClock.now)
        let hasAnswer = UInt32(truncatingIfNeeded: answer >> 32) == number
        let (isMine, isOver) = state.withLock { state in
            if state.isClaimed { return (false, true) }
            if heard != state.heard { (state.heard, state.last) = (heard, now) }
            let isOver = hasAnswer || now &- state.last >= NoiseCalibration.patience
            state.isClaimed = isOver
            return (isOver, isOver)
        }
        let noise = Float(bitPattern: UInt32(truncatingIfNeeded: answer))
        if isMine { end(hasAnswer ? .calibrated(set(noise)) : .unheard) }
        return !isOver
    }

    private func set(_ noise: Float) -> Finding {
        // A transaction of whoever asks has no part in it.
        OpenTransaction.suspended {
            threshold.value = noise + margin
            if isGate { hysteresis.value = min(hysteresis.value, 2 / 3 * margin) }
        }
        return Finding(noise: noise, threshold: threshold.value, hysteresis: isGate ? hysteresis.value : nil)
    }
}

/// The place at which the calibrations of a module ask, and the render thread answers.
final class CalibrationDesk: Sendable {
    /// The request (a number, and in the lower half the blocks to hear), the answer (the number, and the bits of a level), and the
    /// number of slices that were heard.
    let words = SharedWords()
    private let present = Lock<(number: UInt32, calibration: NoiseCalibration?)>((0, nil), .module)

    /// Begins a calibration in the place of the one before.
    ///
    /// - Parameters:
    ///   - blocks: The blocks of 10 ms to listen to.
    ///   - margin: In dB.
    ///   - controls: The parameters.
    func begin(blocks: UInt32, margin: Float, _ controls: borrowing DynamicsControls) -> NoiseCalibration {
        let (next, before) = present.withLock { present in
            let number = present.number == .max ? 1 : present.number + 1
            let next = NoiseCalibration(self, number: number, margin: margin, controls)
            defer { present = (number, next) }
            words[0] = UInt64(number) << 32 | UInt64(blocks)
            return (next, present.calibration)
        }
        before?.cancel()
        Collector.shared.add(next)
        return next
    }

    /// Takes the request of a calibration back, unless another one has come.
    func withdraw(_ number: UInt32) {
        present.change { present in
            if present.number != number { return }
            words[0] = 0
            present.calibration = nil
        }
    }
}
