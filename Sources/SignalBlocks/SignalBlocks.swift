// An import of the building blocks brings their mathematics.
@_exported public import RenderMathematics
