internal import RenderCore
import Sharing
import Synchronization

extension Automation {
    /// The way in which moves take the place of the curve.
    ///
    /// Threads: any.
    public enum Recording: Sendable, Hashable {
        /// From the first move on, up to ``Automation/letGo()``, or to half a second without a move. Then the curve goes on.
        case touch
        /// From the first move on, to the end of the recording.
        case latch
        /// From the beginning of the recording to its end, moved or not.
        case overwrite
    }

    /// Records moves from now on: values that your code sets, by `parameter.value`, while the automation runs.
    ///
    ///     opening.record(.touch)
    ///     filter.cutoff.value = 900                   // by a slider: as often as you like
    ///     …
    ///     opening.finishRecording()                   // the moves are in the curve
    ///     opening.curve = opening.curve.thinned(within: 5)
    ///
    /// The curve rests while somebody moves the parameter. The recording keeps the sound: each move with the glide of the parameter, up to the
    /// next one. A recording that is under way is finished before. There is room for 65,536 moves.
    public func record(_ mode: Recording) {
        finishRecording()
        kept.withLock { kept in
            let take = AutomationTake(mode, kept.curve.unit)
            kept.take = take
            kept.version += 1
            taking.set(AutomationTake.Shared(take, number: kept.version))
        }
    }

    /// Says that nobody moves the parameter any more, for ``Recording/touch``: a button of a mouse was let go.
    ///
    /// Threads: any.
    @_noLocks @_noAllocation
    public func letGo() { releases.wrappingAdd(1, ordering: .relaxed) }

    /// Indicates whether moves are recorded.
    public var isRecording: Bool { kept.withLock { $0.take != nil } }

    /// Ends the recording: the passages that were moved take the place of those of the curve. Without a recording it changes
    /// nothing.
    ///
    /// A passage ends, and another one begins, when the position goes back. Of passages that overlap, the last counts. What is recorded in
    /// another unit than that of the curve, because the curve was exchanged meanwhile, is dropped.
    ///
    /// - Returns: The curve as it is now.
    @discardableResult public func finishRecording() -> AutomationCurve {
        let reached = Double(bitPattern: reached.load(ordering: .relaxed))
        return kept.withLock { kept in
            // A cycle that is under way may still send: what it sends is lost with the ring.
            taking.set(AutomationTake.Shared())
            guard let take = kept.take else { return kept.curve }
            kept.take = nil
            guard take.unit == kept.curve.unit else { return kept.curve }
            let passages = AutomationPassage.passages(of: take.drain(), endingAt: reached, gliding: driver.glide)
            if passages.isEmpty { return kept.curve }
            var curve = kept.curve
            for passage in passages { curve = curve.replacing(passage) }
            set(curve, in: &kept)
            return curve
        }
    }
}

/// Points that were recorded without a gap.
struct AutomationPassage: Sendable {
    var start: Double
    var end: Double
    var points: [AutomationCurve.Point] = []

    /// Returns the passages of a take.
    static func passages(
        of moves: [AutomationMove], endingAt end: Double, gliding curve: Parameter.Curve
    ) -> [AutomationPassage] {
        var passages: [AutomationPassage] = []
        var open: [AutomationMove] = []
        func close(at end: Double) {
            guard let first = open.first else { return }
            let last = max(end, open.last?.position ?? end)
            passages.append(passage(open, from: first.position, to: last, curve))
            open = []
        }
        for move in moves {
            switch move.kind {
            case .begins:
                close(at: move.position)
                open = [move]
            case .moves: open.append(move)
            case .ends: close(at: move.position)
            }
        }
        close(at: end)
        return passages
    }

    private static func passage(
        _ moves: [AutomationMove], from start: Double, to end: Double, _ curve: Parameter.Curve
    ) -> AutomationPassage {
        var passage = AutomationPassage(start: start, end: end)
        let isSmooth = curve.isSmooth
        let plain = curve.isExponential ? AutomationCurve.Shape.exponential : .line
        func add(_ position: Double, _ value: Float, _ shape: AutomationCurve.Shape) {
            passage.points.append(AutomationCurve.Point(at: position, value, shape))
        }
        for (number, move) in moves.enumerated() {
            let next = number + 1 < moves.count ? moves[number + 1].position : end
            let arrives = move.position + move.glide
            // A smooth way that another move cuts short is no smooth way any more.
            let shape = isSmooth && !curve.isExponential && arrives <= next ? .smooth : plain
            if move.glide <= 0 {
                // A jump: up to here the value was that of the move before.
                add(move.position, number > 0 ? moves[number - 1].to : move.from, plain)
                add(move.position, move.to, plain)
            } else {
                add(move.position, move.from, move.from == move.to ? plain : shape)
                if move.from != move.to && arrives < next { add(arrives, move.to, plain) }
            }
            if number + 1 == moves.count {
                let whole = AutomationSegment(
                    AutomationCurve.Point(at: move.position, move.from, isSmooth ? .smooth : plain),
                    AutomationCurve.Point(at: arrives, move.to))
                let value = arrives > end ? Float(whole.value(at: end)) : move.to
                add(end, value, plain)
            }
        }
        return passage
    }
}

extension Parameter.Curve {
    /// Indicates whether it leaves and arrives without a corner.
    var isSmooth: Bool {
        switch self {
        case .smooth, .smoothExponential: true
        case .none, .linear, .exponential: false
        }
    }
}

extension AutomationCurve {
    /// Returns the curve with a passage in the place of what it has there.
    func replacing(_ passage: AutomationPassage) -> AutomationCurve {
        if points.isEmpty { return AutomationCurve(in: unit, passage.points) }
        var all = Array(points.prefix { $0.position < passage.start })
        // Before the passage: up to the value that the curve has there.
        let before = segment(all.count)
        let left = Float(before.value(at: passage.start))
        if let last = all.last, last.shape == .smooth, all.count < points.count {
            all.removeLast()
            all += lines(of: before, from: last.position, to: passage.start)
        } else {
            all.append(Point(at: passage.start, left))
        }
        if all.last?.position == passage.start, all.last?.value == passage.points.first?.value { all.removeLast() }
        all += passage.points
        // Behind it: from the value that the curve has there.
        let place = place(of: passage.end)
        let after = segment(place)
        let right = Float(after.value(at: passage.end))
        let shape = place > 0 ? points[place - 1].shape : .line
        if shape == .smooth && place < points.count {
            all += lines(of: after, from: passage.end, to: after.end).dropLast()
        } else {
            all.append(Point(at: passage.end, right, shape))
        }
        return AutomationCurve(in: unit, all + points[place...])
    }

    /// Returns lines in the place of a part of a smooth way: within 1/10000 of the way.
    private func lines(of segment: AutomationSegment, from start: Double, to end: Double) -> [Point] {
        let count = 64
        return (0...count).map { step in
            let position = step == count ? end : start + (end - start) * Double(step) / Double(count)
            return Point(at: position, Float(segment.value(at: position)))
        }
    }
}
