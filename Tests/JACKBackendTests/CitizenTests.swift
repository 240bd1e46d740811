import Glibc
import RenderStack
import Synchronization
import TestSupport
import Testing

@testable import JACKBackend
@testable import RenderCore
@testable import Supply

extension JACKTests {
    /// Tests of good behaviour on a machine that is not as it should be.
    @Suite struct CitizenTests {
        @Test("A server is started only where that is asked for, and JACK_NO_START_SERVER is not set")
        func noStart() throws {
            let home = "/tmp/rs-home-\(getpid())"
            let (mark, program) = ("\(home)/started", "\(home)/jackd")
            mkdir(home, 0o700)
            defer { for path in [mark, program, "\(home)/.jackdrc"] { unlink(path) }; rmdir(home) }
            func write(_ path: String, _ text: String) throws {
                let file = try #require(fopen(path, "w"))
                fputs(text, file)
                fclose(file)
                chmod(path, 0o700)
            }
            try write(program, "#!/bin/sh\necho \"$@\" >\(mark)\n")
            try write("\(home)/.jackdrc", "\(program) -d dummy\n")
            let before = unsafe getenv("HOME").map { unsafe String(cString: $0) } ?? "/"
            setenv("HOME", home, 1)
            defer { setenv("HOME", before, 1) }
            func starts(asked: Bool, forbidden: Bool) -> Bool {
                unlink(mark)
                if forbidden { setenv("JACK_NO_START_SERVER", "1", 1) } else { unsetenv("JACK_NO_START_SERVER") }
                defer { unsetenv("JACK_NO_START_SERVER") }
                let output = JACKOutput(Renderer(), server: "rs-absent-\(getpid())", startsServer: asked)
                #expect(throws: JACKError.self) { try output.start() }
                return access(mark, F_OK) == 0
            }
            #expect(!starts(asked: false, forbidden: false))
            #expect(!starts(asked: false, forbidden: true))
            #expect(!starts(asked: true, forbidden: true))
            #expect(starts(asked: true, forbidden: false))
        }

