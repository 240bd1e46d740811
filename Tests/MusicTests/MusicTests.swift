import RenderStack
import Testing

@Suite struct MusicTests {}
