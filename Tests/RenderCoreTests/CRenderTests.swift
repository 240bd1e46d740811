import CRender
import Foundation
import Glibc
import TestSupport
import Testing

/// Runs a test's body on a thread of its own, so that what it sets there ends with it.
func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
        Thread { continuation.resume(returning: body()) }.start()
    }
}

func setLimit(_ resource: __rlimit_resource, soft: rlim_t, hard: rlim_t) {
    var limit = rlimit(rlim_cur: soft, rlim_max: hard)
    let error = unsafe setrlimit(__rlimit_resource_t(resource.rawValue), &limit)
    precondition(error == 0, "a limit of \(hard) is refused: errno \(errno)")
}

private func limit(_ resource: __rlimit_resource) -> rlimit {
    var limit = rlimit()
    _ = unsafe getrlimit(__rlimit_resource_t(resource.rawValue), &limit)
    return limit
}

/// A figure that the kernel keeps of this process.
private func kilobytes(_ name: String) -> Int {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix(name) } ?? ""
    return Int(line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first ?? "") ?? -1
}

/// Multiplies while the test runs, and not when it is compiled.
@inline(never)
@_optimize(none)
private func product(_ a: Float, _ b: Float) -> Float { a * b }

@Suite struct CRenderTests {
    /// The smallest normal number, and half of it: a denormal one.
    let smallest = Float.leastNormalMagnitude

    @Test("denormals are flushed, as results and as operands, on the thread that asks, until it restores them")
    func denormals() async {
        let smallest = smallest
        await onThread {
            #expect(product(smallest, 0.5) == smallest / 2)
            let word = crender_denormals_off()
            #expect(product(smallest, 0.5).bitPattern == 0)
            #expect(product(-smallest, 0.5).bitPattern == Float(-0.0).bitPattern)
            #expect(product(Float(bitPattern: 0x0040_0000), 4).bitPattern == 0)
            #expect(product(smallest, 1) == smallest)
            let inner = crender_denormals_off()
            crender_denormals_restore(inner)
            #expect(product(smallest, 0.5).bitPattern == 0)
            crender_denormals_restore(word)
            #expect(product(smallest, 0.5).bitPattern == 0x0040_0000)
        }
        await onThread {
            #expect(product(smallest, 0.5).bitPattern == 0x0040_0000)
        }
    }

    @Test("each thread has a transaction pointer of its own, empty at first")
    func transaction() async {
        let isEmpty = await onThread {
            let before = unsafe crender_transaction_get() == nil
            unsafe crender_transaction_set(UnsafeMutableRawPointer(bitPattern: 0x1000))
            return before
        }
        #expect(isEmpty)
        await onThread {
            #expect(unsafe crender_transaction_get() == nil)
            unsafe crender_transaction_set(UnsafeMutableRawPointer(bitPattern: 0x2000))
            #expect(unsafe crender_transaction_get() == UnsafeMutableRawPointer(bitPattern: 0x2000))
            crender_transaction_set(nil)
            #expect(unsafe crender_transaction_get() == nil)
        }
    }

    @Test("real-time priority is granted as asked, and given back", .needs(.realTime))
    func realtime() async {
        await onThread {
            let before = crender_thread_policy()
            #expect(before.policy == SCHED_OTHER && before.priority == 0 && !before.is_realtime)
            #expect(crender_make_realtime(7, 0) == 0)
            let after = crender_thread_policy()
            #expect(after.policy == SCHED_FIFO && after.priority == 7 && after.is_realtime && after.resets_on_fork)
            #expect(crender_make_ordinary() == 0)
            let last = crender_thread_policy()
            #expect(last.policy == SCHED_OTHER && last.priority == 0 && !last.is_realtime)
        }
    }

    @Test("a priority out of range is refused, and nothing changes", arguments: [-1, 0, 100, 1_000])
    func priorityOutOfRange(priority: Int32) async {
        await onThread {
            #expect(crender_make_realtime(priority, 0) == EINVAL)
            #expect(crender_thread_policy().policy == SCHED_OTHER)
        }
    }

    // Tests that concern the whole process, its limits and rights, run in a process of their own.

