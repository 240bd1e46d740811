import RenderStack

/// The positions of the controls on a mixing desk of four tracks, and the changes that keys and MIDI controllers make.
/// Plain values: the desk is heard when it is applied to tracks.
struct Desk: Sendable {
    /// One track's controls.
    struct Strip: Sendable, Equatable {
        /// The position of the fader, 0…1; 0.8 is 0 dB.
        var position = RenderMath.faderPosition(decibels: -3)
        /// From left (-1) to right (1).
        var pan: Float = 0
        var isMuted = false
        var isSolo = false
    }

    var strips = [Strip](repeating: Strip(), count: 4)
    /// The tempo of all, with their pitch kept, and the speed as of a tape: 1 is the files' own.
    var tempo = 1.0
    var speed = 1.0
    /// The track that keys turn.
    var chosen = 0

    static let help = """
        Keys: 1 to 4, or up and down, choose a track; + and - move its fader, < and > (or left and right) its pan, 0 puts
        both back; m mutes it, s is solo. t and g turn the tempo of all up and down, y and h the speed as of a tape,
        pitch and all; n puts both back.
        MIDI, through JACK: controllers 0 to 3 are the four faders, 16 to 19 the pans; 32 to 35 solo and 48 to 51 mute
        when they are pressed, as a nanoKONTROL2 sends them on any channel. 7 and 10 on the channels 1 to 4 are fader and
        pan, too. 20 is the tempo and 21 the tape's speed, both an octave either way; 64 is the middle.
        """

    /// Returns whether a track is to be heard: where one has solo, those that have not are silent.
    func isHeard(_ index: Int) -> Bool {
        !strips[index].isMuted && (strips[index].isSolo || !strips.contains { $0.isSolo })
    }

    /// A key is pressed.
    mutating func press(_ key: Character) {
        switch key {
        case "1", "2", "3", "4": chosen = (key.wholeNumberValue ?? 1) - 1
        case "↑": chosen = max(0, chosen - 1)
        case "↓": chosen = min(strips.count - 1, chosen + 1)
        case "+", "=": strips[chosen].position = min(1, strips[chosen].position + 0.05)
        case "-": strips[chosen].position = max(0, strips[chosen].position - 0.05)
        case ">", "→": strips[chosen].pan = min(1, strips[chosen].pan + 0.1)
        case "<", "←": strips[chosen].pan = max(-1, strips[chosen].pan - 0.1)
        case "0": strips[chosen] = Strip()
        case "m": strips[chosen].isMuted.toggle()
        case "s": strips[chosen].isSolo.toggle()
        case "t": tempo = min(2, tempo * 1.02)
        case "g": tempo = max(0.5, tempo / 1.02)
        case "y": speed = min(2, speed * RenderMath.exp2(1 / 24))
        case "h": speed = max(0.5, speed / RenderMath.exp2(1 / 24))
        case "n": (tempo, speed) = (1, 1)
        default: break
        }
    }

    /// A controller is turned or pressed. Others are none of ours.
    mutating func take(_ message: MIDIMessage) {
        guard case .controller(let channel, let number, let value) = message else { return }
        let share = Float(value) / 127
        switch (Int(number), Int(channel)) {
        case (let number, _) where number < 4: strips[number].position = share
        case (let number, _) where (16..<20).contains(number): strips[number - 16].pan = Self.pan(value)
        case (20, _): tempo = Double(RenderMath.exp2(Self.pan(value)))
        case (21, _): speed = Double(RenderMath.exp2(Self.pan(value)))
        case (let number, _) where (32..<36).contains(number): if value >= 64 { strips[number - 32].isSolo.toggle() }
        case (let number, _) where (48..<52).contains(number): if value >= 64 { strips[number - 48].isMuted.toggle() }
        case (7, let channel) where channel < 4: strips[channel].position = share
        case (10, let channel) where channel < 4: strips[channel].pan = Self.pan(value)
        default: break
        }
    }

    /// 64 is the middle, exactly.
    private static func pan(_ value: UInt8) -> Float {
        value < 64 ? Float(value) / 64 - 1 : Float(value - 64) / 63
    }
}
