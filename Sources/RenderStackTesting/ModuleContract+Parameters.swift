internal import RenderCore

// This part judges whether each parameter is heard, and moves without a step.

/// The values to which the contract moves a parameter.
enum ParameterMove {
    /// Returns values above and below a value: the ends of a short range; of a longer one the middle of the way to each
    /// end, and the end itself if that is not heard.
    static func all(_ parameter: ParameterReference, from start: Float) -> [Float] {
        let ends = [parameter.range.upperBound, parameter.range.lowerBound]
        return near(parameter, from: start) + ends.filter { $0 != start }
    }

    private static func near(_ parameter: ParameterReference, from start: Float) -> [Float] {
        let (low, high) = (parameter.range.lowerBound, parameter.range.upperBound)
        let isShort = high - low <= 2
        let isGeometric = low > 0 && high / low > 100
        return [high, low].compactMap { end in
            let middle = isGeometric ? (start * end).squareRoot() : start + (end - start) / 2
            let value = isShort ? end : middle
            return value == start ? nil : value
        }
    }
}

extension ModuleContract {
    /// The effect of one move of a parameter.
    private enum Verdict {
        case unheard
        case smooth
        /// The first step, and the largest that is allowed, as shares of the whole change.
        case step(Float, Float)
        /// The length of the cycles is heard.
        case zipper
        /// The render thread tells one, in a sentence.
        case mistake(String)
    }

    func parameters(_ subject: ContractSubject, isSteady: Bool) throws -> [String] {
        let unknown = parametersLeftOut.subtracting(subject.parameters.map(\.name)).sorted()
            .map { "\(subject.name) has no parameter \"\($0)\" that could be left out." }
        return try unknown
            + subject.parameters.indices.filter { !parametersLeftOut.contains(subject.parameters[$0].name) }
            .flatMap { index in try parameter(index, subject, isSteady) }
    }

    /// Returns a sentence about the first fault of a parameter; an empty list if it has none.
    private func parameter(_ index: Int, _ subject: ContractSubject, _ isSteady: Bool) throws -> [String] {
        let parameter = subject.parameters[index]
        let (start, who) = (parameter.value, "The parameter \"\(parameter.name)\" of \(subject.name)")
        var isHeard = false
        let goals = ParameterMove.all(parameter, from: start)
        for (number, goal) in goals.enumerated() {
            // The ends come last, and are far away: only where nothing else is heard.
            if isHeard && number > 1 { break }
            switch try move(index, to: goal, subject, isSteady) {
            case .unheard: continue
            case .smooth: isHeard = true
            case .step(let step, let allowed):
                return [
                    "\(who) jumps on its way from \(start) to \(goal): its first step is \(percent(step)) of the whole "
                        + "change, where \(percent(allowed)) are allowed by its glide."
                ]
            case .mistake(let sentence):
                return ["\(who) leads to a mistake on its way from \(start) to \(goal). \(sentence)"]
            case .zipper:
                return [
                    "\(who) arrives in steps: on its way from \(start) to \(goal) the lengths of the cycles are heard."
                ]
            }
        }
        if isHeard { return [] }
        return [
            "\(who) is not heard: from \(start) to \(goals.map { "\($0)" }.joined(separator: ", ")) the sound stays the same. "
                + "Make the module in a state in which it matters, or leave it out."
        ]
    }

    private func percent(_ share: Float) -> String { "\(Int((share * 100).rounded(.up))) %" }

    /// Moves one parameter at three times, and takes the verdict that lies in the middle: at one of them an edge of a
    /// waveform may happen to be where it begins.
    private func move(_ index: Int, to goal: Float, _ subject: ContractSubject, _ isSteady: Bool) throws -> Verdict {
        let parameter = subject.parameters[index]
        var steps: [Float] = []
        for time in [2_501, 3_003, 3_701].map(TestSound.loudFrame(from:)) {
            // A delay is heard later, and then the whole change must be there to be compared.
            var waits = [time + window(parameter) + 512, subject.frames, subject.frames + 49_152]
            while !waits.isEmpty {
                let frames = waits.removeFirst()
                let (sound, mistake) = try moved(index, to: goal, at: time, frames: frames, cycles: [512])
                if let mistake { return .mistake(mistake) }
                let reference =
                    frames > subject.frames ? try ModuleRun(self).render(frames: frames) : subject.reference
                let difference = SoundComparison.difference(reference, sound, from: time)
                guard let (first, step) = firstStep(parameter, difference) else { continue }
                if first + window(parameter) > difference.count && !waits.isEmpty { continue }
                steps.append(step)
                if steps.count == 1 && isSteady {
                    let (other, _) = try moved(index, to: goal, at: time, frames: frames, cycles: [48])
                    if SoundComparison.firstDifference(sound, other) != nil { return .zipper }
                }
                break
            }
            if steps.isEmpty { return .unheard }
        }
        let (step, allowed) = (steps.sorted()[steps.count / 2], allowedStep(parameter))
        return step > allowed ? .step(step, allowed) : .smooth
    }

    private func moved(
        _ index: Int, to goal: Float, at time: Int, frames: Int, cycles: [Int]
    ) throws -> (sound: [[Float]], mistake: String?) {
        let run = try ModuleRun(self)
        let parameter = run.module.parameters[index]
        try run.renderer.transaction(at: .sample(Int64(time))) { parameter.value = goal }
        return (run.render(frames: frames, cycles: cycles), run.firstMistake)
    }

    /// Returns the frames that the glide of a parameter takes; 5 ms for one without a glide.
    private func glideFrames(_ parameter: ParameterReference) -> Float {
        let seconds = parameter.glide.duration / .seconds(1)
        return Float((seconds == 0 ? 0.005 : seconds) * sampleRate)
    }

    /// The number of frames that the check looks at, from the first that differs on: a single one may be near 0 by chance.
    private var stepLength: Int { 4 }

    /// The largest first step, as a share of the whole change: ten times that of a straight line, and at least three tenths,
    /// because a glide may be exponential, and the sound need not follow a parameter in a straight line: a delay whose time
    /// glides and a gate that opens in a millisecond are faster. A jump makes at least half, since it happens where the noise
    /// is loud.
    private func allowedStep(_ parameter: ParameterReference) -> Float {
        min(0.6, max(0.3, 10 * Float(stepLength) / max(1, glideFrames(parameter))))
    }

    /// Returns the number of frames, from the first that differs on, in which the check looks for the whole change.
    private func window(_ parameter: ParameterReference) -> Int { Int(min(glideFrames(parameter), 8_192)) + 512 }

    /// Returns the first frame in which the sound differs when a parameter moves, and its first step, as a share of its
    /// largest difference; `nil` if it does not move.
    private func firstStep(_ parameter: ParameterReference, _ difference: [Float]) -> (first: Int, step: Float)? {
        let loudest = difference.max() ?? 0
        guard loudest > 0, let first = difference.firstIndex(where: { $0 > loudest * 1e-4 }) else { return nil }
        let whole = difference[first..<min(difference.count, first + window(parameter))].max() ?? 0
        let step = difference[first..<min(difference.count, first + stepLength)].max() ?? 0
        return whole > 0 ? (first, step / whole) : nil
    }
}
