import RenderStack

@testable import RenderCore
@testable import Supply

/// Drives a renderer as an output does: with sound for one input, events for another, a transport, and room for what is sent.
struct SupplyDriver {
    let input: AudioInput
    var keys = MIDIInput()
    var port = MIDIOutput()
    /// The sound of a channel at a frame.
    var sound: (_ channel: Int, _ frame: Int) -> Float = { Float($1 + 1 + 10_000 * $0) }
    /// The frames at which a note comes in: its number tells which.
    var notes: [Int] = []
    /// Called before the cycle that begins at a frame.
    var before: (_ frame: Int) -> Void = { _ in }

    /// Renders cycles. Returns the sound of all channels and the frames at which messages were sent, with them.
    func drive(_ renderer: Renderer, cycles: [Int], frames: Int) -> (sound: [[Float]], sent: [MIDIEvent]) {
        let output = AudioBlock(channels: renderer.channelCount, frames: frames)
        var (done, turn) = (0, 0)
        var sent: [MIDIEvent] = []
        while done < frames {
            before(done)
            let count = min(cycles[turn % cycles.count], frames - done)
            var captured = AudioBlock(channels: input.channelCount, frames: count)
            for channel in 0..<input.channelCount {
                for i in 0..<count { captured[channel, i] = sound(channel, done + i) }
            }
            let due = notes.enumerated().filter { (done..<done + count).contains($0.element) }
            var events = due.map {
                MIDIEvent(frame: $0.element - done, .noteOn(channel: 0, note: UInt8($0.offset % 128), velocity: 1))
            }
            events += Array(repeating: MIDIEvent(.clock), count: 1_024)
            events.withUnsafeMutableBufferPointer { events in
                let room = events.baseAddress! + due.count
                var lists = [
                    CycleSupply.Events(
                        identity: UnsafeRawPointer(Unmanaged.passUnretained(keys).toOpaque()),
                        events: events.baseAddress!, capacity: due.count),
                    CycleSupply.Events(
                        identity: UnsafeRawPointer(Unmanaged.passUnretained(port).toOpaque()), events: room,
                        capacity: 1_024),
                ]
                lists[0].count = due.count
                var sound = CycleSupply.Sound(
                    identity: UnsafeRawPointer(Unmanaged.passUnretained(input).toOpaque()),
                    channels: UnsafePointer(captured.pointers), channelCount: input.channelCount, captureTime: 0)
                lists.withUnsafeMutableBufferPointer { lists in
                    withUnsafeMutablePointer(to: &sound) { sound in
                        var supply = CycleSupply()
                        (supply.sounds, supply.soundCount) = (sound, 1)
                        (supply.received, supply.receivedCount) = (lists.baseAddress!, 1)
                        (supply.sent, supply.sentCount) = (lists.baseAddress! + 1, 1)
                        supply.transport = Transport(isRolling: true, frame: Int64(done))
                        supply.frameCount = count
                        let channels = (0..<output.channelCount).map { output.pointers[$0] + done }
                        channels.withUnsafeBufferPointer { channels in
                            renderer.render(frames: count, into: channels, hostTime: 0, supply: &supply)
                        }
                    }
                }
                for number in 0..<lists[1].count {
                    var event = room[number]
                    event.frame += done
                    sent.append(event)
                }
            }
            done += count
            turn += 1
        }
        return ((0..<output.channelCount).map { output.array($0) }, sent)
    }
}
