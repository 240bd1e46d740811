internal import RenderCore

// The parts that compare a sound with one that should be the same.

extension ModuleContract {
    /// The lengths of cycles that are tried beside 512.
    private static var cycles: [[Int]] { [[1], [7], [100], [4_096], [3, 500, 1, 64, 2_000, 17]] }

    func cycleLengths(_ subject: ContractSubject) throws -> [String] {
        for cycles in Self.cycles {
            // The shortest take the longest.
            let frames = cycles[0] < 3 ? min(4_096, subject.frames) : subject.frames
            let sound = try ModuleRun(self).render(frames: frames, cycles: cycles)
            if let frame = SoundComparison.firstDifference(subject.reference, sound) {
                let lengths = cycles == [1] ? "1 frame" : "\(cycles.map(String.init).joined(separator: ", ")) frames"
                return [
                    "\(subject.name) sounds different in cycles of \(lengths) than in cycles of 512 frames, from frame "
                        + "\(frame) on."
                ]
            }
        }
        return []
    }

    func reset(_ subject: ContractSubject) throws -> [String] {
        let half = Int64(subject.frames / 2 / 512 * 512)
        let run = try ModuleRun(self, TestSound(period: half), resetsAt: half)
        let sound = run.render(frames: 2 * Int(half))
        let (before, after) = (sound.map { Array($0[..<Int(half)]) }, sound.map { Array($0[Int(half)...]) })
        guard let frame = SoundComparison.firstDifference(before, after) else { return [] }
        return [
            "\(subject.name) does not begin anew when it is reset: from frame \(frame) after the reset on it "
                + "sounds different from when it was new."
        ]
    }

    func transparency(_ subject: ContractSubject) throws -> [String] {
        guard let identity else { return [] }
        let sound = try ModuleRun(self, prepare: identity).render(frames: subject.frames)
        // Silence for as long as the latency, and then what went in: all inputs, or one of them.
        let late = max(0, subject.latency)
        let choices = [0..<subject.inputs] + (subject.inputs > 1 ? (0..<subject.inputs).map { $0..<$0 + 1 } : [])
        var nearest = (frame: -1, dry: [[Float]]())
        for choice in choices {
            let dry = try ModuleRun(self, dry: choice).render(frames: subject.frames)
                .map { Array(([Float](repeating: 0, count: late) + $0).prefix(subject.frames)) }
            guard let frame = SoundComparison.firstDifference(sound, dry) else { return [] }
            if frame > nearest.frame { nearest = (frame, dry) }
        }
        let frame = nearest.frame
        let channel = sound.indices.first { sound[$0][frame] != nearest.dry[$0][frame] } ?? 0
        return [
            "\(subject.name) is not transparent with its identity setting: in channel \(channel) at frame \(frame) "
                + "\(sound[channel][frame]) comes out, and not \(nearest.dry[channel][frame])."
        ]
    }

    func silence(_ subject: ContractSubject) throws -> [String] {
        guard subject.inputs > 0 else { return [] }
        let run = try ModuleRun(self, TestSound(end: 4_096))
        run.skip(frames: 4_096 + max(0, subject.latency) + tailFrames)
        let peak = SoundComparison.peak(run.render(frames: 4_096))
        if peak == 0 { return [] }
        return [
            "\(subject.name) still sounds when its input has been silent for \(tail): the largest sample is \(peak). A "
                + "module that rings longer declares its tail to the contract."
        ]
    }

    func notANumber(_ subject: ContractSubject) throws -> [String] {
        guard subject.inputs > 0 else { return [] }
        // To the end of a slice, where the renderer looks at each module.
        let run = try ModuleRun(self, TestSound(notNumbers: 4_090..<4_096))
        run.skip(frames: 4_096)
        let first = run.renderer.faultCount
        _ = run.firstMistake
        // A memory of such a sample may come out as late as the sound.
        run.skip(frames: max(0, subject.latency) + tailFrames)
        let last = run.render(frames: 16_384)
        // With a latency the sample comes out later, once.
        let more = run.renderer.faultCount - first
        if more > (first == 0 || subject.latency > 0 ? 1 : 0) {
            return [
                "\(subject.name) goes on making faults after a sample that is not a number, \(more) more in "
                    + "\(tail): its reset leaves such a sample in its memory."
            ]
        }
        if SoundComparison.peak(last) > 0 { return [] }
        return ["\(subject.name) is silent after a sample that is not a number, for \(tail) and longer."]
    }
}
