import Glibc

/// Indicates whether a sanitizer runs: it takes the place of `malloc`, and turns `mlock` and its kin into calls that do
/// nothing.
public let isSanitized: Bool = {
    let isThere = unsafe dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil
    // A failed search leaves a message behind, which would count as a leak.
    while unsafe dlerror() != nil {}
    return isThere
}()

/// Gives up all rights of this process, until it ends. An ordinary user has none to give up.
///
/// For root a test needs `MachineNeed.anotherUser`. At the end the rights come back: a sanitizer looks for leaks then, and
/// reads the program and the list of those that are known, which another user may not where the clone is in root's home.
public func becomeNobody() {
    guard getuid() == 0 else { return }
    precondition(setegid(65_534) == 0 && seteuid(65_534) == 0, "root may not become another user: errno \(errno)")
    stayReadable()
    // Before the sanitizer's own, which was there first.
    atexit {
        precondition(seteuid(0) == 0 && setegid(0) == 0, "root's rights do not come back: errno \(errno)")
        stayReadable()
    }
}

/// After a change of the user no process may look into this one any more, not even its own sanitizer, unless it says so.
private func stayReadable() {
    // `prctl` takes any number of arguments, so Swift cannot import it: 4 is PR_SET_DUMPABLE.
    typealias Control = @convention(c) (Int32, UInt, UInt, UInt, UInt) -> Int32
    let control = unsafe unsafeBitCast(dlsym(nil, "prctl"), to: Control.self)
    precondition(control(4, 1, 0, 0, 0) == 0)
}
