"""The tests that run in each kind of build: each once in a debug build and once in a release build, where most is found."""

# These tests follow the clock of a server or of a card: they wait most of their time, and run beside those that compute.
BACKENDS = "JACKBackendTests|ALSABackendTests|PipeWireBackendTests"

# The debug build is that of AddressSanitizer. What is not in it runs in the release build alone: the filters, tones, dynamics,
# distortion, modulation, tempo and pitch, which are safe code and whose figures take long; the figures of Reverb, of measured
# responses, of loudness, of heard pitches and attacks and of stretched files, the contract of tones, and all parameters that
# leave 0, and the sounds of the modules' pages, which take minutes; the fuzzer's processes, which have so little memory that no
# sanitizer starts in them; the extreme rates, forged headers and pitches, which take minutes too.
# The quick build has the same targets, but for what follows a clock.
QUICK_TARGETS = ("SignalBlocksTests RenderCoreTests AudioFilesTests StressTests HostileTests PlayersTests MixingTests TapsTests "
                 "ReverberationTests InstrumentsTests RenderStackTestingTests RealtimeWatchTests LiveTests SequencingTests")
ADDRESS_TARGETS = f"{QUICK_TARGETS} JACKBackendTests ALSABackendTests PipeWireBackendTests duplex"
NOT_ADDRESS = ("FuzzTests|DepartureTests|ExtremePlayerTests|ExtremeModuleTests|ClaimedHeaderTests|SamplePlayerPitchTests|"
               "[.]ReverbTests/(?!hostile|channels)|ConvolutionChangeTests/pinkNoise|"
               "ImpulseResponseTests/(anEvenDecay|noiseBehind|aSweepFinds)|LoudnessMeterTests/(gates|range)|OurModulesTests/tone|"
               "FilePlayerStretchTests/(change|engine|knob)|RoomFigureTests/modulation|"
               "BufferPlayerStretchTests/(change|hostile|many|sequence|threads)|"
               "PitchTrackerTests/(clarity|tones|voices)|OnsetTapTests/(change|drums|strings|tempo)|"
               "ModuleSoundsTests")

# About half of the time of the tests under AddressSanitizer.
CORE = "^(RenderCoreTests|HostileTests|StressTests|SignalBlocksTests)[.]"

THREAD = "StressTests|HostileTests"
NOT_THREAD = "ExtremeModuleTests"
THREAD_TARGETS = "StressTests HostileTests"

# The release tests run under the watchdog, but for these and the backends, which run without it (scripts/checks/clients
# watches programs under JACK): the random programs, which allocate so much in their cycles, for a model, that findings would
# be lost; the hostile programs, whose closures do everything that a closure should not; the extreme rates and forged
# headers, at which an offline cycle converts for half a minute on a busy machine: a hang begins soon after that.
# Plug-ins work beside the audio, which offline is in their cycles.
UNWATCHED = "RandomProgramTests|HostileTests|ExtremePlayerTests|ClaimedHeaderTests|LV2HostingTests|RenderStackPluginTests"
