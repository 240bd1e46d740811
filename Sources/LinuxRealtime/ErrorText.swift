internal import Glibc

/// Returns the meaning of an error number.
package func errorText(_ number: Int32) -> String {
    unsafe strerror(number).map { unsafe String(cString: $0) } ?? "error \(number)"
}
