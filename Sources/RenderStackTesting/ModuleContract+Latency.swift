internal import RenderCore

// This part judges whether the sound comes out when the module says.

extension ModuleContract {
    /// Returns the frames after which a louder sample changes the sound first, and most.
    /// The module hears noise on both sides, so that a module that opens by itself, such as a gate, is open.
    private func answer(_ subject: ContractSubject, to pulse: Int) throws -> (first: Int, loudest: Int)? {
        let sound = try ModuleRun(self, TestSound(pulse: Int64(pulse))).render(frames: subject.frames)
        let difference = SoundComparison.difference(subject.reference, sound, from: pulse)
        guard let loudest = difference.max(), loudest > 0,
            let first = difference.firstIndex(where: { $0 > loudest * 1e-4 }),
            let place = difference.firstIndex(of: loudest)
        else { return nil }
        return (first, place)
    }

    func latency(_ subject: ContractSubject) throws -> [String] {
        guard subject.inputs > 0 else { return [] }
        // Three of them, because a module may be deaf for a moment.
        let answers = try [3_001, 3_707, 4_409].compactMap { try answer(subject, to: $0) }
        guard let first = answers.map(\.first).min(), let loudest = answers.map(\.loudest).max() else {
            return [
                "The input of \(subject.name) does not come out within \(subject.frames) frames, so the contract cannot find its "
                    + "latency."
            ]
        }
        let declared = subject.latency
        if declared < first {
            return [
                "\(subject.name) declares a latency of \(declared) frames, and a sample is not heard before \(first) frames "
                    + "have passed."
            ]
        }
        if declared > loudest {
            return [
                "\(subject.name) declares a latency of \(declared) frames, and a sample is heard most after \(loudest)."
            ]
        }
        return []
    }
}
