/// Another tempo, metre or position. It is applied in a cycle of the renderer whose tempo it is, and in no other.
final class TempoChange: Change, @unchecked Sendable {
    // Unchecked because a change has one owner at a time: see ``Change``.
    private let keeper: BeatKeeper
    private let setting: BeatClock.Setting
    private var version: UInt64?

    init(_ keeper: BeatKeeper, _ setting: BeatClock.Setting) {
        self.keeper = keeper
        self.setting = setting
        super.init()
    }

    /// Returns the setting that the transaction open on this thread will make.
    static func staged(_ keeper: BeatKeeper, _ index: Int) -> BeatClock.Setting? {
        (Transaction.current?.newest(of: cell(keeper, index)) as? TempoChange)?.setting
    }

    /// Returns the cell of a setting: the keeper's address has room for its settings.
    private static func cell(_ keeper: BeatKeeper, _ index: Int) -> UInt {
        unsafe UInt(bitPattern: Unmanaged.passUnretained(keeper).toOpaque()) &+ UInt(index)
    }

    override var cell: UInt { Self.cell(keeper, setting.index) }

    override func stamp() { version = keeper.ask(setting) }

    /// Shows the change to control code if there will be no cycle.
    override func show() { if version == nil { stamp() } }

    override func apply(_ context: inout RenderContext) {
        keeper.show(setting, version ?? keeper.makeVersion(), at: context.sampleTime)
    }
}
