@testable import RenderCore

// The operations of a random program. Each is done to the context and to the model.
extension StackProgram {
    func perform(_ context: inout RenderContext) {
        switch random.in(0...25) {
        case 0...4: push(&context)
        case 5: pop(&context)
        case 6: remove(&context)
        case 7, 8: swap(&context)
        case 9: duplicate(&context)
        case 10: silence(&context)
        case 11, 12: mix(&context)
        case 13: mixGains(&context)
        case 14: gain(&context)
        case 15, 16, 17: edit(&context)
        case 18: editSeveral(&context)
        case 19, 20: output(&context)
        case 21: time(&context)
        case 22: external(&context)
        case 23: part(&context)
        default: module(&context)
        }
    }

    // MARK: Pushing and moving

    private func push(_ context: inout RenderContext) {
        let count = random.oneIn(8) ? random.in(-1...3) : 1
        let channels = random.oneIn(8) ? random.in(-1...5) : random.in(1...model.layout.channels)
        let isZeroed = random.oneIn(2)
        note("push(\(count), channels: \(channels), zeroed: \(isZeroed))")
        if isZeroed {
            context.push(count, channels: channels)
        } else {
            context.pushUninitialized(count, channels: channels)
        }
        model.push(count, channels)
        let isZeroNow = isZeroed || !(1...model.layout.channels).contains(channels)
        for index in 0..<max(count, 0) where !isZeroNow || random.oneIn(2) { fill(index, &context) }
    }

    /// Writes fresh numbers into every channel of a buffer.
    private func fill(_ index: Int, _ context: inout RenderContext) {
        guard let position = model.position(index) else { return }
        let base = random.value()
        for channel in 0..<model.channelCount(position) {
            var buffer = context.buffer(at: index)
            var samples = buffer[channel]
            for i in samples.indices { samples[i] = base + Float(10 * channel + i) }
        }
        model.edit(position) { channel, frame, _ in base + Float(10 * channel + frame) }
    }

    private func pop(_ context: inout RenderContext) {
        if random.oneIn(4) {
            note("popAll()")
            context.popAll()
            return model.pop(model.reach)
        }
        let count = random.in(-1...(random.oneIn(4) ? model.reach + 1 : 2))
        note("pop(\(count))")
        // A push straight after takes the same memory.
        let old = count == 1 ? model.position(0).map { (model.buffers[$0], model.contents($0)) } : nil
        context.pop(count)
        model.pop(count)
        if let old { pushAgain(old.0, old.1, &context) }
    }

    private func remove(_ context: inout RenderContext) {
        let index = random.in(-1...model.reach)
        note("remove(at: \(index))")
        let old = model.position(index).map { (model.buffers[$0], model.contents($0)) }
        let isFull = model.buffers.count > 2 * model.layout.slots
        context.remove(at: index)
        model.remove(index)
        if let old, !isFull { pushAgain(old.0, old.1, &context) }
    }

    /// Pushes a popped buffer again without writing it, now and then.
    private func pushAgain(_ old: StackModel.Buffer, _ contents: [[Float]], _ context: inout RenderContext) {
        guard old.isReal, !old.isExternal, random.oneIn(2) else { return }
        note("push again")
        context.pushUninitialized(channels: contents.count)
        model.claim(contents.count, contents)
    }

    private func swap(_ context: inout RenderContext) {
        note("swap()")
        context.swap()
        model.swap()
    }

    private func duplicate(_ context: inout RenderContext) {
        let index = random.oneIn(3) ? random.in(-1...model.reach) : 0
        note("duplicate(at: \(index))")
        context.duplicate(at: index)
        model.duplicate(index)
    }

    private func silence(_ context: inout RenderContext) {
        note("silence()")
        context.silence()
        model.silence()
    }

    private func time(_ context: inout RenderContext) {
        guard let position = model.position(0), model.buffers[position].isReal else { return }
        let time = Int64(random.in(0...1000))
        note("time = \(time)")
        let top = context.top
        top.time = RenderTime(sampleTime: time, hostTime: time)
        model.buffers[position].time = time
    }

    // MARK: Mixing

    private func mix(_ context: inout RenderContext) {
        if random.oneIn(5) {
            note("mixAll()")
            context.mixAll()
            if model.reach > 1 { model.mix(model.reach) }
        } else {
            let count = random.in(-1...(random.oneIn(4) ? model.reach + 1 : 3))
            note("mix(\(count))")
            context.mix(count)
            model.mix(count)
        }
        bound(0, &context)
    }

    private func mixGains(_ context: inout RenderContext) {
        let all: [Float] = [3, -5, 1, 0, 2, 7]
        let count = random.in(0...4)
        let first = random.in(0...2)
        let gains = Array(all[first..<(first + min(count, 3))])
        note("mix(gains: \(gains))")
        switch gains.count {
        case 0: context.mix(gains: [] as InlineArray<0, Float>)
        case 1: context.mix(gains: [gains[0]] as InlineArray)
        case 2: context.mix(gains: [gains[0], gains[1]] as InlineArray)
        default: context.mix(gains: [gains[0], gains[1], gains[2]] as InlineArray)
        }
        model.mix(gains.count, gains: gains)
        bound(0, &context)
    }

    private func gain(_ context: inout RenderContext) {
        let gain = Float(random.in(-2...3))
        let index = random.oneIn(2) ? random.in(-1...model.reach) : 0
        if random.oneIn(2) {
            note("gain(\(gain), at: \(index))")
            context.gain(gain, at: index)
            model.gain(gain, index)
            return bound(index, &context)
        }
        note("gain(\(gain))")
        context.gain(gain)
        model.gain(gain)
        bound(0, &context)
    }

    // MARK: Editing

