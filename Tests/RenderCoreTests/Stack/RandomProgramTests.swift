import Glibc
import RenderStack
import TestSupport
import Testing

/// Random programs against the naive model. `RENDERSTACK_SOAK=1` makes them a hundred times as many, and
/// `RENDERSTACK_SEED=…` repeats the one that a failure names.
@Suite struct RandomProgramTests {
    private static let seeds = extent(150, inDebug: 20)
    private static let slices = 100
    private static let operationsPerSlice = 20

    private static let wantedSeed = getenv("RENDERSTACK_SEED").flatMap { UInt64(String(cString: $0)) }

    @Test("Random operations on small stacks do what arrays of arrays do")
    func agree() throws {
        let isSoak = getenv("RENDERSTACK_SOAK") != nil
        var generator = SystemRandomNumberGenerator()
        var operations = 0
        for number in 0..<(Self.seeds * (isSoak ? 100 : 1)) {
            // Half of the seeds are always the same, the others never.
            let seed = Self.wantedSeed ?? (number.isMultiple(of: 2) ? UInt64(number) : generator.next())
            let program = StackProgram(seed: seed)
            try program.run(slices: Self.slices, operationsPerSlice: Self.operationsPerSlice)
            operations += program.operations
            if let failure = program.failure {
                Issue.record("\(failure)")
                return
            }
        }
        #expect(operations > Self.seeds * Self.slices * Self.operationsPerSlice / 2)
    }
}
