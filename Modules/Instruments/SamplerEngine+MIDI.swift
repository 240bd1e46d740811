internal import InstrumentFiles
internal import RenderCore

extension SamplerEngine {
    /// Lets a message act, now.
    @_noLocks @_noAllocation
    mutating func act(_ message: MIDIMessage) {
        switch message {
        case .noteOn(let channel, let note, let velocity):
            begin(Int(channel), note, velocity, onRelease: false)
        case .noteOff(let channel, let note, _): letGo(Int(channel), note)
        case .keyPressure(let channel, let note, let pressure):
            for index in 0..<voices.count where voices[index].channel == Int(channel) && voices[index].key == note {
                voices[index].keyPressure = pressure
                voices[index].isStale = true
            }
        case .controller(let channel, let number, let value): turn(Int(channel), Int(number), value)
        case .program(let channel, let number):
            channels[Int(channel)].program = Int(number)
            choose(Int(channel))
        case .pressure(let channel, let pressure):
            channels[Int(channel)].pressure = pressure
            stale(Int(channel))
        case .bend(let channel, let value):
            channels[Int(channel)].bend = Float(value)
            stale(Int(channel))
        case .reset: for channel in 0..<16 { silence(channel) }
        default: break
        }
    }

    /// Has the voices of a channel take its controllers.
    @_noLocks @_noAllocation
    private mutating func stale(_ channel: Int) {
        var span = voices.span
        for index in 0..<span.count where span[index].channel == channel { span[index].isStale = true }
    }

    @_noLocks @_noAllocation
    private mutating func letGo(_ channel: Int, _ key: UInt8) {
        let isHeld = channels[channel][64] >= 64
        var (velocity, wasDown) = (UInt8(0), false)
        var span = voices.span
        for index in 0..<span.count where span[index].isDown && span[index].key == key {
            guard span[index].channel == channel && !span[index].isFree else { continue }
            (velocity, wasDown) = (span[index].velocity, true)
            span[index].letGo(isPedalDown: isHeld)
        }
        if wasDown && !isHeld { begin(channel, key, velocity, onRelease: true) }
    }

    @_noLocks @_noAllocation
    private mutating func turn(_ channel: Int, _ number: Int, _ value: UInt8) {
        let before = channels[channel][number]
        channels[channel][number] = value
        switch number {
        case 0:
            // The bank of drums stays.
            if !channels[channel].isDrums { channels[channel].bank = Int(value) }
        case 64: if value < 64 { lift(channel, sostenuto: false) }
        case 66:
            if value < 64 { lift(channel, sostenuto: true) } else if before < 64 { hold(channel) }
        case 6, 38, 98, 99, 100, 101:
            channels[channel].setParameter(number, value)
            stale(channel)
        case 120: silence(channel)
        case 121:
            channels[channel].resetControllers()
            lift(channel, sostenuto: false)
            lift(channel, sostenuto: true)
            stale(channel)
        case 123...127:
            let isHeld = channels[channel][64] >= 64
            var span = voices.span
            for index in 0..<span.count where span[index].isDown && span[index].channel == channel {
                span[index].letGo(isPedalDown: isHeld)
            }
        default: stale(channel)
        }
    }

    /// A pedal goes up.
    @_noLocks @_noAllocation
    private mutating func lift(_ channel: Int, sostenuto: Bool) {
        var span = voices.span
        for index in 0..<span.count where span[index].channel == channel && !span[index].isFree {
            if sostenuto { span[index].isHeldBySostenuto = false } else { span[index].isHeld = false }
            let isHeld = span[index].isDown || span[index].isHeld || span[index].isHeldBySostenuto
            if !isHeld && !span[index].isReleased { span[index].release() }
        }
    }

    /// The sostenuto pedal goes down: it holds what sounds now.
    @_noLocks @_noAllocation
    private mutating func hold(_ channel: Int) {
        var span = voices.span
        for index in 0..<span.count where span[index].isDown && span[index].channel == channel {
            span[index].isHeldBySostenuto = true
        }
    }

    /// Everything of a channel fades out.
    @_noLocks @_noAllocation
    private mutating func silence(_ channel: Int) {
        let frames = SamplerEngine.fadeTime * Float(sampleRate)
        var span = voices.span
        for index in 0..<span.count where !span[index].isFree && span[index].channel == channel {
            span[index].leave(in: frames)
        }
    }
}
