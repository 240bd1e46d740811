internal import CPluginGuest
internal import DiskFiles
internal import Glibc
internal import RenderCore
internal import RenderStack
internal import SignalBlocks

/// The function that the library of a plug-in exports: `scripts/plugin` writes the few lines that call it.
///
/// Threads: control.
public enum PluginEntry {
    /// The descriptors of the plug-ins that hosts have asked for. They stay, as the library does.
    private static let known = Lock<[(descriptor: UInt, plugin: Plugin)]>([])

    /// Returns the descriptor of a plug-in by its number, as LV2 wants it; `nil` behind the last.
    ///
    ///     @_cdecl("lv2_descriptor") public func entry(_ index: UInt32) -> UnsafeRawPointer? {
    ///         PluginEntry.descriptor(index, of: [plugin])
    ///     }
    ///
    /// - Parameters:
    ///   - index: The number, from 0 on.
    ///   - plugins: The plug-ins of the library, the same each time.
    @unsafe public static func descriptor(_ index: UInt32, of plugins: [Plugin]) -> UnsafeRawPointer? {
        guard plugins.indices.contains(Int(index)) else { return nil }
        let plugin = plugins[Int(index)]
        let address = known.withLock { known -> UInt in
            if let found = known.first(where: { $0.plugin.uri == plugin.uri }) { return found.descriptor }
            let descriptor = UnsafeMutablePointer<guest_descriptor>.allocate(capacity: 1)
            guard let uri = unsafe strdup(plugin.uri) else { return 0 }
            unsafe descriptor.initialize(
                to: guest_descriptor(
                    uri: uri,
                    instantiate: { descriptor, rate, _, features in
                        guard let plugin = PluginEntry.plugin(at: UInt(bitPattern: descriptor)),
                            let instance = unsafe PluginInstance.make(plugin, rate: rate, features)
                        else { return nil }
                        return unsafe Unmanaged.passRetained(instance).toOpaque()
                    },
                    connect_port: { instance, port, data in
                        unsafe PluginEntry.with(instance) { unsafe $0.connect(Int(port), data) }
                    },
                    activate: { instance in unsafe PluginEntry.with(instance) { $0.activate() } },
                    run: { instance, frames in unsafe PluginEntry.with(instance) { $0.run(Int(frames)) } },
                    deactivate: nil,
                    cleanup: { instance in
                        if let instance = unsafe instance {
                            unsafe Unmanaged<PluginInstance>.fromOpaque(instance).release()
                        }
                    },
                    extension_data: { uri in
                        // A host asks for what the description names: no plug-in without a state is asked.
                        guard let uri = unsafe uri, unsafe strcmp(uri, "http://lv2plug.in/ns/ext/state#interface") == 0
                        else { return nil }
                        return unsafe UnsafeRawPointer(bitPattern: PluginEntry.stateInterface)
                    }))
            let address = UInt(bitPattern: descriptor)
            known.append((address, plugin))
            return address
        }
        return unsafe UnsafeRawPointer(bitPattern: address)
    }

    /// The address of the functions for the state of an instance: one structure for all plug-ins.
    private static let stateInterface: UInt = {
        let interface = UnsafeMutablePointer<guest_state_interface>.allocate(capacity: 1)
        unsafe interface.initialize(
            to: guest_state_interface(
                save: { instance, store, handle, _, _ in
                    guard let instance = unsafe instance else { return 1 }
                    return unsafe Unmanaged<PluginInstance>.fromOpaque(instance).takeUnretainedValue().save(
                        store, handle)
                },
                restore: { instance, retrieve, handle, _, _ in
                    guard let instance = unsafe instance else { return 1 }
                    return unsafe Unmanaged<PluginInstance>.fromOpaque(instance).takeUnretainedValue().restore(
                        retrieve, handle)
                }))
        return UInt(bitPattern: interface)
    }()

    /// Writes the manifest and the descriptions of plug-ins into a folder.
    ///
    /// - Parameters:
    ///   - plugins: The plug-ins.
    ///   - library: The name of the library's file.
    ///   - folder: The folder.
    /// - Throws: A sentence: a plug-in cannot be made, or a file not written.
    public static func write(_ plugins: [Plugin], library: String, into folder: String) throws {
        let description = "plugins.ttl"
        if plugins.isEmpty { throw PluginError("There is no plug-in to write.") }
        for (number, plugin) in plugins.enumerated() where plugins[..<number].contains(where: { $0.uri == plugin.uri })
        {
            throw PluginError("Two plug-ins have the URI \(plugin.uri); each must have its own.")
        }
        let manifest = Plugin.manifest(of: plugins, library: library, description: description)
        let texts = try plugins.map { try $0.description() }
        for (name, text) in [("manifest.ttl", manifest), (description, texts.joined(separator: "\n"))] {
            let path = "\(folder)/\(name)"
            do throws(DiskFault) {
                try Replacement.write(text, to: path)
            } catch {
                throw PluginError("\(path) cannot be written: \(error.explanation).")
            }
        }
    }

    private static func plugin(at descriptor: UInt) -> Plugin? {
        known.withLock { $0.first { $0.descriptor == descriptor }?.plugin }
    }

    @unsafe private static func with(_ instance: UnsafeMutableRawPointer?, _ body: (PluginInstance) -> Void) {
        guard let instance = unsafe instance else { return }
        unsafe Unmanaged<PluginInstance>.fromOpaque(instance)._withUnsafeGuaranteedRef { body($0) }
    }
}

extension PluginInstance {
    /// Returns an instance; `nil`, with a sentence on standard error, if its closure fails or its stack does not add up.
    @unsafe static func make(
        _ plugin: Plugin, rate: Double, _ features: UnsafePointer<UnsafePointer<guest_feature>?>?
    ) -> PluginInstance? {
        do {
            return unsafe try PluginInstance(plugin, rate: rate, features)
        } catch {
            StandardError.say("the plug-in \(plugin.name) cannot be made: \(error)")
            return nil
        }
    }

    /// Returns the inside of an instance that has been made as a host makes one, so that its render loop is known to add up.
    static func body(of plugin: Plugin) throws -> PluginBody {
        unsafe try PluginInstance(plugin, rate: 48_000, nil).body
    }
}
