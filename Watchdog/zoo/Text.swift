import Glibc

// Strings and printing.

let textCases = [
    blocks("string.interpolation", "interpolate", warm: true, interpolate),
    blocks("string.interpolation-cold", "interpolateCold", interpolateCold),
    blocks("string.append", "appendToString", prepare: { text = "0123456789abcde" }, appendToString),
    blocks("string.repeating", "repeatString", repeatString),
    blocks("string.description", "describeNumber", describeNumber),
    blocks("string.describing", "describeValue", describeValue),
    blocks("string.array", "splitIntoCharacters", splitIntoCharacters),
    blocks("string.uppercased", "uppercase", uppercase),
    blocks("string.split", "splitString", splitString),
    blocks("string.from-c", "readCString", readCString),
    blocks("print", "printNumber", warm: true, printNumber),
    blocks("print.cold", "printCold", printCold),
    blocks("print.debug", "printDebug", printDebug),
    blocks("dump", "dumpValue", dumpValue),
    blocks("putchar", "putOneCharacter", putOneCharacter),
    blocks("fputs", "putString", putString),
    blocks("fwrite", "writeToStream", writeToStream),
    blocks("fflush", "flushStream", flushStream),
    blocks("vfprintf", "printFormatted", printFormatted),
]

nonisolated(unsafe) var text = ""
nonisolated(unsafe) var longText = "the quick brown fox jumps over the lazy dog"
nonisolated(unsafe) var words2: [Substring] = []
nonisolated(unsafe) var letters: [Character] = []
struct Point { var x = 1, y = 2.5 }

@inline(never) func interpolate() -> Int {
    text = "the level is \(opaque(12)) dB"  // HERE
    return 1
}

@inline(never) func interpolateCold() -> Int {
    text = "the level is \(Level.high) of \(opaque(12))"  // HERE
    return 1
}
enum Level { case high, low }

@inline(never) func appendToString() -> Int {
    text += longText  // HERE
    return 1
}

@inline(never) func repeatString() -> Int {
    text = String(repeating: "ab", count: opaque(40))  // HERE
    return 1
}

@inline(never) func describeNumber() -> Int {
    text = (Double(opaque(Float(1.1))) * 1e-17).description  // HERE
    return 1
}

@inline(never) func describeValue() -> Int {
    text = String(describing: Point(x: opaque(3)))  // HERE
    return 1
}

@inline(never) func splitIntoCharacters() -> Int {
    letters = Array(longText)  // HERE
    return 1
}

@inline(never) func uppercase() -> Int {
    text = longText.uppercased()  // HERE
    return 1
}

@inline(never) func splitString() -> Int {
    words2 = longText.split(separator: " ")  // HERE
    return 1
}

@inline(never) func readCString() -> Int {
    text = String(cString: strerror(opaque(2)))  // HERE
    return 1
}

@inline(never) func printNumber() -> Int {
    print(opaque(12))  // HERE
    return 1
}

@inline(never) func printCold() -> Int {
    print(Level.low, Point())  // HERE
    return 1
}

@inline(never) func printDebug() -> Int {
    debugPrint(longText)  // HERE
    return 1
}

@inline(never) func dumpValue() -> Int {
    dump(Point(x: opaque(2)))  // HERE
    return 1
}

@inline(never) func putOneCharacter() -> Int {
    putchar(10)  // HERE
    return 1
}

@inline(never) func putString() -> Int {
    fputs("on the audio thread\n", stdout)  // HERE
    return 1
}

@inline(never) func writeToStream() -> Int {
    fwrite("x\n", 1, 2, stdout)  // HERE
    return 1
}

@inline(never) func flushStream() -> Int {
    fflush(stdout)  // HERE
    return 1
}

@inline(never) func printFormatted() -> Int {
    withVaList([opaque(3)]) { _ = vprintf("%ld\n", $0) }  // HERE
    return 1
}
