import RenderStack

#if Everything || LV2
    /// Notes for an instrument to show itself.
    enum Melody {
        /// Sends a broken chord: a note in each second, which lasts for nine tenths of it. Twenty fit into the queue.
        static func send(to plugin: LV2Plugin, rate: Double) {
            for (index, note) in [48, 55, 60, 64, 67, 72, 67, 64, 60, 55, 48, 60].enumerated() {
                let start = Double(index) * 0.6
                let note = UInt8(note)
                plugin.send(.noteOn(channel: 0, note: note, velocity: 100), at: .sample(Int64(start * rate)))
                plugin.send(.noteOff(channel: 0, note: note, velocity: 64), at: .sample(Int64((start + 0.55) * rate)))
            }
        }
    }
#endif
