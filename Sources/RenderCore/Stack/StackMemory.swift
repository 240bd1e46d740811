/// The memory of one stack: a slab of slots × channels × frames and the entries that point into it.
///
/// Positions below the depth are in use; those above hold the slots that are free, the one popped last first. Behind
/// them come as many entries without a slot, for buffers that are pushed when the stack is full.
@safe final class StackMemory {
    let layout: StackLayout
    let entries: UnsafeMutablePointer<StackEntry>
    /// Memory that stands in for a buffer that is not there: one for each view that can be open at once.
    let sinks: UnsafeMutablePointer<StackEntry>
    /// Two buffers besides the stack's; they lie behind the sinks.
    let spares: UnsafeMutablePointer<StackEntry>
    /// The addresses of the first sink's channels, for an output that has none. They are read while the stack is in
    /// use.
    let sinkChannels: UnsafePointer<UnsafeMutablePointer<Float>>
    private let slab: AlignedMemory<Float>
    private let tables: UnsafeMutablePointer<UnsafeMutablePointer<Float>>

    init(_ layout: StackLayout) {
        self.layout = layout
        let (slots, channels, stride) = (layout.slots, layout.channels, layout.stride)
        let others = StackEntry.sinkCount + StackEntry.spareCount
        let owners = slots + others
        slab = AlignedMemory(count: owners * channels * stride)
        let floats = unsafe slab.base

        unsafe tables = .allocate(capacity: (owners + slots) * channels)
        unsafe entries = UnsafeMutableRawPointer.allocate(
            byteCount: 2 * slots * MemoryLayout<StackEntry>.stride, alignment: 64
        ).bindMemory(to: StackEntry.self, capacity: 2 * slots)
        unsafe sinks = .allocate(capacity: others)
        unsafe spares = sinks + StackEntry.sinkCount
        // An entry without a slot still has a table, because external memory may be pushed where no slot is left.
        for index in 0..<(owners + slots) {
            let table = unsafe tables + index * channels
            let home = unsafe index < owners ? floats + index * channels * stride : nil
            let first = unsafe home ?? floats
            for channel in 0..<channels { unsafe (table + channel).initialize(to: first + channel * stride) }
            let entry = unsafe StackEntry(
                channels: table, home: home,
                shape: StackEntry.shape(1, home == nil ? StackEntry.silent : StackEntry.own))
            switch index {
            case 0..<slots: unsafe (entries + index).initialize(to: entry)
            case slots..<owners: unsafe (sinks + (index - slots)).initialize(to: entry)
            default: unsafe (entries + (index - others)).initialize(to: entry)
            }
        }
        unsafe sinkChannels = UnsafePointer(sinks[0].channels)
    }

    deinit {
        unsafe entries.deallocate()
        unsafe sinks.deallocate()
        unsafe tables.deallocate()
    }
}
