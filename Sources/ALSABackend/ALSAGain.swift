internal import CALSA
internal import Glibc

/// The gain and the mute that a sound card has of its own, in its mixer: what is heard is louder or softer, or the microphone hears
/// more, without a change of the samples.
///
///     let speaker = try output.hardwareGain()                     // of an ALSAOutput
///     print(speaker.range ?? 0...0)                               // -65.25...0 dB
///     speaker.decibels = -12
///     let microphone = try ALSAGain(of: "hw:1", isCapture: true)
///     microphone.isMuted = true
///
/// All programs share a card's mixer, and the desktop's session manager may set it too. So each read asks the card, and each write
/// tells it, in a few system calls of the calling thread: the render thread is not disturbed. It knows its card by name, and so
/// it works again when that is back.
///
/// Threads: control.
public struct ALSAGain: Sendable, Hashable {
    /// The device whose card it is.
    public let device: String
    /// Indicates whether it is that of recording.
    public let isCapture: Bool
    /// The name of the mixer's control that has the gain; `nil` if there is a mute alone.
    public let control: String?
    /// The name of the control that mutes: often the same; `nil` if the card cannot be muted.
    public let muteControl: String?
    /// The gains that the card has, in decibels; `nil` if its mixer tells none, as that of a sound server does not.
    public let range: ClosedRange<Double>?

    /// Finds the gain of a card.
    ///
    /// - Parameters:
    ///   - device: ALSA's name of the device: "hw:0", "plughw:CARD=Box". The mixer is that of its card.
    ///   - isCapture: `true` for the gain of recording.
    /// - Throws: ``ALSAError/noGain(name:isCapture:)`` if the card has none, or ``ALSAError/notAllowed(name:)``.
    public init(of device: String, isCapture: Bool = false) throws(ALSAError) {
        (self.device, self.isCapture) = (device, isCapture)
        let found = try ALSAGain.withMixer(of: device, isCapture) { elements in
            let volume = ALSAGain.choose(elements.filter { $0.hasVolume(isCapture) }, isCapture)
            let mute = volume.flatMap { $0.hasSwitch(isCapture) ? $0 : nil }
            let other = mute ?? ALSAGain.choose(elements.filter { $0.hasSwitch(isCapture) }, isCapture)
            return (volume?.name, other?.name, volume?.range(isCapture))
        }
        (control, muteControl, range) = found
        guard control != nil || muteControl != nil else { throw .noGain(name: device, isCapture: isCapture) }
    }

    /// The gain in decibels, inside of ``range``: the card takes the nearest that it has, for all channels. `nil` if its mixer
    /// tells no decibels, or the card is gone; then a new value changes nothing, nor does one that is no number.
    public var decibels: Double? {
        get {
            guard let control, let range else { return nil }
            let found = withElement(control, { $0.hasVolume(isCapture) }) { element in element.decibels(isCapture) }
            return found.flatMap(\.self).map { min(max($0, range.lowerBound), range.upperBound) }
        }
        nonmutating set {
            guard let control, let range, let newValue, !newValue.isNaN else { return }
            let wanted = min(max(newValue, range.lowerBound), range.upperBound)
            withElement(control, { $0.hasVolume(isCapture) }) { element in element.setDecibels(wanted, isCapture) }
        }
    }

    /// Indicates whether the card is silent, or records silence. `nil` if it cannot be muted, or is gone; then a new value changes
    /// nothing.
    public var isMuted: Bool? {
        get {
            guard let muteControl else { return nil }
            return withElement(muteControl, { $0.hasSwitch(isCapture) }) { element in
                element.isOn(isCapture).map { !$0 }
            }.flatMap(\.self)
        }
        nonmutating set {
            guard let muteControl, let newValue else { return }
            withElement(muteControl, { $0.hasSwitch(isCapture) }) { element in element.setOn(!newValue, isCapture) }
        }
    }

    // MARK: The mixer

