import Synchronization

/// Uses every global once, so that a case is about what it does and not about the first use of what it does it with.
func warmGlobals() {
    // Clean.swift
    _ = counter.load(ordering: .relaxed)
    _ = opaque(taken)
    // Dynamic.swift
    touch(&anything)
    touch(&path)
    // Files.swift
    _ = opaque(bytes)
    _ = opaque(sockets)
    // Locks.swift
    swiftMutex.withLock { $0 = 0 }
    freeMutex.withLock { $0 = 0 }
    _ = opaque(mutex)
    _ = opaque(condition)
    _ = opaque(rwlock)
    _ = opaque(barrier)
    _ = opaque(posix)
    _ = opaque(silent)
    _ = opaque(once)
    touch(&spawned)
    touch(&initialised)
    _ = heldFlag.load(ordering: .relaxed)
    // Objects.swift
    touch(&held)
    touch(&heldToo)
    touch(&owner)
    touch(&weakVoice)
    touch(&voices)
    touch(&shape)
    touch(&stored)
    touch(&tree)
    touch(&hashable)
    touch(&keeper)
    touch(&buffer)
    // Rendering.swift
    touch(&renderer)
    touch(&output)
    touch(&longOutput)
    touch(&rendered)
    touch(&tone)
    touch(&toneToo)
    touch(&gain)
    touch(&meter)
    touch(&tap)
    // System.swift
    touch(&block)
    touch(&typed)
    touch(&mapped)
    // Tasks.swift
    touch(&task)
    touch(&stream)
    touch(&queue)
    touch(&queueToo)
    touch(&semaphore)
    touch(&silentSemaphore)
    touch(&group)
    touch(&workItem)
    // Text.swift
    touch(&text)
    touch(&longText)
    touch(&words2)
    touch(&letters)
    // Values.swift
    touch(&full)
    touch(&other)
    touch(&shared)
    touch(&counts)
    touch(&members)
    touch(&shapes)
    // Waits.swift
    touch(&descriptor)
    touch(&instant)
    touch(&spins)
    touch(&lazily)
}

@inline(never) @_optimize(none) private func touch<Value: ~Copyable>(_ value: inout Value) {}
