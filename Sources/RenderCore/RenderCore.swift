// An import of the core brings what threads exchange, and the building blocks.
@_exported public import Exchange
