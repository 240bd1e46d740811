import Foundation
import RenderStack

extension Calls {
    /// Does to a player of streams what a program may do; the bytes are often no sound.
    static let streams: (name: String, call: Call) =
        (
            "StreamPlayer",
            { world, dice in
                guard let player = world.module(StreamPlayer.self, &dice) else { return }
                switch dice.below(5) {
                case 0: player.stop()
                case 1: _ = (player.isStarted, player.isPlaying, player.info, player.waiting, player.underrunCount)
                case 2: player.play(AudioBytes((0..<dice.below(5_000)).map { UInt8(truncatingIfNeeded: $0 &* 7) }))
                default:
                    var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: dice.pick(world.files)!)))
                    if dice.hits(oneIn: 2) { bytes.removeLast(dice.below(bytes.count)) }
                    player.play(AudioBytes(bytes))
                }
            }
        )
}
