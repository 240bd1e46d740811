import Synchronization
import Testing

@testable import RenderCore
@testable import Sharing

/// A module that notes its commands and their times.
private final class Told: Tap {
    let commands = CommandQueue<Int>()
    let heard = MessagePort<Note>()

    struct Note: BitwiseCopyable, Sendable, Equatable {
        let frame: Int64
        let command: Int
    }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        var frame = 0
        while let due = commands.next(&context, from: frame) {
            frame = due.frame
            heard.send(Note(frame: context.sampleTime + Int64(frame), command: due.command))
        }
    }

    func send(_ command: Int, at time: RenderTime = .immediately) -> Bool { commands.send(command, at: time) }

    var count: Int { commands.count }

    func notes() -> [Note] {
        var notes: [Note] = []
        heard.drain { notes.append($0) }
        return notes
    }

    func renderer() throws -> Renderer {
        try Renderer(sampleRate: 1000, channels: 1) { context in
            context.push(channels: 1)
            context.run(self)
        }
    }
}

@Suite struct CommandQueueTests {
    private func note(_ frame: Int64, _ command: Int) -> Told.Note { Told.Note(frame: frame, command: command) }

    @Test("Commands come at their frame, the earliest first, those of one time in the order of sending")
    func order() throws {
        let told = Told()
        let renderer = try told.renderer()
        let sent = [(30, 1), (5, 2), (30, 3), (100, 4), (5, 5)]
        for (frame, command) in sent { #expect(told.send(command, at: .sample(Int64(frame)))) }
        #expect(told.send(6))
        _ = renderer.values(40, cycle: 40)
        #expect(told.notes() == [note(0, 6), note(5, 2), note(5, 5), note(30, 1), note(30, 3)])
        #expect(told.count == 1)
        #expect(told.send(7, at: .sample(10)))  // late: at once
        _ = renderer.values(100, cycle: 7)
        #expect(told.notes() == [note(40, 7), note(100, 4)])
        #expect(told.count == 0)
    }

    @Test("Host times and durations come to the nearest frame")
    func hostTimes() throws {
        let told = Told()
        let renderer = try told.renderer()
        #expect(told.send(1, at: .sample(10) + .milliseconds(15)))
        #expect(told.send(2, at: .host(7_600_000)))
        var block = AudioBlock(channels: 1, frames: 50)
        renderer.render(into: &block, hostTime: 0, isOffline: true)
        #expect(told.notes() == [note(8, 2), note(25, 1)])
    }

    @Test("A transaction sends its commands when it is applied, and none if it throws")
    func transactions() throws {
        struct Stop: Error {}
        let told = Told()
        let renderer = try told.renderer()
        renderer.transaction {
            #expect(told.send(1))
            #expect(told.count == 0)
        }
        try? renderer.transaction {
            #expect(told.send(2))
            throw Stop()
        }
        try renderer.transaction(at: .sample(13)) { #expect(told.send(3)) }
        _ = renderer.values(20, cycle: 20)
        #expect(told.notes() == [note(0, 1), note(13, 3)])
    }

    @Test("64 commands may wait; send returns false for one more, and there is room again when some are due")
    func full() throws {
        let told = Told()
        let renderer = try told.renderer()
        for number in 0..<64 { #expect(told.send(number, at: .sample(Int64(number)))) }
        #expect(!told.send(64))
        _ = renderer.values(10, cycle: 10)
        for number in 0..<10 { #expect(told.send(100 + number, at: .sample(500))) }
        #expect(!told.send(64))
        _ = renderer.values(100, cycle: 100)
        #expect(told.notes().map(\.command) == Array(0..<64))
    }

    @Test("Several senders and a render thread: nothing is lost, and each one's order is kept")
    func threads() throws {
        // A slice is given 64 at most, so that the port never holds more than it has room for.
        let told = Told()
        let renderer = try told.renderer()
        let finished = Atomic<Int>(0)
        let senders = (0..<3).map { sender in
            TestThread {
                for number in 0..<2000 { while !told.send(sender * 10_000 + number) {} }
                finished.wrappingAdd(1, ordering: .releasing)
            }
        }
        var notes: [Told.Note] = []
        while finished.load(ordering: .acquiring) < 3 || told.count > 0 {
            _ = renderer.values(1)
            notes += told.notes()
        }
        for sender in senders { sender.join() }
        for sender in 0..<3 {
            let numbers = notes.map(\.command).filter { $0 / 10_000 == sender }
            #expect(numbers == Array((sender * 10_000)..<(sender * 10_000 + 2000)))
        }
    }
}
