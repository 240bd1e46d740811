// Threads exchange values that are made of the building blocks: an import brings these, and their mathematics.
@_exported public import SignalBlocks
