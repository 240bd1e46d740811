import Foundation
import Glibc
import Testing

@testable import ALSABackend
@testable import LinuxRealtime

extension ALSATests {
    @Suite struct DoctorTests {
        /// A machine of files in a folder of its own, which goes with it.
        private final class Patient {
            let root: String
            var machine: Machine

            init(_ files: [String: String] = [:]) {
                let folder = FileManager.default.temporaryDirectory
                root = folder.appendingPathComponent("rs-doctor-\(UUID().uuidString)").path
                machine = Machine(root: root)
                machine.user = Machine.User(id: 1000, name: "ada", groups: [])
                // The tests may run as root, who may open everything.
                machine.mayOpen = { _ in true }
                for (path, text) in files { put(path, text) }
            }

            deinit { try? FileManager.default.removeItem(atPath: root) }

            func put(_ path: String, _ text: String) {
                let file = URL(fileURLWithPath: root).appendingPathComponent(path)
                try? FileManager.default.createDirectory(
                    at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                try? text.write(to: file, atomically: false, encoding: .utf8)
            }

            func check(_ subject: String) -> MachineCheck? { machine.checks.first { $0.subject == subject } }
        }

        private static let limits = "Max locked memory   8388608 8388608 bytes\nMax realtime priority  0 0\n"
        private static let wide = "Max locked memory   unlimited unlimited bytes\nMax realtime priority  95 95\n"

        @Test("The doctor: a card, none, and one that a container was not given")
        func card() {
            let patient = Patient()
            #expect(patient.check("card")?.verdict == .good)
            patient.machine.hasCard = false
            #expect(patient.check("card")?.verdict == .problem)
            #expect(patient.check("card")?.remedy?.contains("JACK") == true)
            patient.put("proc/asound/card0/id", "PCH\n")
            #expect(patient.check("card")?.finding.contains("The kernel has a card") == true)
            #expect(patient.check("card")?.remedy?.contains("/dev/snd") == true)
            patient.put(".dockerenv", "")
            #expect(patient.check("card")?.remedy == "Give the container its devices: `--device /dev/snd`.")
            // A sound server plays all the same, and has no card to itself.
            patient.machine.playsWithoutCard = true
            patient.put("proc/77/comm", "pipewire\n")
            #expect(patient.check("card")?.verdict == .note)
            #expect(patient.check("card")?.finding.contains("the device \"default\" plays") == true)
            #expect(patient.check("sound servers")?.verdict == .note)
            #expect(patient.check("sound servers")?.finding == "pipewire is running: programs may play through it.")
            patient.machine.hasCard = true
            #expect(patient.check("card")?.verdict == .good)
            #expect(patient.check("sound servers")?.verdict == .advice)
        }

        @Test("The doctor: who may use /dev/snd, and by which group")
        func access() {
            let patient = Patient(["dev/snd/controlC0": "", "dev/snd/pcmC0D0p": "", "dev/snd/timer": ""])
            #expect(patient.check("access to /dev/snd")?.verdict == .good)
            patient.machine.mayOpen = { !$0.hasSuffix("pcmC0D0p") }
            #expect(patient.check("access to /dev/snd")?.verdict == .problem)
            #expect(patient.check("access to /dev/snd")?.remedy?.contains("`sudo adduser $USER audio`") == true)
            // The group is the one that the device really belongs to, where it is not root's.
            patient.put("etc/group", "root:x:0:\nsound:x:\(getegid() == 0 ? 31 : getegid()):ada\naudio:x:29:ada\n")
            #expect(patient.check("access to /dev/snd")?.remedy?.contains("this session is older") == true)
            // Seen by the kernel and not by libasound, because it may not be opened: that is what is said first.
            patient.machine.hasCard = false
            #expect(patient.check("card")?.finding.contains("may not use it") == true)
            #expect(patient.check("card")?.remedy?.contains("group `") == true)
            #expect(patient.check("access to /dev/snd")?.verdict == .problem)
            // Root of a container, who has no right to the devices.
            patient.machine.user = Machine.User(id: 0, name: "root", groups: [])
            #expect(patient.check("access to /dev/snd")?.remedy?.contains("--device /dev/snd") == true)
            patient.machine.mayOpen = { _ in true }
            #expect(patient.check("access to /dev/snd")?.verdict == .good)
        }

