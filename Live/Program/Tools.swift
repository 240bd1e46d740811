import DiskFiles
import Glibc

/// The places of the programs and folders that this program needs.
enum Places {
    /// The folder of RenderStack, in which this program was built.
    static var root: String {
        let parts = #filePath.split(separator: "/").dropLast(3)
        return Folder.absolute("/" + parts.joined(separator: "/")) ?? "/"
    }

    /// This program. It is asked for at the start: a build may replace the file later.
    static let program = Folder.absolute("/proc/self/exe")

    static func find() throws(LiveError) -> Compiler.Tools {
        guard let program else { throw LiveError("/proc is not mounted.") }
        let build = "/" + program.split(separator: "/").dropLast().joined(separator: "/")
        guard Folder.exists("\(build)/Modules") else {
            throw LiveError("\(build) has no modules: start it by scripts/live, which builds them.")
        }
        let path = unsafe getenv("PATH").map { unsafe String(cString: $0) } ?? "/usr/bin"
        let programs = path.split(separator: ":").map { "\($0)/swiftc" }
        guard let swiftc = programs.first(where: { program in unsafe access(program, X_OK) == 0 }) else {
            throw LiveError("There is no swiftc in PATH: install Swift 6.3, or add its folder to PATH.")
        }
        let base = unsafe getenv("TMPDIR").map { unsafe String(cString: $0) } ?? "/tmp"
        do {
            let folder = try FileDescriptor.makeTemporaryFolder("\(base)/renderstack-live-")
            return Compiler.Tools(swiftc: swiftc, build: build, folder: folder)
        } catch {
            throw LiveError("\(base) cannot be written: \(errorText(error.code))")
        }
    }
}
