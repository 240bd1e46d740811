import RenderStack
import TestSupport
import Testing

/// A player as one would write it without cycles: frame by frame.
private struct NaivePlayer {
    struct Entry {
        let number: Int
        let samples: [Float]
        let options: BufferPlayer.Options
        let time: Int
    }
    enum Action { case play, pause, stop(Int) }

    var entries: [Entry] = []
    var commands: [(time: Int, action: Action)] = []
    var isPlaying = false
    var current: Entry?
    var position = 0
    var done = 0
    var now = 0

    mutating func next() -> Float {
        let frame = now
        now += 1
        for command in commands where command.time == frame {
            switch command.action {
            case .play: isPlaying = true
            case .pause: isPlaying = false
            case .stop(let number):
                isPlaying = false
                done = max(done, number, current?.number ?? 0)
                current = nil
            }
        }
        guard isPlaying else { return 0 }
        while true {
            let past = current?.number ?? done
            let waiting = entries.filter { $0.number > past }
            let due = waiting.filter { $0.time <= frame }
            let turn = due.last { $0.options.contains(.interruptsAtLoop) }
            if let cut = due.last(where: { $0.options.contains(.interrupts) }) {
                begin(cut)
            } else if let playing = current {
                if position < playing.samples.count {
                    position += 1
                    return playing.samples[position - 1]
                }
                if playing.options.contains(.loops) && turn == nil {
                    position = 0
                } else {
                    done = playing.number
                    current = nil
                }
            } else if let turn {
                begin(turn)
            } else if let first = waiting.first, first.time <= frame {
                begin(first)
            } else {
                return 0
            }
        }
    }

    private mutating func begin(_ entry: Entry) {
        done = entry.number - 1
        current = entry
        position = 0
    }
}

@Suite struct BufferPlayerModelTests {
    @Test("Any schedule gives the samples of a player without cycles", arguments: 1...40, [false, true])
    func random(seed: Int, usesFiles: Bool) throws {
        var random = Numbers(seed: UInt64(seed))
        let player = BufferPlayer(channels: 1)
        let renderer = try Renderer(channels: 1) { context in
            context.run(player)
            context.output()
        }
        let cycles = cycleLengths[seed % cycleLengths.count]
        var naive = NaivePlayer()
        var number = 0
        for _ in 0..<12 {
            for _ in 0..<random.below(4) {
                number += 1
                let length = 1 + random.below(random.below(3) == 0 ? 4 : 300)
                let samples = (0..<length).map { Float(1000 * number + $0) }
                let kinds: [BufferPlayer.Options] = [[], [], [], .interrupts, .interruptsAtLoop]
                var options = kinds[random.below(kinds.count)]
                if random.below(3) == 0 { options.insert(.loops) }
                let time = random.below(2) == 0 ? -1 : naive.now + random.below(400)
                naive.entries.append(NaivePlayer.Entry(number: number, samples: samples, options: options, time: time))
                let start = time < 0 ? RenderTime.immediately : .sample(Int64(time))
                if usesFiles && number % 2 == 0 {
                    // A segment of a file with other samples around.
                    let file = memoryFile([[7, 7, 7] + samples + [7, 7]])
                    player.schedule(file, frames: 3..<Int64(3 + length), options, at: start)
                } else {
                    player.schedule(Sound(AudioBlock([samples]), sampleRate: 48_000), options, at: start)
                }
            }
            for _ in 0..<random.below(4) {
                let time = naive.now + random.below(250)
                if naive.commands.contains(where: { $0.time == time }) { continue }
                switch random.below(5) {
                case 0:
                    naive.commands.append((time, .pause))
                    player.pause(at: .sample(Int64(time)))
                case 1 where random.below(2) == 0:
                    naive.commands.append((time, .stop(number)))
                    player.stop(at: .sample(Int64(time)))
                default:
                    naive.commands.append((time, .play))
                    player.play(at: .sample(Int64(time)))
                }
            }
            let frames = 1 + random.below(400)
            let heard = render(renderer, frames: frames, cycles: cycles)[0]
            let expected = (0..<frames).map { _ in naive.next() }
            #expect(heard == expected, "up to frame \(naive.now)")
        }
        #expect(renderer.faultCount == 0)
    }
}

/// Numbers that are the same each time.
struct Numbers {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    mutating func below(_ limit: Int) -> Int {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Int(state >> 33) % limit
    }
}
