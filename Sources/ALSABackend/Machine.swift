internal import Glibc

/// What the doctor looks at: the files of the kernel and of the system, under a root of its own in tests.
struct Machine: Sendable {
    /// Who asks.
    struct User: Sendable {
        var id: UInt32
        var name: String
        /// The numbers of the groups that this process has.
        var groups: Set<UInt32>
        var isRoot: Bool { id == 0 }
    }

    /// Where `proc`, `sys`, `etc` and `dev` are.
    var root = ""
    var user = Machine.currentUser
    var hasCard = true
    var freeSharedMemory: Int?
    /// The configuration that ALSA is told to take, if it is told.
    var configurationPath: String?
    /// Whether the user may open a file; the kernel knows about access lists too.
    var mayOpen: @Sendable (_ path: String) -> Bool = { unsafe access($0, R_OK | W_OK) == 0 }

    /// This machine.
    init() {
        hasCard = ALSADevice.all.contains(where: \.isHardware)
        freeSharedMemory = Machine.currentFreeSharedMemory
        configurationPath = unsafe getenv("ALSA_CONFIG_PATH").map { unsafe String(cString: $0) }
    }

    /// Another one, for tests.
    init(root: String) { self.root = root }

    /// What matters most first.
    var checks: [MachineCheck] {
        [card, permission, priority, memory] + servers
            + [configuration, governor, swapping, sharedMemory, kernel, realtimeKit, sequencer].compactMap { $0 }
    }

    // MARK: The card

    private var card: MachineCheck {
        if hasCard { return MachineCheck("card", .good, "There is a sound card.") }
        let kernelHasOne = DeviceOwner.list("\(root)/proc/asound").contains {
            $0.hasPrefix("card") && Int($0.dropFirst(4)) != nil
        }
        if kernelHasOne {
            return MachineCheck(
                "card", .problem, "The kernel has a card, but this program does not see it.",
                isContainer
                    ? "Give the container its devices: `--device /dev/snd`."
                    : "Look whether /dev/snd is there and may be read.")
        }
        return MachineCheck(
            "card", .problem, "No card is there.",
            "Plug one in; in a virtual machine or a container, give it one; else use JACK or a file.")
    }

    private var isContainer: Bool {
        ["/.dockerenv", "/run/.containerenv"].contains { exists($0) }
            || read("/proc/1/environ")?.contains("container=") == true
    }

    private var configuration: MachineCheck? {
        guard let configurationPath, !configurationPath.isEmpty else { return nil }
        // Several files, with colons between them.
        let missing = configurationPath.split(separator: ":").map(String.init).first { !exists($0) }
        return missing.map {
            MachineCheck(
                "configuration", .problem, "ALSA_CONFIG_PATH names \($0), which is not there.",
                "Without a configuration ALSA knows no device: correct it, or `unset ALSA_CONFIG_PATH`.")
        } ?? MachineCheck("configuration", .note, "ALSA takes its configuration from \(configurationPath).")
    }

    /// The devices of the cards; without them, the timer, which belongs to the same group.
    private var permission: MachineCheck {
        let subject = "access to /dev/snd"
        if user.isRoot { return MachineCheck(subject, .good, "This is root, who may use /dev/snd.") }
        guard hasCard else { return MachineCheck(subject, .note, "There is nothing in /dev/snd to be used.") }
        let nodes = DeviceOwner.list("\(root)/dev/snd").filter { $0.hasPrefix("pcm") || $0.hasPrefix("control") }
        let paths = (nodes.isEmpty ? ["timer"] : nodes).map { "\(root)/dev/snd/\($0)" }
        guard let closed = paths.first(where: { !mayOpen($0) }) else {
            return MachineCheck(subject, .good, "This user may use /dev/snd.")
        }
        let group = groups.first { $0.number == Machine.group(of: closed) && $0.number != 0 }?.name ?? "audio"
        return MachineCheck(subject, .problem, "This user may not use /dev/snd.", joining(group))
    }

    // MARK: The limits

    private var priority: MachineCheck {
        let subject = "real-time priority"
        if user.isRoot { return MachineCheck(subject, .good, "This is root, who may have any priority.") }
        guard let limit = limit("Max realtime priority") else {
            return MachineCheck(subject, .note, "The kernel does not tell its limits.")
        }
        if limit == "unlimited" || (Int(limit) ?? 0) > 0 {
            return MachineCheck(subject, .good, "This user may have real-time priority, up to \(limit).")
        }
        let kit = isRunning("rtkit-daemon") ? ", but RealtimeKit is running and may give it" : ""
        return MachineCheck(
            subject, .advice, "No real-time priority (`ulimit -r` is 0)\(kit).", granting("rtprio", "95"))
    }

