internal import CALSA
internal import CRender

/// The messages of libasound for the calling thread: kept, and not written to the terminal.
///
/// They are kept for this thread alone and until `end()`: a program that has a handler of its own for these messages
/// keeps it.
@safe struct ALSAMessages {
    private let before: UnsafeMutableRawPointer?
    private let isInside: Bool

    /// Listens from here on.
    init() {
        unsafe before = calsa_listen()
        isInside = unsafe calsa_was_listening(before) != 0
        if !isInside { crender_forget_messages() }
    }

    /// Stops listening. An inner listener leaves its messages to the outer one.
    func end() { unsafe calsa_listen_no_more(before) }

    /// The messages since the outermost listener began, a line each.
    static var all: [String] {
        unsafe String(cString: crender_noted_messages()).split(separator: "\n").map(String.init)
    }

    /// The first message about a configuration that cannot be read, or a plug-in that is missing.
    static var ofConfiguration: String? {
        all.first { line in
            line.hasPrefix("snd_config_load") || line.hasPrefix("_snd_config_load") || line.contains("shared library")
        }
    }
}
