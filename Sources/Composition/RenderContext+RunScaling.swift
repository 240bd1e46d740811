public import RenderCore
public import Synchronization

// Running effects in a row that only multiply: a sample need not go through memory for each of them.

/// An effect that, while its parameters rest, multiplies every sample of the top by one number and does nothing else.
@usableFromInline package protocol ScalingEffect: Effect {
    /// Returns the number by which ``Module/process(_:)`` would multiply every sample of the top in this slice, if that is all
    /// that it would do; `nil` if it would do anything else, such as glide. The number may depend on parameters and constants
    /// only, because four effects are asked before the first of them runs.
    @_noLocks @_noAllocation
    func factorAtRest(_ context: borrowing RenderContext) -> Float?
}

extension RenderContext {
    /// Runs effects of one kind, one after the other. While their parameters rest, four of them read and write each sample once.
    /// The samples are the same as those that `process` makes.
    @inlinable package mutating func runScaling<M: ScalingEffect>(_ modules: [M]) {
        let modules = modules.span
        var index = 0
        while index < modules.count {
            index = scaleInTurn(modules, from: index)
            // Here fewer than four are left, or one of the next four does more than multiply.
            let end = min(index &+ 4, modules.count)
            while index < end {
                let next = runInTurn(modules, from: index, to: end)
                if next == index { unsafe modules.unmanaged(at: index)._withUnsafeGuaranteedRef { run($0) } }
                index = max(next, index &+ 1)
            }
        }
    }

    /// Runs effects four at a time, as long as each is the one that is expected, each only multiplies, and nothing is out of the
    /// ordinary. Returns the index of the first that was not run.
    @inlinable @inline(__always)
    mutating func scaleInTurn<M: ScalingEffect>(_ modules: borrowing Span<M>, from first: Int) -> Int {
        let (core, depth) = unsafe (self.core, self.depth)
        guard unsafe core.pointee.attention == 0, depth > floor && depth <= entryCount else { return first }
        let top = unsafe entries + (depth &- 1)
        let format = unsafe top.pointee.format
        guard format == StackEntry.monoOwn || format == StackEntry.stereoOwn else { return first }
        let left = unsafe top.pointee.channels[0] + offset
        let right = unsafe format == StackEntry.stereoOwn ? top.pointee.channels[1] + offset : nil
        var index = first
        while index &+ 4 <= modules.count {
            let record = unsafe cursor
            guard let one = unsafe factor(modules.unmanaged(at: index), record),
                let two = unsafe factor(modules.unmanaged(at: index &+ 1), record + 1),
                let three = unsafe factor(modules.unmanaged(at: index &+ 2), record + 2),
                let four = unsafe factor(modules.unmanaged(at: index &+ 3), record + 3)
            else { break }
            let factors = SIMD4(one, two, three, four)
            // The samples by which it is found which of the four has made one that is no number.
            let last = unsafe SIMD2(left[frameCount &- 1], right?[frameCount &- 1] ?? 0)
            unsafe Kernel.scale(left, inTurn: factors, frameCount)
            if let right = unsafe right { unsafe Kernel.scale(right, inTurn: factors, frameCount) }
            unsafe cursor = record + 4
            unsafe core.pointee.last = record + 3
            index &+= 4
            if Checks.areOn,
                unsafe _slowPath(
                    !RenderContext.isNumber(left[frameCount &- 1])
                        || right.map { unsafe !RenderContext.isNumber($0[frameCount &- 1]) } ?? false)
            {
                return unsafe index &- 4 &+ endScaling(record, factors, last)
            }
        }
        return index
    }

    /// Returns the number by which an effect multiplies in this slice; `nil` if it does anything else, also nothing, or if
    /// another module is expected.
    @inlinable @inline(__always)
    func factor<M: ScalingEffect>(_ module: Unmanaged<M>, _ record: UnsafeMutablePointer<ModuleRecord>) -> Float? {
        let isExpected = unsafe record.pointee.key.load(ordering: .acquiring) == UInt(bitPattern: module.toOpaque())
        guard isExpected else { return nil }
        let factor = unsafe module._withUnsafeGuaranteedRef { $0.factorAtRest(self) }
        return factor == 1 ? nil : factor
    }

    /// Puts the top right behind four effects, the first of whose records is given, one of which has made a sample that is no
    /// number: as if those behind it had not run. Returns the number of effects that have.
    @usableFromInline @inline(never) mutating func endScaling(
        _ record: UnsafeMutablePointer<ModuleRecord>, _ factors: SIMD4<Float>, _ last: SIMD2<Float>
    ) -> Int {
        var (samples, guilty) = (last, 0)
        while guilty < 3 {
            samples *= factors[guilty]
            if !RenderContext.isNumber(samples[0]) || !RenderContext.isNumber(samples[1]) { break }
            guilty &+= 1
        }
        let frame = unsafe enter(record + guilty, pops: 1)
        putRight(depth, 1)
        leave(frame)
        return guilty &+ 1
    }
}
