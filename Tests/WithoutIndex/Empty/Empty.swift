// This target has no tests. It leads SwiftPM to the file XCTMain.swift in the folder above: see the end of Package.swift.
