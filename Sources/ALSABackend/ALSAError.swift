internal import Glibc
internal import LinuxRealtime
internal import RenderCore

/// The reason why a device cannot be used. Each says what to do.
///
/// Threads: control.
public enum ALSAError: Error, Sendable, Hashable, CustomStringConvertible {
    /// There is no device of that name.
    case noDevice(name: String)
    /// Another program has the device. The owner is known if the kernel says which it is.
    case busy(name: String, owner: String?)
    /// The user may not open it.
    case notAllowed(name: String)
    /// The device cannot play or record as it is asked: the request, and the library's message.
    case unsuitable(name: String, what: String)
    /// Another failure, with the error number.
    case failed(name: String, what: String, error: Int32)
    /// ALSA's configuration cannot be read, or a plug-in that it names is missing: the library's message.
    case misconfigured(name: String, said: String)
    /// The card has no gain of its own for playing, or for recording: the device, or nothing where an output has none.
    case noGain(name: String, isCapture: Bool)
    /// The render loop of an earlier start has not ended, so its devices are not free.
    case closureNotEnded
    /// Another output drives the renderer: which one, and what to do.
    case rendererTaken(String)
    /// The system gives no thread.
    case noThread(error: Int32)

    /// A sentence or two.
    public var description: String {
        switch self {
        case .noDevice(let name):
            "There is no sound device \"\(name)\". List the devices with `devices` or `aplay -L`, and check "
                + "that this one is plugged in and switched on."
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
        case .misconfigured(let name, let said):
            "The sound device \"\(name)\" cannot be opened, because of ALSA's configuration (~/.asoundrc, /etc/asound.conf). "
                + "ALSA says: \"\(said)\". Correct it, or install the plug-in that it names."
        case .noGain("", let isCapture):
            "The output \(isCapture ? "records from" : "plays on") no card, so there is no card's gain to set."
        case .noGain(let name, let isCapture):
            "The sound device \"\(name)\" has no gain of its own for \(isCapture ? "recording" : "playing"): it has no mixer, or none "
                + "with a volume or a mute. Use a `Gain` in the render loop, or the volume of the sound server."
        case .closureNotEnded:
            "The render loop of an earlier start has not ended yet, and keeps the sound device. Look in the render loop for "
                + "a `while` without an end, or for a call that waits."
        case .rendererTaken(let sentence): sentence
        case .noThread(let error): "The render thread cannot be started: \(ALSAError.text(error))."
        }
    }

    /// Returns the error for a failed opening.
    static func opening(_ name: String, _ error: Int32) -> ALSAError {
        if error != EBUSY, error != EAGAIN, let said = ALSAMessages.ofConfiguration {
            return .misconfigured(name: name, said: said)
        }
        return switch error {
        // Without a right to its files, libasound finds no card.
        case ENOENT, ENODEV, ENXIO: DeviceAccess.isClosed(name) ? .notAllowed(name: name) : .noDevice(name: name)
        case EBUSY, EAGAIN: .busy(name: name, owner: DeviceOwner.find(device: name))
        case EACCES, EPERM: .notAllowed(name: name)
        default: .failed(name: name, what: "open", error: error)
        }
    }

    static func text(_ error: Int32) -> String { errorText(error) }
}

extension DeviceAccess {
    /// Returns whether a card that a name may mean is there, and this user may not use it.
    static func isClosed(_ name: String) -> Bool {
        guard let wanted = DeviceOwner.hardware(name)?.card else { return nodes().contains { !mayOpen($0) } }
        let number = Int(wanted) ?? (0..<32).first { KernelFiles.read("/proc/asound/card\($0)/id") == wanted }
        guard let number else { return false }
        return nodes(card: number).contains { !mayOpen($0) }
    }
}

/// Finds the program that has a device, from the kernel's files.
enum DeviceOwner {
    /// Returns the name and number of a process that has a device of this name open. If the name is not a hardware
    /// device's, any hardware device counts.
    ///
    /// - Parameter root: The folder that has `proc`.
    static func find(device: String, root: String = "/proc") -> String? {
        let wanted = hardware(device)
        for card in KernelFiles.list("\(root)/asound") where card.hasPrefix("card") {
            guard let number = Int(card.dropFirst(4)) else { continue }
            if let name = wanted?.card, name != String(number), name != KernelFiles.read("\(root)/asound/\(card)/id") {
                continue
            }
            for stream in KernelFiles.list("\(root)/asound/\(card)") where stream.hasPrefix("pcm") {
                if let device = wanted?.device, Int(stream.dropFirst(3).dropLast()) != device { continue }
                for part in KernelFiles.list("\(root)/asound/\(card)/\(stream)") where part.hasPrefix("sub") {
                    guard let status = KernelFiles.read("\(root)/asound/\(card)/\(stream)/\(part)/status"),
                        let line = status.split(separator: "\n").first(where: { $0.hasPrefix("owner_pid") }),
                        let process = line.split(separator: " ").last.flatMap({ Int($0) })
                    else { continue }
                    let name = KernelFiles.read("\(root)/\(process)/comm") ?? "a program"
                    return "\(name) (process \(process))"
                }
            }
        }
        return nil
    }

    /// Returns the card and the device of `hw:1,0`, `plughw:CARD=Box,DEV=0`; `nil` for other names.
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
}
