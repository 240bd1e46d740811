internal import CSndFile
internal import DiskFiles

// The library's marks: those of AIFF files. It would write those of WAV files without their names, and writes none of other formats.

extension SoundFile {
    /// Hands marks over, before the first sample.
    @unsafe static func write(_ marks: [AudioFileMark], _ handle: OpaquePointer) {
        let marks = AudioFileMark.kept(marks)
        if marks.isEmpty { return }
        var points = [SF_CUE_POINT](repeating: SF_CUE_POINT(), count: marks.count)
        for (index, mark) in marks.enumerated() {
            points[index].indx = Int32(index + 1)
            points[index].position = UInt32(mark.frame)
            points[index].sample_offset = UInt32(mark.frame)
            unsafe withUnsafeMutableBytes(of: &points[index].name) { unsafe $0.copyBytes(from: mark.name.utf8) }
        }
        let size = MemoryLayout<UInt32>.size + points.count * MemoryLayout<SF_CUE_POINT>.stride
        unsafe withUnsafeTemporaryAllocation(byteCount: size, alignment: 8) { room in
            unsafe room.storeBytes(of: UInt32(points.count), as: UInt32.self)
            unsafe points.withUnsafeBytes { points in
                unsafe UnsafeMutableRawBufferPointer(rebasing: room[MemoryLayout<UInt32>.size...]).copyMemory(
                    from: points)
            }
            _ = unsafe sf_command(handle, Int32(SFC_SET_CUE), room.baseAddress, Int32(size))
        }
    }

    /// The marks in the file.
    var marks: [AudioFileMark] {
        let format = AudioFileFormat(libraryCode: code)
        if case .wav = format.container { return unsafe WAVFile.marks(of: stream.pointee.file) }
        var count: UInt32 = 0
        guard unsafe sf_command(handle, Int32(SFC_GET_CUE_COUNT), &count, 4) != 0, count > 0, count < 65_536 else {
            return []
        }
        let size = MemoryLayout<UInt32>.size + Int(count) * MemoryLayout<SF_CUE_POINT>.stride
        return unsafe withUnsafeTemporaryAllocation(byteCount: size, alignment: 8) { room in
            unsafe room.initializeMemory(as: UInt8.self, repeating: 0)
            guard unsafe sf_command(handle, Int32(SFC_GET_CUE), room.baseAddress, Int32(size)) != 0 else { return [] }
            return (0..<Int(count)).map { index in
                let place = MemoryLayout<UInt32>.size + index * MemoryLayout<SF_CUE_POINT>.stride
                let point = unsafe room.loadUnaligned(fromByteOffset: place, as: SF_CUE_POINT.self)
                let name = unsafe withUnsafeBytes(of: point.name) { unsafe Array($0.prefix { $0 != 0 }) }
                return AudioFileMark(at: Int64(point.sample_offset), name: WAVFile.string(name[...]))
            }.sorted { $0.frame < $1.frame }
        }
    }
}
