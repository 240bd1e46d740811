import CRender
import Glibc
import Synchronization
import Testing

@testable import RenderCore

/// A function as a C library has it: all it knows is where the channels are.
private typealias Function =
    @convention(c) @Sendable (UnsafeMutablePointer<UnsafeMutablePointer<Float>?>, Int32) -> Void

/// An effect that has a C function do its work.
private final class Foreign: Effect {
    private let code: ForeignCode
    private let function: Function
    let resets = Atomic<Int>(0)

    init(_ name: String, _ function: @escaping Function) {
        code = ForeignCode(name, because: "the test has written it")
        unsafe self.function = function
    }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        let function = unsafe function
        code.call(&context) { context in
            var top = context.top
            unsafe top.withUnsafeChannels { channels, frames in unsafe function(channels, Int32(frames)) }
        }
    }

    @_noLocks @_noAllocation
    func reset(_ context: inout RenderContext) { resets.wrappingAdd(1, ordering: .relaxed) }
}

/// Pushes a buffer of two channels: the number of the frame and half more, or given values in both.
private final class Numbers: Generator {
    private let values: [Float]
    init(_ values: [Float] = []) { self.values = values }

    func process(_ context: inout RenderContext) {
        context.push(channels: 2)
        let first = Int(context.sampleTime)
        let values = values
        var top = context.top
        let frames = top.frameCount
        for channel in 0..<2 {
            var samples = top[channel]
            for i in 0..<frames {
                let frame = first + i
                samples[i] = frame < values.count ? values[frame] : Float(frame) + Float(channel) * 0.5
            }
        }
    }
}

@Suite struct ForeignCodeTests {
    @Test("a C function gets every channel and frame, whatever the cycle, also in a part of a slice")
    func function() throws {
        for cycle in [1, 7, 64, 500] {
            let counter = Numbers()
            let foreign = Foreign("negate") { channels, frames in
                for channel in 0..<2 {
                    for i in 0..<Int(frames) { unsafe channels[channel]![i] *= channel == 0 ? -1 : 2 }
                }
                // The table is a copy: this reaches nothing.
                unsafe channels[0] = nil
            }
            let renderer = try Renderer { context in
                context.run(counter)
                if context.frameCount > 3 {
                    context.subBlock(offset: 2, length: context.frameCount - 3) { $0.run(foreign) }
                } else {
                    context.run(foreign)
                }
                context.output()
            }
            let block = renderer.renderOffline(frames: 500, cycle: cycle)
            // The C function does not hear the first two frames of a slice, nor the last, unless it is a short one.
            func expected(_ channel: Int, _ frame: Int) -> Float {
                let before = Float(frame) + Float(channel) * 0.5
                let place = frame % cycle
                let length = min(cycle, 500 - (frame - place))
                let isHeard = length <= 3 || (2..<length - 1).contains(place)
                return !isHeard ? before : channel == 0 ? -before : before * 2
            }
            for channel in 0..<2 {
                let array = block.array(channel)
                for frame in 0..<500 {
                    #expect(array[frame] == expected(channel, frame), "\(cycle) \(channel) \(frame)")
                }
            }
            #expect(renderer.faultCount == 0)
        }
    }

