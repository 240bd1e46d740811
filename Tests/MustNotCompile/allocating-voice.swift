// A voice that makes an array in each frame.
import RenderStack

struct Allocating: LaneVoice {
    private var tone = SineLanes()

    @inline(__always) @_noLocks @_noAllocation
    mutating func next(_ notes: borrowing Notes) -> Lanes {
        let harmonics = [notes.turns, 2 * notes.turns]  // expected-error {{can cause metadata allocation or locks}}
        return tone.next(harmonics[0] + harmonics[1])
    }
}
