import RenderStack

/// Music to play when no file is named: a walking bass, chords and drums, twelve bars that slow down at their end.
enum Song {
    static let title = "a blues of its own"

    static var file: MIDIFile {
        var (bass, piano, drums, tempo) = (
            MIDIFile.Track(name: "bass"), MIDIFile.Track(name: "piano"), MIDIFile.Track(name: "drums"), MIDIFile.Track()
        )
        func add(
            _ note: UInt8, _ velocity: UInt8, on channel: UInt8, at beat: Double, for length: Double,
            to track: inout MIDIFile.Track
        ) {
            track.add(.noteOn(channel: channel, note: note, velocity: velocity), at: Int(beat * 480))
            track.add(.noteOff(channel: channel, note: note, velocity: 64), at: Int((beat + length) * 480))
        }
        bass.add(.program(channel: 1, number: 32), at: 0)
        piano.add(.program(channel: 0, number: 0), at: 0)
        let roots: [UInt8] = [36, 36, 36, 36, 41, 41, 36, 36, 43, 41, 36, 36]
        for (bar, root) in roots.enumerated() {
            let start = 4 * Double(bar)
            for (beat, step) in [UInt8(0), 4, 7, 9].enumerated() {
                add(root + step, 100, on: 1, at: start + Double(beat), for: 0.9, to: &bass)
            }
            for beat in [0.67, 2, 3.67] {
                for step in [UInt8(4), 10, 14] {
                    add(root + 12 + step, 80, on: 0, at: start + beat, for: 0.4, to: &piano)
                }
            }
            for beat in [0.0, 1, 1.67, 2, 3, 3.67] { add(51, 90, on: 9, at: start + beat, for: 0.1, to: &drums) }
            for beat in [1.0, 3] { add(44, 80, on: 9, at: start + beat, for: 0.1, to: &drums) }
            if bar % 4 == 3 { add(38, 90, on: 9, at: start + 3.67, for: 0.1, to: &drums) }
        }
        for step in 0..<8 {
            let beat = 44 + Double(step) / 2
            tempo.events.append(.init(Int(beat * 480), .tempo(microseconds: 461_538 + 30_000 * step)))
        }
        for note in [UInt8(36), 52, 58, 62, 67] { add(note, 90, on: note < 40 ? 1 : 0, at: 48, for: 4, to: &piano) }
        return MIDIFile(tracks: [tempo, bass, piano, drums], tempo: 130)
    }
}
