internal import CALSA
internal import Glibc

/// Notices that sound devices come and go, and that ALSA's configuration changes.
@safe final class DeviceWatch {
    /// A folder that is watched, or one file in it, which need not be there.
    struct Place: Sendable, Hashable {
        let folder: String
        var name: String?
    }

    private let descriptor: Int32
    private let places: [Place]
    private var names: [Int32: [String?]] = [:]

    init(_ places: [Place]) {
        self.places = places
        descriptor = inotify_init1(Int32(O_NONBLOCK | O_CLOEXEC))
        watch()
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// The folders of devices and of the configuration.
    static var standardPlaces: [Place] {
        func variable(_ name: String) -> String? { unsafe getenv(name).map { unsafe String(cString: $0) } }
        var files = (variable("ALSA_CONFIG_PATH") ?? "").split(separator: ":").map(String.init)
        files.append("/etc/asound.conf")
        if let home = variable("HOME") {
            files.append("\(home)/.asoundrc")
            files.append("\(variable("XDG_CONFIG_HOME") ?? "\(home)/.config")/alsa/asoundrc")
        }
        return [Place(folder: "/dev", name: "snd"), Place(folder: "/dev/snd")] + files.compactMap(Place.init(file:))
    }

    /// Watches the folders and files that exist; a folder may be made later.
    private func watch() {
        guard descriptor >= 0 else { return }
        names = [:]
        for place in places {
            // The closing of a device says nothing, and this program's own look at it would cause it.
            let whole = IN_CREATE | IN_DELETE | IN_ATTRIB | IN_MOVED_TO | IN_MOVED_FROM
            let file = IN_CREATE | IN_DELETE | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM
            let mask = place.name == nil ? whole : file
            let number = unsafe inotify_add_watch(descriptor, place.folder, UInt32(mask) | UInt32(IN_MASK_ADD))
            if number >= 0 { names[number, default: []].append(place.name) }
        }
    }

    /// Returns whether something has changed since the last time.
    func hasChanged() -> Bool {
        guard descriptor >= 0 else { return false }
        var bytes = [UInt8](repeating: 0, count: 4096)
        var isNews = false
        while true {
            let count = unsafe read(descriptor, &bytes, bytes.count)
            guard count > 0 else { break }
            // Each: watch, mask, cookie, length of the name, name.
            var position = 0
            while position + 16 <= count {
                func word(_ index: Int) -> UInt32 {
                    (0..<4).reduce(0) { $0 | UInt32(bytes[position + 4 * index + $1]) << UInt32(8 * $1) }
                }
                let end = min(count, position + 16 + Int(word(3)))
                let name = String(decoding: bytes[position + 16..<end].prefix { $0 != 0 }, as: UTF8.self)
                let wanted = names[Int32(bitPattern: word(0))] ?? []
                if wanted.contains(nil) || wanted.contains(name) { isNews = true }
                position = end
            }
        }
        if isNews { watch() }
        return isNews
    }

    /// Returns the meaning of a device's name in ALSA's configuration as it is now; `nil` if it has none.
    static func definition(of name: String) -> String? {
        let messages = ALSAMessages()
        defer { messages.end() }
        var top: OpaquePointer?
        guard unsafe snd_config_update_ref(&top) >= 0 else { return nil }
        defer { unsafe snd_config_unref(top) }
        var found: OpaquePointer?
        guard unsafe snd_config_search_definition(top, "pcm", name, &found) >= 0 else { return nil }
        defer { unsafe snd_config_delete(found) }
        var buffer: OpaquePointer?
        guard unsafe snd_output_buffer_open(&buffer) >= 0 else { return nil }
        defer { unsafe snd_output_close(buffer) }
        guard unsafe snd_config_save(found, buffer) >= 0 else { return nil }
        var text: UnsafeMutablePointer<CChar>?
        let count = unsafe snd_output_buffer_string(buffer, &text)
        guard count > 0, let text = unsafe text else { return "" }
        return unsafe String(decoding: UnsafeRawBufferPointer(start: text, count: Int(count)), as: UTF8.self)
    }

    /// Has ALSA read its configuration anew: by itself it looks at the first of its files only.
    static func readConfigurationAnew() { snd_config_update_free_global() }
}

extension DeviceWatch.Place {
    /// Creates the place of a file, by its path.
    init?(file: String) {
        guard let slash = file.lastIndex(of: "/"), slash != file.startIndex else { return nil }
        self.init(folder: String(file[..<slash]), name: String(file[file.index(after: slash)...]))
    }
}
