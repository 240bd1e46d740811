/// The supply of a cycle besides the channels to fill: sound and events that came in, room for events that go out, and
/// the position of the transport.
///
/// It stays the driver's, is valid for the cycle that it is given to, and does not change meanwhile. A module reaches
/// the driver's memory through it inside of that cycle only.
@safe package struct CycleSupply {
    /// The sound that came in for one ``/Supply/AudioInput``.
    @safe package struct Sound {
        /// The address of the input.
        package var identity: UnsafeRawPointer
        package var channels: UnsafePointer<UnsafeMutablePointer<Float>>
        package var channelCount: Int
        /// The time at which the first frame was captured, in nanoseconds of the host clock.
        package var captureTime: Int64

        @_noLocks @_noAllocation
        package init(
            identity: UnsafeRawPointer, channels: UnsafePointer<UnsafeMutablePointer<Float>>, channelCount: Int,
            captureTime: Int64
        ) {
            unsafe self.identity = identity
            unsafe self.channels = channels
            self.channelCount = channelCount
            self.captureTime = captureTime
        }
    }

    /// Events of one ``/Supply/MIDIInput`` or ``/Supply/MIDIOutput``, in the order of their frames, which count from the cycle's first.
    @safe package struct Events {
        /// The address of the input or output.
        package var identity: UnsafeRawPointer
        package var events: UnsafeMutablePointer<MIDIEvent>
        package var count = 0
        package let capacity: Int
        /// Events that found no room.
        package var lost = 0

        @_noLocks @_noAllocation
        package init(identity: UnsafeRawPointer, events: UnsafeMutablePointer<MIDIEvent>, capacity: Int) {
            unsafe self.identity = identity
            unsafe self.events = events
            self.capacity = capacity
        }

        /// Puts an event after all of its frame or earlier ones. `false`: there is no room.
        @_noLocks @_noAllocation
        @discardableResult package mutating func add(_ event: MIDIEvent) -> Bool {
            guard count < capacity else {
                lost &+= 1
                return false
            }
            var position = count
            while position > 0, unsafe events[position &- 1].frame > event.frame {
                unsafe events[position] = events[position &- 1]
                position &-= 1
            }
            unsafe events[position] = event
            count &+= 1
            return true
        }
    }

    package var sounds: UnsafeMutablePointer<Sound>?
    package var soundCount = 0
    package var received: UnsafeMutablePointer<Events>?
    package var receivedCount = 0
    package var sent: UnsafeMutablePointer<Events>?
    package var sentCount = 0
    /// The transport at the first frame of the cycle.
    package var transport = Transport()
    /// The length of the cycle in frames.
    package var frameCount = 0
    /// The supply of the renderer around, of the same frames: sounds that are not here are looked for there.
    package var around: UnsafeMutablePointer<CycleSupply>?
    /// The place for what is sent, where it cannot go to the outputs' lists at once.
    package var outbox: UnsafeMutablePointer<Outbox>?

    @_noLocks @_noAllocation
    package init() {}

    /// Sends an event, whose frame counts from the cycle's first, to the output at an address. `false`: no output drives it, or there
    /// is no room.
    @_noLocks @_noAllocation
    package func send(_ event: MIDIEvent, to output: UnsafeRawPointer) -> Bool {
        guard let lists = unsafe sent else { return false }
        var index = 0
        while index < sentCount {
            if unsafe lists[index].identity == output {
                guard let outbox = unsafe outbox else { return unsafe lists[index].add(event) }
                return unsafe outbox.pointee.add(event, to: output)
            }
            index &+= 1
        }
        return false
    }

    /// Returns the first frame after `offset` at which the cycle is to be cut, so that an input event lies on the first
    /// frame of a slice; the end of the cycle if there is none.
    package func nextCut(after offset: Int) -> Int {
        var cut = frameCount
        for index in 0..<receivedCount {
            guard let list = unsafe received else { break }
            for number in unsafe 0..<min(list[index].count, CycleSupply.cutLimit) {
                let frame = unsafe list[index].events[number].frame
                if frame > offset {
                    cut = min(cut, frame)
                    break
                }
            }
        }
        return cut
    }

    /// Events by which a cycle is cut: work in a cycle stays bounded. Those beyond lie inside of a slice.
    static var cutLimit: Int { 64 }
}
