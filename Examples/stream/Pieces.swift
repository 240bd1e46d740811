import ExampleSupport
import Foundation
import RenderStack
import Synchronization

/// The sources of pieces.
enum Pieces {
    /// The length of a piece in seconds.
    static let seconds = 0.1
    private static let frames = 4_800

    /// The source that was asked for.
    enum Source: Equatable {
        case melody, standardInput
        case socket(port: Int)

        init?(_ text: String?) {
            switch text {
            case nil: self = .melody
            case "stdin": self = .standardInput
            case let text?:
                guard text.hasPrefix("socket:"), let port = UInt16(text.dropFirst(7)) else { return nil }
                self = .socket(port: Int(port))
            }
        }
    }

    /// Returns a closure that hands out the next piece each time it is called, and `nil` at the end.
    ///
    /// - Parameters:
    ///   - source: The source.
    ///   - seconds: The length of the melody; by default it goes on forever.
    static func from(_ source: Source, seconds: Double?) throws -> @Sendable () -> Sound? {
        switch source {
        case .melody: return melody(seconds: seconds)
        case .standardInput: return { read(.standardInput) }
        case .socket(let port):
            let socket = try LoopbackSocket(port: port)
            Terminal.note("Listening on 127.0.0.1:\(socket.port).")
            let visitor = Mutex<FileHandle?>(nil)
            return {
                visitor.withLock { visitor in
                    if visitor == nil { visitor = socket.accept().map { FileHandle(fileDescriptor: $0) } }
                    return visitor.flatMap(read)
                }
            }
        }
    }

    /// Returns a stream whose format is found from its bytes: MP3, Ogg, FLAC, WAV. From a socket it waits for a visitor.
    static func bytes(from source: Source) throws -> AudioBytes {
        guard case .socket(let port) = source else { return AudioBytes(fileDescriptor: 0, name: "standard input") }
        let socket = try LoopbackSocket(port: port)
        Terminal.note("Listening on 127.0.0.1:\(socket.port).")
        return AudioBytes(fileDescriptor: socket.accept() ?? -1, name: "port \(socket.port)")
    }

    /// The next piece of 16-bit samples; `nil` at the end. It waits.
    private static func read(_ file: FileHandle) -> Sound? {
        var data = Data()
        while data.count < 4 * frames {
            guard let more = try? file.read(upToCount: 4 * frames - data.count), !more.isEmpty else { break }
            data += more
        }
        let samples = stride(from: 0, to: data.count - data.count % 4, by: 2).map { index in
            Int16(bitPattern: UInt16(data[index]) | UInt16(data[index + 1]) << 8)
        }
        return samples.isEmpty ? nil : Sound(AudioBlock(interleaved: samples, channels: 2), sampleRate: 48_000)
    }

    /// Five notes, round and round.
    private static func melody(seconds: Double?) -> @Sendable () -> Sound? {
        let notes = [220.0, 261.63, 329.63, 392, 329.63]
        let count = Atomic(0)
        return {
            let index = count.wrappingAdd(1, ordering: .relaxed).oldValue
            if let seconds, Double(index) * Self.seconds > seconds { return nil }
            // A note is three pieces long.
            var block = AudioBlock(channels: 1, frames: frames)
            for frame in 0..<frames {
                let time = Double(index % 3 * frames + frame) / 48_000
                let fade = min(1, time / 0.005) * min(1, (0.3 - time) / 0.02)
                let turns = notes[index / 3 % notes.count] * time
                let tone = RenderMath.sin(2 * .pi * turns) + 0.3 * RenderMath.sin(6 * .pi * turns)
                block[0, frame] = Float(0.25 * fade * tone)
            }
            return Sound(block, sampleRate: 48_000)
        }
    }
}
