import ALSABackend
import Glibc
import Synchronization
import Testing

/// All tests of ALSA.
@Suite("ALSA", .serialized) struct ALSATests {}

/// The plug-in of this folder, built once, and a configuration that knows nothing else.
enum Plugin {
    /// The reason why there is no card; `nil` if there is one.
    static let failure: String? = {
        let sources = "'\(folder)/Card/card.c' '\(folder)/Card/commands.c'"
        guard let made = strdup("/tmp/rs-alsa-XXXXXX"), mkdtemp(made) != nil else { return "no folder in /tmp" }
        let place = String(cString: made)
        free(made)
        library = "\(place)/libasound_module_pcm_rscard.so"
        let status = system("cc -O1 -Wall -Wextra -Werror -shared -fPIC -DPIC -o '\(library)' \(sources) -lasound")
        configuration = "\(place)/asound.conf"
        atexit {
            for path in [Plugin.library, Plugin.configuration, "\(Plugin.configuration).new"] { unlink(path) }
            rmdir(Plugin.configuration.split(separator: "/").dropLast().map { "/\($0)" }.joined())
        }
        guard status == 0 else { return "the card does not compile: status \(status)" }
        guard configure() else { return "no file in \(place)" }
        setenv("ALSA_CONFIG_PATH", configuration, 1)
        guard let handle = dlopen(library, RTLD_NOW) else { return String(cString: dlerror()) }
        Plugin.handle = UInt(bitPattern: handle)
        return nil
    }()

    /// Writes the configuration: the cards, and other names for some of them.
    static func configure(_ names: [String: String] = [:], text more: String = "") -> Bool {
        var text = "pcm_type.rscard { lib \"\(library)\" }\n"
        for name in cardNames { text += "pcm.\(name) { type rscard card \"\(name)\" }\n" }
        text += "pcm.null { type null }\n" + more
        text += "pcm.clocked { type rscard card \"clocked\" clock true }\n"
        for (name, card) in names { text += "pcm.\(name) { type rscard card \"\(card)\" }\n" }
        guard let file = fopen("\(configuration).new", "w") else { return false }
        fputs(text, file)
        fclose(file)
        return rename("\(configuration).new", configuration) == 0
    }

    static let cardNames = (0..<22).map { "card\($0)" }

    nonisolated(unsafe) private(set) static var library = ""
    nonisolated(unsafe) private(set) static var configuration = ""
    nonisolated(unsafe) private static var handle: UInt = 0

    private static var folder: String { #filePath.split(separator: "/").dropLast().map { "/\($0)" }.joined() }

    static func function<F>(_ name: String, _ type: F.Type) -> F {
        unsafeBitCast(dlsym(UnsafeMutableRawPointer(bitPattern: handle), name), to: F.self)
    }
}

/// A simulated card: one direction of it.
final class Card: Sendable {
    enum Fault: Int32 {
        case none, xrun, suspend, gone, stall, alwaysReady, busy, deaf, asleep
    }
    enum Resume: Int32 {
        case works, lies, again, notThere
    }
    enum Question: Int32 {
        case frames, opens, prepares, starts, resumes, polls, isRunning, isOpen, queued, frameBytes
    }

    let name: String
    private let address: UInt
    private var card: UnsafeMutableRawPointer { UnsafeMutableRawPointer(bitPattern: address)! }

    /// A card of this name, as new.
    init(
        _ name: String, isCapture: Bool = false, formats: [ALSAFormat] = [.float32],
        accesses: [ALSAAccess] = [.copiedInterleaved],
        rates: ClosedRange<UInt32> = 48_000...48_000, channels: ClosedRange<UInt32> = 2...2
    ) throws {
        if let failure = Plugin.failure { throw Failure(what: failure) }
        self.name = name
        typealias Find = @convention(c) (UnsafePointer<CChar>, Int32) -> UnsafeMutableRawPointer
        address = UInt(bitPattern: Plugin.function("rscard_find", Find.self)(name, isCapture ? 1 : 0))
        forget()
        allow(formats: formats, accesses: accesses, rates: rates, channels: channels)
    }

    struct Failure: Error, CustomStringConvertible {
        let what: String
        var description: String { what }
    }

