internal import Glibc

/// The way by which RenderStack reports events that have no listener.
package enum StandardError {
    /// The sentences that were said once, as far as there are few.
    private static let said = Lock(Set<String>(), .leaf)

    /// Writes a sentence, unless it was written before: a slider may bring the same mistake a hundred times a second.
    /// After four hundred different ones there is silence.
    package static func sayOnce(_ sentence: String) {
        if said.withLock({ $0.count < 400 && $0.insert(sentence).inserted }) { say(sentence) }
    }

    /// Returns whether a sentence was said once.
    package static func hasSaid(_ sentence: String) -> Bool { said.withLock { $0.contains(sentence) } }

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
