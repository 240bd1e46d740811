extension String {
    /// A name or path as it may stand in a sentence: what is no character to be seen by its number, and of a long one both ends.
    package var shown: String {
        let all = unicodeScalars
        // A name may have a megabyte: its length is not counted.
        guard all.dropFirst(200).isEmpty else {
            return Self.shown(all.prefix(60)) + " … " + Self.shown(all.suffix(120))
        }
        return Self.shown(all[...])
    }

    private static func shown(_ part: Substring.UnicodeScalarView) -> String {
        part.reduce(into: "") { text, scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .unassigned:
                text += "\\u{\(String(scalar.value, radix: 16))}"
            default:
                if scalar == "\"" || scalar == "\\" { text += "\\" }
                text.unicodeScalars.append(scalar)
            }
        }
    }
}