    private func edit(_ context: inout RenderContext) {
        let index = random.oneIn(6) ? random.in(-1...model.reach) : random.in(0...max(0, model.reach - 1))
        let channels = model.position(index).map(model.channelCount) ?? 1
        let channel = random.oneIn(6) ? random.in(-1...channels) : random.in(0...(channels - 1))
        let base = random.value()
        note("buffer(at: \(index))[\(channel)] = \(base)…")
        var buffer = context.buffer(at: index)
        var samples = buffer[channel]
        for i in samples.indices { samples[i] = base + Float(i) }
        let position = model.position(index)
        if position == nil { model.fault() }
        if channel < 0 || channel >= channels { model.fault() }
        guard let position else { return }
        model.edit(position) { number, frame, old in number == channel ? base + Float(frame) : old }
    }

    private func editSeveral(_ context: inout RenderContext) {
        let (first, second) = random.oneIn(2) ? (0, 1) : (random.in(-1...model.reach), random.in(-1...model.reach))
        note("withBuffers(at: \(first), \(second))")
        func add(_ a: inout AudioBuffer, _ b: inout AudioBuffer) {
            let addends = b.samples(0)
            var sums = a[0]
            for i in sums.indices { sums[i] += addends[i] }
        }
        if random.oneIn(4) {
            note("copy")
            context.withBuffers(at: first, second) { $0.copy(from: $1) }
            model.copy(second, to: first)
            return bound(first, &context)
        }
        var needed = max(first, second) + 1
        if (first, second) == (0, 1) && random.oneIn(2) {
            if random.oneIn(2) {
                context.withTop2 { add(&$0, &$1) }
            } else {
                needed = 3
                context.withTop3 { a, b, c in
                    if c.channelCount > 0 { add(&a, &b) }
                }
            }
        } else {
            context.withBuffers(at: first, second) { add(&$0, &$1) }
        }
        guard first != second, first >= 0, second >= 0, needed <= model.reach else { return model.fault() }
        guard let position = model.position(first), let other = model.position(second) else { return }
        let addends = model.contents(other)[0]
        model.edit(position) { channel, frame, old in channel == 0 ? old + addends[frame] : old }
        bound(first, &context)
    }

    // MARK: Output

    private func output(_ context: inout RenderContext) {
        let output = random.oneIn(4) ? random.in(-1...3) : 0
        let id = output == 0 ? OutputID.main : .auxiliary(output)
        let count = random.oneIn(4) ? random.in(-1...(model.reach + 1)) : 1
        switch random.in(0...2) {
        case 0:
            note("output(\(count), to: \(output))")
            context.output(count, to: id)
            model.output(count, to: output)
        case 1:
            let first = random.in(-1...4)
            let last = first + random.in(0...2)
            note("output(\(count), to: \(output), channels: \(first)...\(last))")
            context.output(count, to: id, channels: first...last)
            model.output(count, to: output, channels: first...last)
        default:
            note("outputAll(to: \(output))")
            context.outputAll(to: id)
            if model.reach > 0 { model.output(model.reach, to: output) }
        }
    }

    // MARK: Scopes

    private func external(_ context: inout RenderContext) {
        guard level < Self.levels else { return }
        let first = random.in(0...3)
        let frames = first + model.part.count + random.in(0...2) - (random.oneIn(6) ? 1 : 0)
        let samples = (0..<random.in(1...4)).map { _ in (0..<frames).map { _ in random.value() } }
        let isEditable = random.oneIn(2)
        note("external(\(samples), from: \(first), editing: \(isEditable)) {")
        var block = AudioBlock(samples)
        let view = StackModel.AudioBlockModel(samples, first: first, shown: model.part)
        model.beginExternal(view, isReadOnly: !isEditable)
        if isEditable {
            context.withExternal(editing: &block, from: first) { someSteps(&$0) }
        } else {
            context.withExternal(block, from: first) { someSteps(&$0) }
        }
        note("}")
        model.endExternal(view)
        if (0..<block.channelCount).map({ block.array($0) }) != view.samples { fail("an external block was changed") }
    }

    private func part(_ context: inout RenderContext) {
        guard level < Self.levels else { return }
        let count = model.part.count
        let first = random.oneIn(8) ? random.in(-1...(count + 1)) : random.in(0...count)
        let length = random.in((random.oneIn(8) ? -1 : 0)...(max(0, count - first) + (random.oneIn(8) ? 1 : 0)))
        note("subBlock(offset: \(first), length: \(length)) {")
        let saved = (part: model.part, time: model.time, depth: model.buffers.count)
        let isValid = first >= 0 && length >= 0 && first + length <= count
        if !isValid { model.fault() }
        if isValid && length > 0 {
            model.part = (saved.part.lowerBound + first)..<(saved.part.lowerBound + first + length)
            model.time += Int64(first)
            model.level += 1
        }
        context.subBlock(offset: first, length: length) { someSteps(&$0) }
        note("}")
        if isValid && length > 0 { model.endPart(saved) }
    }

    private func module(_ context: inout RenderContext) {
        guard level < Self.levels else { return }
        let module = modules[level][random.in(0...(Self.effects.count - 1))]
        let effect = module.stackEffect
        note("run(\(effect.pops) → \(effect.pushes)\(effect.isReadOnly ? ", reads" : "")) {")
        if model.reach < effect.pops {
            context.run(module)
            model.run(pops: effect.pops, pushes: effect.pushes, isReadOnly: effect.isReadOnly) {}
        } else {
            // The model begins, the steps inside do both, the model ends.
            model.run(pops: effect.pops, pushes: effect.pushes, isReadOnly: effect.isReadOnly) { context.run(module) }
        }
        note("}")
    }
}
