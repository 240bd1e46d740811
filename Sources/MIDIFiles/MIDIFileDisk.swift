internal import DiskFiles

/// Whole files, read and written by the system's own calls: Foundation would bring 40 MB into each program, with its tables of
/// all languages.
enum MIDIFileDisk {
    /// Reads an ordinary file.
    static func read(_ path: String) throws(MIDIFileError) -> [UInt8] {
        let limit = MIDIFile.largestSize
        let bytes: [UInt8]
        do throws(DiskFault) {
            let file = try FileDescriptor(reading: path)
            let (read, error) = file.read(limit + 1, at: 0)
            if error != 0 { throw DiskFault(path: path, code: error, reading: true) }
            bytes = read
        } catch {
            throw MIDIFileError(error)
        }
        if bytes.count <= limit { return bytes }
        throw MIDIFileError(path: path, "it is larger than \(limit >> 20) MB, which no MIDI file is")
    }

    /// Writes a file in full beside the one that has its name, and then puts it in its place: after an error that one is as it
    /// was.
    static func write(_ bytes: [UInt8], to path: String) throws(MIDIFileError) {
        do throws(DiskFault) { try Replacement.write(bytes, to: path) } catch { throw MIDIFileError(error) }
    }
}
