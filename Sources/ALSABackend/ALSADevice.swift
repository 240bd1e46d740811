/// A device that ALSA knows: a card, or something that its configuration makes of one.
///
///     for device in ALSADevice.all { print(device) }
public struct ALSADevice: Sendable, Hashable, CustomStringConvertible {
    /// How a card is reached.
    public enum Connection: String, Sendable, Hashable {
        /// A box or a headset at USB.
        case usb
        /// A screen or a receiver at HDMI or DisplayPort.
        case hdmi
        /// A digital socket (S/PDIF).
        case digital
        /// A card that is none: what one program plays there, another one records.
        case loopback
        /// A card that is none: nothing is heard.
        case dummy
        /// In the machine, or not known.
        case other
    }

    /// What an output opens it by: "hw:CARD=Box,DEV=0", "default".
    public let name: String
    /// What it is, for people.
    public let title: String
    /// Whether it plays.
    public let canPlay: Bool
    /// Whether it records.
    public let canRecord: Bool
    /// Whether it is the hardware itself, and not made of it by the library.
    public let isHardware: Bool
    /// Whether it is what is played on if nothing is said.
    public let isDefault: Bool
    /// The name of the card that it belongs to, "Box"; `nil` where it belongs to none.
    public let card: String?
    /// How the card is reached.
    public let connection: Connection
    /// The program that has it, or one direction of it, to itself; `nil` where it is free, or shared.
    public let owner: String?

    /// A line for a terminal.
    public var description: String {
        let direction = canPlay ? canRecord ? "plays and records" : "plays" : "records"
        return "\(name): \(title) (\(direction)\(owner.map { "; in use by \($0)" } ?? ""))"
    }

    /// All devices that there are now: the hardware first, then what is played on if nothing is said, then what the
    /// configuration makes of the cards, then the rest.
    public static var all: [ALSADevice] {
        merge(DeviceAnswers.cards, DeviceAnswers.hints) { DeviceOwner.find(device: $0) ?? "another program" }
    }

    // MARK: Making one list

    /// The cards and the names of the configuration in one list.
    ///
    /// - Parameters:
    ///   - cards: what the kernel has.
    ///   - hints: what the configuration offers.
    ///   - owner: finds who has a device that is in use.
    static func merge(
        _ cards: [CardAnswer], _ hints: [HintAnswer], owner: (String) -> String?
    ) -> [ALSADevice] {
        let hardware = cards.flatMap { card in card.devices.map { Self.hardware(card, $0, owner) } }
        var offered: [ALSADevice] = []
        // Silence is no device, the hardware is there already, and nobody has had a card of the third kind for long.
        let dull = ["null", "hw", "usbstream"]
        for hint in hints where !dull.contains(String(hint.name.prefix { $0 != ":" })) {
            let device = Self.offered(hint, cards)
            if let index = offered.firstIndex(where: { $0.name == device.name }) {
                // Some are listed once for each direction.
                offered[index] = offered[index].joined(with: device)
            } else {
                offered.append(device)
            }
        }
        // ALSA's own configuration names the default of each card, and not that of the machine.
        if !offered.contains(where: \.isDefault), hints.contains(where: { $0.name.hasPrefix("default:") }) {
            offered.append(Self.offered(HintAnswer(name: "default"), cards))
        }
        // What belongs to a card that is gone, or has no such direction, is no device.
        offered.removeAll { !$0.canPlay && !$0.canRecord }
        let ofCards = offered.filter { !$0.isDefault && $0.card != nil }
        let others = offered.filter { !$0.isDefault && $0.card == nil }
        return hardware + offered.filter(\.isDefault) + ofCards + others
    }

    private static func hardware(
        _ card: CardAnswer, _ device: CardAnswer.Device, _ owner: (String) -> String?
    ) -> ALSADevice {
        let name = "hw:CARD=\(card.id),DEV=\(device.number)"
        let connection = card.connection(of: device)
        return ALSADevice(
            name: name, title: card.title(of: device) + connection.words, canPlay: device.canPlay,
            canRecord: device.canRecord, isHardware: true, isDefault: false, card: card.id, connection: connection,
            owner: device.isInUse ? owner(name) : nil)
    }

    private static func offered(_ hint: HintAnswer, _ cards: [CardAnswer]) -> ALSADevice {
        let prefix = hint.name.prefix { $0 != ":" }
        let place = DeviceOwner.place(hint.name)
        let card = place.flatMap { place in cards.first { $0.id == place.card || "\($0.number)" == place.card } }
        let device = card.flatMap { card in card.devices.first { $0.number == place?.device } }
        // No direction means both; but a card has no more than it has.
        var (plays, records) = (hint.direction != .record, hint.direction != .play)
        if let card {
            let devices = device.map { [$0] } ?? card.devices
            plays = plays && devices.contains(where: \.canPlay)
            records = records && devices.contains(where: \.canRecord)
        }
        let what = HintAnswer.purposes[String(prefix)]
        let title =
            if let what, let card {
                "\(device.map { card.title(of: $0) } ?? card.name): \(what)"
            } else if prefix == "default", place == nil {
                "what is played on if nothing is said" + (hint.text.map { " (\($0))" } ?? "")
            } else {
                hint.text ?? what ?? hint.name
            }
        return ALSADevice(
            name: hint.name, title: title, canPlay: plays, canRecord: records, isHardware: false,
            isDefault: hint.name == "default", card: card?.id ?? place?.card,
            connection: card.map { card in device.map { card.connection(of: $0) } ?? card.connection } ?? .other,
            owner: nil)
    }

    private func joined(with other: ALSADevice) -> ALSADevice {
        ALSADevice(
            name: name, title: title, canPlay: canPlay || other.canPlay, canRecord: canRecord || other.canRecord,
            isHardware: isHardware, isDefault: isDefault, card: card, connection: connection, owner: owner)
    }
}

extension ALSADevice.Connection {
    /// For a title.
    fileprivate var words: String {
        switch self {
        case .usb: " (USB)"
        case .hdmi: " (a screen or receiver at HDMI or DisplayPort)"
        case .digital: " (S/PDIF)"
        case .loopback: " (no card: what one program plays, another one records)"
        case .dummy: " (no card: nothing is heard)"
        case .other: ""
        }
    }
}
