public import LinuxRealtime

extension MachineCheck {
    /// The finding about a PipeWire daemon that runs and does not answer; `nil` where there is none, or it answers. It waits for three
    /// seconds.
    public static var pipeWire: MachineCheck? {
        do throws(PipeWireError) {
            _ = try PipeWireDevice.all()
        } catch .notAnswering {
            return MachineCheck(
                "PipeWire", .problem,
                "PipeWire is there and does not answer: programs that play through it stand still.",
                "Start it again: `systemctl --user restart pipewire wireplumber`.")
        } catch {}
        return nil
    }

    /// The finding about PipeWire's echo cancellation, which takes the sound of the loudspeakers out of that of the microphone; `nil`
    /// where no daemon answers.
    public static var echoCancellation: MachineCheck? {
        guard let connection = try? PipeWireConnection(nil, ["application.name", "RenderStack"]) else { return nil }
        defer { connection.close() }
        let found = connection.graph.echoCancellation
        if let source = found.source {
            return MachineCheck(
                "echo", .good,
                "PipeWire takes the echo of the loudspeakers out of the source \"\(source)\", which programs record from by that name."
            )
        }
        if found.isLoaded {
            return MachineCheck(
                "echo", .note, "PipeWire's module for echo cancellation is loaded.",
                "Record from the source that its configuration names.")
        }
        return MachineCheck(
            "echo", .note, "PipeWire does not take the echo of the loudspeakers out of the microphone.",
            "Where a program records beside loudspeakers, load libpipewire-module-echo-cancel: the article \"PipeWire\" has the file "
                + "for ~/.config/pipewire/pipewire.conf.d.")
    }
}
