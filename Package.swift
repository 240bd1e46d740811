// swift-tools-version: 6.2
import PackageDescription

/// The settings of every library target. None of them is an unsafe flag, so that the package can be a dependency.
let library: [SwiftSetting] = [
    .enableExperimentalFeature("Lifetimes"),
    .strictMemorySafety(),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// The settings of an example, which are those of a user's program.
let program: [SwiftSetting] = [.strictMemorySafety()]

/// Each has its folder in Examples.
let examples = [
    "alsa-play", "channel-strip", "chord", "devices", "drum-machine", "duplex", "four-track-mixer", "game",
    "jack-synth", "jam",
    "karaoke", "live-performance", "measure-room", "metronome", "mixdown", "oversampled-clipper", "picture",
    "play-midi", "plugins", "rooms", "siren", "stream", "stretch", "symmetric-clipper", "three-players",
]

func example(_ name: String) -> Target {
    .executableTarget(
        name: name, dependencies: ["RenderStack", "ExampleSupport"], path: "Examples/\(name)", swiftSettings: program)
}

let package = Package(
    name: "RenderStack",
    products: [
        .library(name: "RenderStack", targets: ["RenderStack"]),
        .library(name: "RenderStackPlugin", targets: ["RenderStackPlugin"]),
        .library(name: "RealtimeWatch", targets: ["RealtimeWatch"]),
        .library(name: "RenderStackTesting", targets: ["RenderStackTesting"]),
    ],
    traits: [
        // One trait stands for all of them, because SwiftPM 6.3 orders the flags of several anew in each run, and then compiles
        // everything again (its issue 10525).
        .default(enabledTraits: ["Everything"]),
        .trait(name: "Everything", description: "ALSA, JACK, PipeWire and LV2."),
        .trait(name: "ALSA", description: "Play and record straight on sound cards (needs libasound)."),
        .trait(name: "JACK", description: "Play and record through the JACK sound server (needs libjack)."),
        .trait(name: "PipeWire", description: "Play and record through PipeWire (needs libpipewire)."),
        .trait(name: "LV2", description: "Play LV2 plug-ins (needs lilv)."),
        // Off by default, and not in Everything: Debian's FFmpeg is under the GPL, and so is a program that is linked with it.
        .trait(
            name: "FFmpeg",
            description: "Read AAC and ALAC, in M4A or bare (needs libavformat; Debian's build of it is under the GPL)."
        ),
    ],
    targets: [
        .target(name: "CKernels"),
        .target(name: "CRender"),
        .target(name: "LinuxRealtime", dependencies: ["CRender"], swiftSettings: library),
        .target(name: "RenderMathematics", swiftSettings: library),
        // A building block has no context, a module does: what is below RenderCore knows neither the stack nor a renderer.
        .target(
            name: "SignalBlocks", dependencies: ["CKernels", "CRender", "RenderMathematics"], swiftSettings: library),
        // Threads exchange plain values; this target has them, and carries them. It knows no module and no stack.
        .target(
            name: "Exchange", dependencies: ["CRender", "LinuxRealtime", "RenderMathematics", "SignalBlocks"],
            swiftSettings: library),
        .target(
            name: "RenderCore", dependencies: ["CRender", "Exchange", "LinuxRealtime", "SignalBlocks"],
            swiftSettings: library),
        // Above the core: what modules and control code share, what comes into a cycle, what drives a renderer, modules made
        // of modules, voices, and work beside the audio.
        .target(name: "Sharing", dependencies: ["RenderCore"], swiftSettings: library),
        .target(name: "Supply", dependencies: ["RenderCore"], swiftSettings: library),
        .target(
            name: "Outputs", dependencies: ["CRender", "LinuxRealtime", "RenderCore", "Supply"], swiftSettings: library),
        .target(
            name: "Composition", dependencies: ["CRender", "LinuxRealtime", "RenderCore", "Sharing", "Supply"],
            swiftSettings: library),
        .target(
            name: "Voices", dependencies: ["DiskFiles", "RenderCore", "Sharing", "Supply"], swiftSettings: library),
        .target(name: "Background", dependencies: ["CRender", "LinuxRealtime", "RenderCore"], swiftSettings: library),
        // The field's own libraries, from Debian.
        .systemLibrary(
            name: "CSndFile", path: "Sources/System/CSndFile", pkgConfig: "sndfile",
            providers: [.apt(["libsndfile1-dev"])]),
        .systemLibrary(
            name: "CMPG123", path: "Sources/System/CMPG123", pkgConfig: "libmpg123",
            providers: [.apt(["libmpg123-dev"])]),
        .systemLibrary(
            name: "CSoxr", path: "Sources/System/CSoxr", pkgConfig: "soxr", providers: [.apt(["libsoxr-dev"])]),
        .systemLibrary(
            name: "CEBUR128", path: "Sources/System/CEBUR128", pkgConfig: "libebur128",
            providers: [.apt(["libebur128-dev"])]),
        .systemLibrary(
            name: "CMySOFA", path: "Sources/System/CMySOFA", pkgConfig: "libmysofa",
            providers: [.apt(["libmysofa-dev"])]),

        // Without pkg-config, which SwiftPM would ask about these even where their traits are off, only to complain.
        .systemLibrary(name: "CJACK", path: "Sources/System/CJACK", providers: [.apt(["libjack-jackd2-dev"])]),
        .systemLibrary(name: "CALSA", path: "Sources/System/CALSA", providers: [.apt(["libasound2-dev"])]),
        .systemLibrary(name: "CFFmpeg", path: "Sources/System/CFFmpeg", providers: [.apt(["libavformat-dev"])]),

        .target(name: "DiskFiles", swiftSettings: library),
        .target(
            name: "AudioFiles",
            dependencies: [
                "DiskFiles", "RenderCore", "CMPG123", "CSndFile", "CSoxr",
                .target(name: "CFFmpeg", condition: .when(traits: ["FFmpeg"])),
            ],
            swiftSettings: library),
        .target(name: "Loudness", dependencies: ["RenderCore", "CEBUR128"], swiftSettings: library),
        .target(name: "SOFAFiles", dependencies: ["SignalBlocks", "AudioFiles", "CMySOFA"], swiftSettings: library),
        .target(
            name: "DiskStreaming",
            dependencies: ["CRender", "LinuxRealtime", "RenderCore", "AudioFiles", "Background", "Sharing"],
            swiftSettings: library),
        .target(
            name: "Players", dependencies: ["RenderCore", "AudioFiles", "DiskStreaming", "Sharing", "Voices"],
            path: "Modules/Players",
            swiftSettings: library),
        .target(
            name: "Tones", dependencies: ["RenderCore", "Voices", "Sharing", "Supply"],
            path: "Modules/Tones", swiftSettings: library),
        .target(
            name: "Mixing", dependencies: ["RenderCore", "Composition", "Sharing"], path: "Modules/Mixing",
            swiftSettings: library),
        .target(
            name: "Processors", dependencies: ["Composition", "RenderCore"], path: "Modules/Processors",
            swiftSettings: library),
        .target(name: "Dynamics", dependencies: ["RenderCore"], path: "Modules/Dynamics", swiftSettings: library),
        .target(
            name: "Modulation", dependencies: ["RenderCore", "Tones", "Processors"], path: "Modules/Modulation",
            swiftSettings: library),
        .target(
            name: "Distortion", dependencies: ["RenderCore", "Composition", "Sharing", "Supply"],
            path: "Modules/Distortion",
            swiftSettings: library),
        .target(
            name: "Reverberation", dependencies: ["RenderCore", "AudioFiles", "Background", "Sharing"],
            path: "Modules/Reverberation",
            swiftSettings: library),
        .target(name: "MIDIFiles", dependencies: ["DiskFiles", "RenderCore"], swiftSettings: library),
        .target(
            name: "InstrumentFiles", dependencies: ["AudioFiles", "DiskFiles", "DiskStreaming", "RenderCore"],
            swiftSettings: library),
        .target(
            name: "Instruments",
            dependencies: ["RenderCore", "InstrumentFiles", "Sharing", "Supply", "Voices"],
            path: "Modules/Instruments", swiftSettings: library),
        // Notes in beats know no clock; what plays them is above the instruments.
        .target(name: "Music", dependencies: ["DiskFiles", "MIDIFiles", "RenderCore"], swiftSettings: library),
        .target(
            name: "Sequencing",
            dependencies: [
                "Instruments", "MIDIFiles", "Music", "Players", "RenderCore", "Sharing", "Supply", "Tones", "Voices",
            ],
            path: "Modules/Sequencing", swiftSettings: library),
        .target(
            name: "Space", dependencies: ["RenderCore", "Mixing", "SOFAFiles", "Sharing"], path: "Modules/Space",
            swiftSettings: library),
        .target(
            name: "TempoAndPitch", dependencies: ["RenderCore", "Composition"], path: "Modules/TempoAndPitch",
            swiftSettings: library),
        .target(
            name: "Taps",
            dependencies: ["RenderCore", "AudioFiles", "DiskFiles", "DiskStreaming", "Loudness", "Sharing"],
            path: "Modules/Taps", swiftSettings: library),
        .target(
            name: "ALSABackend",
            dependencies: ["LinuxRealtime", "RenderCore", "CRender", "CALSA", "Outputs", "Supply"],
            swiftSettings: library),
        .target(
            name: "JACKBackend",
            dependencies: ["LinuxRealtime", "RenderCore", "CRender", "CJACK", "Outputs", "Supply"],
            swiftSettings: library),
        .target(name: "CPipeWire", exclude: ["Debian"], cSettings: [.headerSearchPath("Debian")]),
        .target(
            name: "PipeWireBackend",
            dependencies: ["CPipeWire", "CRender", "LinuxRealtime", "Outputs", "RenderCore", "Supply"],
            swiftSettings: library),
        // Plug-ins of all formats have this in common; each format has targets of its own above.
        .target(name: "CPluginMemory"),
        .target(
            name: "PluginHosting", dependencies: ["CPluginMemory", "RenderCore", "Sharing", "Supply"],
            swiftSettings: library),
        .target(name: "CPluginHost", dependencies: ["CPluginMemory"]),
        .target(
            name: "LV2Hosting",
            dependencies: ["CPluginHost", "CPluginMemory", "DiskFiles", "PluginHosting", "RenderCore", "Supply"],
            swiftSettings: library),
        .target(
            name: "RenderStack",
            dependencies: [
                "AudioFiles", "Background", "Composition", "Distortion", "Dynamics", "InstrumentFiles", "Instruments",
                "Loudness", "MIDIFiles", "Mixing", "Modulation", "Music", "Outputs", "Players", "Processors",
                "RenderCore",
                "Reverberation", "SOFAFiles", "Sequencing", "Sharing", "Space", "Supply", "Taps", "TempoAndPitch",
                "Tones", "Voices",
                .target(name: "ALSABackend", condition: .when(traits: ["Everything", "ALSA"])),
                .target(name: "JACKBackend", condition: .when(traits: ["Everything", "JACK"])),
                .target(name: "PipeWireBackend", condition: .when(traits: ["Everything", "PipeWire"])),
                .target(name: "LV2Hosting", condition: .when(traits: ["Everything", "LV2"])),
            ],
            swiftSettings: library),
        // A package that is to be a plug-in itself imports this one.
        .target(name: "CPluginGuest"),
        .target(
            name: "RenderStackPlugin",
            dependencies: ["CPluginGuest", "DiskFiles", "Outputs", "RenderCore", "RenderStack", "SignalBlocks"],
            swiftSettings: library),
        .target(name: "CRealtimeWatch"),
        .target(name: "RealtimeWatch", dependencies: ["CRealtimeWatch"], swiftSettings: library),
        // Its malloc takes the place of the C library's in every program that is linked with it: tests alone are.
        .target(name: "CAllocationCounter"),
        .target(
            name: "RenderStackTesting", dependencies: ["CAllocationCounter", "RealtimeWatch", "RenderCore"],
            swiftSettings: library),
        // A loop that is edited while it plays: scripts/live builds the program and gives it the flag that it needs.
        .target(
            name: "RenderStackLive", dependencies: ["RenderStack"], path: "Live/RenderStackLive",
            swiftSettings: library),
        .executableTarget(
            name: "live", dependencies: ["DiskFiles", "RenderStackLive", "RenderStack"], path: "Live/Program",
            swiftSettings: library),
        .target(
            name: "ExampleSupport", dependencies: ["DiskFiles", "RealtimeWatch", "RenderStack"],
            path: "Examples/Support",
            swiftSettings: library),
        // The engine beside hand-tuned C: see scripts/bench.
        .target(name: "CBench", path: "Benchmarks/C"),
        .executableTarget(
            name: "bench", dependencies: ["RenderStack", "CBench"], path: "Benchmarks/Program", swiftSettings: program),
        // Code that is to be found: not held to the rules of the rest.
        .executableTarget(
            name: "zoo", dependencies: ["RealtimeWatch", "RenderStack"], path: "Watchdog/zoo",
            swiftSettings: [.swiftLanguageMode(.v5)]),

        .target(
            name: "TestSupport", dependencies: ["RenderStack", "DiskStreaming"], path: "Tests/TestSupport",
            swiftSettings: library),
        .testTarget(
            name: "AudioFilesTests",
            dependencies: ["AudioFiles", "DiskStreaming", "RenderCore", "TestSupport", "CSndFile"],
            exclude: ["small-disk"]),
        .testTarget(
            name: "SignalBlocksTests", dependencies: ["SignalBlocks", "CKernels", "TestSupport", "CAllocationCounter"]),
        .testTarget(
            name: "RenderCoreTests",
            dependencies: [
                "Background", "CAllocationCounter", "CRender", "Composition", "Exchange", "LinuxRealtime", "Outputs",
                "RenderCore", "RenderStack", "TestSupport", "Sharing", "Supply", "Voices",
            ],
            exclude: ["Time/Model"]),
        .testTarget(
            name: "StressTests",
            dependencies: ["Background", "Composition", "RenderCore", "RenderStack", "Sharing", "TestSupport"]),
        .testTarget(
            name: "PlayersTests",
            dependencies: ["DiskStreaming", "RenderStack", "RenderStackTesting", "TestSupport", "CAllocationCounter"]),
        .testTarget(name: "TonesTests", dependencies: ["RenderStack", "RenderStackTesting", "TestSupport"]),
        .testTarget(name: "MixingTests", dependencies: ["RenderStack", "RenderStackTesting", "TestSupport", "Supply"]),
        .testTarget(name: "ProcessorsTests", dependencies: ["RenderStack", "RenderStackTesting", "TestSupport"]),
        .testTarget(
            name: "DynamicsTests", dependencies: ["CKernels", "RenderStack", "RenderStackTesting", "TestSupport"]),
        .testTarget(name: "ModulationTests", dependencies: ["RenderStack", "RenderStackTesting", "TestSupport"]),
        .testTarget(name: "DistortionTests", dependencies: ["RenderStack", "RenderStackTesting", "TestSupport"]),
        .testTarget(
            name: "ReverberationTests", dependencies: ["CKernels", "RenderStack", "RenderStackTesting", "TestSupport"]),
        .testTarget(
            name: "SpaceTests",
            dependencies: ["CKernels", "RenderStack", "RenderStackTesting", "SOFAFiles", "Space", "TestSupport"]),
        .testTarget(name: "RealtimeWatchTests", dependencies: ["RealtimeWatch", "RenderStack"]),
        .testTarget(
            name: "RenderStackTestingTests",
            dependencies: ["RealtimeWatch", "RenderStack", "RenderStackTesting", "TestSupport"]),
        .testTarget(
            name: "ALSABackendTests",
            dependencies: ["ALSABackend", "CALSA", "LinuxRealtime", "RenderStack", "TestSupport"],
            exclude: ["Card"]),
        .testTarget(
            name: "JACKBackendTests", dependencies: ["CJACK", "JACKBackend", "RenderStack", "TestSupport", "Supply"],
            exclude: ["Peers"]),
        .testTarget(
            name: "PipeWireBackendTests", dependencies: ["PipeWireBackend", "RenderStack", "TestSupport"],
            exclude: ["Peers"]),
        .testTarget(
            name: "InstrumentsTests", dependencies: ["CKernels", "RenderStack", "RenderStackTesting", "TestSupport"]),
        .testTarget(
            name: "LV2HostingTests",
            dependencies: [
                "CPluginHost", "CPluginMemory", "LV2Hosting", "PluginHosting", "RenderStack", "RenderStackTesting",
                "TestSupport",
            ],
            exclude: ["Plugins"]),
        .testTarget(
            name: "RenderStackPluginTests",
            dependencies: ["CPluginGuest", "RenderStack", "RenderStackPlugin", "TestSupport"]),
        .testTarget(name: "MIDIFilesTests", dependencies: ["RenderStack", "TestSupport"]),
        .testTarget(name: "MusicTests", dependencies: ["RenderStack", "TestSupport"]),
        .testTarget(
            name: "SequencingTests", dependencies: ["RenderStack", "RenderStackTesting", "TestSupport"],
            exclude: ["Model"]),
        .testTarget(
            name: "TempoAndPitchTests", dependencies: ["CKernels", "RenderStack", "RenderStackTesting", "TestSupport"]),
        .testTarget(
            name: "TapsTests", dependencies: ["DiskStreaming", "RenderStack", "RenderStackTesting", "TestSupport"]),
        .testTarget(name: "LiveTests", dependencies: ["RenderCore", "RenderStackLive", "TestSupport"]),
        // Written as a user would, with the public interface alone.
        .testTarget(name: "HostileTests", dependencies: ["RenderStack", "TestSupport"]),
    ] + examples.map(example),
    swiftLanguageModes: [.v6]
)

// A build for some of the tests alone leaves out the other tests, and every program that is not named too:
// RENDERSTACK_TESTS="StressTests HostileTests" swift test. scripts/test does so for the sanitizers.
if let chosen = Context.environment["RENDERSTACK_TESTS"]?.split(separator: " ").map(String.init) {
    let optional = package.targets.filter { $0.isTest || $0.type == .executable }.map(\.name)
    let unknown = chosen.filter { !optional.contains($0) }
    precondition(unknown.isEmpty, "RENDERSTACK_TESTS: there are no tests called \(unknown.joined(separator: ", ")).")
    package.targets.removeAll { optional.contains($0.name) && !chosen.contains($0.name) }
}

// SwiftPM looks for tests of XCTest in the index of the sources, which takes the compiler a third of its time, and for a file
// that starts the tests beside their targets. With that file it needs no index. scripts/test sets this variable; `swift test`
// would find no tests by it.
if Context.environment["RENDERSTACK_WITHOUT_INDEX"] != nil {
    package.targets.append(.testTarget(name: "WithoutIndex", path: "Tests/WithoutIndex/Empty"))
}
