/// Ends the program with a sentence where a caller has made a mistake that no run can mend: a module of 1,000 channels, a
/// rate of 0.
///
/// `precondition` says its sentence in debug builds alone; in a release build its program ends in a bare trap. This one says
/// it in both. It is for initialisers and the control side. Whatever data or a running program can bring is not demanded: it is
/// clamped, thrown or a fault.
///
/// - Parameters:
///   - condition: The condition that must hold.
///   - sentence: A sentence with the type that was asked, the value that it was given and the values that it takes.
@usableFromInline package func demand(
    _ condition: Bool, _ sentence: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line
) {
    if !condition { fatalError(sentence(), file: file, line: line) }
}
