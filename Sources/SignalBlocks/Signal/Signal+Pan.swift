extension Signal {
    /// Returns the two gains of a balance: the far channel fades, the near one stays as it is.
    ///
    /// - Parameter balance: -1 (left only) to 1 (right only), 0 leaves both; held to that range.
    @_noLocks @_noAllocation
    public static func balanceGains(_ balance: Float) -> (left: Float, right: Float) {
        (unit(1 - balance), unit(1 + balance))
    }

    /// Returns the two gains of a pan: a sound keeps its power on its way from left to right, -3 dB on each side in the
    /// middle.
    ///
    /// - Parameter position: -1 (left only) to 1 (right only); held to that range.
    @_noLocks @_noAllocation
    public static func panGains(_ position: Float) -> (left: Float, right: Float) {
        let gains = PanGains(position)
        return (gains.left, gains.right)
    }

    /// Sets volume and balance of two channels at once, both approached without a click.
    ///
    /// - Parameters:
    ///   - volume: The gain to reach.
    ///   - volumeFader: The fader with the present volume: moved on by the length of the channels.
    ///   - balance: The balance to reach, as in ``balanceGains(_:)``.
    ///   - balanceFader: The fader with the present balance: moved on by the length of the channels.
    ///   - frames: The number of frames that a full-scale change of either takes.
    ///   - left: The left channel.
    ///   - right: The right channel.
    @_noLocks @_noAllocation
    public static func applyVolumeAndBalance(
        _ volume: Float, fader volumeFader: inout Fader, balance: Float, fader balanceFader: inout Fader,
        frames: Int = 512, to left: inout MutableSpan<Float>, _ right: inout MutableSpan<Float>
    ) {
        volumeFader.head(for: volume, frames: frames)
        balanceFader.head(for: balance, frames: frames)
        let count = min(left.count, right.count)
        var done = 0
        while done < count {
            let (gain, tilt) = (volumeFader.line, balanceFader.line)
            let end = done &+ min(gain.count, min(tilt.count, count &- done))
            let (gainStart, tiltStart) = (gain.position &- done, tilt.position &- done)
            for i in done..<end {
                let volume = gain.origin + gain.slope * float(gainStart &+ i)
                let balance = tilt.origin + tilt.slope * float(tiltStart &+ i)
                left[i] *= volume * unit(1 - balance)
                right[i] *= volume * unit(1 + balance)
            }
            volumeFader.advance(by: end &- done)
            balanceFader.advance(by: end &- done)
            done = end
        }
    }

    /// Places a channel between left and right with equal power, the place approached without a click.
    ///
    /// - Parameters:
    ///   - source: The channel to place.
    ///   - position: The place to reach, as in ``panGains(_:)``.
    ///   - fader: The fader with the present place: moved on by the frames written.
    ///   - frames: The number of frames that a way of 1 (from the middle to a side) takes.
    ///   - left: Receives the left channel.
    ///   - right: Receives the right channel.
    @_noLocks @_noAllocation
    public static func pan(
        _ source: borrowing Samples, to position: Float, fader: inout Fader, frames: Int = 512,
        into left: inout MutableSpan<Float>, _ right: inout MutableSpan<Float>
    ) {
        fader.head(for: position, frames: frames)
        let count = min(source.count, min(left.count, right.count))
        let line = fader.line
        let moving = min(line.count, count)
        if line.slope != 0 {
            for i in 0..<moving {
                let place = 0.5 * (line.origin + line.slope * float(line.position &+ i))
                left[i] = source[i] * quarterSine(0.5 - place)
                right[i] = source[i] * quarterSine(0.5 + place)
            }
        }
        let gains = panGains(fader.target)
        for i in (line.slope != 0 ? moving : 0)..<count {
            left[i] = source[i] * gains.left
            right[i] = source[i] * gains.right
        }
        fader.advance(by: count)
    }
}
