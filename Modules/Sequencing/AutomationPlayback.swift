import RenderCore

/// The state that an automation keeps from slice to slice, by which it fills a slice.
///
/// Each value is reckoned from the frame's position on a line that is the same in all slices, and by the segment in which the
/// position lies. So the length of the slices changes no bit.
struct AutomationPlayback: BitwiseCopyable, Sendable {
    /// The values behind the slice, for modules that reckon some frames ahead.
    static var ahead: Int { @_noLocks @_noAllocation get { 64 } }

    /// The line of seconds or frames, once it has begun.
    private var free = BeatLine(origin: 0, position: 0, step: 1, divisor: 1)
    private var hasBegun = false
    private var isInSeconds = true

    /// Indicates whether the slice before this one was driven: its end, and the position and the value that come next.
    private(set) var isDriving = false
    private var isFresh = false
    private var nextFrame: Int64 = 0
    private(set) var nextPosition = 0.0
    private var nextValue: Float = 0
    private var version = 0

    private var place = 0
    private var glide: AutomationGlide

    init(_ curve: Parameter.Curve) { glide = AutomationGlide(curve) }

    /// Goes back to the beginning. The next slice takes its value without a glide.
    @_noLocks @_noAllocation
    mutating func reset() {
        (hasBegun, isDriving, isFresh, place) = (false, false, true, 0)
        glide.stop()
    }

    /// Lets a slice pass in which the parameter is somebody else's.
    @_noLocks @_noAllocation
    mutating func pass(_ unit: AutomationClock, startingAt starts: AutomationStarts, _ context: borrowing RenderContext)
    {
        isDriving = false
        var line = line(unit, context)
        if let last = starts.last, !unit.isBeats { line = start(at: context.sampleTime &+ Int64(last)) }
        note(line, end: context.sampleTime &+ Int64(context.frameCount))
    }

    /// Returns the line of positions from the beginning of a slice on.
    @_noLocks @_noAllocation
    mutating func line(_ unit: AutomationClock, _ context: borrowing RenderContext) -> BeatLine {
        if unit.isBeats { return context.beatLine }
        let (now, rate) = (context.sampleTime, context.sampleRate)
        let seconds = unit.isSeconds
        if !hasBegun {
            free = BeatLine(origin: now, position: 0, step: 1, divisor: seconds ? rate : 1)
            (hasBegun, isInSeconds) = (true, seconds)
        } else if seconds != isInSeconds {
            let position = free.position(at: now)
            free = BeatLine(
                origin: now, position: seconds ? position / rate : position * free.divisor, step: 1,
                divisor: seconds ? rate : 1)
            isInSeconds = seconds
        } else if seconds && rate != free.divisor {
            free = BeatLine(origin: now, position: free.position(at: now), step: 1, divisor: rate)
        }
        return free
    }

    /// Begins the line of seconds or frames anew.
    @_noLocks @_noAllocation
    mutating func start(at frame: Int64) -> BeatLine {
        free = BeatLine(origin: frame, position: 0, step: 1, divisor: free.divisor)
        return free
    }

    /// Returns whether a line goes on where the last slice ended.
    @_noLocks @_noAllocation
    func goesOn(_ line: BeatLine, at frame: Int64) -> Bool {
        let way = line.position(at: frame) - nextPosition
        let half = 0.5 * line.step / line.divisor
        return frame == nextFrame && way < half && way > -half
    }

    /// Notes where the next slice is to begin.
    @_noLocks @_noAllocation
    mutating func note(_ line: BeatLine, end: Int64) {
        nextFrame = end
        nextPosition = line.position(at: end)
    }

    /// Sets the parameter for a slice.
    ///
    /// - Parameters:
    ///   - starts: The frames of the slice at which the position begins anew.
    @_noLocks @_noAllocation
    mutating func drive(
        _ driver: ParameterWheel, by image: borrowing AutomationImage, _ table: GlideTable.Places,
        startingAt starts: AutomationStarts, _ context: borrowing RenderContext
    ) {
        let (now, count, rate) = (context.sampleTime, context.frameCount, context.sampleRate)
        var line = line(image.unit, context)
        let limits = driver.limits(rate)
        glide.length = driver.glideFrames(rate)
        if !isDriving || nextFrame != now {
            place = image.place(of: line.position(at: now), near: place)
            let heard = isFresh ? nil : driver.heard(context)
            glide.stop()
            if let heard { go(from: heard.now, line, image, limits, at: now) }
            isFresh = false
        } else if version != image.version || !goesOn(line, at: now) {
            place = image.place(of: line.position(at: now), near: place)
            go(from: nextValue, line, image, limits, at: now)
        }
        version = image.version
        if starts.has(0) { begin(&line, image, limits, at: now) }
        let first = value(at: now, line, image, limits)
        if (starts.last ?? 0) == 0 && image.segments[place].isConstant && glide.isOver(at: now)
            && line.position(at: now &+ Int64(count &- 1)) < image.segments[place].end
        {
            driver.hold(first, context)
            nextValue = first
        } else {
            fill(driver, image, table, &line, limits, startingAt: starts, context)
        }
        isDriving = true
        note(line, end: now &+ Int64(count))
        announce(line, image, context)
    }

    @_noLocks @_noAllocation
    private mutating func fill(
        _ driver: ParameterWheel, _ image: borrowing AutomationImage, _ table: GlideTable.Places,
        _ line: inout BeatLine, _ limits: (low: Float, high: Float), startingAt starts: AutomationStarts,
        _ context: borrowing RenderContext
    ) {
        let (now, count) = (context.sampleTime, context.frameCount)
        var frame = 0
        while frame < count {
            if frame > 0 && starts.has(frame) { begin(&line, image, limits, at: now &+ Int64(frame)) }
            table.set(frame, value(at: now &+ Int64(frame), line, image, limits))
            frame &+= 1
        }
        // The values behind the slice are looked at, and come again with the next one.
        let kept = (place, glide)
        let end = count &+ AutomationPlayback.ahead
        while frame <= end {
            table.set(frame, value(at: now &+ Int64(frame), line, image, limits))
            frame &+= 1
        }
        (place, glide) = kept
        nextValue = table[count]
        driver.drive(context, table, count: end &+ 1)
    }

