import Glibc

/// Indicates whether a sanitizer runs: it takes the place of `malloc`, and turns `mlock` and its kin into calls that do
/// nothing.
public let isSanitized: Bool = {
    let isThere = unsafe dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil
    // A failed search leaves a message behind, which would count as a leak.
    while unsafe dlerror() != nil {}
    return isThere
}()

/// Gives up all rights of this process, for good. An ordinary user has none to give up.
///
/// For root a test needs `MachineNeed.anotherUser`.
public func becomeNobody() {
    guard getuid() == 0 else { return }
    precondition(setgid(65_534) == 0 && setuid(65_534) == 0, "root may not become another user: errno \(errno)")
    // Else no process may look into this one any more, not even its own sanitizer, which looks for leaks at its end. `prctl`
    // takes any number of arguments, so Swift cannot import it: 4 is PR_SET_DUMPABLE.
    typealias Control = @convention(c) (Int32, UInt, UInt, UInt, UInt) -> Int32
    let control = unsafe unsafeBitCast(dlsym(nil, "prctl"), to: Control.self)
    precondition(control(4, 1, 0, 0, 0) == 0)
}
