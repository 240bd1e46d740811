internal import Glibc
package import SignalBlocks

extension HRTF {
    /// The path at which Debian's package libmysofa1 has the responses of MIT's KEMAR.
    package static var kemarPath: String { "/usr/share/libmysofa/MIT_KEMAR_normal_pinna.sofa" }
    private static var largestFile: Int { 512 << 20 }

    /// Returns the responses of MIT's KEMAR, an artificial head: 710 directions (Gardner and Martin 1994).
    ///
    /// - Throws: ``HRTFError`` if Debian's package libmysofa1 is not installed.
    public static func kemar() throws(HRTFError) -> HRTF {
        guard unsafe access(kemarPath, R_OK) == 0 else {
            throw HRTFError(kemarPath, "it is part of Debian's package libmysofa1; install that")
        }
        return try HRTF(path: kemarPath)
    }

    /// Reads a SOFA file (AES69) with the responses of a head.
    ///
    /// A damaged file can crash libmysofa, so a child process reads it, for half a minute at most. To begin that, the system copies
    /// this process's table of pages, which takes some ms: read files before it plays.
    ///
    /// - Parameter path: The file's name. The file has the convention SimpleFreeFieldHRIR or GeneralFIR, and may have up to 512 MB,
    ///   20,000 directions, 16,384 samples in each response and 64 million samples in all. If it has several distances, the farthest
    ///   counts. The more directions, the longer an environment takes to bring them to its sample rate: 710 about 0.3 s, 12,000
    ///   about 8 s.
    /// - Throws: ``HRTFError`` with a sentence that says what is wrong.
    public init(path: String) throws(HRTFError) {
        try self.init(SOFANumbers(HRTF.bytes(of: path), path: path), path: path)
    }

    private static func bytes(of path: String) throws(HRTFError) -> [UInt8] {
        guard !path.utf8.contains(0) else {
            throw HRTFError(
                path, "its name has a NUL in it, where the system would end it; give the name of a SOFA file")
        }
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            let reason = unsafe String(cString: unsafe strerror(errno))
            throw HRTFError(path, "the system says “\(reason)”; give the name of a SOFA file that may be read")
        }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw HRTFError(path, "it is not an ordinary file; give the name of a SOFA file")
        }
        guard status.st_size > 0 else {
            throw HRTFError(path, "it is empty; give a SOFA file with responses of a head")
        }
        guard status.st_size <= largestFile else {
            throw HRTFError(path, "it has \(status.st_size >> 20) MB; a SOFA file may have \(largestFile >> 20) MB")
        }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        var done = 0
        while done < bytes.count {
            let count = unsafe bytes.withUnsafeMutableBytes {
                unsafe read(descriptor, $0.baseAddress! + done, $0.count - done)
            }
            guard count > 0 else { throw HRTFError(path, "it could not be read to its end; copy it anew") }
            done += count
        }
        return bytes
    }

    /// Takes the responses out of what the library has read, which may be anything.
    private init(_ file: SOFANumbers, path: String) throws(HRTFError) {
        let (directions, length) = (file.directions, file.length)
        guard let rate = file.rates.first, rate >= 4_000, rate <= 768_000 else {
            throw HRTFError(path, "its sample rate is \(file.rates.first ?? 0) Hz; it must be 4,000…768,000")
        }
        let (places, samples, delays) = (file.places, file.samples, file.delays)
        guard places.count == 3 * directions, samples.count == 2 * directions * length else {
            throw HRTFError(path, "it is damaged: places and responses are not as many as it says; copy it anew")
        }
        guard places.allSatisfy(\.isFinite), samples.allSatisfy({ abs($0) < 1e6 }), delays.allSatisfy({ abs($0) < 1e6 })
        else { throw HRTFError(path, "it is damaged: it has numbers that are none, or too large; copy it anew") }
        var best: [SIMD3<Int32>: (distance: Double, index: Int, direction: SIMD3<Double>)] = [:]
        for index in 0..<directions {
            // SOFA's x is ahead, y to the left, z up.
            let (x, y, z) = (
                Double(places[3 * index]), Double(places[3 * index + 1]), Double(places[3 * index + 2])
            )
            let distance = (x * x + y * y + z * z).squareRoot()
            guard distance > 1e-6, distance < 1e6 else { continue }
            let direction = SIMD3(-y, z, -x) / distance
            let key = SIMD3<Int32>(
                Int32((direction.x * 1_000).rounded()), Int32((direction.y * 1_000).rounded()),
                Int32((direction.z * 1_000).rounded()))
            if let known = best[key], known.distance >= distance { continue }
            best[key] = (distance, index, direction)
        }
        let measurements: [HeadTable.Measurement] = best.values.sorted { $0.index < $1.index }.map { one in
            let (_, index, direction) = one
            let first = 2 * index * length
            let late = delays.count >= 2 * directions ? 2 * index : 0
            let delay = delays.count >= 2 ? Double(delays[late + 1] - delays[late]) : 0
            return HeadTable.Measurement(
                direction: direction, left: Array(samples[first..<first + length]),
                right: Array(samples[(first + length)..<(first + 2 * length)]), delay: delay)
        }
        if let fault = HRTF.fault(of: measurements) { throw HRTFError(path, fault) }
        self.init(measurements, sampleRate: Double(rate), length: length)
    }

    /// Returns what is wrong with responses, if anything is.
    package static func fault(of measurements: [HeadTable.Measurement]) -> String? {
        guard HeadTable.surrounds(measurements.map(\.direction)) else {
            return "its directions do not surround the head; it must have at least 4 around it"
        }
        // Of less no table can be made.
        func isHeard(_ response: [Float]) -> Bool { response.contains { abs($0) > 1e-8 } }
        guard measurements.contains(where: { isHeard($0.left) || isHeard($0.right) }) else {
            return "all of its responses are silent; give a file with responses of a head"
        }
        return nil
    }
}
