internal import RenderCore

/// The way of a response from its fade-in to the end of its ring: what the render thread knows of an engine.
struct PlayedResponse: Sendable, BitwiseCopyable {
    /// The number of the response; 0 for none.
    private(set) var serial: UInt64 = 0
    /// The frames of the fade that are up, of ``fade``.
    private var level: Int32 = 0
    /// The frames of a fade of what comes out, after which nothing is heard.
    private var hushed: Int32 = 0
    private var fade: Int32 = 1
    /// The frames of a fade between two responses.
    private var usualFade: Int32 = 1
    /// The frames for which it still rings.
    private var left = 0
    private var frameCount = 0
    private var isWide = false

    /// The work of a response in a slice.
    enum Part { case sounds, leaves, hushes }

    @_noLocks @_noAllocation
    init() {}

    /// Begins with a response, if it is not the one that is there.
    @_noLocks @_noAllocation
    mutating func take(_ engine: borrowing ConvolutionEngine) {
        if serial == engine.serial { return }
        serial = engine.serial
        fade = engine.fade
        usualFade = fade
        level = engine.isFirst ? fade : 0
        frameCount = engine.frameCount
        isWide = engine.isWide
        hushed = 0
        left = frameCount
    }

    /// Indicates whether it is heard.
    var isHeard: Bool { @_noLocks @_noAllocation get { serial > 0 && left > 0 && hushed < fade } }
    /// Indicates whether it is heard and makes two channels of one.
    var widens: Bool { @_noLocks @_noAllocation get { isHeard && isWide } }

    /// The gain of what goes in.
    @_noLocks @_noAllocation
    func input(_ part: Part) -> Glide {
        if case .sounds = part { return Glide(from: 0, to: 1, elapsed: level, length: fade, isExponential: false) }
        return Glide(from: 1, to: 0, elapsed: fade - level, length: fade, isExponential: false)
    }

    /// The gain of what comes out.
    @_noLocks @_noAllocation
    func output(_ part: Part) -> Glide {
        if case .hushes = part { return Glide(from: 1, to: 0, elapsed: hushed, length: fade, isExponential: false) }
        return Glide(1)
    }

    /// The frames for which it is heard from now on: its transforms leave some rounding behind them.
    @_noLocks @_noAllocation
    func framesHeard(_ part: Part) -> Int {
        if case .sounds = part { return .max }
        return Int(level) &+ left
    }

    /// Goes on by some frames.
    @_noLocks @_noAllocation
    mutating func advance(_ frames: Int, _ part: Part) {
        let step = Int32(truncatingIfNeeded: min(frames, Int(fade)))
        if case .sounds = part {
            level = min(fade, level &+ step)
            if level == fade { (level, fade) = (usualFade, usualFade) }
            left = frameCount
            return
        }
        let silent = max(0, frames - Int(level))
        level = max(0, level &- step)
        left = max(0, left - silent)
        if case .hushes = part { hushed = min(fade, hushed &+ step) }
    }

    /// Begins to fade in, in so many frames, what goes in after a rest.
    @_noLocks @_noAllocation
    mutating func open(in frames: Int32) {
        fade = frames
        level = 0
    }

    /// Ends its fades: the one that sounds is there, another one is gone.
    @_noLocks @_noAllocation
    mutating func settle(isNewest: Bool) {
        fade = usualFade
        level = isNewest ? fade : 0
        hushed = 0
        left = isNewest ? frameCount : 0
    }
}

/// The three responses of a reverb: the newest, the one that rings out after it, and one whose ring fades out.
struct PlayedResponses: Sendable, BitwiseCopyable {
    var first = PlayedResponse()
    var second = PlayedResponse()
    var third = PlayedResponse()
    /// Indicates whether nothing is heard, and nothing of the sound is kept.
    private(set) var rests = false

    /// Returns what a response is to do.
    @_noLocks @_noAllocation
    func part(_ response: PlayedResponse) -> PlayedResponse.Part {
        let above =
            (first.serial > response.serial ? 1 : 0) + (second.serial > response.serial ? 1 : 0)
            + (third.serial > response.serial ? 1 : 0)
        return above == 0 ? .sounds : above == 1 ? .leaves : .hushes
    }

    /// Indicates whether a channel becomes two.
    var widens: Bool { @_noLocks @_noAllocation get { first.widens || second.widens || third.widens } }

    /// Ends all fades, and begins to rest: the sound that comes next fades in.
    @_noLocks @_noAllocation
    mutating func rest() {
        settle()
        rests = true
    }

    /// Ends a rest.
    @_noLocks @_noAllocation
    mutating func wake(_ sampleRate: Double) {
        if !rests { return }
        settle()
        let frames = Int32(max(1, min(0.01 * sampleRate, 1e6)))
        let newest = newest
        if first.serial == newest { first.open(in: frames) }
        if second.serial == newest { second.open(in: frames) }
        if third.serial == newest { third.open(in: frames) }
    }

    private var newest: UInt64 {
        @_noLocks @_noAllocation get { max(first.serial, max(second.serial, third.serial)) }
    }

    /// Ends all fades.
    @_noLocks @_noAllocation
    mutating func settle() {
        rests = false
        let newest = newest
        first.settle(isNewest: first.serial == newest)
        second.settle(isNewest: second.serial == newest)
        third.settle(isNewest: third.serial == newest)
    }
}
