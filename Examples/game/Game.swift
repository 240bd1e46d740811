import ExampleSupport
import RenderStack
import Synchronization

/// The world and its sounds: what happens in the one is heard in the other.
final class Game: Sendable {
    private struct State {
        var world = World()
        var sounds: [Int: BallSound] = [:]
        var room = 0
        /// The time of the world in frames of the sample clock.
        var time: Int64 = 0
        var script: KeyScript
        var rendering: SpatialRendering
        var track = Track()
        /// The launches that are heard, and the times at which they end, in frames.
        var launches: [(sound: ScheduledSound, end: Int64)] = []
    }

    let environment: Environment
    /// The sounds that have no place in the house.
    let plainSounds: PlainSounds
    private let reverb: Reverb
    private let mostBalls: Int
    private let state: Mutex<State>
    static let renderings: [(name: String, rendering: SpatialRendering)] = [
        ("ears", .hrtf()), ("sphere", .sphericalHead), ("panning", .equalPower),
    ]

    /// - Parameters:
    ///   - hrtf: The responses of a head.
    ///   - rendering: The way in which balls get their directions.
    ///   - mostBalls: The largest number of balls; the oldest one leaves.
    ///   - script: The keys that are pressed by themselves.
    ///   - plainSounds: The sounds that have no place.
    init(
        hrtf: HRTF?, rendering: SpatialRendering, mostBalls: Int, script: KeyScript, plainSounds: PlainSounds
    ) {
        self.plainSounds = plainSounds
        reverb = Reverb(World.rooms[0].reverb, mix: 1)
        environment = Environment(hrtf: hrtf, reverb: reverb)
        self.mostBalls = mostBalls
        state = Mutex(State(script: script, rendering: rendering))
        state.withLock { place(&$0) }
    }

    /// Lets the time pass until a frame of the sample clock.
    func advance(to frame: Int64, renderer: Renderer) async {
        state.withLock { state in
            let from = Double(state.time) / renderer.sampleRate
            let to = Double(frame) / renderer.sampleRate
            guard to > from else { return }
            state.time = frame
            renderer.transaction {  // all of a moment is heard together
                for key in state.script.takeKeys(until: to) { press(key, renderer, &state) }
                let hits = state.world.step(seconds: min(to - from, 1))
                for (ball, speed) in hits { state.sounds[ball.number]?.hit(speed: speed) }
                place(&state)
            }
            state.track.add(state.world, at: to)
        }
        await launchBalls()
    }

    /// Launches the balls whose launch has been heard.
    private func launchBalls() async {
        let launches = state.withLock { state in
            let ready = state.launches.prefix { $0.end <= state.time }
            state.launches.removeFirst(ready.count)
            return ready
        }
        for launch in launches where await launch.sound.wait(for: .rendered) == .finished {
            state.withLock { state in
                if state.world.balls.count >= mostBalls { state.world.removeOldest() }
                let ball = state.world.launch()
                let sound = BallSound(number: ball.number, rendering: state.rendering)
                state.sounds[ball.number] = sound
                place(&state)
                environment.append(sound.source, fadesIn: false)
            }
        }
    }

    /// Does what a key says.
    func press(_ key: Character, _ renderer: Renderer) { state.withLock { press(key, renderer, &$0) } }

    private func press(_ key: Character, _ renderer: Renderer, _ state: inout State) {
        switch key {
        case "↑", "w": plainSounds.answer(isFree: state.world.walk(0.5))
        case "↓", "s": plainSounds.answer(isFree: state.world.walk(-0.5))
        case "←", "a": turn(-15, &state)
        case "→", "d": turn(15, &state)
        case " ":
            // Launches that overlap are heard one after the other.
            let begin = max(state.time, state.launches.last?.end ?? 0)
            let end = begin + Int64(PlainSounds.launchTime * renderer.sampleRate)
            state.launches.append((plainSounds.beginLaunch(), end))
        case "m": plainSounds.toggleMusic()
        case "r":
            let now = Self.renderings.firstIndex { $0.rendering == state.rendering } ?? 0
            state.rendering = Self.renderings[(now + 1) % Self.renderings.count].rendering
            for sound in state.sounds.values { sound.source.rendering = state.rendering }
        case "c": state.world.clear()
        default: break
        }
    }

    private func turn(_ degrees: Double, _ state: inout State) {
        state.world.turn(degrees)
        plainSounds.answer(isFree: true)
    }

    /// Puts the listener and all sources where the world has them. Those of balls that are gone leave.
    private func place(_ state: inout State) {
        let world = state.world
        let listener = environment.listener
        listener.position = SpatialPoint(Float(world.listener.x), 0, Float(world.listener.y))
        listener.yaw.value = Float(world.yaw)
        for ball in world.balls {
            guard let sound = state.sounds[ball.number] else { continue }
            sound.source.position = SpatialPoint(Float(ball.place.x), 0, Float(ball.place.y))
            sound.source.velocity = SpatialPoint(Float(ball.velocity.x), 0, Float(ball.velocity.y))
            sound.fly(speed: ball.speed)
            let way = world.way(from: ball.place)
            sound.source.obstruction.value = way == .obstructed ? -12 : 0
            sound.source.occlusion.value = way == .occluded ? -20 : 0
        }
        for (number, sound) in state.sounds where !world.balls.contains(where: { $0.number == number }) {
            environment.remove(sound.source)
            state.sounds[number] = nil
        }
        let room = World.room(of: world.listener)
        if room != state.room {
            state.room = room
            reverb.load(World.rooms[room].reverb)
            plainSounds.placeMusic(isInHall: room == 0)
        }
    }

    /// The way that the listener and the balls have gone.
    var track: Track { state.withLock { $0.track } }

    /// The map, and what is to be known.
    var screen: [String] {
        state.withLock { state in
            let rendering = Self.renderings.first { $0.rendering == state.rendering }?.name ?? ""
            let count = state.world.balls.count
            return [
                "game    \(World.rooms[state.room].name)    \(count == 1 ? "1 ball" : "\(count) balls")    by \(rendering)",
                "space launches a ball, arrows walk and turn, m is for music, r renders otherwise, c clears", "",
            ] + state.world.map + [""]
        }
    }
}
