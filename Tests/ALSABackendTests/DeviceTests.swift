import Foundation
import Testing

@testable import ALSABackend

extension ALSATests {
    @Suite struct DeviceTests {
        /// A folder with these files.
        private func folder(_ files: [String: String]) throws -> String {
            let root = FileManager.default.temporaryDirectory.appendingPathComponent("rs-alsa-\(UUID().uuidString)")
            for (path, text) in files {
                let file = root.appendingPathComponent(path)
                try FileManager.default.createDirectory(
                    at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                try text.write(to: file, atomically: false, encoding: .utf8)
            }
            return root.path
        }

        @Test("A device says its rates, channels and formats")
        func abilities() throws {
            let card = try Card("card19", formats: [.int16, .int32], rates: 44_100...96_000, channels: 2...8)
            let abilities = try ALSADevice.abilities(of: card.name)
            #expect(abilities.rates == 44_100...96_000)
            #expect(abilities.channels == 2...8)
            #expect(abilities.formats == [.int32, .int16])
            #expect("\(abilities)" == "44100 to 96000 Hz, 2 to 8 channels; 32-bit integers, 16-bit integers")
            #expect(throws: ALSAError.noDevice(name: "none")) { try ALSADevice.abilities(of: "none") }
        }

        @Test("Names of hardware say which card and device they are")
        func names() {
            #expect(DeviceOwner.hardware("hw:1,2").map { "\($0)" } == "(card: \"1\", device: Optional(2))")
            #expect(DeviceOwner.hardware("plughw:CARD=Box,DEV=0")?.card == "Box")
            #expect(DeviceOwner.hardware("default") == nil)
        }

        @Test("The kernel's files say which program holds a busy device")
        func owner() throws {
            let root = try folder([
                "asound/card1/id": "Box\n", "asound/card1/pcm0p/sub0/status": "state: RUNNING\nowner_pid   : 77\n",
                "77/comm": "mpv\n",
            ])
            defer { try? FileManager.default.removeItem(atPath: root) }
            #expect(DeviceOwner.find(device: "hw:1,0", root: root) == "mpv (process 77)")
            #expect(DeviceOwner.find(device: "hw:CARD=Box", root: root) == "mpv (process 77)")
            #expect(DeviceOwner.find(device: "default", root: root) == "mpv (process 77)")
            #expect(DeviceOwner.find(device: "hw:0", root: root) == nil)
            #expect(DeviceOwner.find(device: "hw:1,3", root: root) == nil)
        }

        @Test("The doctor says what is wrong, and nothing where all is well")
        func advice() throws {
            let well = try folder([
                "dev/snd/timer": "",
                "proc/self/limits": "Max locked memory   unlimited unlimited bytes\nMax realtime priority  95 95\n",
                "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n",
            ])
            let ill = try folder([
                "proc/self/limits": "Max locked memory   8388608 8388608 bytes\nMax realtime priority  0 0\n",
                "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n", "proc/12/comm": "jackd\n",
            ])
            defer { for root in [well, ill] { try? FileManager.default.removeItem(atPath: root) } }
            #expect(
                MachineAdvice.sentences(root: well, isRoot: false, hasCard: true, freeSharedMemory: 200_000_000) == [])
            let advice = MachineAdvice.sentences(root: ill, isRoot: false, hasCard: true, freeSharedMemory: 64_000_000)
            #expect(advice.count == 6)
            for word in ["/dev/snd", "rtprio", "memlock", "powersave", "jackd", "/dev/shm"] {
                #expect(advice.contains { $0.contains(word) }, "\(word)")
            }
        }
    }
}
