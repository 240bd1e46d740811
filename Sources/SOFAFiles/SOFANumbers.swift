internal import CMySOFA
internal import Glibc
internal import SignalBlocks

/// The numbers of a SOFA file, as libmysofa reads them: in a child process, because a damaged file can crash it.
struct SOFANumbers {
    let directions: Int
    let length: Int
    private(set) var rates: [Float] = []
    /// Ahead, to the left, up: three for each direction.
    private(set) var places: [Float] = []
    /// For each direction the left ear's, then the right one's.
    private(set) var samples: [Float] = []
    private(set) var delays: [Float] = []

    private static var mostDirections: Int { 20_000 }
    private static var longestResponse: Int { 16_384 }
    private static var mostSamples: Int { 64_000_000 }
    /// The conventions of files whose responses each have a direction.
    private static var conventions: [String] { ["SimpleFreeFieldHRIR", "GeneralFIR"] }
    /// The processor time for reading.
    private static var seconds: UInt32 { 30 }

    /// Reads the bytes of a file.
    init(_ bytes: consuming [UInt8], path: String) throws(HRTFError) {
        var ends: (Int32, Int32) = (-1, -1)
        let isOpen = unsafe withUnsafeMutablePointer(to: &ends) { pair in
            unsafe pair.withMemoryRebound(to: Int32.self, capacity: 2) { unsafe sofa_pipe($0) == 1 }
        }
        guard isOpen else { throw HRTFError(path, "the system has no pipe left; close other files") }
        let pipe = ends
        let size = bytes.count
        let child = unsafe bytes.withUnsafeBytes { buffer in
            unsafe sofa_read_apart(
                buffer.baseAddress!.assumingMemoryBound(to: CChar.self), size, pipe.0, pipe.1,
                SOFANumbers.seconds)
        }
        close(pipe.1)
        // The closed pipe ends a child that still writes.
        defer {
            close(pipe.0)
            if child > 0 {
                var status: Int32 = 0
                while unsafe waitpid(child, &status, 0) < 0, errno == EINTR {}
            }
        }
        guard child > 0 else { throw HRTFError(path, "the system has no room for a process that reads it; end others") }
        let damaged = HRTFError(path, "it is damaged: libmysofa does not get to its end; copy it anew")
        var header = sofa_header()
        let isWhole = unsafe withUnsafeMutableBytes(of: &header) { unsafe SOFANumbers.read(pipe.0, $0) }
        guard isWhole, header.mark == 0x534f_4641_5265_6164 else { throw damaged }
        guard header.code == 0 else { throw HRTFError(path, SOFANumbers.explanation(of: header.code)) }
        let convention = SOFANumbers.convention(of: header)
        guard convention.isEmpty || SOFANumbers.conventions.contains(convention) else {
            throw HRTFError(
                path,
                "it is a SOFA file of another kind (\(convention.shown)); give one with responses of a head (SimpleFreeFieldHRIR)"
            )
        }
        guard header.receivers == 2 else {
            throw HRTFError(path, "it has \(header.receivers) receivers; responses of a head have 2, its ears")
        }
        (directions, length) = (Int(header.directions), Int(header.length))
        guard (4...SOFANumbers.mostDirections).contains(directions) else {
            throw HRTFError(
                path, "it has \(directions) directions; it must have 4…\(SOFANumbers.mostDirections) all around")
        }
        guard (1...SOFANumbers.longestResponse).contains(length) else {
            throw HRTFError(
                path, "its responses have \(length) samples; those of a head have 1…\(SOFANumbers.longestResponse)")
        }
        guard 2 * directions * length <= SOFANumbers.mostSamples else {
            throw HRTFError(
                path, "it has \(2 * directions * length) samples in all; it may have \(SOFANumbers.mostSamples)")
        }
        guard header.rates >= 1, header.rates <= 64, Int(header.places) == 3 * directions,
            Int(header.samples) == 2 * directions * length, Int(header.delays) <= 2 * directions
        else { throw HRTFError(path, "it is damaged: places and responses are not as many as it says; copy it anew") }
        guard let rates = SOFANumbers.numbers(pipe.0, header.rates),
            let places = SOFANumbers.numbers(pipe.0, header.places),
            let samples = SOFANumbers.numbers(pipe.0, header.samples),
            let delays = SOFANumbers.numbers(pipe.0, header.delays)
        else { throw damaged }
        (self.rates, self.places, self.samples, self.delays) = (rates, places, samples, delays)
    }

    /// Returns the name of the file's convention, which may be any bytes.
    private static func convention(of header: sofa_header) -> String {
        let bytes = unsafe withUnsafeBytes(of: header.convention) { unsafe $0.prefix { $0 != 0 }.map(\.self) }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func numbers(_ descriptor: Int32, _ count: UInt32) -> [Float]? {
        var numbers = [Float](repeating: 0, count: Int(count))
        let isWhole = unsafe numbers.withUnsafeMutableBytes { unsafe read(descriptor, $0) }
        return isWhole ? numbers : nil
    }

    private static func read(_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Bool {
        guard let base = buffer.baseAddress else { return true }
        var done = 0
        while done < buffer.count {
            let count = unsafe Glibc.read(descriptor, base + done, buffer.count - done)
            if count < 0 && errno == EINTR { continue }
            if count <= 0 { return false }
            done += count
        }
        return true
    }

    private static func explanation(of code: Int32) -> String {
        switch code {
        case Int32(MYSOFA_INVALID_FORMAT), Int32(MYSOFA_UNSUPPORTED_FORMAT):
            "it is not a SOFA file that libmysofa can read, or it is damaged; give one with responses of a head (SimpleFreeFieldHRIR)"
        case Int32(MYSOFA_NO_MEMORY):
            "there is not enough memory for it, or it is damaged; give a smaller file"
        default:
            "it is damaged, or a SOFA file of another kind (libmysofa says \(code)); give one with responses of a head (SimpleFreeFieldHRIR)"
        }
    }
}
