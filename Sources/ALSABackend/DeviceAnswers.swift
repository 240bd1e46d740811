internal import CALSA
internal import Glibc

/// A card as the kernel describes it.
struct CardAnswer: Sendable {
    /// One of its devices.
    struct Device: Sendable {
        var number: Int
        var name: String
        var canPlay: Bool
        var canRecord: Bool
        /// Indicates whether a program has a direction of the device to itself: no part of that is free.
        var isInUse = false
    }
    var number: Int
    /// One word: "Box".
    var id: String
    /// "Scarlett 2i2 USB".
    var name: String
    /// "USB-Audio", "HDA-Intel".
    var driver: String
    var devices: [Device]

    /// Returns the title of the card, and of the device if that has a name of its own.
    func title(of device: Device) -> String {
        if device.name.hasPrefix(name) { return device.name }
        let isKnown = device.name.isEmpty || name.contains(device.name)
        return isKnown || (devices.count == 1 && device.name == "USB Audio") ? name : "\(name), \(device.name)"
    }

    var connection: ALSADevice.Connection {
        switch driver {
        case "USB-Audio": .usb
        case "Loopback": .loopback
        case "Dummy": .dummy
        default: .other
        }
    }

    func connection(of device: Device) -> ALSADevice.Connection {
        let name = device.name.uppercased()
        if name.contains("HDMI") || name.contains("DISPLAYPORT") { return .hdmi }
        if connection == .other, name.contains("S/PDIF") || name.contains("IEC958") || name.contains("DIGITAL") {
            return .digital
        }
        return connection
    }
}

/// A name that the configuration offers.
struct HintAnswer: Sendable {
    enum Direction: Sendable { case play, record }
    var name: String
    var text: String?
    /// `nil`: both.
    var direction: Direction?

    /// The purposes of the devices that ALSA's usual configuration makes of a card, in words.
    static var purposes: [String: String] {
        [
            "default": "the card's default", "sysdefault": "the card's default",
            "plughw": "any rate and format, converted", "dmix": "shared with other programs",
            "dsnoop": "shared with other programs", "front": "the front speakers", "rear": "the rear speakers",
            "side": "the side speakers", "center_lfe": "centre and subwoofer",
            "surround21": "2.1 speakers", "surround40": "four speakers", "surround41": "4.1 speakers",
            "surround50": "5.0 speakers", "surround51": "5.1 speakers", "surround71": "7.1 speakers",
            "iec958": "the digital socket (S/PDIF)", "hdmi": "a screen or receiver at HDMI or DisplayPort",
            "modem": "the modem", "phoneline": "the telephone line",
        ]
    }
}

/// Answers of libasound about the devices that exist.
enum DeviceAnswers {
    /// The cards, device by device.
    static var cards: [CardAnswer] {
        let messages = ALSAMessages()
        defer { messages.end() }
        var cards: [CardAnswer] = []
        var number: Int32 = -1
        while unsafe snd_card_next(&number) == 0, number >= 0 {
            var opened: OpaquePointer?
            guard unsafe snd_ctl_open(&opened, "hw:\(number)", SND_CTL_NONBLOCK) == 0, let control = unsafe opened
            else { continue }
            defer { unsafe snd_ctl_close(control) }
            var card = CardAnswer(
                number: Int(number), id: "\(number)", name: "card \(number)", driver: "", devices: [])
            var made: OpaquePointer?
            if unsafe snd_ctl_card_info_malloc(&made) == 0, let info = unsafe made {
                if unsafe snd_ctl_card_info(control, info) == 0 {
                    card.id = unsafe text(snd_ctl_card_info_get_id(info)) ?? card.id
                    card.name = unsafe text(snd_ctl_card_info_get_name(info)) ?? card.name
                    card.driver = unsafe text(snd_ctl_card_info_get_driver(info)) ?? ""
                }
                unsafe snd_ctl_card_info_free(info)
            }
            var device: Int32 = -1
            while unsafe snd_ctl_pcm_next_device(control, &device) == 0, device >= 0 {
                let playing = unsafe stream(control, device, SND_PCM_STREAM_PLAYBACK)
                let recording = unsafe stream(control, device, SND_PCM_STREAM_CAPTURE)
                guard let either = playing ?? recording else { continue }
                card.devices.append(
                    CardAnswer.Device(
                        number: Int(device), name: either.name, canPlay: playing != nil, canRecord: recording != nil,
                        isInUse: [playing, recording].contains { $0?.free == 0 }))
            }
            cards.append(card)
        }
        return cards
    }

    /// Returns one direction of a card's device: its name, and the number of its parts that are free; `nil` if it has
    /// none.
    @unsafe private static func stream(
        _ control: OpaquePointer, _ device: Int32, _ stream: snd_pcm_stream_t
    ) -> (name: String, free: UInt32)? {
        var made: OpaquePointer?
        guard unsafe snd_pcm_info_malloc(&made) == 0, let info = unsafe made else { return nil }
        defer { unsafe snd_pcm_info_free(info) }
        unsafe snd_pcm_info_set_device(info, UInt32(device))
        unsafe snd_pcm_info_set_subdevice(info, 0)
        unsafe snd_pcm_info_set_stream(info, stream)
        guard unsafe snd_ctl_pcm_info(control, info) == 0 else { return nil }
        return unsafe (text(snd_pcm_info_get_name(info)) ?? "", snd_pcm_info_get_subdevices_avail(info))
    }

    /// The devices that the configuration offers: plug-ins, and "default".
    static var hints: [HintAnswer] {
        let messages = ALSAMessages()
        defer { messages.end() }
        var list: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
        guard unsafe snd_device_name_hint(-1, "pcm", &list) == 0, let hints = unsafe list else { return [] }
        defer { unsafe snd_device_name_free_hint(list) }
        var answers: [HintAnswer] = []
        var index = 0
        while let hint = unsafe hints[index] {
            index += 1
            func part(_ key: String) -> String? {
                guard let value = unsafe snd_device_name_get_hint(hint, key) else { return nil }
                defer { unsafe free(value) }
                return unsafe String(cString: value)
            }
            guard let name = part("NAME") else { continue }
            let direction: HintAnswer.Direction? =
                switch part("IOID") {
                case "Output": .play
                case "Input": .record
                default: nil
                }
            let text = part("DESC").map { $0.split(separator: "\n").joined(separator: ", ") }
            answers.append(HintAnswer(name: name, text: text, direction: direction))
        }
        return answers
    }

    private static func text(_ characters: UnsafePointer<CChar>?) -> String? {
        unsafe characters.map { unsafe String(cString: $0) }
    }
}

extension DeviceOwner {
    /// Returns the card that a name of the configuration means, and the device if the name has one:
    /// "plughw:CARD=Box,DEV=0", "front:1", "dmix:Box,0"; `nil` for names without a card.
    static func place(_ name: String) -> (card: String, device: Int?)? {
        guard let colon = name.firstIndex(of: ":") else { return nil }
        return hardware("hw\(name[colon...])")
    }
}
