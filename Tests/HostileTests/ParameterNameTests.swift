import RenderStack
import Testing

/// The parameters of every module by name.
@Suite struct ParameterNameTests {
    @Test("Every module's parameters have names of their own, and a snapshot brings all of them back")
    func names() async throws {
        var dice = Dice(seed: 1)
        let world = try await World(&dice)
        var count = 0
        for module in world.modules.now {
            let parameters = module.parameters
            count += parameters.count
            #expect(Set(parameters.map(\.name)).count == parameters.count, "\(module.name)")
            #expect(parameters.allSatisfy { !$0.name.isEmpty && !$0.name.contains("=") }, "\(module.name)")
            for parameter in parameters { parameter.value = Float.random(in: parameter.range, using: &dice) }
            let values = parameters.map(\.value)
            let snapshot = try ParameterSnapshot(text: ParameterSnapshot(parameters).text)
            for parameter in parameters { parameter.reset() }
            #expect(snapshot.restore(to: parameters) == [], "\(module.name)")
            #expect(parameters.map(\.value) == values, "\(module.name)")
        }
        #expect(count > 50)
        await world.end()
    }
}
