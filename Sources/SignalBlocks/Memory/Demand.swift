/// Ends the program with a sentence where a programmer has made a mistake that no run can mend: a module of 1,000 channels.
///
/// `precondition` says its sentence in debug builds alone; in a release build its program ends in a bare trap. This one says
/// it in both. It is for the constants of initialisers, and for indices. Whatever data or a running program can bring is not
/// demanded: a number becomes the nearest one (``nearest(to:in:insteadOfNaN:_:tell:)``), or there is a thrown error or a fault.
///
/// - Parameters:
///   - condition: The condition that must hold.
///   - sentence: A sentence with the type that was asked, the value that it was given and the values that it takes.
@usableFromInline package func demand(
    _ condition: Bool, _ sentence: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line
) {
    if !condition { fatalError(sentence(), file: file, line: line) }
}
