// Three files that loop, one of them through a band-pass, all through a delay. The folder is one loop: Band.swift makes the files.

import RenderStackLive

func loop(_ live: Live) throws -> RenderLoop {
    let band = try live.once("band") { try Band() }
    let drums = try live.once("drums") { try player(band.drums) }
    let bass = try live.once("bass") { try player(band.bass) }
    let piano = try live.once("piano") { try player(band.piano) }
    let bandpass = live.keep("bandpass") { Bandpass(center: 1_000, octaves: 2) }
    let delay = live.keep("delay") { Delay(time: 0.25, feedback: 0.4, mix: 0.3) }

    return { context in
        context.run(drums)
        context.run(bandpass)
        context.run(bass)
        context.run(piano)
        context.mix(3)
        context.run(delay)
        context.output()
    }
}

/// A player that plays a file again and again.
func player(_ path: String) throws -> FilePlayer {
    let player = try FilePlayer(path: path)
    player.loops = .forever
    player.play()
    return player
}
