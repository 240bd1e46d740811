/// Returns a number, or the nearest one that is allowed, and tells that.
///
/// It is for the numbers that come while a program runs: a slider, a file or a peer may give any. What a programmer writes
/// down once, in an initialiser, is demanded.
///
/// - Parameters:
///   - number: The number that came.
///   - range: The numbers that are allowed.
///   - other: The number to take in the place of one that is none; by default the least of the range.
///   - sentence: A sentence with the type that got the number, the number, and what it must be, without a full stop.
///   - tell: The closure that gets the notice; by default standard error gets it, and each sentence once.
package func nearest<Number: Comparable>(
    to number: Number, in range: ClosedRange<Number>, insteadOfNaN other: Number? = nil,
    _ sentence: @autoclosure () -> String, tell: (String) -> Void = { StandardError.sayOnce($0) }
) -> Number {
    if range.contains(number) { return number }
    let isNumber = number == number
    let taken = isNumber ? min(max(number, range.lowerBound), range.upperBound) : other ?? range.lowerBound
    tell("\(sentence()). \(taken) is taken")
    return taken
}

/// Returns a sample rate that is allowed: see ``nearest(to:in:insteadOfNaN:_:tell:)``.
package func nearestSampleRate(
    to rate: Double, from lowest: Double = 1, for who: String,
    tell: (String) -> Void = { StandardError.sayOnce($0) }
) -> Double {
    nearest(
        to: rate, in: lowest...1_000_000, insteadOfNaN: 48_000,
        "\(who): a sample rate of \(rate) Hz; it must be \(lowest == 1 ? "1" : "1,000")…1,000,000", tell: tell)
}
