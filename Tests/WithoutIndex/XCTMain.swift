import Testing
import XCTest

/// Starts the tests in place of the program that SwiftPM writes for it, as it does where it finds a file of this name beside a
/// target of tests.
@main
struct RunTests {
    static func main() async {
        guard CommandLine.arguments.contains("swift-testing") else { XCTMain([]) }
        await Testing.__swiftPMEntryPoint() as Never
    }
}
