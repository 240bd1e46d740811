internal import DiskFiles
internal import RenderStack

/// Four short files that loop, made by arithmetic, for an example that is given none. They have different rates,
/// channels and formats on purpose.
public final class Band {
    /// Two seconds of drums: a stereo WAV of 16 bits at 44.1 kHz.
    public let drums: String
    /// Two seconds of bass: a mono FLAC at 48 kHz.
    public let bass: String
    /// Four seconds of something like a piano: stereo Ogg Vorbis at 32 kHz.
    public let piano: String

    /// Two seconds of a bell: a mono AIFF of 24 bits at 96 kHz.
    public let bell: String

    private let folder: String

    /// Makes the files in a folder of their own, which goes with this object.
    public init() throws {
        guard let made = try? FileDescriptor.makeTemporaryFolder("/tmp/renderstack-") else { throw NoFolder() }
        folder = made
        drums = "\(folder)/drums.wav"
        bass = "\(folder)/bass.flac"
        piano = "\(folder)/piano.ogg"
        bell = "\(folder)/bell.aiff"
        try write(drums, .wav(.int16), rate: 44_100, seconds: 2, channels: 2, Self.drum)
        try write(bass, .flac(.int24), rate: 48_000, seconds: 2, channels: 1, Self.note)
        try write(piano, .oggVorbis(), rate: 32_000, seconds: 4, channels: 2, Self.chord)
        try write(bell, .aiff(.int24), rate: 96_000, seconds: 2, channels: 1, Self.ring)
    }

    deinit {
        for path in [drums, bass, piano, bell] { FileDescriptor.remove(path) }
        FileDescriptor.removeFolder(folder)
    }

    /// There is no place for the files.
    public struct NoFolder: Error, CustomStringConvertible {
        /// One sentence.
        public var description: String { "Cannot make a folder for the example's files in /tmp; make room there." }
    }

    private func write(
        _ path: String, _ format: AudioFileFormat, rate: Double, seconds: Double, channels: Int,
        _ sound: (_ time: Double, _ channel: Int) -> Double
    ) throws {
        let frames = Int(rate * seconds)
        var block = AudioBlock(channels: channels, frames: frames)
        for channel in 0..<channels {
            for frame in 0..<frames { block[channel, frame] = Float(sound(Double(frame) / rate, channel)) }
        }
        var file = try AudioFileWriter(path: path, format: format, sampleRate: rate, channels: channels)
        try file.write(block)
        try file.finish()
    }

    /// A drum that falls from 200 to 50 Hz twice a second, and a hiss between its beats.
    private static func drum(_ time: Double, _ channel: Int) -> Double {
        let sinceBeat = time.truncatingRemainder(dividingBy: 0.5)
        let fall = 1 - RenderMath.exp(-sinceBeat / 0.03)
        let drum = 0.6 * RenderMath.exp(-sinceBeat / 0.12) * RenderMath.sin(2 * .pi * (50 * sinceBeat + 4.5 * fall))
        let sinceHiss = sinceBeat - 0.25
        if sinceHiss < 0 { return drum }
        var hash = UInt64(time * 44_100) &* 2 &+ UInt64(channel)
        hash = (hash ^ (hash &>> 7)) &* 0x9E37_79B9_7F4A_7C15
        let hiss = Double(Int64(bitPattern: hash ^ (hash &>> 32) &* 0xD1B5_4A32_D192_ED03)) * 0x1p-63
        return drum + 0.25 * RenderMath.exp(-sinceHiss / 0.03) * hiss
    }

    /// A plucked bass: four notes in two seconds.
    private static func note(_ time: Double, _ channel: Int) -> Double {
        let note = [55.0, 55, 65.406, 48.999][Int(time * 2)]
        let since = time.truncatingRemainder(dividingBy: 0.5)
        let attack = min(1, since / 0.005), release = min(1, (0.5 - since) / 0.005)
        let tones = (1...5).reduce(0.0) {
            $0 + RenderMath.sin(2 * .pi * note * Double($1) * since) * RenderMath.exp(-since * Double($1) * 3)
                / Double($1)
        }
        return 0.35 * attack * release * tones
    }

    /// A bell, once.
    private static func ring(_ time: Double, _ channel: Int) -> Double {
        let end = min(1, (2 - time) / 0.01)
        let tones = [880.0, 2_428, 4_752].reduce(0.0) {
            $0 + RenderMath.sin(2 * .pi * $1 * time) * RenderMath.exp(-time * $1 / 400) * 880 / $1
        }
        return 0.15 * end * tones
    }

    /// A chord a second, the higher notes further to the right.
    private static func chord(_ time: Double, _ channel: Int) -> Double {
        let roots = [220.0, 220, 261.63, 196]
        let since = time.truncatingRemainder(dividingBy: 1)
        let attack = min(1, since / 0.004), release = min(1, (1 - since) / 0.01)
        var sum = 0.0
        for (index, ratio) in [1.0, 1.2, 1.5].enumerated() {
            let frequency = roots[Int(time)] * ratio
            let side = channel == 0 ? 1 - 0.3 * Double(index) : 0.4 + 0.3 * Double(index)
            for harmonic in 1...4 {
                let turn = frequency * Double(harmonic) * since
                sum +=
                    side * RenderMath.sin(2 * .pi * turn) * RenderMath.exp(-since * 2 * Double(harmonic))
                    / Double(harmonic * harmonic)
            }
        }
        return 0.15 * attack * release * sum
    }
}
