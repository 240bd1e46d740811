public import RenderCore

/// The amplitude of each frequency over a short while, as a ``SpectrumTap`` measures it.
///
/// Threads: control.
public struct Spectrum: Sendable {
    /// The time at which its first frame was rendered.
    public let time: RenderTime
    /// Frames per second.
    public let sampleRate: Double
    /// The number of frames that it is made of.
    public let size: Int
    /// The window that weighed the frames.
    public let window: Window
    /// The amplitude of each bin: a sine of amplitude 1 in the middle of a bin shows as 1 there. `size / 2 + 1` of them.
    public let magnitudes: [Float]

    /// Returns the frequency of a bin, in hertz.
    public func frequency(ofBin bin: Int) -> Double { Double(bin) * sampleRate / Double(size) }

    /// Returns the bins in dB of full scale, for drawing; nothing below `floor`.
    public func decibels(floor: Float = -150) -> [Float] {
        magnitudes.map { RenderMath.decibels(amplitude: $0, floor: floor) }
    }

    /// A sine in a spectrum.
    ///
    /// Threads: control.
    public struct Peak: Sendable, Hashable {
        /// The frequency in hertz.
        public let frequency: Double
        /// Its amplitude.
        public let amplitude: Double
        /// Its amplitude in dB of full scale.
        public var decibels: Double { 20 * RenderMath.log2(amplitude) / RenderMath.log2(10) }
    }

    /// Returns the loudest sines, the loudest first, with frequencies and levels from between the bins.
    ///
    /// A sine falls into several bins, by the shape of the window. The ratio of two neighbours gives its place, and the
    /// place gives the level that the nearer bin lacks. A sine that stands alone is found within a hundredth of a bin
    /// and 0.01 dB; sines that are nearer to each other than ``Window/mainLobe`` bins, or to 0 Hz or half the rate,
    /// disturb each other.
    ///
    /// - Parameters:
    ///   - count: The largest number of peaks.
    ///   - threshold: The level below which there is no peak, in dB of full scale.
    public func peaks(_ count: Int = 10, above threshold: Float = -90) -> [Peak] {
        let least = RenderMath.amplitude(decibels: threshold)
        var found: [Peak] = []
        for bin in 1..<(magnitudes.count - 1) where magnitudes[bin] >= least {
            let (below, here, above) = (magnitudes[bin - 1], magnitudes[bin], magnitudes[bin + 1])
            // Of two equal neighbours the first counts.
            if here > below && here >= above { found.append(peak(at: bin)) }
        }
        return Array(found.sorted { $0.amplitude > $1.amplitude }.prefix(max(0, count)))
    }

    /// Returns the sine whose largest bin this is.
    private func peak(at bin: Int) -> Peak {
        let isAbove = magnitudes[bin + 1] >= magnitudes[bin - 1]
        let ratio = Double(magnitudes[isAbove ? bin + 1 : bin - 1]) / Double(magnitudes[bin])
        // The distance from the larger to the smaller: the ratio grows with it, and is 1 half way.
        var (low, high) = (0.0, 0.5)
        for _ in 0..<40 {
            let middle = 0.5 * (low + high)
            if window.response(1 - middle) / window.response(middle) < ratio { low = middle } else { high = middle }
        }
        let position = Double(bin) + (isAbove ? low : -low)
        return Peak(
            frequency: position * sampleRate / Double(size), amplitude: Double(magnitudes[bin]) / window.response(low))
    }
}

extension Spectrum {
    /// The windows that weigh the frames, so that waves that are cut off at the ends do not blur everything.
    ///
    /// Threads: control.
    public enum Window: Sendable, Hashable, CaseIterable {
        /// Narrow; frequencies beside a sine are 31 dB below it near by, and fall quickly.
        case hann
        /// Nothing of a sine is above -92 dB beyond four bins (Harris 1978, four terms). The best for most.
        case blackmanHarris
        /// Wide, and flat: the bins themselves show levels within 0.02 dB, wherever the sine lies.
        case flatTop

        /// Half the width of a sine's peak, in bins.
        public var mainLobe: Double { Double(terms.count) }

        /// The window as a sum of cosines, of 0, 1, 2 … turns. Flat top: the one that is common since Matlab's.
        var terms: [Double] {
            switch self {
            case .hann: [0.5, 0.5]
            case .blackmanHarris: [0.35875, 0.48829, 0.14128, 0.01168]
            case .flatTop: [0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368]
            }
        }

        /// Returns the window at a frame.
        func weight(_ frame: Int, of size: Int) -> Double {
            let turn = Double(frame) / Double(size) - 0.5
            return terms.enumerated().reduce(0) {
                $0 + $1.element * RenderMath.cos(2 * .pi * Double($1.offset) * turn)
            }
        }

        /// Returns the share of a sine's amplitude that a bin shows that lies so many bins beside it.
        func response(_ distance: Double) -> Double {
            func sinc(_ x: Double) -> Double { abs(x) < 1e-9 ? 1 : RenderMath.sin(.pi * x) / (.pi * x) }
            let sum = terms.enumerated().reduce(0) { sum, term in
                let shift = Double(term.offset)
                return sum + term.element * 0.5 * (sinc(distance - shift) + sinc(distance + shift))
            }
            return abs(sum) / terms[0]
        }
    }
}
