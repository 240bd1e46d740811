// `import RenderStack` is all that a user writes.
@_exported public import AudioFiles
@_exported public import Background
@_exported public import Composition
@_exported public import Distortion
@_exported public import Dynamics
@_exported public import InstrumentFiles
@_exported public import Instruments
@_exported public import Loudness
@_exported public import MIDIFiles
@_exported public import Mixing
@_exported public import Modulation
@_exported public import Music
@_exported public import Outputs
@_exported public import Players
@_exported public import Processors
@_exported public import RenderCore
@_exported public import Reverberation
@_exported public import SOFAFiles
@_exported public import Sequencing
@_exported public import Sharing
@_exported public import Space
@_exported public import Supply
@_exported public import Taps
@_exported public import TempoAndPitch
@_exported public import Tones
@_exported public import Voices

#if Everything || ALSA
    @_exported public import ALSABackend
#endif
#if Everything || JACK
    @_exported public import JACKBackend
#endif
#if Everything || LV2
    @_exported public import LV2Hosting
#endif
#if Everything || PipeWire
    @_exported public import PipeWireBackend
#endif
