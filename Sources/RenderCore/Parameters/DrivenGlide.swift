internal import SignalBlocks
internal import Synchronization

/// The values that a ``ParameterDriver`` gives a parameter in one slice.
///
/// A module's `glide` finds it on its slow way, so that a parameter that nothing drives costs what it did. The values hold for the
/// outermost slice in which they were made, at the same sample rate. Who asks elsewhere finds that nothing drives the parameter
/// any more: it then has the value that was the last, and its own glide.
@safe struct DrivenGlide: ~Copyable, Sendable {
    /// The outermost slice, and the place in it of the first value.
    let number = Atomic<UInt64>(0)
    let offset = Atomic<Int>(0)
    /// The frames of the slice, and the values, of which there are more.
    let frames = Atomic<Int>(0)
    let count = Atomic<Int>(0)
    let rate = Atomic<UInt64>(0)
    /// The address of the table; 0 for a slice with one value, ``end``.
    let table = Atomic<UInt>(0)
    /// The value behind the slice.
    let end = Atomic<UInt32>(0)
    /// The last word that was published for the parameter here: if the parameter has another, somebody has set it.
    let word: Atomic<UInt64>

    init(_ word: UInt64) { self.word = Atomic(word) }

    /// Returns the values of a slice, or `nil` if none are there: then nothing drives the parameter from now on.
    @_noLocks @_noAllocation
    static func glide(of parameter: ParameterHandle, rate: Double, _ slice: OuterSlice) -> Glide? {
        let details = unsafe parameter.details
        guard
            let driven = unsafe UnsafeMutablePointer<DrivenGlide>(
                bitPattern: details.pointee.driven.load(ordering: .acquiring))
        else { return nil }
        let number = unsafe driven.pointee.number.load(ordering: .acquiring)
        let bits = unsafe driven.pointee.end.load(ordering: .relaxed)
        let place = unsafe slice.offset &- driven.pointee.offset.load(ordering: .relaxed)
        guard number == slice.number, number != 0, place >= 0,
            unsafe place < driven.pointee.frames.load(ordering: .relaxed),
            unsafe driven.pointee.rate.load(ordering: .relaxed) == rate.bitPattern
        else {
            unsafe details.pointee.driven.store(0, ordering: .relaxed)
            let last = unsafe driven.pointee.word.load(ordering: .relaxed)
            if unsafe parameter.cell.pointee.published.load(ordering: .relaxed) == last {
                let word = unsafe details.pointee.request(Float(bitPattern: bits))
                unsafe driven.pointee.word.store(word, ordering: .relaxed)
                parameter.publish(word)
            }
            return nil
        }
        // The parameter's own glide rests where this one ends: it goes on from there.
        unsafe details.pointee.glideFrom.store(bits, ordering: .relaxed)
        unsafe details.pointee.glideTo.store(bits, ordering: .relaxed)
        unsafe details.pointee.glideLength.store(0, ordering: .relaxed)
        unsafe details.pointee.glideStart.store(.min, ordering: .relaxed)
        let end = Float(bitPattern: bits)
        let table = unsafe driven.pointee.table.load(ordering: .relaxed)
        if table == 0 {
            unsafe parameter.cell.pointee.rest(at: end, driven.pointee.word.load(ordering: .relaxed), rate: rate)
            return Glide(end)
        }
        return unsafe Glide(
            table: table, from: place, count: driven.pointee.count.load(ordering: .relaxed) &- place, end: end)
    }
}
