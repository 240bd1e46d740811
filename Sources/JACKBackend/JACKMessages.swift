internal import CJACK
internal import Glibc
internal import LinuxRealtime
internal import RenderCore

/// The messages that libjack writes by itself: kept for the outputs' notices, and not written to the terminal.
///
/// Its handlers belong to the process. A program that has some of its own gets them back when no output is left.
final class JACKMessages: Sendable {
    static let shared = JACKMessages()

    typealias Handler = @convention(c) (UnsafePointer<CChar>?) -> Void

    @safe private struct State {
        var isListening = false
        var messages: [(text: String, time: Int64)] = []
        /// The program's own handlers.
        var error: Handler?
        var info: Handler?
    }
    private let state = Lock(State())

    /// The time that a message waits before it is reported, in nanoseconds. If a server ends, its loss says enough.
    static let delay: Int64 = 1_000_000_000

    /// Takes the handlers.
    func listen() {
        state.withLock { state in
            guard !state.isListening else { return }
            state.isListening = true
            unsafe (state.error, state.info) = (
                JACKMessages.current("jack_error_callback"), JACKMessages.current("jack_info_callback")
            )
        }
        unsafe jack_set_error_function { text in
            guard let text = unsafe text else { return }
            // The thread may be one of JACK's, which it ends when a client is closed.
            withoutCancellation { JACKMessages.shared.note(unsafe String(cString: text)) }
        }
        unsafe jack_set_info_function { _ in }
    }

    /// Gives them back.
    func listenNoMore() {
        state.withLock { state in
            guard state.isListening else { return }
            state.isListening = false
            state.messages = []
            unsafe jack_set_error_function(state.error)
            unsafe jack_set_info_function(state.info)
        }
    }

    /// Messages of before a time. They are not kept.
    func take(before time: Int64) -> [String] {
        state.withLock { state in
            let ripe = state.messages.filter { $0.time < time }.map(\.text)
            state.messages.removeAll { $0.time < time }
            return ripe
        }
    }

    /// Forgets the messages so far.
    func forget() { state.withLock { $0.messages = [] } }

    private func note(_ text: String) {
        state.withLock { state in
            if state.messages.count < 64 { state.messages.append((text, HostClock.now)) }
        }
    }

    /// Returns a handler of the library's; `nil` if the library does not show it.
    private static func current(_ name: String) -> Handler? {
        guard let place = unsafe dlsym(nil, name) else { return nil }
        return unsafe place.load(as: Handler?.self)
    }
}
