internal import CJACK
internal import Glibc
internal import LinuxRealtime
internal import Outputs
internal import RenderCore
internal import Synchronization

/// libjack in this process.
///
/// The library keeps state for the process: once a server has died, every client has to be closed before any can be
/// opened again, to whatever server. So all that opens or closes goes through one gate, and one thread looks after all
/// outputs: it notices servers that have died or fallen silent, joins them again, and reports news. It runs while an
/// output is started, 20 times a second, and is not the audio thread.
final class JACKLibrary: Sendable {
    static let shared = JACKLibrary()

    fileprivate struct State {
        var sessions: [JACKSession] = []
        var isWatching = false
        var nextTry: Int64 = 0
    }
    private let gate = Lock(State(), .output)

    private init() {}

    func start(_ session: JACKSession) throws(JACKError) {
        try gate.withLock { state throws(JACKError) in
            guard session.client == nil, !session.isWaiting else { return }
            state.loseTheDead()
            if let hindrance = JACKClient.hindrance { throw hindrance }
            JACKMessages.shared.listen()
            defer { state.listenNoMore() }
            let name = session.settings.serverName
            if let other = state.sessions.first(where: { $0.settings.serverName != name }) {
                throw .otherServer(name: other.settings.serverName)
            }
            try session.begin()
            do throws(JACKError) {
                try session.open()
            } catch {
                session.end()
                throw error
            }
            state.sessions.append(session)
            guard !state.isWatching else { return }
            state.isWatching = startWatching()
        }
    }

    func stop(_ session: JACKSession) {
        gate.withLock { state in
            session.close()
            state.sessions.removeAll { $0 === session }
            state.listenNoMore()
        }
    }

    /// Calls `body` with the connection, if there is one.
    func withClient<Result>(of session: JACKSession, _ body: (JACKClient) -> Result) throws(JACKError) -> Result {
        let result: Result? = gate.withLock { _ in session.client.map(body) }
        guard let result else { throw .notRunning }
        return result
    }

    func isServerRunning(_ name: String?) -> Bool {
        gate.withLock { state in
            state.loseTheDead()
            if !state.sessions.isEmpty {
                // Another client, of another server even, would be in their way.
                let meant = name ?? JACKSettings.defaultServerName
                return state.sessions.contains { $0.client != nil && $0.settings.serverName == meant }
            }
            guard JACKClient.leaving.load(ordering: .acquiring) == 0 else { return false }
            JACKMessages.shared.listen()
            defer { state.listenNoMore() }
            JACKClient.leaving.wrappingAdd(1, ordering: .acquiringAndReleasing)
            let isThere = withPatience(JACKClient.patience) {
                defer { JACKClient.leaving.wrappingSubtract(1, ordering: .acquiringAndReleasing) }
                return JACKLibrary.look(name)
            }
            return isThere ?? false
        }
    }

    private static func look(_ name: String?) -> Bool {
        var status: UInt32 = 0
        let client =
            if let name {
                unsafe cjack_client_open("RenderStack-look", JackNoStartServer.rawValue, name, &status)
            } else {
                unsafe cjack_client_open("RenderStack-look", JackNoStartServer.rawValue, nil, &status)
            }
        guard let client = unsafe client else { return false }
        unsafe jack_client_close(client)
        return true
    }

    private func startWatching() -> Bool {
        var thread = pthread_t()
        let error = startThread(&thread) { JACKLibrary.shared.watch() }
        guard error == 0 else {
            StandardError.say("the system has no thread that looks after JACK (error \(error)); a start tries again")
            return false
        }
        pthread_detach(thread)
        return true
    }

    private func watch() {
        while true {
            usleep(50_000)
            let goesOn = gate.withLock { state in
                state.look()
                state.isWatching = !state.sessions.isEmpty
                state.listenNoMore()
                return state.isWatching
            }
            if !goesOn { return }
        }
    }
}

extension JACKLibrary.State {
    /// Closes clients that have lost their server: all outputs, unless the server has removed one alone.
    fileprivate mutating func loseTheDead() {
        let now = HostClock.now
        var reason: String?
        for session in sessions {
            guard let loss = session.reasonOfLoss(now) else { continue }
            if loss.isClientOnly { session.lose(loss.sentence) } else { reason = loss.sentence }
        }
        if let reason { for session in sessions { session.lose(reason) } }
        sessions.removeAll { $0.client == nil && !$0.isWaiting }
    }

    /// Gives a program that has JACK's messages for itself its own way back, when nothing of ours is left.
    fileprivate func listenNoMore() {
        if sessions.isEmpty, JACKClient.leaving.load(ordering: .acquiring) == 0 { JACKMessages.shared.listenNoMore() }
    }

    fileprivate mutating func look() {
        loseTheDead()
        let now = HostClock.now
        for sentence in JACKMessages.shared.take(before: now - JACKMessages.delay) {
            for session in sessions { session.pass(on: sentence) }
        }
        for session in sessions { session.keepHouse(now) }
        guard now >= nextTry, JACKClient.leaving.load(ordering: .acquiring) == 0 else { return }
        nextTry = now + 250_000_000
        for session in sessions where session.isWaiting { try? session.open() }
    }
}
