// Lists the sound devices and MIDI ports of this machine, and says what stands in the way of good sound.
//
//     devices                     # everything
//     devices --device hw:0       # what one device can do
//     devices --json              # the same for a program

import ExampleSupport
import Glibc
import RenderStack

let usage = """
    Lists the sound devices and MIDI ports of this machine, and says what stands in the way of good sound.

    Usage: \(Terminal.programName) [options]
      --list            the devices and ports only
      --doctor          what stands in the way only
      --device NAME     what this device can do, and nothing else
      --json            as JSON
      --help            this text

    Exit codes: 0 sound works, perhaps with advice; 1 sound does not work: no card, or not for this user, or the device
    cannot be opened; 2 a wrong option.
    """

#if Everything || ALSA
    var (wantsList, wantsDoctor, wantsJSON) = (true, true, false)
    var device: String?
    var rest = CommandLine.arguments.dropFirst()
    while let flag = rest.popFirst() {
        switch flag {
        case "--help", "-h": Terminal.stop(usage, status: 0)
        case "--list": wantsDoctor = false
        case "--doctor": wantsList = false
        case "--json": wantsJSON = true
        case "--device":
            guard let name = rest.popFirst() else {
                Terminal.stop("devices: --device needs a value; see devices --help", status: 2)
            }
            device = name
        default: Terminal.stop("devices: there is no option \(flag); see devices --help", status: 2)
        }
    }
    if !wantsList && !wantsDoctor {
        Terminal.stop("devices: --list and --doctor exclude each other; see devices --help", status: 2)
    }

    if let device {
        let answers = [false, true].map { isCapture in Answer(device, isCapture: isCapture) }
        if wantsJSON {
            try print(text(of: answers))
        } else {
            for answer in answers { print(answer) }
        }
        exit(answers.contains { $0.problem == nil } ? 0 : 1)
    }

    #if Everything || PipeWire
        let (first, last) = wantsDoctor ? (MachineCheck.pipeWire, MachineCheck.echoCancellation) : (nil, nil)
    #else
        let (first, last) = (MachineCheck?.none, MachineCheck?.none)
    #endif
    let checks = wantsDoctor ? ([first] + MachineCheck.all + [last]).compactMap(\.self) : []
    let report = Report(
        devices: wantsList ? ALSADevice.all.map { Report.Device($0) } : nil,
        pipeWire: wantsList ? Report.PipeWire() : nil,
        midi: wantsList ? ALSAMIDIPort.all.map { Report.Port($0) } : nil,
        choice: wantsList ? (try? AudioOutput(Renderer()))?.choice : nil,
        checks: wantsDoctor ? checks.map { Report.Check($0) } : nil)
    if wantsJSON {
        try print(text(of: report))
    } else {
        report.show()
    }
    let isSilent = wantsDoctor ? checks.contains { $0.verdict == .problem } : report.devices?.isEmpty == true
    exit(isSilent ? 1 : 0)
#else
    let wantsHelp = CommandLine.arguments.dropFirst().allSatisfy { $0 == "--help" || $0 == "-h" }
    if CommandLine.arguments.count > 1, wantsHelp { Terminal.stop(usage, status: 0) }
    Terminal.stop("devices: this program was built without ALSA; build it with the trait ALSA", status: 1)
#endif
