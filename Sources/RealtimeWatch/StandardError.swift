internal import Glibc

/// Writes a text to standard error, in one call where that goes.
func writeToStandardError(_ text: String) {
    var text = text
    text.withUTF8 { bytes in
        var done = 0
        while done < bytes.count {
            let count = unsafe write(2, bytes.baseAddress! + done, bytes.count - done)
            if count < 0 && errno == EINTR { continue }
            if count <= 0 { return }
            done += count
        }
    }
}
