public import RenderCore

/// The promises of every module, and a call that finds out whether a module keeps them.
///
///     @Test func theTremoloKeepsTheContract() {
///         #expect(ModuleContract { Tremolo() }.violations() == [])
///     }
///
/// ``violations()`` returns a sentence for each way in which the module breaks the contract, and an empty list if it keeps it. It
/// needs no test library: Swift Testing, XCTest and a plain program show the sentences alike.
///
/// The contract makes the module anew for each run, sends noise into as many buffers as its `stackEffect` takes, and hears
/// all that it leaves on the stack. It judges these parts, each a ``ContractPart``:
///
/// - the same samples with any lengths of cycles, and again after a reset;
/// - a sample that is not a number makes one fault, and the module sounds again afterwards;
/// - zeros after its tail, when silence goes in;
/// - no allocation on the render thread;
/// - the latency that it declares: a sound that goes in at a frame is heard so many frames later;
/// - each of its `parameters` is heard, and moves without a step;
/// - transparency with an identity setting, if the test names one: ``transparent(_:)``.
///
/// If it cannot judge a part, it returns a sentence about that too.
///
/// Threads: control.
public struct ModuleContract<M: Module>: Sendable {
    let make: @Sendable () throws -> M
    let loop: @Sendable (M, inout RenderContext) -> Void
    let sampleRate: Double
    let channels: Int
    let inputs: Int?
    let tail: Duration
    var identity: (@Sendable (M) -> Void)?
    var leftOut: Set<ContractPart> = []
    var parametersLeftOut: Set<String> = []

    /// Creates the contract of a module.
    ///
    ///     ModuleContract(tail: .seconds(4)) { Echo() }
    ///     ModuleContract { Gate() } loop: { gate, context in
    ///         context.run(gate)                       // finds its inputs on the stack
    ///         context.pop()                           // the side-chain is not to be heard
    ///     }
    ///
    /// - Parameters:
    ///   - sampleRate: Frames per second, as a renderer takes them.
    ///   - channels: The channels of each input and of the output, 1…8.
    ///   - tail: The longest time for which the module sounds on when its input falls silent, or is silent after a fault;
    ///     up to an hour.
    ///   - inputs: The buffers on the stack before the loop; by default as many as the module's `stackEffect` takes.
    ///   - make: A closure that makes the module, in a state in which it sounds. It is called once for each run.
    ///   - loop: A closure that runs the module, on the render thread. The contract hears all buffers that are on the stack
    ///     afterwards. By default it does `context.run(module)`.
    public init(
        sampleRate: Double = 48_000, channels: Int = 2, tail: Duration = .seconds(1), inputs: Int? = nil,
        _ make: @escaping @Sendable () throws -> M,
        loop: @escaping @Sendable (M, inout RenderContext) -> Void = { module, context in context.run(module) }
    ) {
        self.make = make
        self.loop = loop
        self.sampleRate = sampleRate
        self.channels = min(max(channels, 1), 8)
        self.inputs = inputs.map { min(max($0, 0), 32) }
        self.tail = min(max(tail, .zero), .seconds(3_600))
    }

    /// Returns the contract with transparency in it: a setting at which the module leaves the sound as it is, bit for bit.
    /// If the module takes several inputs, all of them must come out, or any one of them alone.
    ///
    ///     ModuleContract { Echo() }.transparent { $0.mix.value = 0 }
    ///
    /// - Parameter setting: A closure that makes a new module transparent.
    public func transparent(_ setting: @escaping @Sendable (M) -> Void) -> ModuleContract {
        var contract = self
        contract.identity = setting
        return contract
    }

    /// Returns the contract without some parts, for a module that is not meant to keep them.
    ///
    /// - Parameters:
    ///   - parts: The parts that the call does not judge.
    ///   - reason: The reason, for the readers of the test.
    public func leavingOut(_ parts: ContractPart..., because reason: String) -> ModuleContract {
        var contract = self
        contract.leftOut.formUnion(parts)
        return contract
    }

    /// Returns the contract without some parameters: those that are not heard in this state, or that are meant to step.
    ///
    /// - Parameters:
    ///   - names: The names that `Module.parameters` has.
    ///   - reason: The reason, for the readers of the test.
    public func leavingOut(parameters names: String..., because reason: String) -> ModuleContract {
        var contract = self
        contract.parametersLeftOut.formUnion(names)
        return contract
    }

    /// Runs the module, and returns a sentence for each way in which it breaks the contract.
    ///
    /// It renders some ten seconds of sound, offline, on this thread.
    public func violations() -> [String] { violations(AllocationWatch.best) }

    /// Returns the violations that another watch over allocations finds, for tests.
    package func violations(_ watch: AllocationWatch) -> [String] {
        do {
            let first = try ModuleRun(self)
            let name = first.module.name
            let declared = first.module.latency(at: sampleRate)
            if declared > Self.longestLatency {
                return [
                    "\(name) declares a latency of \(declared) frames; the contract can wait for \(Self.longestLatency) at most, "
                        + "so nothing can be judged."
                ]
            }
            let frames = 16_384 + 2 * max(0, declared)
            let reference = first.render(frames: frames)
            if let mistake = first.firstMistake { return ["\(name) makes a mistake on the render thread. \(mistake)"] }
            if SoundComparison.peak(reference) == 0 {
                return ["\(name) is silent, so nothing can be judged: hand over a module that sounds."]
            }
            if let frame = SoundComparison.firstDifference(reference, try ModuleRun(self).render(frames: frames)) {
                return [
                    "Two of \(name) that are made alike sound different from frame \(frame) on, so nothing can be compared: "
                        + "what is random needs a seed."
                ]
            }
            let subject = ContractSubject(
                name: name, latency: declared, inputs: first.inputs, reference: reference,
                parameters: first.module.parameters)
            // If the lengths of the cycles are heard anyway, the moves of parameters are not judged by them.
            let cut = try cycleLengths(subject)
            return try ContractPart.allCases.filter { !leftOut.contains($0) }.flatMap { part in
                switch part {
                case .cycleLengths: cut
                case .reset: try reset(subject)
                case .transparency: try transparency(subject)
                case .notANumber: try notANumber(subject)
                case .silence: try silence(subject)
                case .allocation: try allocation(subject, watch)
                case .latency: try latency(subject)
                case .parameters: try parameters(subject, isSteady: cut.isEmpty)
                }
            }
        } catch let error as RenderLoopError {
            return ["The module cannot be run as the contract runs it. \(error)"]
        } catch {
            return ["The module cannot be made: \(error)."]
        }
    }

    /// The longest latency that a module may declare, in frames. Of its sound a third of a second is compared, and twice
    /// as much as its latency.
    private static var longestLatency: Int { 1 << 20 }

    /// The tail in frames.
    var tailFrames: Int { Int((tail / .seconds(1) * sampleRate).rounded(.up)) }
}

/// The facts about a module that all parts of a contract use.
struct ContractSubject {
    let name: String
    /// The latency that the module declares, in frames.
    let latency: Int
    /// Buffers that go in.
    let inputs: Int
    /// The sound that the module makes of the noise in cycles of 512 frames.
    let reference: [[Float]]
    /// The parameters of a module that is gone: their names, ranges and glides.
    let parameters: [ParameterReference]
    /// Frames of the reference.
    var frames: Int { reference[0].count }
}
