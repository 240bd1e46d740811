import RenderStack

// Mistakes in modules that compile. `scripts/check-modules` finds each line that ends with `found`, and no other:
// scripts/checks/rules compares.

public final class Misspelt: Effect {
    public let depth = Parameter(1, in: 0...1)  // found
    public let rate = Parameter(1, in: 0...1)
    public var parameters: [ParameterReference] { [rate.named("rate")] }
    private let filter = Member(LowPass())  // found
    private let echo = Member(Delay())
    public var members: [any Module] { [echo.module] }
    var latency: Int { 64 }  // found

    func prepair(_ preparation: Preparation) {}  // found
    func prepare(at sampleRate: Double) {}  // found
    func latency(sampleRate: Double) -> Int { 64 }  // found
    func present() {}

    public func process(_ context: inout RenderContext) {  // found
        func rset(_ context: inout RenderContext) {}
    }

    @_noLocks @_noAllocation
    func rset(_ context: inout RenderContext) {}  // found
}

final class Unlisted: Effect {
    let depth = Parameter(1, in: 0...1)  // found
    private let glow = Parameter(1, in: 0...1)
    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {}
}

struct UncheckedVoice: LaneVoice {
    private var tone = SineLanes()

    mutating func control(_ notes: borrowing Notes) {}                               // found

    @inline(__always)
    mutating func next(_ notes: borrowing Notes) -> Lanes { tone.next(notes.step) }  // found
}

struct SlowVoice: LaneVoice {
    @_noLocks @_noAllocation
    mutating func next(_ notes: borrowing Notes) -> Lanes { .zero }                  // found
}

struct CheckedVoice: LaneVoiceWithMemory {
    @inline(__always) @_noLocks @_noAllocation
    mutating func control(_ notes: borrowing Notes) {}

    @inline(__always)
    @_noLocks @_noAllocation mutating func next(_ notes: borrowing Notes, _ memory: inout VoiceMemory) -> Lanes { .zero }
}
