/// The loudest low tone of a spectrum, and its mirror at negative frequencies.
///
/// A block has few periods of a low tone, so that the mirror reaches over to the tone's own bins. It turns the other way, so it
/// is taken out before bins are turned, and put back turned the other way.
struct StretchTone: Sendable, BitwiseCopyable {
    /// The bin of the tone; 0 if there is none.
    private(set) var bin = 0
    private var re: Float = 0
    private var im: Float = 0
    /// In bins.
    private var frequency: Float = 2
    /// The part of the mirror's level that is the same in all bins.
    private var height: Float = 0

    /// The power of Hann's window with which a block is taken apart. The transform of that window at a distance of d bins is
    /// Γ(2p + 1) / (4^p Γ(1 + p + d) Γ(1 + p - d)).
    static var power: Double { @_noLocks @_noAllocation get { 1.2 } }
    private static var reach: Int { @_noLocks @_noAllocation get { 12 } }

    @_noLocks @_noAllocation
    init() {}

    /// Takes the mirror of the loudest low tone out of a spectrum under Hann's window to its ``power``.
    ///
    /// - Parameters:
    ///   - planes: The real parts of the spectrum, of more than 24 bins.
    ///   - stride: The place at which the imaginary parts begin.
    @_noLocks @_noAllocation
    init(takenOutOf planes: UnsafeMutablePointer<Float>, stride: Int) {
        var (loudest, place): (Float, Int) = (0, 0)
        for bin in 1...StretchTone.reach {
            let power = unsafe planes[bin] * planes[bin] + planes[stride &+ bin] * planes[stride &+ bin]
            if power > loudest { (loudest, place) = (power, bin) }
        }
        // A tone between the first bins, or above them all, has no place of its own.
        if place < 2 || place == StretchTone.reach || !(loudest < 1e30) { return }
        bin = place
        // Each round begins with the rest that the mirror of the last round leaves.
        for _ in 0..<2 {
            let here = unsafe rest(planes, stride, place)
            let low = unsafe rest(planes, stride, place &- 1), high = unsafe rest(planes, stride, place &+ 1)
            let (lowPower, highPower) = (low.re * low.re + low.im * low.im, high.re * high.re + high.im * high.im)
            let side = highPower > lowPower ? highPower : lowPower
            let share = RenderMath.pow(side / (here.re * here.re + here.im * here.im + 1e-30), 0.5)
            let found = (2.2 * share - 1.2) / (share + 1)
            let part: Float = found < 0.5 ? (found > 0 ? found : 0) : 0.5
            // The window's transform at the tone's distance from its bin, to 2e-5.
            let square = part * part
            let window = (0.05995572 * square - 0.2663427) * square + 0.46527532
            let scale = (place & 1 == 0 ? 1 : -1) / window
            (re, im) = (here.re * scale, here.im * scale)
            frequency = Float(place) + (highPower > lowPower ? part : -part)
            height = RenderMath.sin(turns: (frequency - 1.2) / 2) * 0.17979193
        }
        for bin in 0..<2 &* StretchTone.reach {
            let left = unsafe rest(planes, stride, bin)
            unsafe (planes[bin], planes[stride &+ bin]) = (left.re, left.im)
        }
    }

    /// Puts the mirror back.
    ///
    /// - Parameters:
    ///   - planes: The spectrum, turned.
    ///   - stride: The place at which the imaginary parts begin.
    ///   - turnRe: The real part of the tone's turn.
    ///   - turnIm: The imaginary part.
    @_noLocks @_noAllocation
    func putBack(into planes: UnsafeMutablePointer<Float>, stride: Int, _ turnRe: Float, _ turnIm: Float) {
        if bin == 0 { return }
        let (re, im) = (re * turnRe - im * turnIm, re * turnIm + im * turnRe)
        for bin in 0..<2 &* StretchTone.reach {
            let level = mirror(bin)
            unsafe planes[bin] += re * level
            unsafe planes[stride &+ bin] -= im * level
        }
    }

    /// Returns the level of the mirror in a bin: the window's transform there.
    @_noLocks @_noAllocation
    private func mirror(_ bin: Int) -> Float {
        let distance = Float(bin) + frequency
        let square = distance * distance
        // 1 and the terms behind it are the quotient of two gamma functions, Γ(d - 0.2) / Γ(d + 1.2), times d^1.4.
        let quotient = 1 + (0.05594902 + 0.00045324 / square) / square
        return height * quotient / (RenderMath.pow(distance, 1.4) * (square - 1.44))
    }

    @_noLocks @_noAllocation
    private func rest(_ planes: UnsafeMutablePointer<Float>, _ stride: Int, _ bin: Int) -> (re: Float, im: Float) {
        let level = mirror(bin)
        return unsafe (planes[bin] - re * level, planes[stride &+ bin] + im * level)
    }
}
