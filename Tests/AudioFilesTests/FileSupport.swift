import Foundation
import RenderCore
import TestSupport
import Testing

@testable import AudioFiles

/// A folder that is gone after the test.
final class Folder: Sendable {
    let path = FileManager.default.temporaryDirectory.path + "/files-\(UUID().uuidString)"

    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(atPath: path) }
    func file(_ name: String) -> String { path + "/" + name }
}

/// Frame n of channel c is a multiple of 2^-15 that no other frame nearby has: exact in 16 bits and more.
func ramp(channels: Int, frames: Int, from start: Int = 0) -> AudioBlock {
    AudioBlock(
        (0..<channels).map { channel in
            (0..<frames).map { Float(((start + $0) * 7 + channel * 1_001) & 0xFFFF) / 32_768 - 1 }
        })
}

/// A sine of another pitch in each channel, as loud as `level`.
func sine(channels: Int, frames: Int, rate: Double = 48_000, level: Double = 0.5) -> AudioBlock {
    AudioBlock(
        (0..<channels).map { channel in
            (0..<frames).map {
                Float(level * sin(2 * Double.pi * (440 + 110 * Double(channel)) * Double($0) / rate))
            }
        })
}

/// Returns the error that `body` threw.
func failure(_ body: () throws(AudioFileError) -> Void) -> AudioFileError? {
    do {
        try body()
        return nil
    } catch {
        return error
    }
}

/// Writes a whole file.
func write(
    _ block: borrowing AudioBlock, to path: String, format: AudioFileFormat? = nil, sampleRate: Double = 48_000,
    tags: [AudioFileTag: String] = [:]
) throws(AudioFileError) {
    var writer = try AudioFileWriter(
        path: path, format: format, sampleRate: sampleRate, channels: block.channelCount, tags: tags)
    try writer.write(block)
    try writer.finish()
}

/// Reads a whole file in steps of `step` frames: its channels.
func read(_ path: String, step: Int = 1_000) throws(AudioFileError) -> [[Float]] {
    var reader = try AudioFileReader(path: path)
    var block = AudioBlock(channels: reader.info.channelCount, frames: step)
    var channels = [[Float]](repeating: [], count: reader.info.channelCount)
    while case let count = try reader.read(into: &block), count > 0 {
        for channel in channels.indices { channels[channel] += block.array(channel)[..<count] }
    }
    return channels
}

extension AudioBlock {
    /// The channels as arrays.
    var channels: [[Float]] { (0..<channelCount).map { array($0) } }
}

/// Runs a program and returns its status and what it printed.
@discardableResult
func run(_ program: String, _ arguments: [String], input: String? = nil) throws -> (status: Int32, output: String) {
    let process = try Program(program, arguments, seconds: nil, hasInput: true)
    if let input { process.write(input) }
    let (text, status) = process.wait()
    return (status, text)
}
