import TestSupport
import Testing

@testable import SignalBlocks

@Suite struct SmallMemoryTests {
    /// A place that was taken, with the byte that the taker has written all over it.
    @safe private struct Taken {
        let memory: UnsafeMutableRawPointer
        let bytes: Int
        let mark: UInt8

        func isWhole() -> Bool {
            (0..<bytes).allSatisfy { unsafe memory.load(fromByteOffset: $0, as: UInt8.self) == mark }
        }
    }

    @Test("Places never overlap, begin with zeros, and lie on lines of the cache")
    func placesAreApart() {
        var random = SplitMix(state: 7)
        var taken: [Taken] = []
        for round in 0..<20_000 {
            if taken.isEmpty || (taken.count < 2_000 && Bool.random(using: &random)) {
                let bytes = Int.random(in: 1...512 >> Int.random(in: 0...6, using: &random), using: &random)
                guard let memory = unsafe SmallMemory.take(bytes) else {
                    Issue.record("there is no memory of \(bytes) bytes")
                    return
                }
                #expect(UInt(bitPattern: memory) % (bytes > 16 ? 64 : 16) == 0)
                #expect((0..<bytes).allSatisfy { unsafe memory.load(fromByteOffset: $0, as: UInt8.self) == 0 })
                let mark = UInt8(truncatingIfNeeded: round | 1)
                unsafe memory.initializeMemory(as: UInt8.self, repeating: mark, count: bytes)
                unsafe taken.append(Taken(memory: memory, bytes: bytes, mark: mark))
            } else {
                let one = taken.swapRemove(at: Int.random(in: 0..<taken.count, using: &random))
                #expect(one.isWhole())
                unsafe SmallMemory.give(one.memory, one.bytes)
            }
        }
        for one in taken {
            #expect(one.isWhole())
            unsafe SmallMemory.give(one.memory, one.bytes)
        }
    }

    @Test("Memory that is taken in turn lies side by side, once all that was given back is in use")
    func neighboursAreNear() {
        var places: [UInt] = []
        var inRow = 0
        while inRow < 500 && places.count < 100_000 {
            guard let memory = unsafe SmallMemory.take(64) else { break }
            let place = UInt(bitPattern: memory)
            inRow = place == places.last.map { $0 + 64 } ? inRow + 1 : 0
            places.append(place)
        }
        #expect(inRow == 500)
        for place in places {
            if let memory = unsafe UnsafeMutableRawPointer(bitPattern: place) { unsafe SmallMemory.give(memory, 64) }
        }
    }

    @Test("Larger memory has a place of its own") func largerMemoryIsElsewhere() { #expect(!SmallMemory.has(513)) }
}

extension Array {
    fileprivate mutating func swapRemove(at index: Int) -> Element {
        swapAt(index, count - 1)
        return removeLast()
    }
}
