import Dispatch
import ExampleSupport
import Foundation
import RenderStack
import Synchronization

/// Keeps a player supplied, and decides what is to be done where it runs dry. The player says by a callback that a piece is
/// used up: then there is room for another.
final class Feed: Sendable {
    /// The player's behaviour when pieces come too late.
    enum Policy: String {
        /// It rests until enough has arrived again: there is one gap and not many, and everything is heard, later.
        case rest
        /// It keeps to time: pieces that come too late are left out, so that it never falls further behind. For live
        /// sound.
        case skip
    }

    private let player: BufferPlayer
    private let renderer: Renderer
    private let ahead: Int
    private let policy: Policy
    /// Room for twice what is needed ahead.
    private let room = DispatchSemaphore(value: 0)
    private let isComplete = Atomic(false)
    private let end = DispatchSemaphore(value: 0)

    /// - Parameters:
    ///   - player: The player to supply.
    ///   - renderer: The renderer that runs the player.
    ///   - ahead: Seconds that must have arrived.
    ///   - policy: The behaviour when pieces come too late.
    init(_ player: BufferPlayer, in renderer: Renderer, ahead: Double, policy: Policy) {
        self.player = player
        self.renderer = renderer
        self.ahead = max(1, Int((ahead / Pieces.seconds).rounded(.up)))
        self.policy = policy
        for _ in 0..<2 * self.ahead { room.signal() }
    }

    /// Schedules pieces until there are no more. Live it takes no more than twice what is needed ahead, and returns when
    /// everything has been heard.
    func run(isLive: Bool, _ next: () -> Sound?) {
        switch policy {
        case .skip where isLive: keepTime(next)
        default: rest(isLive: isLive, next)
        }
        guard isLive else { return }
        isComplete.store(true, ordering: .sequentiallyConsistent)
        if player.scheduledCount > 0 { end.wait() }
        Terminal.note("The stream has ended.")
    }

    private func rest(isLive: Bool, _ next: () -> Sound?) {
        while let piece = next() {
            if isLive { room.wait() }
            schedule(piece)
            if !player.isPlaying && player.scheduledCount >= ahead { player.play() }
        }
        player.play()
    }

    /// Each piece has its time, from the first one on.
    private func keepTime(_ next: () -> Sound?) {
        let length = Pieces.seconds * renderer.sampleRate
        var start: Int64?, index = 0, late = 0
        player.play()
        while let piece = next() {
            let now = renderer.sampleTime
            let first = start ?? now + Int64(Double(ahead) * length)
            start = first
            let due = first + Int64(Double(index) * length)
            index += 1
            if due < now {
                late += 1
                continue
            }
            if late > 0 { Terminal.note("\(late) pieces came too late and are left out.") }
            late = 0
            schedule(piece, at: .sample(due))
            room.wait()
        }
        if late > 0 { Terminal.note("\(late) pieces came too late and are left out.") }
    }

    private func schedule(_ piece: Sound, at time: RenderTime = .immediately) {
        player.schedule(piece, at: time).when(.consumed) { [self] _ in
            room.signal()
            guard player.scheduledCount == 0 else { return }
            if isComplete.load(ordering: .sequentiallyConsistent) {
                end.signal()
            } else if policy == .rest {
                player.pause()
                Terminal.note("The stream ran dry; waiting for more.")
            }
        }
    }
}
