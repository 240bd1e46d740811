/// A module that holds some of what it mixes back, so that all of it is equally late.
package protocol LatencyAligning: Module {
    /// Indicates whether the module aligns its branches now.
    var isAligning: Bool { get }
    /// Says how late the buffers are that it takes from the stack, in the order in which they are pushed.
    func align(_ latencies: [Int])
}