        @Test("The doctor: limits, and what to do about them after what is configured already")
        func limits() {
            let patient = Patient(["proc/self/limits": Self.wide])
            #expect(patient.check("real-time priority")?.finding.contains("up to 95") == true)
            #expect(patient.check("locked memory")?.verdict == .good)

            patient.put("proc/self/limits", Self.limits)
            for (subject, line) in [
                ("real-time priority", "`@audio - rtprio 95`"), ("locked memory", "`@audio - memlock unlimited`"),
            ] {
                #expect(patient.check(subject)?.verdict == .advice)
                #expect(patient.check(subject)?.remedy?.contains(line) == true)
                #expect(patient.check(subject)?.remedy?.contains("sudo adduser $USER audio") == true)
            }
            // Debian ships the file, out of force.
            patient.put("etc/security/limits.d/audio.conf.disabled", "@audio - rtprio 95\n")
            #expect(patient.check("real-time priority")?.remedy?.contains("sudo mv") == true)
            // A group that may lock some memory only is no help.
            patient.put("etc/security/limits.d/95-pipewire.conf", "@pipewire - memlock 4194304\n@pipewire - rtprio 0\n")
            #expect(patient.check("locked memory")?.remedy?.contains("pipewire") == false)
            #expect(patient.check("real-time priority")?.remedy?.contains("pipewire") == false)
            // The limit is in force, and the user is not in its group. Then the user is in it, but has not logged in
            // again.
            patient.put(
                "etc/security/limits.d/pro.conf", "# a comment\n@pro   -  rtprio     90\n@pro - memlock unlimited\n")
            #expect(
                patient.check("real-time priority")?.remedy
                    == "/etc/security/limits.d/pro.conf allows it to a group: join the group `pro`: "
                    + "`sudo adduser $USER pro`, then log in again.")
            patient.put("etc/group", "pro:x:77:bob,ada\n")
            #expect(patient.check("locked memory")?.remedy?.hasSuffix("log out everywhere, and in again.") == true)
            #expect(patient.check("real-time priority")?.finding.contains("RealtimeKit") == false)
            patient.put("proc/5/comm", "rtkit-daemon\n")
            #expect(patient.check("real-time priority")?.finding.contains("RealtimeKit") == true)
            #expect(patient.check("RealtimeKit")?.verdict == .note)
            // The trial counts, and not the user's number: also root may have no rights in a container.
            patient.machine.user = Machine.User(id: 0, name: "root", groups: [])
            (patient.machine.mayHavePriority, patient.machine.mayLockMemory) = (true, true)
            #expect(patient.check("real-time priority")?.verdict == .good)
            #expect(patient.check("locked memory")?.verdict == .good)
            (patient.machine.mayHavePriority, patient.machine.mayLockMemory) = (false, false)
            #expect(patient.check("real-time priority")?.remedy?.contains("--cap-add=SYS_NICE") == true)
            #expect(patient.check("locked memory")?.remedy?.contains("--cap-add=IPC_LOCK") == true)
            patient.put("proc/self/limits", Self.wide)
            #expect(patient.check("real-time priority")?.verdict == .advice)
            #expect(patient.check("locked memory")?.verdict == .advice)
            patient.machine.user = Machine.User(id: 1000, name: "ada", groups: [])
            #expect(patient.check("real-time priority")?.finding.contains("the kernel refuses it") == true)
            // A kernel that does not tell.
            #expect(Patient().check("real-time priority")?.verdict == .note)
        }

        @Test(
            "The doctor: each sound server that runs, and how to get it out of the way",
            arguments: [
                ("jackd", "end it"), ("jackdbus", "jack_control stop"), ("pipewire", "systemctl --user stop pipewire"),
                ("pulseaudio", "pasuspender"),
            ])
        func servers(_ name: String, _ remedy: String) {
            let patient = Patient(["proc/1/comm": "systemd\n", "proc/77/comm": "\(name)\n", "proc/tty/comm": "jackd\n"])
            #expect(patient.machine.checks.count { $0.subject == "sound servers" } == 1)
            #expect(patient.check("sound servers")?.verdict == .advice)
            #expect(patient.check("sound servers")?.finding.hasPrefix("\(name) is running") == true)
            #expect(patient.check("sound servers")?.remedy?.contains(remedy) == true)
            #expect(Patient(["proc/1/comm": "init\n"]).check("sound servers")?.verdict == .good)
        }

        @Test("The doctor: PipeWire without a session manager, without RealtimeKit, and in a sandbox")
        func pipeWire() {
            let patient = Patient(["proc/self/limits": Self.limits])
            #expect(patient.check("session manager") == nil && patient.check("RealtimeKit") == nil)
            patient.put("proc/77/comm", "pipewire\n")
            #expect(patient.check("session manager")?.verdict == .advice)
            #expect(patient.check("session manager")?.remedy?.contains("systemctl --user start wireplumber") == true)
            #expect(patient.check("RealtimeKit")?.verdict == .advice)
            #expect(patient.check("RealtimeKit")?.remedy?.contains("rtkit") == true)
            patient.put("usr/share/dbus-1/system-services/org.freedesktop.RealtimeKit1.service", "")
            #expect(patient.check("RealtimeKit")?.verdict == .note)
            for manager in ["wireplumber", "pipewire-media-"] {
                patient.put("proc/78/comm", "\(manager)\n")
                #expect(patient.check("session manager")?.verdict == .good)
            }
            #expect(patient.check("sandbox") == nil)
            patient.put("proc/self/environ", "HOME=/home/ada\0SNAP_NAME=synth\0")
            #expect(patient.check("sandbox")?.remedy?.contains("audio-playback") == true)
            patient.put(".flatpak-info", "[Application]\n")
            #expect(patient.check("sandbox")?.remedy?.contains("flatpak override") == true)
        }

