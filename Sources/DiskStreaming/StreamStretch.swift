internal import RenderCore

/// The way in which a stream changes the tempo and the pitch of its file on the way from the disk.
package struct StreamStretch: Sendable, Hashable {
    /// Seconds of the file in a second of sound, 1/32…32.
    package var rate: Double {
        didSet {
            let rates = TimeStretch.rates
            rate = rate.isNaN ? oldValue : max(rates.lowerBound, min(rate, rates.upperBound))
        }
    }
    /// The pitch in cents, -2,400…2,400.
    package var cents: Double { didSet { cents = cents.isNaN ? oldValue : max(-2_400, min(cents, 2_400)) } }
    /// Indicates whether formants stay where they are while the pitch changes.
    package var keepsFormants = false

    /// Creates the change that changes nothing.
    package init() {
        rate = 1
        cents = 0
    }

    /// Indicates whether nothing is changed.
    package var isNone: Bool { rate == 1 && cents == 0 }

    /// The lowest sample rate at which anything is changed.
    package static var lowestSampleRate: Double { 1_000 }
    /// The run-up that the sound needs until it is what it would have been from further back, in seconds: a block and a
    /// quarter.
    package var runUp: Double { 1.25 * TimeStretch.block(cents: cents) }
}
