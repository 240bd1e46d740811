public import Mixing

extension Mixer {
    /// Adds a source that may have a place in an `Environment`, at the end. In a mixer it plays its channels as they are, 8 frames
    /// later, wherever its place is.
    ///
    ///     environment.append(bee)             // at its place
    ///     …
    ///     music.append(bee)                   // leaves it: sounds on, as it is
    ///
    /// Its volume, mute and solo go with it both ways, and so do its other settings; its pan counts in a mixer, and its place, its
    /// sends and its width count in an environment. While it sounds it changes from the one to the other in 1024 frames. What it has
    /// sent to the reverb of an environment rings out there.
    ///
    /// - Parameters:
    ///   - source: The source. One of an environment, or of another mixer, moves.
    ///   - fadesIn: `false` if it begins by itself, so that its attack is kept.
    /// - Returns: The source.
    @discardableResult
    public func append(_ source: SpatialSource, fadesIn: Bool = true) -> SpatialSource {
        append(source.strip, fadesIn: fadesIn)
        return source
    }

    /// Removes a source, if it is in this mixer: it fades out first.
    public func remove(_ source: SpatialSource) { remove(source.strip) }
}
