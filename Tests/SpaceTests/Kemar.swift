import SOFAFiles
import Testing

/// The responses, read once. In a debug build, which takes half a minute to make a table of all, every twelfth direction.
let kemar = Result { () throws -> HRTF in
    let head = try HRTF.kemar()
    #if DEBUG
        let some = head.measurements.enumerated().filter { $0.offset % 12 == 0 }.map(\.element)
        return HRTF(some, sampleRate: head.sampleRate, length: head.length)
    #else
        return head
    #endif
}

/// Every twelfth of the directions, of which a table is made at once.
let sparseKemar = Result { () throws -> HRTF in
    let head = try HRTF.kemar()
    let some = head.measurements.enumerated().filter { $0.offset % 12 == 0 }.map(\.element)
    return HRTF(some, sampleRate: head.sampleRate, length: head.length)
}

extension Trait where Self == ConditionTrait {
    /// Leaves a test out of debug builds: its figures are those of all directions.
    static var ofAllDirections: Self {
        #if DEBUG
            .enabled(if: false, "in the release build alone")
        #else
            .enabled(if: true)
        #endif
    }
}
