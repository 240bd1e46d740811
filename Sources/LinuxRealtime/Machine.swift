internal import CRender
internal import Glibc

/// The files that the doctor looks at: those of the kernel and of the system, under a root of its own in tests.
package struct Machine: Sendable {
    /// The user that asks.
    package struct User: Sendable {
        package var id: UInt32
        package var name: String
        /// The numbers of the groups that this process has.
        package var groups: Set<UInt32>
        package var isRoot: Bool { id == 0 }

        package init(id: UInt32, name: String, groups: Set<UInt32>) {
            self.id = id
            self.name = name
            self.groups = groups
        }
    }

    /// The folder that has `proc`, `sys`, `etc` and `dev`.
    package var root = ""
    package var user = Machine.currentUser
    package var hasCard = true
    /// Indicates whether the device that plays by default can be opened though there is no card: a sound server's.
    package var playsWithoutCard = false
    package var freeSharedMemory: Int?
    /// The configuration that the environment tells ALSA to take; `nil` for none.
    package var configurationPath: String?
    /// Indicates whether the user may open a file of a card.
    package var mayOpen: @Sendable (_ path: String) -> Bool = { DeviceAccess.mayOpen($0) }
    /// Indicates whether a thread gets real-time priority, and memory may be locked, found out by trying: neither the
    /// user's number nor the limits tell it in a container. `nil`: not tried.
    package var mayHavePriority: Bool?
    package var mayLockMemory: Bool?

    /// This machine.
    ///
    /// - Parameters:
    ///   - hasCard: `true` if a program sees a sound card, as its library for sound cards tells.
    ///   - playsWithoutCard: `true` if the default device plays though there is none.
    package init(hasCard: Bool, playsWithoutCard: Bool) {
        self.hasCard = hasCard
        self.playsWithoutCard = playsWithoutCard
        mayHavePriority = Machine.triesPriority()
        mayLockMemory = crender_may_lock_memory()
        freeSharedMemory = Machine.currentFreeSharedMemory
        configurationPath = unsafe getenv("ALSA_CONFIG_PATH").map { unsafe String(cString: $0) }
    }

    /// Creates another machine, for tests.
    package init(root: String) { self.root = root }

    /// The checks, the most important first.
    package var checks: [MachineCheck] {
        [card, permission, priority, memory] + servers
            + [manager, sandbox, configuration, governor, swapping, sharedMemory, kernel, realtimeKit, sequencer]
            .compactMap { $0 }
    }

    // MARK: The card

    /// The finding about the card, for a program that has found none.
    package static var absenceOfCard: String {
        var machine = Machine(root: "")
        machine.hasCard = false
        return machine.card.description
    }

    /// Files of cards that are there, and that this user may not open.
    private var closedNodes: [String] { DeviceAccess.nodes(root: root).filter { !mayOpen($0) } }

    private var card: MachineCheck {
        if hasCard { return MachineCheck("card", .good, "There is a sound card.") }
        if playsWithoutCard {
            return MachineCheck(
                "card", .note,
                "This program sees no card, but the device \"default\" plays, through a sound server or as "
                    + "ALSA's configuration says.")
        }
        let kernelHasOne = KernelFiles.list("\(root)/proc/asound").contains {
            $0.hasPrefix("card") && Int($0.dropFirst(4)) != nil
        }
        if let closed = closedNodes.first {
            return MachineCheck(
                "card", .problem, "There is a sound card, but this user may not use it.", opening(closed))
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
        guard hasCard || !DeviceAccess.nodes(root: root).isEmpty else {
            return MachineCheck(subject, .note, "There is nothing in /dev/snd to be used.")
        }
        let nodes = DeviceAccess.nodes(root: root)
        guard let closed = (nodes.isEmpty ? ["\(root)/dev/snd/timer"] : nodes).first(where: { !mayOpen($0) }) else {
            return MachineCheck(subject, .good, "This user may use /dev/snd.")
        }
        return MachineCheck(subject, .problem, "This user may not use /dev/snd.", opening(closed))
    }

    /// Returns advice about a file of a card that may not be opened.
    private func opening(_ path: String) -> String {
        if user.isRoot {
            return "This is root, but without the right to it: give the container its devices, `--device /dev/snd`."
        }
        return joining(groups.first { $0.number == Machine.group(of: path) && $0.number != 0 }?.name ?? "audio")
    }

    // MARK: The limits

    var priority: MachineCheck {
        let subject = "real-time priority"
        let limit = limit("Max realtime priority")
        if mayHavePriority == true {
            // If the limit does not allow it, a capability does.
            let most = limit.flatMap { Int($0) }.map { $0 > 0 ? ", up to \($0)" : "" } ?? ""
            return MachineCheck(subject, .good, "This user may have real-time priority\(most).")
        }
        guard let limit else { return MachineCheck(subject, .note, "The kernel does not tell its limits.") }
        let isAllowed = limit == "unlimited" || (Int(limit) ?? 0) > 0
        if mayHavePriority == nil, isAllowed {
            return MachineCheck(subject, .good, "This user may have real-time priority, up to \(limit).")
        }
        if user.isRoot {
            return MachineCheck(
                subject, .advice, "No real-time priority: this is root, but without the right to it.",
                "Give the container the right, `--cap-add=SYS_NICE --ulimit rtprio=95`.")
        }
        if isAllowed {
            return MachineCheck(
                subject, .advice, "No real-time priority: the limit (\(limit)) allows it, but the kernel refuses it.",
                "A control group may have no real-time budget: look at cpu.rt_runtime_us of its own.")
        }
        let kit = isRunning("rtkit-daemon") ? ", but RealtimeKit is running and may give it" : ""
        return MachineCheck(
            subject, .advice, "No real-time priority (`ulimit -r` is 0)\(kit).", granting("rtprio", "95"))
    }

    private var memory: MachineCheck {
        let subject = "locked memory"
        if mayLockMemory == true { return MachineCheck(subject, .good, "Memory may be locked.") }
        guard let limit = limit("Max locked memory") else {
            return MachineCheck(subject, .note, "The kernel does not tell its limits.")
        }
        if mayLockMemory == nil, limit == "unlimited" { return MachineCheck(subject, .good, "Memory may be locked.") }
        if user.isRoot {
            return MachineCheck(
                subject, .advice, "Memory cannot be locked: this is root, but without the right to it.",
                "Give the container the right, `--cap-add=IPC_LOCK --ulimit memlock=-1`.")
        }
        return MachineCheck(
            subject, .advice, "Memory cannot be locked (`ulimit -l` is not unlimited).",
            granting("memlock", "unlimited"))
    }

    /// Tries for a moment to get the lowest real-time priority, on a thread of its own.
    private static func triesPriority() -> Bool {
        var thread = pthread_t()
        var result: UnsafeMutableRawPointer?
        let error = unsafe pthread_create(
            &thread, nil,
            { _ in
                // Any address but the null one.
                unsafe crender_make_realtime(1, 0) == 0 ? UnsafeMutableRawPointer(bitPattern: 1) : nil
            }, nil)
        guard error == 0, unsafe pthread_join(thread, &result) == 0 else { return false }
        return unsafe result != nil
    }

    /// Returns the soft limit in a line of `/proc/self/limits`.
    private func limit(_ name: String) -> String? {
        let line = read("/proc/self/limits")?.split(separator: "\n").first { $0.hasPrefix(name) }
        return line?.dropFirst(name.count).split(separator: " ").first.map(String.init)
    }

    /// Returns advice about a limit, after the entries that the configuration has already.
    private func granting(_ item: String, _ value: String) -> String {
        let folder = "/etc/security/limits.d"
        for file in KernelFiles.list(root + folder) where file.hasSuffix(".conf") {
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

    // MARK: The kernel

    private var governor: MachineCheck? {
        let folder = "/sys/devices/system/cpu"
        let governors = KernelFiles.list(root + folder).filter { $0.hasPrefix("cpu") && Int($0.dropFirst(3)) != nil }
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
        // The memory that a JACK server takes with its usual 4096 ports; with less it dies of SIGBUS.
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

    func read(_ path: String) -> String? { KernelFiles.read(root + path) }
    func exists(_ path: String) -> Bool { unsafe Glibc.access(root + path, F_OK) == 0 }

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
