import RenderStack
import Testing

@Suite struct SequencingTests {}
