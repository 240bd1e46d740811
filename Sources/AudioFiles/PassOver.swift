/// Decodes frames that nobody wants, to come to those behind them.
///
/// - Parameters:
///   - frames: The number of frames.
///   - channels: The number of their channels.
///   - read: The closure that decodes so many frames into memory, and returns how many there were: 0 at the end.
/// - Returns: `false` if the end came before.
func passOver(_ frames: Int64, channels: Int, _ read: (Int, UnsafeMutablePointer<Float>) -> Int) -> Bool {
    let most = max(1, 16_384 / channels)
    let room = UnsafeMutablePointer<Float>.allocate(capacity: most * channels)
    defer { unsafe room.deallocate() }
    var left = frames
    while left > 0 {
        let count = unsafe read(Int(min(left, Int64(most))), room)
        if count == 0 { return false }
        left -= Int64(count)
    }
    return true
}
