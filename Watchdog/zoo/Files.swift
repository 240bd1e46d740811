import Glibc

// Files and sockets.

let fileCases = [
    blocks("file.open", "openFile", openFile),
    blocks("file.read", "readFile", prepare: { descriptor = open("/dev/zero", O_RDONLY) }, readFile),
    blocks("file.write", "writeFile", prepare: { descriptor = open("/dev/null", O_WRONLY) }, writeFile),
    blocks("file.close", "closeFile", prepare: { descriptor = open("/dev/null", O_WRONLY) }, closeFile),
    blocks("file.fopen", "openStream", openStream),
    blocks("file.stat", "statFile", statFile),
    blocks("file.rename", "renameFile", renameFile),
    blocks("file.unlink", "unlinkFile", unlinkFile),
    blocks("file.fsync", "syncFile", prepare: { descriptor = open("/dev/null", O_WRONLY) }, syncFile),
    blocks("file.opendir", "openFolder", openFolder),
    blocks("file.pipe", "makePipe", makePipe),
    blocks("file.getcwd", "askFolder", askFolder),
    blocks("socket.pair", "makeSockets", makeSockets),
    blocks("socket.send", "sendToSocket", prepare: { makeSockets() }, sendToSocket),
    blocks("socket.receive", "receiveFromSocket", prepare: { fillSocket() }, receiveFromSocket),
]

nonisolated(unsafe) let bytes = UnsafeMutableRawPointer.allocate(byteCount: 65_536, alignment: 4096)
nonisolated(unsafe) let sockets = {
    let pair = UnsafeMutablePointer<Int32>.allocate(capacity: 2)
    pair.initialize(repeating: -1, count: 2)
    return pair
}()

func fillSocket() {
    makeSockets()
    _ = sendToSocket()
}

@inline(never) func openFile() -> Int {
    descriptor = open("/dev/null", O_RDONLY)  // HERE
    return 1
}

@inline(never) func readFile() -> Int {
    let count = read(descriptor, bytes, 16)  // HERE
    return count == 16 ? 1 : 2
}

@inline(never) func writeFile() -> Int {
    let count = write(descriptor, bytes, 16)  // HERE
    return count &+ 1
}

@inline(never) func closeFile() -> Int {
    close(descriptor)  // HERE
    return 1
}

@inline(never) func openStream() -> Int {
    let stream = fopen("/dev/null", "r")  // HERE
    if let stream { fclose(stream) }  // HERE
    return 1
}

@inline(never) func statFile() -> Int {
    var status = stat()
    stat("/dev/null", &status)  // HERE
    return 1
}

@inline(never) func renameFile() -> Int {
    rename("/dev/nothing-here", "/dev/nothing-there")  // HERE
    return 1
}

@inline(never) func unlinkFile() -> Int {
    unlink("/dev/nothing-here")  // HERE
    return 1
}

@inline(never) func syncFile() -> Int {
    fsync(descriptor)  // HERE
    return 1
}

@inline(never) func openFolder() -> Int {
    let folder = opendir("/dev")  // HERE
    closedir(folder!)  // HERE
    return 1
}

@inline(never) func makePipe() -> Int {
    pipe(sockets)  // HERE
    return 1
}

@inline(never) func askFolder() -> Int {
    _ = getcwd(bytes.assumingMemoryBound(to: CChar.self), 4096)  // HERE
    return 1
}

@discardableResult
@inline(never) func makeSockets() -> Int {
    socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, sockets)  // HERE
    return 1
}

@inline(never) func sendToSocket() -> Int {
    send(sockets[0], bytes, 16, 0)  // HERE
    return 1
}

@inline(never) func receiveFromSocket() -> Int {
    recv(sockets[1], bytes, 16, 0)  // HERE
    return 1
}
