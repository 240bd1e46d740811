/// The sound that a capture has brought and no cycle has taken: of one thread.
///
/// PipeWire calls the capture before the playback, but for cycles in which the graph changes, and cycles that grow. A cycle that
/// comes first gets silence before what comes then, once, so that no frame is lost; from there on the input is that much older.
@safe struct CaptureQueue: ~Copyable {
    let channelCount: Int
    private let capacity: Int
    private let samples: UnsafeMutablePointer<Float>
    private var first = 0
    /// The frames that are there.
    private(set) var count = 0

    init(channels: Int, capacity: Int) {
        channelCount = channels
        self.capacity = capacity
        unsafe samples = .allocate(capacity: max(1, channels * capacity))
        unsafe samples.initialize(repeating: 0, count: max(1, channels * capacity))
    }

    deinit { unsafe samples.deallocate() }

    /// Appends frames. Of too many the oldest go.
    mutating func append(_ channels: UnsafePointer<UnsafeMutablePointer<Float>?>, frames: Int) {
        let new = min(frames, capacity)
        if count + new > capacity { drop(count + new - capacity) }
        makeRoom(new)
        for channel in 0..<channelCount {
            let place = unsafe samples + channel * capacity + first + count
            if let source = unsafe channels[channel] {
                unsafe place.update(from: source + (frames - new), count: new)
            } else {
                unsafe place.update(repeating: 0, count: new)
            }
        }
        count += new
    }

    /// Has at least that many frames there, with silence before them where there are fewer. Returns the frames of silence.
    mutating func fill(to frames: Int) -> Int {
        let missing = min(frames, capacity) - count
        guard missing > 0 else { return 0 }
        for channel in 0..<channelCount {
            let place = unsafe samples + channel * capacity
            unsafe (place + missing).update(from: place + first, count: count)
            unsafe place.update(repeating: 0, count: missing)
        }
        first = 0
        count += missing
        return missing
    }

    /// Returns where the next frames of a channel are.
    func channel(_ channel: Int) -> UnsafeMutablePointer<Float> { unsafe samples + channel * capacity + first }

    /// Lets the oldest frames go.
    mutating func drop(_ frames: Int) {
        let gone = min(frames, count)
        first += gone
        count -= gone
        if count == 0 { first = 0 }
    }

    private mutating func makeRoom(_ frames: Int) {
        guard first + count + frames > capacity else { return }
        for channel in 0..<channelCount {
            let place = unsafe samples + channel * capacity
            unsafe place.update(from: place + first, count: count)
        }
        first = 0
    }
}
