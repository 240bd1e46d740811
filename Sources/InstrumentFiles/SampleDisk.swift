/// The samples of a file that are too large for the memory: their beginnings are there, the rest is read while they play.
package final class SampleDisk: Sendable {
    private let source: ByteSource
    /// The place of the first sample in the file.
    private let position: Int
    /// The place of each sample in the list of all frames, and the frames that are in memory.
    private let starts: [Int]
    /// Frames of each sample that are always in memory.
    package let residentCount: Int

    init(_ source: ByteSource, position: Int, starts: [Int], residentCount: Int) {
        self.source = source
        self.position = position
        self.starts = starts
        self.residentCount = residentCount
    }

    /// Reads frames of a sample; frames that cannot be read are silent.
    @unsafe package func read(_ sample: Int, from frame: Int, count: Int, into words: UnsafeMutablePointer<Int16>) {
        guard starts.indices.contains(sample) else { return }
        let place = position + 2 * (starts[sample] + frame)
        let got = unsafe source.read(at: place, count: 2 * count, into: UnsafeMutableRawPointer(words)) / 2
        for i in min(got, count)..<count { unsafe words[i] = 0 }
        for i in 0..<got { unsafe words[i] = Int16(littleEndian: words[i]) }
    }
}
