// Names of Swift and C++ functions in readable form.

#ifndef COMMAND_DEMANGLE_H
#define COMMAND_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

bool is_swift_symbol(const char *symbol);
bool is_cpp_symbol(const char *symbol);

// Prepares the names of many symbols at once; `library` is the watched program's libswiftCore.so or NULL.
void prepare_names(const char **symbols, size_t count, const char *library);

// The whole demangled text of a prepared symbol, interned; NULL when it cannot be had.
const char *demangled(const char *symbol);
const char *swift_names_by(void);

// "closure #1 (inout Demo.Context) -> () in Demo.Voice.render(Swift.Int) -> ()" becomes
// "closure #1 in Voice.render(_:)".
const char *short_swift_name(const char *whole);
// "void demo::Voice<float>::render(int) const" becomes "demo::Voice::render".
const char *short_cpp_name(const char *whole);
// The module whose source the function stands in: "Demo"; for an extension the module of the extension.
const char *swift_module(const char *whole);
// Thunks, witnesses, outlined copies: made by the compiler, without a line of their own.
bool is_swift_helper(const char *whole);

#endif
