import CRender
import RenderStack
import Testing

/// Debug builds alone look whether control code runs in a cycle.
#if DEBUG
    @Suite struct ControlCodeTests {
        private let lock = Lock(0)

        private func hasNamed(_ file: String) -> Bool {
            StandardError.hasSaid(
                "\(file) locks inside of a cycle. Call what says \"Threads: control.\" from control code, and not from a "
                    + "render loop or `process`; rtwatch names the line")
        }

        @Test("Of what locks in a cycle, the file of the first is named") func named() throws {
            let list = ModuleList(mixing: 1)
            let renderer = Renderer()
            try renderer.messages.send { _ in
                crender_permitted_begins()
                lock.withLock(in: "permitted") { $0 += 1 }
                crender_permitted_ends()
                _ = list.modules
                lock.withLock(in: "second") { $0 += 1 }
            }
            _ = renderer.renderOffline(frames: 10)
            try renderer.messages.send { _ in lock.change(in: "another cycle") { $0 += 1 } }
            _ = renderer.renderOffline(frames: 10)
            lock.withLock(in: "outside") { $0 += 1 }
            #expect(lock.withLock { $0 } == 4)
            #expect(hasNamed("Composition/ModuleList.swift") && hasNamed("another cycle"))
            #expect(!hasNamed("permitted") && !hasNamed("second") && !hasNamed("outside"))
        }
    }
#endif
