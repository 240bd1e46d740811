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
        var script: ArraySlice<Flight.Step> = []
        var rendering: SpatialRendering
        var track = Track()
    }

    let environment: Environment
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
    init(hrtf: HRTF?, rendering: SpatialRendering, mostBalls: Int, script: [Flight.Step]) {
        reverb = Reverb(World.rooms[0].reverb, mix: 1)
        environment = Environment(hrtf: hrtf, reverb: reverb)
        self.mostBalls = mostBalls
        state = Mutex(State(script: script[...], rendering: rendering))
        state.withLock { place(&$0) }
    }

    /// Lets the time pass until a frame of the sample clock.
    func advance(to frame: Int64, renderer: Renderer) {
        state.withLock { state in
            let from = Double(state.time) / renderer.sampleRate
            let to = Double(frame) / renderer.sampleRate
            guard to > from else { return }
            state.time = frame
            renderer.transaction {  // all of a moment is heard together
                while let next = state.script.first, next.time <= to {
                    state.script.removeFirst()
                    press(next.key, &state)
                }
                let hits = state.world.step(seconds: min(to - from, 1))
                for (ball, speed) in hits { state.sounds[ball.number]?.hit(speed: speed) }
                place(&state)
            }
            state.track.add(state.world, at: to)
        }
    }

    /// Does what a key says.
    func press(_ key: Character) { state.withLock { press(key, &$0) } }

    private func press(_ key: Character, _ state: inout State) {
        switch key {
        case "↑", "w": state.world.walk(0.5)
        case "↓", "s": state.world.walk(-0.5)
        case "←", "a": state.world.turn(-15)
        case "→", "d": state.world.turn(15)
        case " ":
            if state.world.balls.count >= mostBalls { state.world.removeOldest() }
            let ball = state.world.launch()
            let sound = BallSound(number: ball.number, rendering: state.rendering)
            state.sounds[ball.number] = sound
            place(&state)
            environment.append(sound.source, fadesIn: false)
        case "r":
            let now = Self.renderings.firstIndex { $0.rendering == state.rendering } ?? 0
            state.rendering = Self.renderings[(now + 1) % Self.renderings.count].rendering
            for sound in state.sounds.values { sound.source.rendering = state.rendering }
        case "c": state.world.clear()
        default: break
        }
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
                "space launches a ball, arrows walk and turn, r renders otherwise, c clears", "",
            ] + state.world.map + [""]
        }
    }
}
