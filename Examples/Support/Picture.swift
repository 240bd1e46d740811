/// A drawing of up to 256 colours, with text, that becomes a PNG file.
public struct Picture: Sendable {
    /// A colour, by its place in the palette.
    public struct Colour: Sendable, Equatable {
        let index: UInt8

        /// White.
        public static let paper = Colour(index: 0)
        /// Nearly black: text and axes.
        public static let ink = Colour(index: 1)
        /// Light grey: lines to read values by.
        public static let grid = Colour(index: 2)
        /// Blue, for wanted signals.
        public static let blue = Colour(index: 3)
        /// Light blue.
        public static let lightBlue = Colour(index: 4)
        /// Red, for unwanted signals.
        public static let red = Colour(index: 5)

        static let heatSteps = 40
        /// From black over purple, red and orange to light yellow: ever lighter, so it can be read without colours.
        public static func heat(_ share: Double) -> Colour {
            let step = Int(max(0, min(1, share)) * Double(heatSteps - 1) + 0.5)
            return Colour(index: UInt8(6 + step))
        }

        static let palette: [(red: Int, green: Int, blue: Int)] = {
            let plain = [
                (255, 255, 255), (34, 34, 40), (214, 216, 222), (31, 98, 168), (128, 176, 224), (206, 48, 48),
            ]
            let anchors = [(2, 2, 16), (60, 14, 104), (138, 34, 106), (206, 66, 64), (246, 134, 30), (252, 244, 160)]
            let heat = (0..<heatSteps).map { step in
                let place = Double(step) / Double(heatSteps - 1) * Double(anchors.count - 1)
                let index = min(Int(place), anchors.count - 2), share = place - Double(index)
                func between(_ a: Int, _ b: Int) -> Int { Int(Double(a) + (Double(b) - Double(a)) * share + 0.5) }
                let (low, high) = (anchors[index], anchors[index + 1])
                return (between(low.0, high.0), between(low.1, high.1), between(low.2, high.2))
            }
            return (plain + heat).map { (red: $0.0, green: $0.1, blue: $0.2) }
        }()
    }

    /// In pixels.
    public let width: Int
    /// In pixels.
    public let height: Int
    private var pixels: [UInt8]

    /// White paper.
    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
        pixels = Array(repeating: Colour.paper.index, count: width * height)
    }

    /// Paints a rectangle; the part outside of the picture is left out.
    public mutating func fill(_ x: ClosedRange<Int>, _ y: ClosedRange<Int>, _ colour: Colour) {
        guard x.overlaps(0...width - 1), y.overlaps(0...height - 1) else { return }
        for row in y.clamped(to: 0...height - 1) {
            for column in x.clamped(to: 0...width - 1) { pixels[row * width + column] = colour.index }
        }
    }

    /// Returns this picture with another one, of the same width, below.
    public func above(_ other: Picture) -> Picture {
        var both = Picture(width: width, height: height + other.height)
        for row in 0..<height {
            for column in 0..<width { both.pixels[row * width + column] = pixels[row * width + column] }
        }
        for row in 0..<other.height {
            for column in 0..<min(width, other.width) {
                both.pixels[(height + row) * width + column] = other.pixels[row * other.width + column]
            }
        }
        return both
    }

    /// The place of a text relative to its position.
    public enum Alignment: Sendable { case left, centre, right }

    /// Writes a line, twice the size of its dots. `y` is its middle.
    public mutating func write(
        _ text: String, x: Int, y: Int, _ alignment: Alignment = .left, _ colour: Colour = .ink
    ) {
        let length = Self.width(of: text)
        var left = x - (alignment == .left ? 0 : alignment == .centre ? length / 2 : length)
        for character in text {
            for (row, line) in Glyphs.rows(of: character).enumerated() {
                for column in 0..<Glyphs.width where line >> (Glyphs.width - 1 - column) & 1 == 1 {
                    let (dotX, dotY) = (left + 2 * column, y - 7 + 2 * row)
                    fill(dotX...dotX + 1, dotY...dotY + 1, colour)
                }
            }
            left += 2 * (Glyphs.width + 1)
        }
    }

    /// Returns the width of a line in pixels.
    public static func width(of text: String) -> Int { max(0, 2 * (Glyphs.width + 1) * text.count - 2) }

    // MARK: The file

    /// The picture as a PNG file (ISO/IEC 15948): eight bits a pixel, with a palette.
    public var png: [UInt8] {
        var header: [UInt8] = []
        header.append(bigEndian: UInt32(width))
        header.append(bigEndian: UInt32(height))
        header += [8, 3, 0, 0, 0]
        let palette = Colour.palette.flatMap { [UInt8($0.red), UInt8($0.green), UInt8($0.blue)] }
        var lines: [UInt8] = []
        lines.reserveCapacity((width + 1) * height)
        for row in 0..<height {
            lines.append(0)  // as it is
            lines += pixels[row * width..<(row + 1) * width]
        }
        let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        return signature + Self.chunk("IHDR", header) + Self.chunk("PLTE", palette)
            + Self.chunk("IDAT", Deflate.zlib(lines)) + Self.chunk("IEND", [])
    }

    /// Writes the file.
    ///
    /// - Throws: An error if the file cannot be written.
    public func write(to path: String) throws { try WholeFile.write(png, to: path) }

    private static func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
        let body = Array(name.utf8) + content
        var bytes: [UInt8] = []
        bytes.append(bigEndian: UInt32(content.count))
        bytes += body
        var check: UInt32 = 0xFFFF_FFFF
        for byte in body {
            check ^= UInt32(byte)
            for _ in 0..<8 { check = check & 1 == 1 ? check >> 1 ^ 0xEDB8_8320 : check >> 1 }
        }
        bytes.append(bigEndian: ~check)
        return bytes
    }
}
