package import AudioFiles
package import RenderCore

/// A file to be streamed, behind a face that tests can put something else behind: a slow disk, one that fails.
///
/// A source is used by one thread at a time; it may wait.
package protocol StreamSource: AnyObject {
    /// Reads the next frames into a block; fewer only at the end.
    func read(into block: inout AudioBlock, at first: Int, frames: Int) throws(AudioFileError) -> Int
    /// Reads the next frames of two channels of 16-bit integers, as they are, a pair in the place of a sample; fewer only at
    /// the end. For a ``StreamFile`` that has such.
    func readPairs(into pairs: UnsafeMutableBufferPointer<Float>) throws(AudioFileError) -> Int
    /// Indicates whether its samples may be no numbers, as in a file of floats.
    var isFloat: Bool { get }
    /// Goes on reading from a frame.
    func seek(to frame: Int64) throws(AudioFileError)
}

extension StreamSource {
    package var isFloat: Bool { true }
    package func readPairs(into pairs: UnsafeMutableBufferPointer<Float>) throws(AudioFileError) -> Int { 0 }
}
