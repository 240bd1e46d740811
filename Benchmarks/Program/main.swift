// Our side of the benchmarks, and the hand-tuned C beside it, in one process. `scripts/bench` runs it in turn with the
// peers and makes the table; each line here is for that program: fields with tabs between them.
//
//     bench score W2 --size 64                     the numbers that the peers play, as JSON
//     bench measure W2 --size 64 --rounds 5        nanoseconds of processor time per operation, medians
//     bench render W2 --size 64 --frames 4800 --folder F      what each contestant plays, as raw floats
//     bench flow --files A,B,C --frames N --folder F          W1: × real time
//     bench cycles W2 --size 64 --cycles 1000      our side alone, for an instruction counter
//     bench memory --files A,B,C                              bytes that a module takes
//     bench stamps --output pipewire|jack|alsa --seconds 5    the time of rendering, as sound
//     bench growth | tail | start | features | parallel | operations | sequences
//     bench onsets --folder F                                 notes at given ticks, as sound

import Dispatch

// The main thread waits: an asynchronous main would end it, which instruction counters do not survive.
let done = DispatchSemaphore(value: 0)
Task.detached {
    do { try await run() } catch { stop("\(error)") }
    done.signal()
}
done.wait()