        @Test("A program without real-time priority says so, and plays on")
        func refusedPriority() throws {
            // A server that has it, as far as the machine gives it, and a program that may not have it.
            let server = try DummyServer(isRealTime: true)
            var path = [CChar](repeating: 0, count: 4096)
            let length = readlink("/proc/self/exe", &path, path.count - 1)
            let tests = String(decoding: path.prefix(max(0, length)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let folder = tests.split(separator: "/").dropLast().map { "/" + $0 }.joined()
            try #require(access("\(folder)/duplex", X_OK) == 0, "\(folder) has no duplex")
            // An ordinary user can give up the limit only, and may not drop rights that are not there.
            let drop = getuid() == 0 ? ["setpriv", "--bounding-set=-sys_nice", "--inh-caps=-sys_nice"] : []
            func play() throws -> (text: String, status: Int32) {
                try Program(
                    "prlimit", ["--rtprio=0"] + drop + ["\(folder)/duplex", "--seconds", "2"],
                    environment: server.environment.merging(["RENDERSTACK_OUTPUT": "jack"]) { $1 }
                ).wait()
            }
            var result = try play()
            // On a busy machine the server may not answer in the time for which the library waits.
            for _ in 0..<3 where result.text.contains("No JACK server") { result = try play() }
            #expect(result.status == 0, "\(result.text)")
            #expect(result.text.contains("No real-time priority: the sound may be interrupted"), "\(result.text)")
            #expect(result.text.contains("rtprio"), "\(result.text)")
            #expect(result.text.contains(/[1-9][0-9]* cycles/), "\(result.text)")
        }

        @Test("A server that stands still lets no thread wait forever")
        func standingStill() async throws {
            let server = try DummyServer()
            let renderer = Renderer(channels: 1)
            let late = Late(64)
            let voice = AudioInput(channels: 1)
            let output = JACKOutput(renderer, name: "still", server: server.name, inputs: [voice])
            try output.start()
            #expect(await becomesTrue { output.statistics.cycles > 3 })
            server.pause(true)
            defer { server.pause(false) }
            // It is asked for something, by us and by the house: neither is answered.
            try renderer.replaceLoop { context in
                context.run(voice)
                context.run(late)
                context.output()
            }
            _ = try? output.leadTempo(90)
            #expect(await becomesTrue { output.state == .waiting })
            output.stop()
            #expect(output.state == .stopped)
            // Nor does it answer anew; and then it is known.
            let other = JACKOutput(Renderer(), name: "other", server: server.name)
            #expect(throws: JACKError.notAnswering) { try other.start() }
            #expect(!JACKOutput.isServerRunning(named: server.name))
            server.pause(false)
            #expect(await becomesTrue { (try? other.start()) != nil })
            #expect(await becomesTrue { other.statistics.cycles > 3 })
            other.stop()
        }

        @Test("An output that begins while its server stands still says so, and begins when that goes on")
        func startsStill() async throws {
            let server = try DummyServer()
            server.pause(true)
            defer { server.pause(false) }
            let output = JACKOutput(Renderer(), name: "patient", server: server.name)
            #expect(throws: JACKError.notAnswering) { try output.start() }
            #expect(throws: JACKError.notAnswering) { try output.start() }
            server.pause(false)
            #expect(await becomesTrue { (try? output.start()) != nil })
            #expect(await becomesTrue { output.statistics.cycles > 3 })
            output.stop()
        }

        /// Addresses that a closure has seen.
        final class Seen: Sendable {
            let input = Atomic<UInt>(0)
            let edited = Atomic<UInt>(0)
            let bus = Atomic<UInt>(0)
        }

        @Test("An input pushes JACK's own memory, an edit copies it, and the output writes into JACK's memory")
        func copies() async throws {
            let server = try DummyServer()
            let voice = AudioInput(channels: 1)
            let (half, seen) = (Gain(0.5), Seen())
            let renderer = try Renderer(channels: 1) { context in
                context.run(voice)
                guard !context.isDryRun else { return }
                unsafe seen.input.store(UInt(bitPattern: context.samples(0).base), ordering: .relaxed)
                context.run(half)
                unsafe seen.edited.store(UInt(bitPattern: context.samples(0).base), ordering: .relaxed)
                context.output()
                unsafe seen.bus.store(
                    UInt(bitPattern: context.core.pointee.buses[0].channels[0]), ordering: .relaxed)
            }
            let output = JACKOutput(
                renderer, name: "copies", server: server.name, connect: .ports(inputs: ["system:capture_1"]))
            try output.start()
            #expect(await becomesTrue { voice.isConnected && output.statistics.cycles > 10 })
            // JACK's memory is shared: what the process has mapped says whose an address is.
            func isShared(_ address: UInt) -> Bool {
                JACKTests.contents(of: "/proc/self/maps").split(separator: "\n").contains { line in
                    let ends = line.prefix { $0 != " " }.split(separator: "-").compactMap { UInt($0, radix: 16) }
                    return ends.count == 2 && line.contains("/dev/shm/") && ends[0] <= address && address < ends[1]
                }
            }
            func load(_ address: borrowing Atomic<UInt>) -> UInt { address.load(ordering: .relaxed) }
            #expect(await becomesTrue { isShared(load(seen.input)) })
            #expect(await becomesTrue { isShared(load(seen.bus)) })
            #expect(!isShared(load(seen.edited)) && load(seen.edited) != 0)
            output.stop()
        }
    }

    @Suite struct ClockTests {
        @Test("Over days, round the end of JACK's numbers, a frame and its time stay together")
        func days() {
            // A card that is 37 millionths too fast, in cycles of 1024 frames, for three days.
            let clock = JACKClock()
            let exact = 1e9 / 48_000 / 1.000_037
            let cycles = 3 * 86_400 * 48_000 / 1024
            var worst = 0.0
            for cycle in 1...cycles {
                let frame = cycle * 1024
                clock.set(
                    frame: UInt32(truncatingIfNeeded: frame), hostTime: Int64((Double(frame) * exact).rounded()),
                    nanosecondsPerFrame: exact)
                guard cycle % 1000 == 0, let now = clock.now else { continue }
                worst = max(worst, abs(Double(now.frame - Int64(frame))))
                worst = max(worst, abs(Double(now.hostTime) - Double(now.frame) * exact) / exact)
            }
            #expect(worst < 0.001)
        }

        @Test("In freewheel the host time follows the samples, to the nanosecond, for an hour of sound")
        func freewheel() async throws {
            let server = try DummyServer(period: 2048)
            struct Moment: BitwiseCopyable, Sendable {
                let sample: Int64
                let host: Int64
            }
            final class Log: Sendable { let moments = MessagePort<Moment>(capacity: 65_536) }
            let log = Log()
            let renderer = try Renderer(channels: 1) { context in
                guard context.isOffline, context.sampleTime % (2048 * 64) == 0 else { return }
                log.moments.send(Moment(sample: context.sampleTime, host: context.hostTime))
            }
            let output = JACKOutput(renderer, name: "hour", server: server.name, connect: .none)
            try output.start()
            #expect(await becomesTrue { output.statistics.cycles > 3 })
            let events = Events(output)
            try output.setFreewheel(true)
            #expect(await becomesTrue { events.all.contains(.freewheel(true)) })
            #expect(await becomesTrue(60) { renderer.sampleTime > 3600 * 48_000 })
            try output.setFreewheel(false)
            output.stop()
            var moments: [Moment] = []
            log.moments.drain { moments.append($0) }
            let first = try #require(moments.first)
            #expect(first.sample == 0)
            #expect((moments.last?.sample ?? 0) > 3500 * 48_000)
            for moment in moments {
                let (host, frames) = (Double(moment.host - first.host), Double(moment.sample))
                #expect(abs(host - frames * (1e9 / 48_000)) <= 1)
            }
        }

        @Test("JACK's frame at a host time is what another program reads, at first and some seconds later")
        func peers() async throws {
            let server = try DummyServer(period: 256)
            let output = JACKOutput(Renderer(), name: "clock", server: server.name)
            try output.start()
            #expect(await becomesTrue { output.statistics.cycles > 100 })
            let file = "/tmp/rs-frames-\(getpid())"
            defer { unlink(file) }
            let peer = try JACKTests.peer(server, "frames", file, "40")
            defer {
                peer.signal(SIGTERM)
                peer.wait()
            }
            /// Returns whether both agree now: on a busy machine not always, since one looks later than the other.
            func agrees() throws -> Bool {
                let words = JACKTests.contents(of: file).split(separator: " ").compactMap { Int64($0) }
                guard words.count == 3, HostClock.now - words[0] < 100_000_000,
                    let before = try output.frame(atHostTime: words[0]),
                    let after = try output.frame(atHostTime: words[1])
                else { return false }
                return Int32(truncatingIfNeeded: words[2] - before) >= -2
                    && Int32(truncatingIfNeeded: after - words[2]) >= -2
            }
            #expect(try await becomesTrue(40) { try agrees() })
            try await Task.sleep(for: .seconds(4))
            #expect(try await becomesTrue(40) { try agrees() })
            output.stop()
        }
    }
}