    private var memory: MachineCheck {
        let subject = "locked memory"
        if user.isRoot { return MachineCheck(subject, .good, "This is root, who may lock memory.") }
        guard let limit = limit("Max locked memory") else {
            return MachineCheck(subject, .note, "The kernel does not tell its limits.")
        }
        if limit == "unlimited" { return MachineCheck(subject, .good, "Memory may be locked.") }
        return MachineCheck(
            subject, .advice, "Memory cannot be locked (`ulimit -l` is not unlimited).",
            granting("memlock", "unlimited"))
    }

    /// The soft limit in a line of `/proc/self/limits`.
    private func limit(_ name: String) -> String? {
        let line = read("/proc/self/limits")?.split(separator: "\n").first { $0.hasPrefix(name) }
        return line?.dropFirst(name.count).split(separator: " ").first.map(String.init)
    }

    /// What to do about a limit, after what is in the configuration already.
    private func granting(_ item: String, _ value: String) -> String {
        let folder = "/etc/security/limits.d"
        for file in DeviceOwner.list(root + folder) where file.hasSuffix(".conf") {
            for line in (read("\(folder)/\(file)") ?? "").split(separator: "\n") where !line.hasPrefix("#") {
                let words = line.split(whereSeparator: \.isWhitespace)
                guard words.count >= 4, words[2] == item, words[0].hasPrefix("@") else { continue }
                // PipeWire allows its group some locked memory: not enough.
                guard words[3] == value || (item == "rtprio" && (Int(words[3]) ?? 0) > 0) else { continue }
                let group = String(words[0].dropFirst())
                return isMember(of: group)
                    ? "\(folder)/\(file) allows it to the group `\(group)`: log out everywhere, and in again."
                    : "\(folder)/\(file) allows it to a group: \(joining(group, isSentence: false))"
            }
        }
        if exists("\(folder)/audio.conf.disabled") {
            return "Put the file into force that your distribution ships: `sudo mv \(folder)/audio.conf.disabled "
                + "\(folder)/audio.conf`, then \(joining("audio", isSentence: false))"
        }
        return "Put `@audio - \(item) \(value)` into \(folder)/audio.conf, then \(joining("audio", isSentence: false))"
    }

    // MARK: Groups

    private var groups: [(name: String, number: UInt32, members: [String])] {
        (read("/etc/group") ?? "").split(separator: "\n").compactMap { line in
            let parts = line.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
            guard parts.count >= 4, let number = UInt32(parts[2]) else { return nil }
            return (parts[0], number, parts[3].split(separator: ",").map(String.init))
        }
    }

    private func isMember(of group: String) -> Bool {
        groups.contains { $0.name == group && ($0.members.contains(user.name) || user.groups.contains($0.number)) }
    }

    private func joining(_ group: String, isSentence: Bool = true) -> String {
        if isMember(of: group) {
            return "\(isSentence ? "You are" : "you are") in the group `\(group)`, but this session is older: log out, "
                + "and in again."
        }
        return "\(isSentence ? "Join" : "join") the group `\(group)`: `sudo adduser $USER \(group)`, then log in again."
    }

    // MARK: What runs

    private var servers: [MachineCheck] {
        let known = [
            ("jackd", "play through it (JACKOutput), or end it"),
            ("jackdbus", "play through it, or `jack_control stop`"),
            ("pipewire", "play through it, or `systemctl --user stop pipewire.socket pipewire`"),
            ("pulseaudio", "play through it, or start your program with `pasuspender --`"),
        ]
        let running = known.filter { isRunning($0.0) }
        guard !running.isEmpty else {
            return [MachineCheck("sound servers", .good, "No sound server is running that could have the card.")]
        }
        return running.map { name, remedy in
            MachineCheck(
                "sound servers", .advice, "\(name) is running, and may have a card to itself.",
                "\(remedy.prefix(1).uppercased())\(remedy.dropFirst()).")
        }
    }

    private func isRunning(_ name: String) -> Bool { programs.contains(name) }

    private var programs: Set<String> {
        Set(DeviceOwner.list("\(root)/proc").filter { Int($0) != nil }.compactMap { read("/proc/\($0)/comm") })
    }

    private var realtimeKit: MachineCheck? {
        guard isRunning("rtkit-daemon") else { return nil }
        return MachineCheck(
            "RealtimeKit", .note, "RealtimeKit is running: it gives real-time priority to programs that ask it.")
    }

