// Draws a sound file: its waveform and its spectrogram, as a PNG.

import ExampleSupport
import RenderStack

let options = Options.read(
    about: "Draws the waveform and the spectrogram of a sound file into picture.png, or what --output names.",
    files: "SOUND", offline: "the picture, a PNG")

do {
    let band = options.files.isEmpty ? try Band() : nil
    let path = band?.piano ?? options.files[0]
    let picture = try SoundPicture.draw(path, seconds: options.seconds)
    let target = if case .file(let path) = options.output { path } else { "picture.png" }
    try picture.write(to: target)
    print("\(target): \(picture.width) by \(picture.height) pixels")
} catch {
    Terminal.stop("picture: \(error)", status: 1)
}