        @Test("The doctor: the processor's governor, on all processors or on some")
        func governor() {
            let patient = Patient()
            #expect(patient.check("processor") == nil)
            func set(_ governors: [String]) {
                for (number, governor) in governors.enumerated() {
                    patient.put("sys/devices/system/cpu/cpu\(number)/cpufreq/scaling_governor", "\(governor)\n")
                }
            }
            patient.put("sys/devices/system/cpu/cpuidle/current_driver", "none\n")
            set(["performance", "performance"])
            #expect(patient.check("processor")?.verdict == .good)
            set(["performance", "powersave"])
            #expect(patient.check("processor")?.finding.contains("governor powersave, 1 of 2 processors") == true)
            set(["schedutil", "schedutil"])
            #expect(patient.check("processor")?.finding.contains("(governor schedutil)") == true)
            #expect(patient.check("processor")?.remedy?.contains("cpupower") == true)
        }

        @Test("The doctor: swapping, shared memory")
        func memory() {
            let patient = Patient(["proc/sys/vm/swappiness": "60\n", "proc/swaps": "Filename Type\n"])
            #expect(patient.check("swapping")?.finding.contains("does not swap") == true)
            patient.put("proc/swaps", "Filename Type\n/dev/sda2 partition\n")
            #expect(patient.check("swapping")?.verdict == .advice)
            #expect(patient.check("swapping")?.remedy?.contains("vm.swappiness=10") == true)
            patient.put("proc/sys/vm/swappiness", "10\n")
            #expect(patient.check("swapping")?.verdict == .good)
            #expect(patient.check("/dev/shm") == nil)
            patient.machine.freeSharedMemory = 64_000_000
            #expect(patient.check("/dev/shm")?.finding == "/dev/shm has 64 MB free: a JACK server needs 105.")
            #expect(patient.check("/dev/shm")?.remedy?.contains("-p 128") == true)
            patient.machine.freeSharedMemory = 105_000_000
            #expect(patient.check("/dev/shm")?.verdict == .good)
        }

        @Test("The doctor: what kernel this is")
        func kernel() {
            let patient = Patient()
            #expect(patient.check("kernel") == nil)
            patient.put("proc/version", "Linux version 6.1.0 (gcc) #1 SMP PREEMPT_DYNAMIC Debian 6.1.1\n")
            #expect(patient.check("kernel")?.finding.contains("(PREEMPT_DYNAMIC)") == true)
            #expect(patient.check("kernel")?.remedy?.contains("preempt=full threadirqs") == true)
            patient.put("proc/cmdline", "quiet preempt=full threadirqs root=/dev/sda1\n")
            #expect(patient.check("kernel")?.verdict == .good)
            patient.put("proc/cmdline", "quiet\n")
            patient.put("proc/version", "Linux version 6.1.0 (gcc) #1 SMP Debian 6.1.1\n")
            #expect(patient.check("kernel")?.finding.contains("not preemptible") == true)
            patient.put("sys/kernel/realtime", "1\n")
            #expect(patient.check("kernel")?.finding.contains("PREEMPT_RT") == true)
        }

        @Test("The doctor: the MIDI sequencer, and a configuration that is not there")
        func rest() {
            let patient = Patient(["dev/snd/timer": ""])
            #expect(patient.check("MIDI")?.remedy?.contains("modprobe snd-seq") == true)
            patient.put("dev/snd/seq", "")
            #expect(patient.check("MIDI")?.verdict == .good)
            #expect(patient.check("configuration") == nil)
            patient.machine.configurationPath = "/etc/a.conf:/etc/b.conf"
            #expect(patient.check("configuration")?.finding.contains("/etc/a.conf, which is not there") == true)
            #expect(patient.check("configuration")?.verdict == .problem)
            patient.put("etc/a.conf", "")
            patient.put("etc/b.conf", "")
            #expect(patient.check("configuration")?.verdict == .note)
        }

        @Test("The doctor looks at this machine too, and says nothing twice")
        func here() {
            let checks = MachineCheck.all
            #expect(checks.count >= 5)
            #expect(Set(checks).count == checks.count)
            #expect(checks.first?.subject == "card")
            for check in checks {
                #expect(check.finding.hasSuffix(".") && check.remedy?.hasSuffix(".") != false, "\(check)")
                #expect(check.verdict == .good || check.verdict == .note || check.remedy != nil, "\(check)")
            }
            let said = checks.filter { $0.verdict == .advice || $0.verdict == .problem }.map { "\($0)" }
            #expect(MachineAdvice.sentences == said)
        }
    }
}