    @Test("an infinite sample of foreign code becomes silence, one fault with both names, and a reset")
    func output() async throws {
        let counter = Numbers()
        // In the middle of the slice, where the look at the last frame would not find it.
        let foreign = Foreign("broken") { channels, frames in
            if unsafe channels[1]![0] > 100 && channels[1]![0] < 190 { unsafe channels[1]![3] = .nan }
        }
        let renderer = try Renderer { context in
            context.run(counter)
            context.run(foreign)
            context.output()
        }
        var block = AudioBlock(channels: 2, frames: 256)
        let found = try await faults(of: renderer, count: 1) {
            renderer.renderOffline(into: &block, from: 0, frames: 256, cycle: 64)
        }
        for channel in 0..<2 {
            let array = block.array(channel)
            for frame in 0..<256 {
                #expect(array[frame] == ((128..<192).contains(frame) ? 0 : Float(frame) + Float(channel) * 0.5))
            }
        }
        #expect(found.count == 1)
        #expect(found.first?.kind == .notFinite)
        #expect(found.first?.count == 1)
        #expect(found.first?.sampleTime == 128)
        #expect(found.first?.module == "Foreign")
        #expect(found.first?.foreignCode == "broken")
        #expect(
            found.first?.description
                == "the foreign code \"broken\" in Foreign made a sample that is infinite or not a number; its buffers are "
                + "silenced")
        #expect(foreign.resets.load(ordering: .relaxed) == 1)
    }

    @Test("samples that are not finite do not reach it")
    func input() async throws {
        // After the first second, in which every module is searched, and not in the last frame of a slice.
        let count = 60_160
        let counter = Numbers((0..<count).map { $0 == 60_070 ? .infinity : 1 })
        let foreign = Foreign("careful") { channels, frames in
            for i in 0..<Int(frames) { unsafe channels[0]![i] = channels[0]![i].isFinite ? channels[0]![i] + 1 : 99 }
        }
        let heard = Foreign("listener") { channels, frames in
            for i in 0..<Int(frames) where unsafe channels[0]![i] == 99 { unsafe channels[0]![i] = .nan }
        }
        let renderer = try Renderer { context in
            context.run(counter)
            context.run(foreign)
            context.run(heard)
            context.output()
        }
        var block = AudioBlock(channels: 2, frames: count)
        let found = try await faults(of: renderer, count: 1) {
            renderer.renderOffline(into: &block, from: 0, frames: count, cycle: 64)
        }
        let array = block.array(0)
        let expected = (0..<count).map { (frame: Int) -> Float in (60_032..<60_096).contains(frame) ? 0 : 2 }
        #expect(array == expected)
        #expect(found.map(\.foreignCode) == ["careful"])
        #expect(
            found.first?.description
                == "the foreign code \"careful\" in Foreign would get a sample that is infinite or not a number; it "
                + "gets silence instead")
        #expect(foreign.resets.load(ordering: .relaxed) == 0)
    }

    @Test("two kinds of foreign code in one module, and code in the closure, are told apart")
    func names() async throws {
        let counter = Numbers()
        let first = Holder(ForeignCode("first", because: "a test"))
        let second = Holder(ForeignCode("second\0hidden", because: ""))
        let renderer = try Renderer { context in
            context.run(counter)
            first.code.call(&context) { context in
                var top = context.top
                var samples = top[0]
                for i in samples.indices { samples[i] = .infinity }
            }
            second.code.call(&context) { context in
                var top = context.top
                var samples = top[1]
                for i in samples.indices { samples[i] = -.infinity }
            }
            context.output()
        }
        var block = AudioBlock(channels: 2, frames: 64)
        let found = try await faults(of: renderer, count: 2) { renderer.render(into: &block) }
        #expect((block.array(0) + block.array(1)).allSatisfy { $0 == 0 })
        #expect(found.map(\.foreignCode) == ["first", "second\0hidden"])
    }

    private final class Holder: Sendable {
        let code: ForeignCode
        init(_ code: consuming ForeignCode) { self.code = code }
    }

    @Test("it does not change how the thread rounds, nor what denormal numbers are to it")
    func rounding() throws {
        let counter = Numbers()
        let foreign = Foreign("rounds") { channels, frames in
            fesetround(0x400)
            crender_denormals_restore(~crender_denormals_word())
        }
        let renderer = try Renderer { context in
            context.run(counter)
            context.run(foreign)
            context.output()
        }
        let (before, direction) = (crender_rounding_word(), fegetround())
        var block = AudioBlock(channels: 2, frames: 64)
        renderer.render(into: &block)
        #expect(crender_rounding_word() == before)
        // libc's rounding counts too: the processor has two such words.
        #expect(fegetround() == direction)
        // The test would fail if the code had done nothing.
        fesetround(0x400)
        #expect(crender_rounding_word() != before)
        #expect(fegetround() != direction)
        crender_rounding_restore(before)
        #expect(crender_rounding_word() == before)
        #expect(fegetround() == direction)
    }

    @Test("in a dry run it is not called")
    func dryRun() throws {
        let calls = Calls()
        let code = Holder(ForeignCode("never", because: "a test"))
        let renderer = try Renderer { context in
            context.push()
            code.code.call(&context) { _ in calls.count.wrappingAdd(1, ordering: .relaxed) }
            context.output()
        }
        #expect(calls.count.load(ordering: .relaxed) == 0)
        _ = renderer.renderOffline(frames: 10, cycle: 5)
        #expect(calls.count.load(ordering: .relaxed) == 2)
    }

    @Test("a second renderer that calls it, or it itself, gets a fault, and the code is not called")
    func stranger() async throws {
        let calls = Calls()
        let code = Holder(ForeignCode("alone", because: "a test"))
        let loop: RenderLoop = { context in
            context.push()
            code.code.call(&context) { context in
                calls.count.wrappingAdd(1, ordering: .relaxed)
                code.code.call(&context) { _ in calls.count.wrappingAdd(100, ordering: .relaxed) }
            }
            context.output()
        }
        let (first, second) = (try Renderer(loop), try Renderer(loop))
        var block = AudioBlock(channels: 2, frames: 64)
        let own = try await faults(of: first, count: 1) { first.render(into: &block) }
        #expect(own.map(\.kind) == [.nestedState])
        let others = try await faults(of: second, count: 1) { second.render(into: &block) }
        #expect(others.map(\.kind) == [.foreignState])
        #expect(calls.count.load(ordering: .relaxed) == 1)
    }

    private final class Calls: Sendable { let count = Atomic<Int>(0) }
}
