import Synchronization

/// Sentences from other threads, for the one that prints.
final class Mail: Sendable {
    private let sentences = Mutex<[String]>([])

    func put(_ sentence: String) {
        // A hundred sentences are enough about a loop that makes a fault in each slice.
        sentences.withLock { if $0.count < 100 { $0.append(sentence) } }
    }

    func take() -> [String] {
        sentences.withLock { sentences in
            defer { sentences = [] }
            return sentences
        }
    }
}
