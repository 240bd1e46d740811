internal import Foundation
package import RenderStack

/// Files in a folder that is removed with this.
package final class TemporaryFolder {
    package let path: String

    package init() throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("player-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a file and returns its path.
    package func write(
        _ channels: [[Float]], _ name: String, rate: Double = 48_000, format: AudioFileFormat? = nil
    ) throws -> String {
        let path = "\(self.path)/\(name)"
        var writer = try AudioFileWriter(path: path, format: format, sampleRate: rate, channels: channels.count)
        try writer.write(AudioBlock(channels))
        try writer.finish()
        return path
    }
}