    /// Begins the position anew at a frame: a jump.
    @_noLocks @_noAllocation
    private mutating func begin(
        _ line: inout BeatLine, _ image: borrowing AutomationImage, _ limits: (low: Float, high: Float), at frame: Int64
    ) {
        if image.unit.isBeats { return }
        let heard = value(at: frame, line, image, limits)
        line = start(at: frame)
        place = image.place(of: 0, near: 0)
        go(from: heard, line, image, limits, at: frame)
    }

    /// Begins the glide from a value to the curve, unless that goes on from there: a curve of which another part was edited.
    @_noLocks @_noAllocation
    private mutating func go(
        from value: Float, _ line: BeatLine, _ image: borrowing AutomationImage, _ limits: (low: Float, high: Float),
        at frame: Int64
    ) {
        let target = AutomationPlayback.clamped(image.segments[place].value(at: line.position(at: frame)), limits)
        let (distance, size) = (abs(target - value), max(abs(target), abs(value)))
        if distance > 1e-6 * size { glide.begin(from: value, at: frame) } else { glide.stop() }
    }

    /// Returns the value at a frame, which is not before the last one that was asked for.
    @_noLocks @_noAllocation
    private mutating func value(
        at frame: Int64, _ line: BeatLine, _ image: borrowing AutomationImage, _ limits: (low: Float, high: Float)
    ) -> Float {
        let position = line.position(at: frame)
        let found = image.place(of: position, near: place)
        if found != place {
            if image.segments[found].jumps != image.segments[place].jumps && glide.length > 0 {
                let before = AutomationPlayback.clamped(image.segments[place].value(at: position), limits)
                glide.begin(from: glide.value(at: frame, to: before), at: frame)
            }
            place = found
        }
        let target = AutomationPlayback.clamped(image.segments[place].value(at: position), limits)
        return glide.isOver(at: frame) ? target : glide.value(at: frame, to: target)
    }

    @_noLocks @_noAllocation
    private static func clamped(_ value: Double, _ limits: (low: Float, high: Float)) -> Float {
        let value = Float(value)
        return value > limits.low ? (value < limits.high ? value : limits.high) : limits.low
    }

    /// Has a slice begin where the curve comes to rest, leaves its rest or jumps: modules that rest, or that read a parameter
    /// once in a slice, do so on the same frame in slices of any length.
    @_noLocks @_noAllocation
    private func announce(_ line: BeatLine, _ image: borrowing AutomationImage, _ context: borrowing RenderContext) {
        var place = place
        var tries = 0
        while place < image.segments.count &- 1 && tries < 16 {
            let (segment, next) = (image.segments[place], image.segments[place &+ 1])
            if segment.isConstant || next.isConstant || segment.jumps != next.jumps {
                let frame = line.frame(of: segment.end)
                if frame > nextFrame { return context.cut(before: frame) }
            }
            place &+= 1
            tries &+= 1
        }
    }
}

/// The way from the value that is heard at a jump to the curve behind it: that of the parameter.
struct AutomationGlide: BitwiseCopyable, Sendable {
    private let isSmooth: Bool
    private let isExponential: Bool
    /// The frames that it takes.
    var length: Int64 = 0
    private var from: Float = 0
    private var start: Int64 = 0
    private var isUnderWay = false

    init(_ curve: Parameter.Curve) {
        (isSmooth, isExponential) = (curve.isSmooth, curve.isExponential)
    }

    @_noLocks @_noAllocation
    mutating func begin(from value: Float, at frame: Int64) { (from, start, isUnderWay) = (value, frame, length > 0) }

    @_noLocks @_noAllocation
    mutating func stop() { isUnderWay = false }

    @_noLocks @_noAllocation
    func isOver(at frame: Int64) -> Bool { !isUnderWay || frame &- start >= length }

    /// Returns the value at a frame, on the way to one that may move.
    @_noLocks @_noAllocation
    func value(at frame: Int64, to target: Float) -> Float {
        if isOver(at: frame) || target == from { return target }
        let part = Double(frame &- start) / Double(length)
        let u = isSmooth ? AutomationSegment.smooth(part) : part
        let (first, second) = (Double(from), Double(target))
        if isExponential && first > 0 && second > 0 {
            return Float(first * RenderMath.exp2(u * RenderMath.log2(second / first)))
        }
        return Float(first + (second - first) * u)
    }
}

/// The frames of a slice at which an automation begins anew: as many as there is room for commands.
struct AutomationStarts: BitwiseCopyable, Sendable {
    static var capacity: Int { @_noLocks @_noAllocation get { 8 } }

    private var frames = InlineArray<8, Int>(repeating: -1)
    private var count = 0

    @_noLocks @_noAllocation
    init() {}

    @_noLocks @_noAllocation
    mutating func add(_ frame: Int) {
        if count == AutomationStarts.capacity { return }
        frames[count] = frame
        count &+= 1
    }

    /// The last of them.
    var last: Int? { @_noLocks @_noAllocation get { count == 0 ? nil : frames[count &- 1] } }

    @_noLocks @_noAllocation
    func has(_ frame: Int) -> Bool {
        var i = 0
        while i < count {
            if frames[i] == frame { return true }
            i &+= 1
        }
        return false
    }
}