    func allow(
        formats: [ALSAFormat], accesses: [ALSAAccess], rates: ClosedRange<UInt32>, channels: ClosedRange<UInt32>
    ) {
        typealias Allow =
            @convention(c) (
                UnsafeMutableRawPointer, UnsafePointer<UInt32>, UInt32, UnsafePointer<UInt32>, UInt32, UInt32, UInt32,
                UInt32, UInt32
            ) -> Void
        // The numbers of alsa/pcm.h.
        let formatCodes: [UInt32] = formats.map {
            switch $0 {
            case .float32: 14
            case .int32: 10
            case .int24: 6
            case .int24Packed: 32
            case .int16: 2
            }
        }
        let accessCodes: [UInt32] = accesses.map {
            switch $0 {
            case .mappedInterleaved: 0
            case .mappedPlanar: 1
            case .copiedInterleaved: 3
            case .copiedPlanar: 4
            }
        }
        Plugin.function("rscard_allow", Allow.self)(
            card, formatCodes, UInt32(formatCodes.count), accessCodes, UInt32(accessCodes.count), rates.lowerBound,
            rates.upperBound, channels.lowerBound, channels.upperBound)
    }

    func set(_ fault: Fault, resume: Resume = .works, lies: Int = 0) {
        typealias Set = @convention(c) (UnsafeMutableRawPointer, Int32, Int32, Int32) -> Void
        Plugin.function("rscard_set_fault", Set.self)(card, fault.rawValue, resume.rawValue, Int32(lies))
    }

    func setDelay(_ frames: Int) {
        typealias Set = @convention(c) (UnsafeMutableRawPointer, Int) -> Void
        Plugin.function("rscard_set_delay", Set.self)(card, frames)
    }

    /// A suspension comes just after the next preparation, before the card is started.
    func sleepWhenPrepared() {
        typealias Set = @convention(c) (UnsafeMutableRawPointer) -> Void
        Plugin.function("rscard_sleep_when_prepared", Set.self)(card)
    }

    /// Has so many frames move just after the next question for the delay was answered.
    func moveWhenAsked(_ frames: Int) {
        typealias Set = @convention(c) (UnsafeMutableRawPointer, Int) -> Void
        Plugin.function("rscard_move_when_asked", Set.self)(card, frames)
    }

    @discardableResult func move(_ frames: Int) -> Int {
        typealias Move = @convention(c) (UnsafeMutableRawPointer, Int) -> Int
        return Plugin.function("rscard_move", Move.self)(card, frames)
    }

    /// Waits until at least so many frames are queued, or at most so many are waiting to be fetched.
    func wait(_ frames: Int, seconds: Double = 20) -> Bool {
        typealias Wait = @convention(c) (UnsafeMutableRawPointer, Int, Double) -> Int32
        return Plugin.function("rscard_wait", Wait.self)(card, frames, seconds) != 0
    }

    func ask(_ question: Question) -> Int {
        typealias Ask = @convention(c) (UnsafeMutableRawPointer, Int32) -> Int
        return Plugin.function("rscard_ask", Ask.self)(card, question.rawValue)
    }

    func forget() {
        typealias Forget = @convention(c) (UnsafeMutableRawPointer) -> Void
        Plugin.function("rscard_forget", Forget.self)(card)
    }

    /// Returns the bytes that were played, from a frame on.
    func bytes(from first: Int = 0) -> [UInt8] {
        typealias Read = @convention(c) (UnsafeMutableRawPointer, Int, Int, UnsafeMutableRawPointer) -> Void
        let frames = ask(.frames) - first
        guard frames > 0 else { return [] }
        var bytes = [UInt8](repeating: 0, count: frames * ask(.frameBytes))
        Plugin.function("rscard_read", Read.self)(card, first, frames, &bytes)
        return bytes
    }

    /// Returns the samples that were played, of a card with float samples, a channel at a time.
    func played(channels: Int = 2) -> [[Float]] {
        let samples = bytes().withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
        return (0..<channels).map { channel in
            stride(from: channel, to: samples.count, by: channels).map { samples[$0] }
        }
    }
}
