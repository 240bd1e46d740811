import Glibc
import Synchronization
import Testing

@testable import RenderCore
@testable import Sharing

@Suite struct ManagedArrayTests {
    private struct Voice: ~Copyable, Sendable {
        let key: Int
        let index: Int
        var frames = 0
        private let lives: Lives
        private let order: Record<Int>?
        init(_ key: Int, _ index: Int, _ lives: Lives, _ order: Record<Int>? = nil) {
            self.key = key
            self.index = index
            self.lives = lives
            self.order = order
            lives.begin()
        }
        deinit {
            order?.add(key)
            lives.end()
        }
    }

    /// The values that the render side has seen last: key, index at birth, frames lived.
    private struct Seen: Sendable, Equatable {
        var key: Int
        var index: Int
        var frames: Int
        init(_ key: Int, _ index: Int, _ frames: Int) {
            self.key = key
            self.index = index
            self.frames = frames
        }
    }

    private final class Choir: Sendable {
        let voices = ManagedArray<Int, Voice>()
        let seen = Lock<[Seen]>([])

        func renderer() throws -> Renderer {
            try Renderer(channels: 1) { [self] context in
                seen.withLock { $0 = [] }
                let frames = context.frameCount
                voices.forEach(&context) { voice, _ in
                    voice.frames += frames
                    let entry = Seen(voice.key, voice.index, voice.frames)
                    seen.withLock { $0.append(entry) }
                }
            }
        }
    }

