internal import Glibc

/// Why a device cannot be used. Each says what to do.
public enum ALSAError: Error, Sendable, Hashable, CustomStringConvertible {
    /// There is no device of that name.
    case noDevice(name: String)
    /// Another program has it. Who, where the kernel tells.
    case busy(name: String, owner: String?)
    /// The user may not open it.
    case notAllowed(name: String)
    /// The device cannot play or record what is asked: what, and what the library says.
    case unsuitable(name: String, what: String)
    /// Something else, with the error number.
    case failed(name: String, what: String, error: Int32)
    /// The system gives no thread.
    case noThread(error: Int32)

    /// A sentence or two.
    public var description: String {
        switch self {
        case .noDevice(let name):
            "There is no sound device \"\(name)\". List those there are, and look whether it is plugged in and switched on."
        case .busy(let name, let owner):
            "The sound device \"\(name)\" is in use\(owner.map { " by \($0)" } ?? ""). End that program, or use it through "
                + "its sound server."
        case .notAllowed(let name):
            "This user may not open the sound device \"\(name)\": join the group `audio` (`sudo adduser $USER audio`) and "
                + "log in again."
        case .unsuitable(let name, let what):
            "The sound device \"\(name)\" has no \(what). Try \"plug:\(name)\", which converts, or another device."
        case .failed(let name, let what, let error):
            "The sound device \"\(name)\" fails to \(what): \(ALSAError.text(error))."
        case .noThread(let error): "The render thread cannot be started: \(ALSAError.text(error))."
        }
    }

    /// What a failed opening means.
    static func opening(_ name: String, _ error: Int32) -> ALSAError {
        switch error {
        case ENOENT, ENODEV, ENXIO: .noDevice(name: name)
        case EBUSY, EAGAIN: .busy(name: name, owner: DeviceOwner.find(device: name))
        case EACCES, EPERM: .notAllowed(name: name)
        default: .failed(name: name, what: "open", error: error)
        }
    }

    static func text(_ error: Int32) -> String {
        unsafe strerror(error).map { unsafe String(cString: $0) } ?? "error \(error)"
    }
}

/// Which program has a device, as the kernel tells it.
enum DeviceOwner {
    /// The name and number of a process that has a device of this name open; any hardware device, where the name is not
    /// one of those.
    ///
    /// - Parameter root: where `proc` is.
    static func find(device: String, root: String = "/proc") -> String? {
        let wanted = hardware(device)
        for card in list("\(root)/asound") where card.hasPrefix("card") {
            guard let number = Int(card.dropFirst(4)) else { continue }
            if let name = wanted?.card, name != String(number), name != read("\(root)/asound/\(card)/id") { continue }
            for stream in list("\(root)/asound/\(card)") where stream.hasPrefix("pcm") {
                if let device = wanted?.device, Int(stream.dropFirst(3).dropLast()) != device { continue }
                for part in list("\(root)/asound/\(card)/\(stream)") where part.hasPrefix("sub") {
                    guard let status = read("\(root)/asound/\(card)/\(stream)/\(part)/status"),
                        let line = status.split(separator: "\n").first(where: { $0.hasPrefix("owner_pid") }),
                        let process = line.split(separator: " ").last.flatMap({ Int($0) })
                    else { continue }
                    let name = read("\(root)/\(process)/comm") ?? "a program"
                    return "\(name) (process \(process))"
                }
            }
        }
        return nil
    }

    /// The card and the device of `hw:1,0`, `plughw:CARD=Box,DEV=0`; `nil` for other names.
    static func hardware(_ name: String) -> (card: String, device: Int?)? {
        let parts = name.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, parts[0] == "hw" || parts[0] == "plughw" else { return nil }
        var card = "0"
        var device: Int?
        for (index, part) in parts[1].split(separator: ",").enumerated() {
            if part.hasPrefix("CARD=") {
                card = String(part.dropFirst(5))
            } else if part.hasPrefix("DEV=") {
                device = Int(part.dropFirst(4))
            } else if index == 0 {
                card = String(part)
            } else if index == 1 {
                device = Int(part)
            }
        }
        return (card, device)
    }

    static func list(_ folder: String) -> [String] {
        guard let stream = unsafe opendir(folder) else { return [] }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            names.append(
                unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                    unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
                })
        }
        return names.sorted()
    }

    /// The text of a small file, without the white space at its end.
    static func read(_ path: String) -> String? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = unsafe Glibc.read(descriptor, &bytes, bytes.count)
        guard count >= 0 else { return nil }
        var text = String(decoding: bytes[0..<count], as: UTF8.self)
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }
}