    @Test(
        "a refusal by the kernel is reported, and the thread and the process stay as they were", .needs(.anotherUser))
    func refused() async {
        await #expect(processExitsWith: .success) {
            setLimit(__RLIMIT_RTPRIO, soft: 0, hard: 0)
            becomeNobody()
            let before = limit(__RLIMIT_RTTIME)
            #expect(crender_make_realtime(5, 300_000) == EPERM)
            #expect(crender_thread_policy().policy == SCHED_OTHER)
            #expect(limit(__RLIMIT_RTTIME).rlim_cur == before.rlim_cur)
            var action = sigaction()
            _ = unsafe sigaction(SIGXCPU, nil, &action)
            #expect(unsafe action.__sigaction_handler.sa_handler == nil)
        }
    }

    @Test(
        "the guard puts a thread that never waits back to ordinary priority, and the process lives on",
        .needs(.realTime))
    func guardEnds() async {
        await #expect(processExitsWith: .success) {
            await onThread {
                // The loop ends when the guard has done its work; where it has not, this limit ends the process.
                setLimit(RLIMIT_CPU, soft: 20, hard: 20)
                #expect(crender_make_realtime(1, 100_000) == 0)
                while crender_guard_count() == 0 {}
                let policy = crender_thread_policy()
                #expect(policy.policy == SCHED_OTHER && !policy.is_realtime)
                #expect(crender_guard_count() == 1)
                #expect(crender_make_realtime(1, 100_000) == 0)
                #expect(crender_thread_policy().is_realtime)
            }
        }
    }

    @Test("the guard leaves a lower limit, and a handler of the program's own, alone", .needs(.realTime))
    func guardKeeps() async {
        await #expect(processExitsWith: .success) {
            await onThread {
                setLimit(__RLIMIT_RTTIME, soft: 50_000, hard: 400_000)
                signal(SIGXCPU, SIG_IGN)
                #expect(crender_make_realtime(1, 300_000) == 0)
                #expect(limit(__RLIMIT_RTTIME).rlim_cur == 50_000)
                #expect(limit(__RLIMIT_RTTIME).rlim_max == 400_000)
                var action = sigaction()
                _ = unsafe sigaction(SIGXCPU, nil, &action)
                let handler = unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
                let ignored = unsafe unsafeBitCast(SIG_IGN, to: Int.self)
                #expect(handler == ignored)
                #expect(crender_make_ordinary() == 0)
            }
        }
    }

    @Test("the guard keeps away from a hard limit, which would end the process", .needs(.realTime))
    func guardDistance() async {
        await #expect(processExitsWith: .success) {
            await onThread {
                setLimit(__RLIMIT_RTTIME, soft: 400_000, hard: 400_000)
                #expect(crender_make_realtime(1, 500_000) == 0)
                #expect(limit(__RLIMIT_RTTIME).rlim_cur == 200_000)
                #expect(crender_make_ordinary() == 0)
            }
        }
    }

    @Test(
        "memory is locked where the kernel allows it without limit, and later allocations succeed",
        .notSanitized(!isSanitized), .needs(.lockedMemory))
    func lockMemory() async {
        await #expect(processExitsWith: .success) {
            let locks = crender_lock_memory(true)
            #expect(locks.error == 0 && locks.locked == locks.wanted && locks.audio == locks.audio_wanted)
            let withoutServers = crender_lock_memory(false)
            #expect(withoutServers.error == 0 && withoutServers.wanted + 200_000 < locks.wanted)
            let locked = kilobytes("VmLck:")
            #expect(locked > 0)
            #expect(
                locked < kilobytes("VmSize:") / 2, "what is only reserved, and the rest of the stacks, does not count")
            let large = unsafe mmap(nil, 256 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
            #expect(unsafe large != MAP_FAILED)
            #expect(kilobytes("VmLck:") == locked)
            let later = unsafe crender_take_memory(8 << 20)
            #expect(kilobytes("VmLck:") >= locked + 8_192, "the audio's memory is locked as it is made")
            if let later = unsafe later { unsafe crender_give_memory(later) }
            #expect(kilobytes("VmLck:") < locked + 8_192)
            // Memory that nothing but the collector's look at the process can find.
            if let large = unsafe large { _ = unsafe memset(large, 1, 8 << 20) }
            crender_lock_new_memory()
            #expect(kilobytes("VmLck:") >= locked + 8_192)
            #expect(crender_unlock_memory() == 0)
            #expect(kilobytes("VmLck:") == 0)
        }
    }

    @Test(
        "under a limit it locks the audio's memory first, reports the missing bytes, and later allocations succeed",
        .notSanitized(!isSanitized), .needs(.anotherUser))
    func lockMemoryLimited() async {
        await #expect(processExitsWith: .success) {
            setLimit(__RLIMIT_MEMLOCK, soft: 4 << 20, hard: 4 << 20)
            becomeNobody()
            let memory = [UInt8](repeating: 1, count: 32 << 20)
            unsafe memory.withUnsafeBytes { bytes in
                guard let start = bytes.baseAddress else { return }
                #expect(unsafe crender_lock_region(start, 4_096) == 0)
                let error = unsafe crender_lock_region(start, 16 << 20)
                #expect(error == ENOMEM || error == EPERM)
                #expect((1...64).contains(kilobytes("VmLck:")))
            }
            #expect(crender_unlock_memory() == 0)
            let audio = unsafe crender_take_memory(2 << 20)
            #expect(unsafe audio != nil)
            let locks = crender_lock_memory(true)
            #expect(locks.error != 0)
            #expect(locks.audio == locks.audio_wanted && locks.audio >= 2 << 20)
            #expect(locks.locked < locks.wanted && locks.wanted >= 32 << 20)
            #expect((2_048...4_096).contains(kilobytes("VmLck:")))
            // A render thread that starts later finds room for its stack.
            #expect(kilobytes("VmLck:") <= 4_096 - 384)
            let later = unsafe crender_take_memory(16 << 20)
            #expect(unsafe later != nil)
            // Renderers and threads that come later leave room too: libjack 1.9.22 connects only if it can lock a page for
            // each of the server's clients.
            for _ in 0..<32 { #expect(unsafe crender_take_memory(64 << 10) != nil) }
            await onThread { #expect(crender_prefault_stack(256 << 10) == 256 << 10) }
            for _ in 0..<128 {
                let page = unsafe mmap(
                    nil, 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0)
                #expect(unsafe page != MAP_FAILED)
            }
            var array = [UInt8](repeating: 1, count: 1 << 20)
            array[77] = 2
            #expect(array[77] == 2)
            withExtendedLifetime(memory) {}
        }
    }

    @Test("the stack is touched as far as asked, and never beyond its end")
    func prefaultStack() async {
        await onThread {
            #expect(crender_prefault_stack(0) == 0)
            #expect(crender_prefault_stack(100_000) == 100_000)
            let most = crender_prefault_stack(.max)
            #expect(most > 100_000 && most < 1 << 40)
        }
    }
}