    /// Several controls may have one name: of those the first that fits is meant, as when it was chosen.
    @discardableResult
    private func withElement<Result>(
        _ name: String, _ fits: (MixerElement) -> Bool, _ body: (MixerElement) -> Result
    ) -> Result? {
        let found = try? ALSAGain.withMixer(of: device, isCapture) { elements in
            elements.first { $0.name == name && fits($0) }.map(body)
        }
        return found ?? nil
    }

    /// Opens the mixer of a device's card, and closes it again.
    private static func withMixer<Result>(
        of device: String, _ isCapture: Bool, _ body: ([MixerElement]) -> Result
    ) throws(ALSAError) -> Result {
        if device.utf8.contains(0) { throw .noGain(name: device, isCapture: isCapture) }
        let messages = ALSAMessages()
        defer { messages.end() }
        var opened: OpaquePointer?
        guard unsafe snd_mixer_open(&opened, 0) == 0, let mixer = unsafe opened else {
            throw .failed(name: device, what: "open its mixer", error: ENOMEM)
        }
        defer { unsafe snd_mixer_close(mixer) }
        var error = unsafe snd_mixer_attach(mixer, card(of: device))
        if error == 0 { error = unsafe snd_mixer_selem_register(mixer, nil, nil) }
        if error == 0 { error = unsafe snd_mixer_load(mixer) }
        guard error == 0 else {
            if [EACCES, EPERM].contains(-error) { throw .notAllowed(name: device) }
            throw .noGain(name: device, isCapture: isCapture)
        }
        var elements: [MixerElement] = []
        var next = unsafe snd_mixer_first_elem(mixer)
        while let element = unsafe next {
            if unsafe snd_mixer_selem_is_active(element) != 0 { elements.append(unsafe MixerElement(element)) }
            unsafe next = snd_mixer_elem_next(element)
        }
        return body(elements)
    }

    /// The name of the card's mixer: that of hardware by the card, all others by themselves.
    private static func card(of device: String) -> String {
        DeviceOwner.hardware(device).map { "hw:\($0.card)" } ?? device
    }

    /// Chooses the control that means all of the sound: by its usual name, else the first.
    private static func choose(_ elements: [MixerElement], _ isCapture: Bool) -> MixerElement? {
        let usual =
            isCapture
            ? ["Capture", "Mic", "Digital", "ADC", "Mic Boost", "Line", "Input"]
            : ["Master", "PCM", "Speaker", "Headphone", "Digital", "Front", "Line Out", "DAC"]
        for name in usual { if let element = elements.first(where: { $0.name == name }) { return element } }
        return elements.first { !$0.isShared }
    }
}

/// A control of an open mixer.
@safe private struct MixerElement {
    private let element: OpaquePointer
    let name: String

    init(_ element: OpaquePointer) {
        unsafe self.element = element
        name = unsafe snd_mixer_selem_get_name(element).map { unsafe String(cString: $0) } ?? ""
    }

    /// Indicates whether one volume is that of both directions.
    var isShared: Bool { unsafe snd_mixer_selem_has_common_volume(element) != 0 }

    func hasVolume(_ isCapture: Bool) -> Bool {
        unsafe isCapture
            ? snd_mixer_selem_has_capture_volume(element) != 0 : snd_mixer_selem_has_playback_volume(element) != 0
    }

    func hasSwitch(_ isCapture: Bool) -> Bool {
        unsafe isCapture
            ? snd_mixer_selem_has_capture_switch(element) != 0 : snd_mixer_selem_has_playback_switch(element) != 0
    }

    /// Returns the gains that it has; `nil` if it tells none.
    func range(_ isCapture: Bool) -> ClosedRange<Double>? {
        var (least, most) = (0, 0)
        let error =
            unsafe isCapture
            ? snd_mixer_selem_get_capture_dB_range(element, &least, &most)
            : snd_mixer_selem_get_playback_dB_range(element, &least, &most)
        guard error == 0 else { return nil }
        // Some have silence below their lowest gain: that is what the mute is for.
        if least <= Self.silence { least = lowest(isCapture) ?? least }
        guard least > Self.silence, least < most else { return nil }
        return Double(least) / 100...Double(most) / 100
    }

