internal import Glibc

/// Says whether the user may use the files of the cards. It asks the kernel by opening them, as the kernel knows access
/// lists and containers too.
package enum DeviceAccess {
    /// Returns whether a file may be opened; one that is in use may.
    package static func mayOpen(_ path: String) -> Bool {
        let descriptor = unsafe open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        if descriptor >= 0 { close(descriptor) }
        return descriptor >= 0 || ![EACCES, EPERM, ENOENT].contains(errno)
    }

    /// The files of cards that play, record and are set: of all, or of one by its number.
    package static func nodes(root: String = "", card: Int? = nil) -> [String] {
        KernelFiles.list("\(root)/dev/snd").filter { name in
            guard name.hasPrefix("pcmC") || name.hasPrefix("controlC") else { return false }
            guard let card else { return true }
            return name == "controlC\(card)" || name.hasPrefix("pcmC\(card)D")
        }.map { "\(root)/dev/snd/\($0)" }
    }
}