    @Test("Survivors keep their state; make is called for new keys only, with their position")
    func survivors() throws {
        let choir = Choir()
        let lives = Lives()
        let renderer = try choir.renderer()
        choir.voices.update([60, 64]) { key, index in Voice(key, index, lives) }
        _ = renderer.values(10)
        #expect(choir.seen.withLock { $0 } == [Seen(60, 0, 10), Seen(64, 1, 10)])
        let made = Record<[Int]>()
        choir.voices.update([67, 64, 60, 70]) { key, index in
            made.add([key, index])
            return Voice(key, index, lives)
        }
        #expect(made.all == [[67, 0], [70, 3]])
        #expect(choir.voices.keys == [67, 64, 60, 70])
        _ = renderer.values(5)
        #expect(
            choir.seen.withLock { $0 } == [Seen(67, 0, 5), Seen(64, 1, 15), Seen(60, 0, 15), Seen(70, 3, 5)])
        choir.voices.update([]) { key, index in Voice(key, index, lives) }
        _ = renderer.values(5)
        #expect(choir.seen.withLock { $0 }.isEmpty)
        #expect(choir.voices.count == 0)
        #expect(renderer.faultCount == 0)
    }

    @Test("Entries that left are freed once, in the order of the list, and then the completion runs")
    func release() async throws {
        let choir = Choir()
        let lives = Lives()
        let order = Record<Int>()
        let renderer = try choir.renderer()
        choir.voices.update([5, 3, 9, 1]) { key, index in Voice(key, index, lives, order) }
        _ = renderer.values(1)
        let told = Record<Int>()
        choir.voices.update([3], whenOldIsReleased: { told.add(order.count) }) { key, index in Voice(key, index, lives)
        }
        #expect(await becomesTrue { told.count == 1 })
        #expect(told.all == [3])
        #expect(order.all == [5, 9, 1])
        #expect(lives.alive == 1)
    }

    @Test("One state is replaced, the others stay")
    func replace() async throws {
        let choir = Choir()
        let lives = Lives()
        let renderer = try choir.renderer()
        choir.voices.update([1, 2]) { key, index in Voice(key, index, lives) }
        _ = renderer.values(4)
        let (isThere, isNotThere) = (
            choir.voices.replace(2, with: Voice(2, 77, lives)), choir.voices.replace(3, with: Voice(3, 77, lives))
        )
        #expect(isThere && !isNotThere)
        _ = renderer.values(4)
        #expect(choir.seen.withLock { $0 } == [Seen(1, 0, 8), Seen(2, 77, 4)])
        #expect(await becomesTrue { lives.alive == 2 })
    }

    @Test("A change is seen with the others of its transaction; control code sees it at once")
    func transaction() async throws {
        let choir = Choir()
        let lives = Lives()
        let renderer = try choir.renderer()
        choir.voices.update([1]) { key, index in Voice(key, index, lives) }
        _ = renderer.values(1)
        renderer.transaction {
            choir.voices.update([1, 2]) { key, index in Voice(key, index, lives) }
            _ = renderer.values(1)
            #expect(choir.seen.withLock { $0 } == [Seen(1, 0, 2)])
            choir.voices.update([2, 3]) { key, index in Voice(key, index, lives) }
            #expect(choir.voices.keys == [2, 3])
        }
        _ = renderer.values(1)
        #expect(choir.seen.withLock { $0 } == [Seen(2, 1, 1), Seen(3, 1, 1)])
        #expect(await becomesTrue { lives.alive == 2 })
        #expect(lives.made.load(ordering: .relaxed) == 3)
    }

    @Test("Of equal keys the first counts; a position that is not there runs nothing")
    func positions() throws {
        let voices = ManagedArray<Int, Voice>()
        let lives = Lives()
        let seen = Record<Int>()
        let renderer = try Renderer(channels: 1) { context in
            guard !context.isDryRun else { return }
            seen.add(voices.count(&context))
            for index in [-1, 0, 1, 2] { voices.with(index, &context) { voice, _ in seen.add(voice.key) } }
        }
        voices.update([4, 4, 5, 4]) { key, index in Voice(key, index, lives) }
        #expect(voices.keys == [4, 5])
        _ = renderer.values(1)
        #expect(seen.all == [2, 4, 5])
        #expect(renderer.faultCount == 0)
    }

    @Test("A search ends where its closure returns true, and sees one list while others take its place")
    func search() throws {
        final class Turns: Sendable {
            let asked = Atomic<Int>(0)
            let done = Atomic<Int>(0)
        }
        let voices = ManagedArray<Int, Voice>()
        let (lives, turns) = (Lives(), Turns())
        let seen = Record<Int>()
        let renderer = try Renderer(channels: 1) { context in
            guard !context.isDryRun else { return }
            voices.search(&context) { voice, _ in
                seen.add(voice.key)
                let turn = turns.asked.wrappingAdd(1, ordering: .releasing).newValue
                while turns.done.load(ordering: .acquiring) < turn {}
                return voice.key == 8
            }
        }
        voices.update([5, 6, 7, 8, 9]) { key, index in Voice(key, index, lives) }
        // At each look control code takes the first out of the list: what follows moves up.
        let control = TestThread {
            for turn in 1...5 {
                while turns.asked.load(ordering: .acquiring) < turn { usleep(50) }
                voices.update(Array(voices.keys.dropFirst())) { key, index in Voice(key, index, lives) }
                turns.done.store(turn, ordering: .releasing)
            }
        }
        defer {
            turns.asked.store(5, ordering: .releasing)
            control.join()
        }
        _ = renderer.values(1)
        #expect(seen.all == [5, 6, 7, 8])
        _ = renderer.values(1)
        #expect(seen.all == [5, 6, 7, 8, 9])
    }

    @Test("A make that throws leaves the list as it was")
    func throwing() async throws {
        struct Refusal: Error {}
        let choir = Choir()
        let lives = Lives()
        let renderer = try choir.renderer()
        choir.voices.update([1]) { key, index in Voice(key, index, lives) }
        #expect(throws: Refusal.self) {
            try choir.voices.update([2, 3]) { key, index in
                if key == 3 { throw Refusal() }
                return Voice(key, index, lives)
            }
        }
        #expect(choir.voices.keys == [1])
        _ = renderer.values(1)
        #expect(choir.seen.withLock { $0 } == [Seen(1, 0, 1)])
        #expect(await becomesTrue { lives.alive == 1 })
    }

    @Test("Everything is freed with the list, on a thread that does not render")
    func freed() async throws {
        let lives = Lives()
        do {
            let choir = Choir()
            let renderer = try choir.renderer()
            let driver = TestDriver(renderer, watchedBy: lives)
            #expect(await becomesTrue { driver.cycles.load(ordering: .relaxed) > 0 })
            for number in 0..<500 {
                choir.voices.update([number, number + 1, number + 2]) { key, index in Voice(key, index, lives) }
            }
            driver.stop()
        }
        #expect(await becomesTrue { lives.alive == 0 })
        #expect(lives.made.load(ordering: .relaxed) == 502)
        #expect(lives.freedOnRenderThread.load(ordering: .relaxed) == 0)
    }

    @Test("Entries that are added one by one are seen at once, and need few lists, however many there are")
    func appended() async throws {
        let lives = Lives()
        do {
            let seen = Record<Int>()
            let box = Appended(ManagedArray<Int, Mortal>())
            let renderer = try Renderer(channels: 1) { context in
                var sum = 0
                box.array.forEach(&context) { mortal, _ in sum += mortal.number }
                seen.add(sum)
            }
            var expected = 0
            for number in 1...5_000 {
                _ = box.array.append(
                    number, Mortal(number, lives), keeping: { _ in true })
                expected += number
                if number % 500 == 0 {
                    _ = renderer.renderOffline(frames: 1)
                    #expect(seen.all.last == expected)
                }
            }
            #expect(box.array.keys == Array(1...5_000))
            let lists = unsafe box.array.list.cell.pointee.versions.load(ordering: .relaxed)
            #expect(lists < 30)
            box.array.keep { $0 > 4_000 }
            box.array.replaceEach { $0 == 4_500 ? Mortal(-1, lives) : nil }
            _ = renderer.renderOffline(frames: 1)
            #expect(seen.all.last == (4_001...5_000).reduce(0, +) - 4_501)
            #expect(await becomesTrue { lives.alive == 1_000 })
        }
        #expect(await becomesTrue { lives.alive == 0 })
    }

    @Test("An entry that a transaction adds is seen with the transaction, and is gone if that throws")
    func appendedInTransactions() throws {
        struct No: Error {}
        let lives = Lives()
        let box = Appended(ManagedArray<Int, Mortal>())
        let seen = Record<Int>()
        let renderer = try Renderer(channels: 1) { context in
            var sum = 0
            box.array.forEach(&context) { mortal, _ in sum += mortal.number }
            seen.add(sum)
        }
        @Sendable func append(_ number: Int) -> Bool {
            box.array.append(number, Mortal(number, lives), keeping: { _ in true })
        }
        func heard() -> Int {
            _ = renderer.renderOffline(frames: 1)
            return seen.all.last ?? -1
        }
        #expect(!append(1) && append(2) && heard() == 3)
        renderer.transaction {
            #expect(!append(10))
            #expect(!append(20))
            #expect(heard() == 3)
        }
        #expect(heard() == 33)
        try? renderer.transaction {
            #expect(!append(100))
            throw No()
        }
        #expect(heard() == 33 && box.array.keys == [1, 2, 10, 20])
        #expect(!append(200) && append(400) && heard() == 633)
        #expect(box.array.keys == [1, 2, 10, 20, 200, 400])
    }

    private final class Appended: Sendable {
        let array: ManagedArray<Int, Mortal>
        init(_ array: consuming ManagedArray<Int, Mortal>) { self.array = array }
    }
}
