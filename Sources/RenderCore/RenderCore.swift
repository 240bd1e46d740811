// An import of the core brings its building blocks, and with those its mathematics.
@_exported public import SignalBlocks
