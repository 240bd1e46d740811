/// A module whose sound ends by itself: a player.
package protocol EndingModule: Module {
    /// Indicates whether nothing is heard of the module, and nothing is about to be: no command is under way. It is made of
    /// atomics, since mixers ask for it under their locks.
    var isAtRest: Bool { get }
}
