// The zoo: things that do not belong on an audio thread, and some that do, each in a cycle of its own.
//
// zoo --list     name, what is expected, how it is seen, warm or cold, the functions; tab-separated
// zoo --all      all of them, each on a thread of its own
// zoo NAME …     these

import Glibc
import RealtimeWatch

let words = Array(CommandLine.arguments.dropFirst())
if words == ["--list"] {
    for entry in table {
        print(
            entry.name, entry.expected.rawValue, entry.seen.rawValue, entry.isWarm ? "warm" : "cold", entry.function,
            separator: "\t")
    }
    exit(0)
}
if words.isEmpty || words.contains("--help") {
    print("Usage: zoo --list | --all | NAME …")
    exit(words.isEmpty ? 2 : 0)
}
for word in words where word != "--all" && !table.contains(where: { "\($0.name)" == word }) {
    fputs("zoo: there is no case \(word); see zoo --list\n", stderr)
    exit(2)
}
setvbuf(stdout, nil, _IONBF, 0)
warmGlobals()
var sum = 0
for (number, entry) in table.enumerated() where words.contains("--all") || words.contains("\(entry.name)") {
    sum &+= run(entry, number: number)
}
fputs("zoo: done (\(sum))\n", stderr)
