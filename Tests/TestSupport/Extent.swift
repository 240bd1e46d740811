/// Returns the extent of a long test: all of it in a release build, and a part of it in a debug build, whose code is ten times
/// as slow, and slower still under a sanitizer.
public func extent<Number: FixedWidthInteger>(_ all: Number, inDebug part: Number) -> Number {
    #if DEBUG
        part
    #else
        all
    #endif
}
