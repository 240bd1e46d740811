// The sound servers of a machine, and what stands between them and a program.

extension Machine {
    var servers: [MachineCheck] {
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
            if !hasCard && playsWithoutCard {
                return MachineCheck("sound servers", .note, "\(name) is running: programs may play through it.")
            }
            return MachineCheck(
                "sound servers", .advice, "\(name) is running, and may have a card to itself.",
                "\(remedy.prefix(1).uppercased())\(remedy.dropFirst()).")
        }
    }

    func isRunning(_ name: String) -> Bool { programs.contains(name) }

    private var programs: Set<String> {
        Set(KernelFiles.list("\(root)/proc").filter { Int($0) != nil }.compactMap { read("/proc/\($0)/comm") })
    }

    var realtimeKit: MachineCheck? {
        let service = "/usr/share/dbus-1/system-services/org.freedesktop.RealtimeKit1.service"
        let isThere = isRunning("rtkit-daemon")
        if isThere || exists(service) {
            return MachineCheck(
                "RealtimeKit", .note,
                "RealtimeKit is \(isThere ? "running" : "installed"): it gives real-time priority to programs that ask it"
                    + "\(isThere ? "" : ", and starts when one does").")
        }
        // PipeWire asks it where the limits allow nothing.
        guard isRunning("pipewire"), priority.verdict == .advice else { return nil }
        return MachineCheck(
            "RealtimeKit", .advice,
            "PipeWire's programs get no real-time priority: the limits do not allow it, and there is no RealtimeKit.",
            "Install it, `sudo apt-get install rtkit`, and log in again.")
    }

    /// What chooses the devices of PipeWire's programs.
    var manager: MachineCheck? {
        guard isRunning("pipewire") else { return nil }
        // The kernel cuts the names of programs to 15 letters.
        let managers = ["wireplumber", "pipewire-media-session"].filter { isRunning(String($0.prefix(15))) }
        if let manager = managers.first {
            return MachineCheck("session manager", .good, "\(manager) connects PipeWire's programs to devices.")
        }
        return MachineCheck(
            "session manager", .advice,
            "PipeWire is running without a session manager: nothing connects programs to devices.",
            "Start one, `systemctl --user start wireplumber`.")
    }

    /// A sandbox decides which servers and devices a program reaches, whatever this machine has.
    var sandbox: MachineCheck? {
        if exists("/.flatpak-info") {
            return MachineCheck(
                "sandbox", .note,
                "This program runs in Flatpak's sandbox: it reaches PipeWire, and gets real-time priority, through portals.",
                "Where it is silent, allow it: `flatpak override --user --filesystem=xdg-run/pipewire-0` and the program's name. "
                    + "For the priority `xdg-desktop-portal` has to run.")
        }
        guard variables.contains(where: { $0.hasPrefix("SNAP_NAME=") }) else { return nil }
        return MachineCheck(
            "sandbox", .note, "This program runs in a snap: it reaches the sound servers that it is connected to.",
            "Where it is silent, `snap connect` its plugs `audio-playback` and `audio-record`.")
    }

    /// The environment that the program was started with.
    private var variables: [Substring] {
        (read("/proc/self/environ") ?? "").split(separator: "\0")
    }
}
