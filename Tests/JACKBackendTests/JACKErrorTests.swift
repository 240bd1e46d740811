import Testing

@testable import JACKBackend

@Suite struct JACKErrorTests {
    @Test("The error says so if shared memory is too small, with what to do; it does not mention enough memory")
    func sharedMemory() {
        #expect(SharedMemory.advice(bytes: 64_000_000).contains("has 64 MB free and a server takes 105"))
        #expect(SharedMemory.advice(bytes: 64_000_000).contains("-p 128"))
        #expect(SharedMemory.advice(bytes: 200_000_000).isEmpty)
        #expect(JACKError.noServer(name: "", advice: "More.").description.hasSuffix("PipeWire runs. More."))
        #expect((SharedMemory.free ?? 0) > 0)
    }

    @Test("Every error is a sentence")
    func sentences() {
        let errors: [JACKError] = [
            .noServer(name: "x", advice: ""), .refused(status: 0x4), .refused(status: 0x8000), .portRefused("out_1"),
            .notActivated, .notRunning, .notAnswering, .otherServer(name: "x"),
        ]
        for error in errors { #expect(error.description.hasSuffix(".") && error.description.count > 20) }
        #expect(JACKError.refused(status: 0x4).description.contains("the name is taken"))
    }

    @Test("The environment has the last word on connections")
    func environment() {
        #expect(JACKConnect.physical.overridden(by: "no") == .none)
        #expect(JACKConnect.none.overridden(by: "Physical") == .physical)
        #expect(JACKConnect.physical.overridden(by: nil) == .physical)
        #expect(JACKConnect.ports(outputs: ["a"]).overridden(by: "") == .ports(outputs: ["a"]))
    }

    @Test("Messages of Open Sound Control become bytes and the same messages again")
    func openSoundControl() {
        let message = OSCMessage("/a/b", .string(""), .integer(-2), .string("four"), .float(0.5))
        #expect(message.bytes.count % 4 == 0)
        #expect(OSCMessage(bytes: message.bytes) == message)
        #expect(Array(OSCMessage("/a", .integer(258)).bytes) == [47, 97, 0, 0, 44, 105, 0, 0, 0, 0, 1, 2])
        for count in 0..<message.bytes.count { _ = OSCMessage(bytes: Array(message.bytes.prefix(count))) }
    }

    @Test("JACK's frames go on where their 32 bits wrap")
    func clock() {
        let clock = JACKClock()
        #expect(clock.now == nil)
        clock.set(frame: .max - 99, hostTime: 1000, nanosecondsPerFrame: 20_000)
        clock.set(frame: 156, hostTime: 2000, nanosecondsPerFrame: 20_000)
        let wrapped = Int64(UInt32.max) + 157
        #expect(clock.now?.frame == wrapped)
    }
}