    // MARK: The kernel

    private var governor: MachineCheck? {
        let folder = "/sys/devices/system/cpu"
        let governors = DeviceOwner.list(root + folder).filter { $0.hasPrefix("cpu") && Int($0.dropFirst(3)) != nil }
            .compactMap { read("\(folder)/\($0)/cpufreq/scaling_governor") }
        guard !governors.isEmpty else { return nil }
        let saving = governors.filter { $0 != "performance" }
        guard let first = saving.first else {
            return MachineCheck("processor", .good, "The processor does not save power (governor performance).")
        }
        let share = saving.count == governors.count ? "" : ", \(saving.count) of \(governors.count) processors"
        return MachineCheck(
            "processor", .advice, "The processor saves power (governor \(first)\(share)).",
            "For short periods, `sudo cpupower frequency-set -g performance`.")
    }

    private var swapping: MachineCheck? {
        guard let swappiness = read("/proc/sys/vm/swappiness").flatMap({ Int($0) }) else { return nil }
        let areas = (read("/proc/swaps") ?? "").split(separator: "\n").count - 1
        if areas < 1 { return MachineCheck("swapping", .good, "This machine does not swap.") }
        if swappiness <= 10 {
            return MachineCheck("swapping", .good, "This machine swaps late (swappiness \(swappiness)).")
        }
        return MachineCheck(
            "swapping", .advice, "This machine swaps early (swappiness \(swappiness)): samples on the disk take long.",
            "`sudo sysctl vm.swappiness=10`; in /etc/sysctl.d it stays.")
    }

    private var sharedMemory: MachineCheck? {
        guard let freeSharedMemory else { return nil }
        let megabytes = freeSharedMemory / 1_000_000
        // What a JACK server takes with its usual 4096 ports; with less it dies of SIGBUS.
        if freeSharedMemory >= 105_000_000 {
            return MachineCheck("/dev/shm", .good, "/dev/shm has \(megabytes) MB free.")
        }
        return MachineCheck(
            "/dev/shm", .advice, "/dev/shm has \(megabytes) MB free: a JACK server needs 105.",
            "Start it with `-p 128`, or `sudo mount -o remount,size=256M /dev/shm`; a container, with `--shm-size=256m`."
        )
    }

    private var kernel: MachineCheck? {
        if read("/sys/kernel/realtime") == "1" {
            return MachineCheck("kernel", .good, "This is a real-time kernel (PREEMPT_RT).")
        }
        guard let version = read("/proc/version") else { return nil }
        let options = Set((read("/proc/cmdline") ?? "").split(whereSeparator: \.isWhitespace).map(String.init))
        if options.isSuperset(of: ["preempt=full", "threadirqs"]) {
            return MachineCheck("kernel", .good, "The kernel is fully preemptible, with threaded interrupts.")
        }
        let kind = version.split(separator: " ").first { $0.hasPrefix("PREEMPT") } ?? "not preemptible"
        return MachineCheck(
            "kernel", .note, "This is an ordinary kernel (\(kind)), good for periods from about 128 frames on.",
            "For shorter ones start it with `preempt=full threadirqs`, or take a real-time kernel "
                + "(`linux-image-rt-amd64`).")
    }

    private var sequencer: MachineCheck? {
        guard hasCard else { return nil }
        return exists("/dev/snd/seq")
            ? MachineCheck("MIDI", .good, "The kernel has a MIDI sequencer.")
            : MachineCheck("MIDI", .note, "The kernel has no MIDI sequencer.", "For MIDI, `sudo modprobe snd-seq`.")
    }

    // MARK: Files

    private func read(_ path: String) -> String? { DeviceOwner.read(root + path) }
    private func exists(_ path: String) -> Bool { unsafe Glibc.access(root + path, F_OK) == 0 }

    private static func group(of path: String) -> UInt32? {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? status.st_gid : nil
    }

    private static var currentUser: User {
        let count = getgroups(0, nil)
        var groups = [gid_t](repeating: 0, count: max(0, Int(count)))
        unsafe getgroups(count, &groups)
        let name = unsafe getpwuid(geteuid()).map { unsafe String(cString: $0.pointee.pw_name) }
        return User(id: geteuid(), name: name ?? "", groups: Set(groups + [getegid()]))
    }

    private static var currentFreeSharedMemory: Int? {
        var status = statvfs()
        guard unsafe statvfs("/dev/shm", &status) == 0 else { return nil }
        return Int(status.f_bavail) * Int(status.f_frsize)
    }
}
