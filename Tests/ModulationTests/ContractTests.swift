import RenderStack
import RenderStackTesting
import TestSupport
import Testing

/// The modules of this target keep the contract, and what holds for all of them.
@Suite("Modulation: what holds for all") struct ContractTests {
    struct Candidate: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let violations: @Sendable () -> [String]

        init<M: Module>(_ contract: ModuleContract<M>) {
            testDescription = "\(M.self)"
            violations = {
                ContractPart.allocation.isPossible
                    ? contract.violations()
                    : contract.leavingOut(.allocation, because: "a sanitizer keeps the counter out").violations()
            }
        }
    }

    static let candidates: [Candidate] = [
        Candidate(ModuleContract { Chorus() }.transparent { $0.mix.value = 0 }),
        Candidate(ModuleContract { Flanger() }.transparent { $0.mix.value = 0 }),
        Candidate(ModuleContract { Phaser() }.transparent { $0.mix.value = 0 }),
        Candidate(ModuleContract { Tremolo() }.transparent { $0.depth.value = 0 }),
        Candidate(ModuleContract { Vibrato() }.transparent { $0.depth.value = 0 }),
        Candidate(ModuleContract { RingModulator() }.transparent { $0.mix.value = 0 }),
        Candidate(ModuleContract { AutoPan() }.transparent { $0.depth.value = 0 }),
    ]

    @Test("Each keeps the contract", arguments: candidates)
    func contract(_ candidate: Candidate) { #expect(candidate.violations() == []) }
}
