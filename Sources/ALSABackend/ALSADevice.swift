/// A device that ALSA knows: a card, or one that its configuration makes of a card.
///
///     for device in ALSADevice.all { print(device) }
///
/// Threads: control.
public struct ALSADevice: Sendable, Hashable, CustomStringConvertible {
    /// The ways in which a card is connected.
    ///
    /// Threads: any.
    public enum Connection: String, Sendable, Hashable {
        /// A box or a headset at USB.
        case usb
        /// A screen or a receiver at HDMI or DisplayPort.
        case hdmi
        /// A digital socket (S/PDIF).
        case digital
        /// No real card: another program records what one program plays there.
        case loopback
        /// No real card: nothing is heard.
        case dummy
        /// A card in the machine, or one whose connection is not known.
        case other
    }

    /// The name by which an output opens the device: "hw:CARD=Box,DEV=0", "default".
    public let name: String
    /// A title for people.
    public let title: String
    /// Indicates whether the device plays.
    public let canPlay: Bool
    /// Indicates whether the device records.
    public let canRecord: Bool
    /// Indicates whether the device is the hardware itself, and not one that the library makes of it.
    public let isHardware: Bool
    /// Indicates whether this is the device that plays by default.
    public let isDefault: Bool
    /// The name of the card to which it belongs, "Box"; `nil` if it belongs to none.
    public let card: String?
    /// The way in which the card is connected.
    public let connection: Connection
    /// The program that has the device, or one direction of it, to itself; `nil` if it is free, or shared.
    public let owner: String?

    /// A line for a terminal.
    public var description: String {
        let direction = canPlay ? canRecord ? "plays and records" : "plays" : "records"
        return "\(name): \(title) (\(direction)\(owner.map { "; in use by \($0)" } ?? ""))"
    }

    /// All devices that exist now: the hardware first, then the one that plays by default, then those that the
    /// configuration makes of the cards, then the rest.
    public static var all: [ALSADevice] {
        merge(DeviceAnswers.cards, DeviceAnswers.hints) { DeviceOwner.find(device: $0) ?? "another program" }
    }

    /// The names of the cards' devices.
    static var hardwareNames: Set<String> {
        Set(DeviceAnswers.cards.flatMap { card in card.devices.map { hardwareName(card, $0) } })
    }

    private static func hardwareName(_ card: CardAnswer, _ device: CardAnswer.Device) -> String {
        "hw:CARD=\(card.id),DEV=\(device.number)"
    }

    // MARK: Making one list

    /// Returns the cards and the names of the configuration in one list.
    ///
    /// - Parameters:
    ///   - cards: The cards that the kernel has.
    ///   - hints: The devices that the configuration offers.
    ///   - owner: A function that finds the program that has a device in use.
    static func merge(
        _ cards: [CardAnswer], _ hints: [HintAnswer], owner: (String) -> String?
    ) -> [ALSADevice] {
        let hardware = cards.flatMap { card in card.devices.map { Self.hardware(card, $0, owner) } }
        var offered: [ALSADevice] = []
        // "null" makes no sound, "hw" devices are in the list of the cards already, and "usbstream" ones are out of
        // use.
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
        // Devices that belong to a card that is gone, or have no such direction, are left out.
        offered.removeAll { !$0.canPlay && !$0.canRecord }
        let ofCards = offered.filter { !$0.isDefault && $0.card != nil }
        let others = offered.filter { !$0.isDefault && $0.card == nil }
        return hardware + offered.filter(\.isDefault) + ofCards + others
    }

    private static func hardware(
        _ card: CardAnswer, _ device: CardAnswer.Device, _ owner: (String) -> String?
    ) -> ALSADevice {
        let name = hardwareName(card, device)
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
                "the device that programs use by default" + (hint.text.map { " (\($0))" } ?? "")
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
