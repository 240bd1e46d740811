internal import CPipeWire
internal import Outputs
internal import RenderCore
internal import Supply

// The inputs of an output: those that it was made with, and those that join while it plays.

extension PipeWireSession {
    /// Takes the inputs that have joined since the output was made.
    func takeThoseThatJoined(_ state: inout State) {
        guard settings.followsInputs else { return }
        state.inputs = CycleInputs.grown(state.inputs, for: core.renderer) ?? state.inputs
    }

    /// The settings, with the inputs that there are now.
    func settings(_ state: borrowing State) -> PipeWireSettings {
        var now = settings
        now.inputs = state.inputs
        return now
    }

    /// Captures inputs that a new loop has brought. `true`: the nodes are new.
    func takeInputs(_ state: inout State, _ nodes: PipeWireNodes, _ cycle: PipeWireCycle) -> Bool {
        guard settings.followsInputs, let inputs = CycleInputs.grown(state.inputs, for: core.renderer),
            !state.refused.elementsEqual(inputs, by: ===)
        else { return false }
        let names = inputs.dropFirst(state.inputs.count).map(\.name).joined(separator: ", ")
        var next = settings(state)
        next.inputs = inputs
        do throws(PipeWireError) {
            try next.check(channels: PipeWireSettings.playedChannels(core.renderer.outputChannelCounts))
        } catch {
            state.refused = inputs
            core.hub.send(.notice("The inputs that have joined are silent (\(names)). \(error)"))
            return false
        }
        guard cycle.take(inputs) else { return false }
        state.inputs = inputs
        _ = remake(&state, cycle, rate: nodes.rate)
        return true
    }

    /// Gives the input of a whole device the channels of the source. `true`: the cycle has taken memory for others than before.
    @discardableResult
    func settleInputs(_ state: borrowing State, _ cycle: PipeWireCycle, _ graph: PipeWireGraph) -> Bool {
        CycleInputs.settle(state.inputs, on: min(Int(CPW_CHANNELS), graph.channelCount(of: settings.source)))
        return !cycle.isMade(for: state.inputs) && cycle.take(state.inputs)
    }

    /// Gives the input of a whole device the channels of the source that is there now. `true`: the nodes are new.
    func followSource(_ state: inout State, _ nodes: PipeWireNodes, _ cycle: PipeWireCycle) -> Bool {
        guard state.inputs.contains(where: \.isWholeDevice) else { return false }
        guard settleInputs(state, cycle, nodes.connection.graph) else { return false }
        _ = remake(&state, cycle, rate: nodes.rate)
        return true
    }
}
