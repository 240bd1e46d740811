// What threads exchange is made of the building blocks: an import brings them, and their mathematics.
@_exported public import SignalBlocks
