import Foundation
import Glibc
import RenderCore
import TestSupport
import Testing

@testable import AudioFiles

/// What has a name and is no file, what a file keeps when it is written anew, and what a replacement leaves.
@Suite struct NoFileTests {
    /// Makes a writer, and returns why that failed.
    private func refusal(_ path: String, replacesAtFinish: Bool) -> AudioFileError? {
        failure { () throws(AudioFileError) in
            var writer = try AudioFileWriter(
                path: path, format: .wav(), sampleRate: 48_000, channels: 1, replacesAtFinish: replacesAtFinish)
            try writer.write(AudioBlock([[0.5]]))
            try writer.finish()
        }
    }

    private func status(_ path: String) -> stat {
        var status = stat()
        _ = unsafe lstat(path, &status)
        return status
    }

    @Test("A device, a pipe, a folder and a link to one are errors, and stay as they are", arguments: [false, true])
    func noFiles(replacesAtFinish: Bool) throws {
        let folder = try Folder()
        let pipe = folder.file("pipe.wav"), link = folder.file("link.wav"), inner = folder.file("inner.wav")
        #expect(mkfifo(pipe, 0o600) == 0 && symlink("/dev/null", link) == 0 && mkdir(inner, 0o700) == 0)
        // A reader, so that the pipe could be opened.
        let reader = open(pipe, O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        for path in ["/dev/null", "/dev/full", "/dev/tty", pipe, link, inner] {
            let before = status(path)
            let error = refusal(path, replacesAtFinish: replacesAtFinish)
            #expect(error?.reason == .notAFile && error?.path == path, "\(path): \(error as Any)")
            let after = status(path)
            #expect(before.st_ino == after.st_ino && before.st_mode == after.st_mode, "\(path)")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 3)
    }

    @Test("A file keeps its mode, and a link leads where it did", arguments: [false, true])
    func keeps(replacesAtFinish: Bool) throws {
        let folder = try Folder()
        let real = folder.file("real.wav"), link = folder.file("link.wav"), second = folder.file("second.wav")
        try Data("old".utf8).write(to: URL(fileURLWithPath: real))
        #expect(chmod(real, 0o640) == 0 && symlink("real.wav", link) == 0 && symlink(link, second) == 0)
        #expect(refusal(second, replacesAtFinish: replacesAtFinish) == nil)
        #expect(status(real).st_mode == S_IFREG | 0o640 && status(link).st_mode & S_IFMT == S_IFLNK)
        #expect(try read(real) == [[0.5]] && read(second) == [[0.5]])
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 3)
        // A link that leads to no file yet.
        #expect(unlink(real) == 0)
        #expect(refusal(second, replacesAtFinish: replacesAtFinish) == nil)
        #expect(try status(link).st_mode & S_IFMT == S_IFLNK && read(real) == [[0.5]])
        // Links that lead to one another.
        #expect(unlink(link) == 0 && symlink("second.wav", link) == 0)
        #expect(refusal(second, replacesAtFinish: replacesAtFinish)?.reason == .notAFile)
    }

    @Test("A replacement that fails, or goes, leaves the old file and nothing beside it")
    func leavesNothing() async throws {
        let folder = try Folder(), path = folder.file("a.wav")
        try Data("old".utf8).write(to: URL(fileURLWithPath: path))
        do {
            var writer = try AudioFileWriter(path: path, sampleRate: 48_000, channels: 1, replacesAtFinish: true)
            try writer.write(AudioBlock([[0.5]]))
            #expect(FileManager.default.contents(atPath: path) == Data("old".utf8))
        }
        #expect(FileManager.default.contents(atPath: path) == Data("old".utf8))
        await #expect(processExitsWith: .success) { [path = path as String] in
            signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit(rlim_cur: 10_000, rlim_max: 10_000)
            _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
            var writer = try AudioFileWriter(path: path, sampleRate: 48_000, channels: 1, replacesAtFinish: true)
            #expect(throws: AudioFileError.self) { try writer.write(AudioBlock(channels: 1, frames: 10_000)) }
            try writer.finish()
        }
        #expect(FileManager.default.contents(atPath: path) == Data("old".utf8))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["a.wav"])
        // A name as long as can be, and one that is too long.
        let long = folder.file(String(repeating: "x", count: 251) + ".wav")
        #expect(refusal(long, replacesAtFinish: true) == nil)
        #expect(try read(long) == [[0.5]])
        #expect(
            refusal(folder.file(String(repeating: "x", count: 252) + ".wav"), replacesAtFinish: true)?.reason
                == .notAFile)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 2)
    }

    @Test("A file that may not be written is not replaced either", .needs(.anotherUser))
    func noRights() async throws {
        let folder = try Folder(), path = folder.file("a.wav")
        try Data("old".utf8).write(to: URL(fileURLWithPath: path))
        #expect(chmod(path, 0o444) == 0 && chmod(folder.path, 0o777) == 0)
        await #expect(processExitsWith: .success) { [path = path as String] in
            becomeNobody()
            for replaces in [false, true] {
                let error = failure { () throws(AudioFileError) in
                    _ = try AudioFileWriter(path: path, sampleRate: 48_000, channels: 1, replacesAtFinish: replaces)
                        .frameCount
                }
                #expect(error?.reason == .notPermitted)
            }
        }
        #expect(FileManager.default.contents(atPath: path) == Data("old".utf8))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["a.wav"])
    }

    @Test("Stems replace older files only when they are finished")
    func stems() async throws {
        let folder = try Folder()
        try Data("old".utf8).write(to: URL(fileURLWithPath: folder.file("Mix.wav")))
        let renderer = try Renderer(channels: 2) { context in
            context.push(channels: 2)
            context.output()
        }
        do {
            let output = try FileOutput(renderer, folder: folder.path, names: ["Mix"], replacesAtFinish: true)
            try await output.run(for: .milliseconds(10))
        }
        #expect(
            await becomesTrue {
                (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) == ["Mix.wav"]
            })
        #expect(FileManager.default.contents(atPath: folder.file("Mix.wav")) == Data("old".utf8))
        let output = try FileOutput(renderer, folder: folder.path, names: ["Mix"], replacesAtFinish: true)
        try await output.run(for: .milliseconds(10))
        try await output.finish()
        #expect(try AudioFileInfo(path: folder.file("Mix.wav")).frameCount == 480)
    }
}
