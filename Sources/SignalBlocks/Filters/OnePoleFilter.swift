internal import CKernels

/// The memory of low-pass filters of one pole, one for each channel, all with one coefficient, for the loop of a delay.
///
/// `state += coefficient * (input - state)`, in double precision. As in ``StateVariableFilter`` a coefficient that stays is
/// computed eight frames at once, and which frames those are does not depend on how they come.
@safe package struct OnePoleFilter: ~Copyable, Sendable {
    /// Channels there are.
    package let channelCount: Int
    private var channels: RenderMemory<OnePoleState>
    private var pending: RenderMemory<Float>
    /// Those of a second-order filter, whose second integrator is at rest: ``FilterCoefficients/blockNumbers(_:)``.
    private var numbers: RenderMemory<Double>
    private var madeFor = -1.0

    private static var patience: Int { @_noLocks @_noAllocation get { 8 } }

    /// Creates the memory at silence.
    package init(channels: Int) {
        channelCount = max(1, channels)
        self.channels = RenderMemory(repeating: OnePoleState(), count: channelCount)
        pending = RenderMemory(repeating: 0, count: 8 * channelCount)
        numbers = RenderMemory(repeating: 0, count: FilterCoefficients.blockNumberCount)
    }

    /// Forgets the sound before.
    @_noLocks @_noAllocation
    package mutating func reset() {
        for channel in 0..<channelCount { unsafe channels.memory.base[channel] = OnePoleState() }
    }

    /// Filters one frame, with a coefficient that may be another in each. 1 lets everything pass.
    @_noLocks @_noAllocation
    package mutating func next(_ sample: Float, _ coefficient: Float, channel: Int) -> Float {
        guard channel >= 0 && channel < channelCount else { return sample }
        complete(channel)
        unsafe channels.memory.base[channel].age = -1
        return unsafe channels.memory.base[channel].next(sample, Double(coefficient))
    }

    /// Lets everything pass, like a coefficient of 1. Only the last of the frames is remembered.
    @_noLocks @_noAllocation
    package mutating func pass(_ last: Float, channel: Int) {
        guard channel >= 0 && channel < channelCount else { return }
        unsafe channels.memory.base[channel] = OnePoleState()
        unsafe channels.memory.base[channel].value = Double(last)
    }

    /// Filters frames, all alike: those of a source from `first` on, to the same place in the samples.
    @_noLocks @_noAllocation
    package mutating func process(
        _ source: borrowing RenderMemory<Float>, into samples: inout RenderMemory<Float>, from first: Int, count: Int,
        _ coefficient: Float, channel: Int
    ) {
        guard channel >= 0 && channel < channelCount, first >= 0 && count >= 0 && count <= samples.count &- first
        else { return }
        guard count <= source.count &- first else { return }
        let base = unsafe samples.memory.base + first
        for i in 0..<count { unsafe base[i] = source.memory.base[first &+ i] }
        let state = unsafe channels.memory.base + channel
        let coefficient = Double(coefficient)
        if unsafe state.pointee.age < 0 || state.pointee.coefficient != coefficient {
            complete(channel)
            unsafe state.pointee.coefficient = coefficient
            unsafe state.pointee.age = 0
        }
        let young = unsafe max(0, min(count, OnePoleFilter.patience &- state.pointee.age))
        unsafe state.pointee.age &+= young
        for i in 0..<young { unsafe base[i] = state.pointee.next(base[i], coefficient) }
        if count > young {
            if madeFor != coefficient { makeNumbers(coefficient) }
            let before = unsafe state.pointee.pendingCount
            var nothing = 0.0
            unsafe kernel_filter(
                numbers.memory.base, &state.pointee.value, &nothing, pending.memory.base + 8 &* channel, before,
                base + young, count &- young)
            unsafe state.pointee.pendingCount = (before &+ count &- young) & 7
        }
        // No `Float` shows a value so small. It becomes zero, so that a silence costs no arithmetic on denormal
        // numbers.
        if unsafe abs(state.pointee.value) < 1e-60 { unsafe state.pointee.value = 0 }
    }

    /// Brings the state from the beginning of the block to the frames that were heard.
    @_noLocks @_noAllocation
    private mutating func complete(_ channel: Int) {
        let state = unsafe channels.memory.base + channel
        let count = unsafe state.pointee.pendingCount
        unsafe state.pointee.pendingCount = 0
        for i in 0..<count {
            _ = unsafe state.pointee.next(pending.memory.base[8 &* channel &+ i], state.pointee.coefficient)
        }
    }

    @_noLocks @_noAllocation
    private mutating func makeNumbers(_ coefficient: Double) {
        madeFor = coefficient
        // The impulse response begins behind the zeros.
        let numbers = unsafe self.numbers.memory.base + 4
        let kept = 1 - coefficient
        var power = 1.0
        for i in 0..<8 {
            unsafe numbers[i] = coefficient * power
            unsafe numbers[31 &- i] = coefficient * power
            power *= kept
            unsafe numbers[8 &+ i] = power
        }
        unsafe numbers[40] = power
    }
}

/// One channel's memory.
@usableFromInline struct OnePoleState: Sendable, BitwiseCopyable {
    /// The last output, or the output at the end of the last whole block.
    var value = 0.0
    var coefficient = 0.0
    /// Frames since the coefficient came, as far as that matters; -1 while it changes.
    var age = -1
    var pendingCount = 0

    @_noLocks @_noAllocation
    mutating func next(_ sample: Float, _ coefficient: Double) -> Float {
        let rest = Double(sample) - value
        value = coefficient >= 1 ? Double(sample) : value + coefficient * rest
        return Float(value)
    }
}
