// swift-tools-version: 6.2
import PackageDescription

/// What every library target is built with. Nothing here is an unsafe flag, so that the package can be a dependency.
let library: [SwiftSetting] = [
    .enableExperimentalFeature("Lifetimes"),
    .strictMemorySafety(),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// What an example is built with: nothing that a user would not have.
let program: [SwiftSetting] = [.strictMemorySafety()]

let package = Package(
    name: "RenderStack",
    products: [
        .library(name: "RenderStack", targets: ["RenderStack"]),
        .library(name: "RealtimeWatch", targets: ["RealtimeWatch"]),
    ],
    traits: [
        .default(enabledTraits: ["JACK", "ALSA"]),
        .trait(name: "ALSA", description: "Play and record straight on sound cards (needs libasound)."),
        .trait(name: "JACK", description: "Play and record through the JACK sound server (needs libjack)."),
    ],
    targets: [
        .target(name: "CRender"),
        .target(name: "RenderCore", dependencies: ["CRender"], swiftSettings: library),
        // The field's own libraries, from Debian.
        .systemLibrary(
            name: "CSndFile", path: "Sources/System/CSndFile", pkgConfig: "sndfile",
            providers: [.apt(["libsndfile1-dev"])]),
        .systemLibrary(
            name: "CSoxr", path: "Sources/System/CSoxr", pkgConfig: "soxr", providers: [.apt(["libsoxr-dev"])]),
        .systemLibrary(
            name: "CEBUR128", path: "Sources/System/CEBUR128", pkgConfig: "libebur128",
            providers: [.apt(["libebur128-dev"])]),

        .systemLibrary(
            name: "CJACK", path: "Sources/System/CJACK", pkgConfig: "jack", providers: [.apt(["libjack-jackd2-dev"])]),
        .systemLibrary(
            name: "CALSA", path: "Sources/System/CALSA", pkgConfig: "alsa", providers: [.apt(["libasound2-dev"])]),

        .target(name: "AudioFiles", dependencies: ["RenderCore", "CSndFile", "CSoxr"], swiftSettings: library),
        .target(name: "Loudness", dependencies: ["RenderCore", "CEBUR128"], swiftSettings: library),
        .target(
            name: "Generators", dependencies: ["RenderCore", "AudioFiles"], path: "Modules/Generators",
            swiftSettings: library),
        .target(name: "Processors", dependencies: ["RenderCore"], path: "Modules/Processors", swiftSettings: library),
        .target(
            name: "Taps", dependencies: ["RenderCore", "AudioFiles", "Loudness"], path: "Modules/Taps",
            swiftSettings: library),
        .target(name: "ALSABackend", dependencies: ["RenderCore", "CRender", "CALSA"], swiftSettings: library),
        .target(name: "JACKBackend", dependencies: ["RenderCore", "CRender", "CJACK"], swiftSettings: library),
        .target(
            name: "RenderStack",
            dependencies: [
                "RenderCore", "AudioFiles", "Generators", "Loudness", "Processors", "Taps",
                .target(name: "ALSABackend", condition: .when(traits: ["ALSA"])),
                .target(name: "JACKBackend", condition: .when(traits: ["JACK"])),
            ],
            swiftSettings: library),
        .target(name: "CRealtimeWatch"),
        .target(name: "RealtimeWatch", dependencies: ["CRealtimeWatch"], swiftSettings: library),
        .target(
            name: "ExampleSupport", dependencies: ["RealtimeWatch", "RenderStack"], path: "Examples/Support",
            swiftSettings: library),
        .executableTarget(
            name: "chord", dependencies: ["RenderStack", "ExampleSupport"], path: "Examples/chord",
            swiftSettings: program),
        .executableTarget(
            name: "alsa-play", dependencies: ["RenderStack", "ExampleSupport"], path: "Examples/alsa-play",
            swiftSettings: program),
        .executableTarget(
            name: "devices", dependencies: ["RenderStack", "ExampleSupport"], path: "Examples/devices",
            swiftSettings: program),
        .executableTarget(
            name: "three-players", dependencies: ["RenderStack", "ExampleSupport"], path: "Examples/three-players",
            swiftSettings: program),
        .executableTarget(
            name: "duplex", dependencies: ["RenderStack", "ExampleSupport"], path: "Examples/duplex",
            swiftSettings: program),
        .executableTarget(
            name: "picture", dependencies: ["RenderStack", "ExampleSupport"], path: "Examples/picture",
            swiftSettings: program),
        .executableTarget(
            name: "symmetric-clipper", dependencies: ["RenderStack", "ExampleSupport"],
            path: "Examples/symmetric-clipper",
            swiftSettings: program),
        .executableTarget(
            name: "oversampled-clipper", dependencies: ["RenderStack", "ExampleSupport"],
            path: "Examples/oversampled-clipper",
            swiftSettings: program),
        .executableTarget(
            name: "metronome", dependencies: ["RenderStack", "ExampleSupport"], path: "Examples/metronome",
            swiftSettings: program),
        .executableTarget(
            name: "jack-synth", dependencies: ["RenderStack", "ExampleSupport"], path: "Examples/jack-synth",
            swiftSettings: program),
        .executableTarget(
            name: "karaoke", dependencies: ["RenderStack", "ExampleSupport"], path: "Examples/karaoke",
            swiftSettings: program),
        .executableTarget(
            name: "siren", dependencies: ["RenderStack", "ExampleSupport"], path: "Examples/siren",
            swiftSettings: program),
        .executableTarget(
            name: "mixdown", dependencies: ["RenderStack", "ExampleSupport"], path: "Examples/mixdown",
            swiftSettings: program),
        .executableTarget(
            name: "live-performance", dependencies: ["RenderStack", "ExampleSupport"],
            path: "Examples/live-performance", swiftSettings: program),
        .executableTarget(
            name: "stream", dependencies: ["RenderStack", "ExampleSupport"], path: "Examples/stream",
            swiftSettings: program),
        .executableTarget(
            name: "four-track-mixer", dependencies: ["RenderStack", "ExampleSupport"],
            path: "Examples/four-track-mixer", swiftSettings: program),
        // The engine beside hand-tuned C: see scripts/bench.
        .target(name: "CBench", path: "Benchmarks/C"),
        .executableTarget(
            name: "bench", dependencies: ["RenderStack", "CBench"], path: "Benchmarks/Program", swiftSettings: program),
        // Code that is to be found: not held to the rules of the rest.
        .executableTarget(
            name: "zoo", dependencies: ["RealtimeWatch", "RenderStack"], path: "Watchdog/zoo",
            swiftSettings: [.swiftLanguageMode(.v5)]),

        .target(name: "TestSupport", dependencies: ["RenderStack"], path: "Tests/TestSupport", swiftSettings: library),
        .testTarget(name: "AudioFilesTests", dependencies: ["AudioFiles", "RenderCore", "TestSupport", "CSndFile"]),
        .target(name: "CAllocationCounter", path: "Tests/CAllocationCounter"),
        .testTarget(
            name: "RenderCoreTests",
            dependencies: ["RenderCore", "CRender", "RenderStack", "TestSupport", "CAllocationCounter"]),
        .testTarget(name: "StressTests", dependencies: ["RenderCore", "RenderStack"]),
        .testTarget(name: "GeneratorsTests", dependencies: ["RenderStack", "TestSupport", "CAllocationCounter"]),
        .testTarget(name: "ProcessorsTests", dependencies: ["RenderStack", "TestSupport"]),
        .testTarget(name: "RealtimeWatchTests", dependencies: ["RealtimeWatch", "RenderStack"]),
        .testTarget(
            name: "ALSABackendTests", dependencies: ["ALSABackend", "CALSA", "RenderStack", "TestSupport"],
            exclude: ["Card"]),
        .testTarget(
            name: "JACKBackendTests", dependencies: ["JACKBackend", "RenderStack", "TestSupport"], exclude: ["Peers"]),
        .testTarget(name: "TapsTests", dependencies: ["RenderStack", "TestSupport"]),
    ],
    swiftLanguageModes: [.v6]
)
