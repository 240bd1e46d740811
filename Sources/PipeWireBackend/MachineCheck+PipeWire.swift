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
}
