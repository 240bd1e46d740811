internal import Glibc

/// The way by which RenderStack reports events that have no listener.
package enum StandardError {
    /// Writes a sentence on a line of its own, with the name of the package in front.
    package static func say(_ sentence: String) {
        // A sentence of an error has its full stop already.
        var line = "RenderStack: \(sentence)\(sentence.hasSuffix(".") ? "" : ".")\n"
        line.withUTF8 { bytes in
            var done = 0
            while done < bytes.count {
                let count = unsafe write(2, bytes.baseAddress! + done, bytes.count - done)
                if count < 0 && errno == EINTR { continue }
                if count <= 0 { return }
                done += count
            }
        }
    }
}
