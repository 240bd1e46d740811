import ExampleSupport
import RenderStack

/// A file that loops, with its fader and its meter.
final class Track: Sendable {
    let player: FilePlayer
    let fader = Fader(decibels: -3)
    let meter = LevelMeter()
    private let name: String

    init(path: String) throws {
        player = try FilePlayer(path: path)
        player.loops = .forever
        name = String((path.split(separator: "/").last?.split(separator: ".").first ?? "").prefix(9))
    }

    /// Makes the desk heard. Changes glide: 10 ms for fader and pan, 5 ms for mute and solo. Tempo and speed fade.
    static func apply(_ desk: Desk, to tracks: [Track]) {
        for (index, track) in tracks.enumerated() {
            let strip = desk.strips[index]
            if track.fader.position != strip.position { track.fader.position = strip.position }
            track.fader.balance.value = strip.pan
            track.fader.isMuted = !desk.isHeard(index)
            track.player.stretch(rate: desk.tempo * desk.speed, pitch: 1_200 * RenderMath.log2(desk.speed))
        }
    }

    /// The lines of the screen: 78 columns.
    static func screen(_ tracks: [Track], _ desk: Desk, _ mix: LevelMeter, seconds: Int) -> [String] {
        let time = "\(seconds / 60):\(seconds % 60 < 10 ? "0" : "")\(seconds % 60)"
        var lines = ["four-track-mixer  \(time)", ""]
        for (index, track) in tracks.enumerated() { lines.append(track.line(index, of: desk)) }
        lines.append("")
        for (side, level) in mix.levels.enumerated() {
            let head = side == 0 ? "    mix" : ""
            let gap = String(repeating: " ", count: 54 - head.count)
            lines.append(head + gap + Screen.meter(level.peak, width: 16))
        }
        lines += ["", turned(desk), "1-4 ↑↓ track   + - fader   < > ←→ pan   0 back   m mute   s solo   Ctrl-C end"]
        return lines
    }

    /// Returns the tempo and the speed in words.
    static func turned(_ desk: Desk) -> String {
        let cents = Int((1_200 * RenderMath.log2(desk.speed)).rounded())
        let tempo = Int((100 * desk.tempo).rounded())
        return "t g tempo \(tempo) %   y h tape \(Int((100 * desk.speed).rounded())) %, \(cents) cents   n back"
    }

    /// A line of the screen for a track.
    func line(_ index: Int, of desk: Desk) -> String {
        let strip = desk.strips[index]
        let head = padded("\(index == desk.chosen ? "▶" : " ") \(index + 1) \(name)", 14)
        let fader = Screen.slider(strip.position, mark: 0.8, width: 15)
        let pan = Screen.slider((strip.pan + 1) / 2, mark: 0.5, width: 9)
        let level = Screen.meter(desk.isHeard(index) ? meter.combined.peak : -.infinity, width: 16)
        let flags = (strip.isMuted ? Screen.highlighted("M") : "m") + (strip.isSolo ? Screen.highlighted("S") : "s")
        return "\(head)\(fader) \(padded(volume(strip), 9))\(pan) \(padded(Screen.side(strip.pan), 5))\(level) \(flags)"
    }

    /// Returns a line for users who do not look at a screen.
    func description(_ index: Int, of desk: Desk) -> String {
        let strip = desk.strips[index]
        let state = desk.isHeard(index) ? "" : ", silent"
        return "\(index + 1) \(name): \(volume(strip)), \(Screen.side(strip.pan))\(state)"
    }

    private func volume(_ strip: Desk.Strip) -> String {
        Screen.decibels(RenderMath.decibels(faderPosition: strip.position))
    }

    private func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }
}
