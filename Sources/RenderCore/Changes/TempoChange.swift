/// Another tempo, metre or position. It is applied in a cycle of the renderer whose tempo it is, and in no other.
final class TempoChange: Change, @unchecked Sendable {
    // Unchecked because a change has one owner at a time: see ``Change``.
    private let keeper: BeatKeeper
    let setting: BeatClock.Setting
    /// The map that the setting leads to.
    let map: KeptTempoMap?
    private var version: UInt64?

    init(_ keeper: BeatKeeper, _ setting: BeatClock.Setting, _ map: KeptTempoMap? = nil) {
        self.keeper = keeper
        self.setting = setting
        self.map = map
        super.init()
        if let map { keeper.hold(map) }
    }

    /// Returns the change that the transaction open on this thread will make.
    static func staged(_ keeper: BeatKeeper, _ index: Int) -> TempoChange? {
        Transaction.current?.newest(of: cell(keeper, index)) as? TempoChange
    }

    /// Returns the cell of a setting: the keeper's address has room for its settings.
    private static func cell(_ keeper: BeatKeeper, _ index: Int) -> UInt {
        unsafe UInt(bitPattern: Unmanaged.passUnretained(keeper).toOpaque()) &+ UInt(index)
    }

    override var cell: UInt { Self.cell(keeper, setting.index) }

    override func stamp() { version = keeper.ask(setting, map) }

    /// Shows the change to control code if there will be no cycle.
    override func show() { if version == nil { stamp() } }

    override func apply(_ context: inout RenderContext) {
        if version == nil { version = keeper.makeVersion() }
        keeper.show(setting, version ?? 0, at: context.sampleTime)
    }

    override func letGo(_ end: End) {
        guard let map else { return }
        let wasWithdrawn = if case .wasWithdrawn = end { true } else { false }
        keeper.note(map, version, wasWithdrawn: wasWithdrawn)
    }
}

/// A map that is kept for a setting, for as long as a clock may lead to it.
final class KeptTempoMap: Sendable {
    let map: TempoMap

    init(_ map: TempoMap) { self.map = map }
}
