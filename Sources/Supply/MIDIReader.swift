public import RenderCore

/// A ``MIDIInput`` as a field of a module: it lets an annotated `process` read the input's events.
///
///     private let keys: MIDIReader                        // in the initialiser: keys = MIDIReader(input)
///     …
///     var events = keys.events                            // in `process`
///     while let event = events.next(context) {
///         if case .noteOn(_, let note, _) = event.message { … }
///     }
///
/// Each module that reads an input finds all of its events. In a dry run, and if no output drives the input, there are
/// none.
///
/// Threads: control.
@safe public struct MIDIReader: ~Copyable, @unchecked Sendable {
    // Unchecked because the reference is never changed, and leads to a Sendable object.
    private let input: Unmanaged<MIDIInput>

    /// Creates a reader of an input, which it keeps alive.
    public init(_ input: MIDIInput) { unsafe self.input = .passRetained(input) }

    deinit { unsafe input.release() }

    /// The events of this slice, from the first on.
    ///
    /// Threads: render.
    public var events: Events {
        @_noLocks @_noAllocation get { unsafe Events(UInt(bitPattern: input.toOpaque())) }
    }

    /// A place among the events of a slice. It counts for the slice that it was made in; a module makes a new one in each.
    ///
    /// Threads: render.
    public struct Events: Sendable, BitwiseCopyable {
        private let input: UInt
        private var position = 0

        @_noLocks @_noAllocation
        init(_ input: UInt) { self.input = input }

        /// Returns the next event, in the order of their frames; `nil` if there is none any more.
        ///
        /// A cycle is cut at its first 64 events of each input, so that they lie on the first frame of a slice. For
        /// later events ``/Exchange/MIDIEvent/frame`` says where they are.
        ///
        /// - Parameters:
        ///   - context: That of the slice.
        ///   - last: The last frame that counts, from the first of the slice, which is 0: later events stay for another
        ///     call. Without it, all events of the slice count.
        @_noLocks @_noAllocation
        public mutating func next(_ context: borrowing RenderContext, upTo last: Int = .max) -> MIDIEvent? {
            context.midiEvent(from: input, &position, upTo: last)
        }
    }
}

extension RenderContext {
    /// Returns the event of an input at a position among those of the cycle, or the first after it that lies in this
    /// slice. Moves the position behind it.
    @_noLocks @_noAllocation
    func midiEvent(from input: UInt, _ position: inout Int, upTo last: Int) -> MIDIEvent? {
        guard let supply = unsafe core.pointee.supply, let lists = unsafe supply.pointee.received else { return nil }
        var index = 0
        while unsafe index < supply.pointee.receivedCount {
            if unsafe UInt(bitPattern: lists[index].identity) == input { break }
            index &+= 1
        }
        guard unsafe index < supply.pointee.receivedCount else { return nil }
        let (first, end) = (cycleOffset, last < frameCount ? last : frameCount &- 1)
        while unsafe position < lists[index].count {
            var event = unsafe lists[index].events[position]
            event.frame &-= first
            if event.frame > end { return nil }
            position &+= 1
            if event.frame >= 0 { return event }
        }
        return nil
    }
}
