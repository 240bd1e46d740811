internal import RenderCore
internal import SignalBlocks

// A source passes through as it is where its rendering says so, and in a mixer.
extension SpatialState {
    /// Takes the settings from the beginning of a block on.
    @_noLocks @_noAllocation
    mutating func takeWay(at frame: Int64) {
        motion.take(settings, at: frame, sampleRate: sampleRate)
        // Nobody has heard where it was.
        if before.shares[3] == 1 && now.shares[3] == 1 && next.shares[3] == 1 { motion.rest() }
    }

    /// Aims at the pan of a mixer. What comes from there keeps its pan while it fades.
    @_noLocks @_noAllocation
    mutating func aimSides() {
        if motion.settings.kind != 3 && next.shares[3] > 0 {
            next.sides = now.sides
            return
        }
        let pan = motion.settings.flat == 2 ? motion.settings.pan : 0
        next.sides = SIMD2(1 - (pan > 0 ? pan : 0), 1 + (pan < 0 ? pan : 0))
        if before.shares[3] == 0 && now.shares[3] == 0 { (before.sides, now.sides) = (next.sides, next.sides) }
    }

    /// Adds the sound as it is, as late as all others are.
    @_noLocks @_noAllocation
    mutating func passThrough(_ context: inout RenderContext, _ layout: SpatialLayout, _ part: SpatialSignal.Part) {
        let (sources, flat) = (context.channelCount(at: 1), settings.flat)
        let targets = flat == 0 ? layout.channels : max(flat, 2)
        // A mixer of one channel adds up all channels.
        let isToAll = sources == 1 && flat != 1
        for channel in 0..<sources {
            signal.pass(context.samples(channel, at: 1), channel: channel, part)
            var target = flat == 1 && channel > 1 ? 0 : channel
            var top = context.top
            while target < targets {
                let side = sources <= 2 ? target : 2
                var output = top[target]
                signal.add(ear: 0, level: passing(side), part, to: &output)
                target &+= isToAll ? 1 : 64
            }
        }
    }

    /// Clears the channels of a mixer behind the first two.
    @_noLocks @_noAllocation
    func clearOthers(_ context: inout RenderContext, _ part: SpatialSignal.Part) {
        var top = context.top
        var channel = 2
        while channel < top.channelCount {
            SpatialState.clear(&top, channel: channel, from: part.first, count: part.count)
            channel &+= 1
        }
    }

    /// Returns the level of what passes through: on the left (0), on the right (1), or without a pan.
    @_noLocks @_noAllocation
    private func passing(_ side: Int) -> Course {
        let (a, b, c) = (before.shares[3], now.shares[3], next.shares[3])
        switch side {
        case 0: return Course(a * before.sides.x, b * now.sides.x, c * next.sides.x)
        case 1: return Course(a * before.sides.y, b * now.sides.y, c * next.sides.y)
        default: return Course(a, b, c)
        }
    }
}