    /// The gain of silence, in hundredths of a decibel.
    private static var silence: Int { -9_999_999 }

    /// Returns the gain of the lowest step but silence, in hundredths of a decibel.
    private func lowest(_ isCapture: Bool) -> Int? {
        guard let (least, most) = steps(isCapture), least < most else { return nil }
        return gain(of: least + 1, isCapture)
    }

    private func steps(_ isCapture: Bool) -> (least: Int, most: Int)? {
        var (least, most) = (0, 0)
        let error =
            unsafe isCapture
            ? snd_mixer_selem_get_capture_volume_range(element, &least, &most)
            : snd_mixer_selem_get_playback_volume_range(element, &least, &most)
        return error == 0 ? (least, most) : nil
    }

    private func gain(of step: Int, _ isCapture: Bool) -> Int? {
        var gain = 0
        let error =
            unsafe isCapture
            ? snd_mixer_selem_ask_capture_vol_dB(element, step, &gain)
            : snd_mixer_selem_ask_playback_vol_dB(element, step, &gain)
        return error == 0 ? gain : nil
    }

    /// Returns the gain of the first channel; `nil` if the card does not say.
    func decibels(_ isCapture: Bool) -> Double? {
        var gain = 0
        let error =
            unsafe isCapture
            ? snd_mixer_selem_get_capture_dB(element, SND_MIXER_SCHN_FRONT_LEFT, &gain)
            : snd_mixer_selem_get_playback_dB(element, SND_MIXER_SCHN_FRONT_LEFT, &gain)
        return error == 0 ? Double(gain) / 100 : nil
    }

    /// Sets all channels to the step whose gain is nearest.
    func setDecibels(_ decibels: Double, _ isCapture: Bool) {
        let wanted = Int((decibels * 100).rounded())
        var best: (step: Int, distance: Int)?
        for direction: Int32 in [-1, 1] {
            var step = 0
            let error =
                unsafe isCapture
                ? snd_mixer_selem_ask_capture_dB_vol(element, wanted, direction, &step)
                : snd_mixer_selem_ask_playback_dB_vol(element, wanted, direction, &step)
            guard error == 0, let gain = gain(of: step, isCapture), gain > Self.silence else { continue }
            let distance = abs(gain - wanted)
            if best.map({ distance < $0.distance }) ?? true { best = (step, distance) }
        }
        guard let step = best?.step else { return }
        _ =
            unsafe isCapture
            ? snd_mixer_selem_set_capture_volume_all(element, step)
            : snd_mixer_selem_set_playback_volume_all(element, step)
    }

    /// Returns whether any channel is on; `nil` if the card does not say.
    func isOn(_ isCapture: Bool) -> Bool? {
        var isOn = false
        for channel in SND_MIXER_SCHN_FRONT_LEFT.rawValue...SND_MIXER_SCHN_LAST.rawValue {
            let channel = snd_mixer_selem_channel_id_t(rawValue: channel)
            let isThere =
                unsafe isCapture
                ? snd_mixer_selem_has_capture_channel(element, channel)
                : snd_mixer_selem_has_playback_channel(element, channel)
            if isThere == 0 { continue }
            var value: Int32 = 0
            let error =
                unsafe isCapture
                ? snd_mixer_selem_get_capture_switch(element, channel, &value)
                : snd_mixer_selem_get_playback_switch(element, channel, &value)
            if error != 0 { return nil }
            isOn = isOn || value != 0
        }
        return isOn
    }

    func setOn(_ isOn: Bool, _ isCapture: Bool) {
        _ =
            unsafe isCapture
            ? snd_mixer_selem_set_capture_switch_all(element, isOn ? 1 : 0)
            : snd_mixer_selem_set_playback_switch_all(element, isOn ? 1 : 0)
    }
}
