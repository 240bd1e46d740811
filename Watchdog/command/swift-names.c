#include "buffer.h"
#include "demangle.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// The first place of `what` in `text` that is in no bracket, or NULL. An arrow's ">" closes nothing.
static const char *outside(const char *text, const char *what) {
    int depth = 0;
    size_t length = strlen(what);
    for (const char *at = text; *at; at++) {
        if (!depth && at > text && !strncmp(at, what, length)) return at;
        if (*at == '(' || *at == '<' || *at == '[') depth++;
        if ((*at == ')' || *at == ']' || (*at == '>' && at > text && at[-1] != '-')) && depth) depth--;
    }
    return NULL;
}

static const char *behind_brackets(const char *text) {
    char open = *text, close = open == '<' ? '>' : open == '(' ? ')' : 0;
    int depth = 0;
    for (; close && *text; text++) {
        if (*text == open) depth++;
        if (*text == close && !(close == '>' && text[-1] == '-') && !--depth) return text + 1;
    }
    return text;
}

// "generic specialization <Swift.Float> of X", "merged X", "partial apply forwarder for X" -> X
static const char *without_wrapping(const char *text) {
    static const char *wrappings[] = {"generic specialization ", "generic partial specialization ",
        "generic not re-abstracted specialization ", "function signature specialization ", "pre-specialized "};
    static const char *words[] = {"merged ", "partial apply forwarder for ", "partial apply ", "@objc ", "@nonobjc ",
        "async function pointer to ", "dispatch thunk of ", "inlined generic function "};
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < sizeof wrappings / sizeof *wrappings; i++) {
            if (!starts_with(text, wrappings[i])) continue;
            const char *rest = text + strlen(wrappings[i]);
            rest = *rest == '<' ? behind_brackets(rest) : rest;
            if (!starts_with(rest, " of ")) return text;
            text = rest + 4;
            again = true;
        }
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (starts_with(text, words[i])) { text += strlen(words[i]); again = true; }
        // "(1) await resume partial function for X", "(2) suspend resume partial function for X"
        const char *resume =
            *text == '(' && isdigit((unsigned char)text[1]) ? strstr(text, "resume partial function for ") : NULL;
        if (resume) { text = resume + strlen("resume partial function for "); again = true; }
    }
    return text;
}

bool is_swift_helper(const char *whole) {
    static const char *helpers[] = {"outlined ", "protocol witness ", "reabstraction thunk", "type metadata ",
        "lazy protocol witness", "value witness", "metadata ", "generic type metadata", "instantiation function",
        "associated type", "symbolic ", "lazy cache", "thunk for ", "default associated", "@objc metaclass",
        "partial apply forwarder for reabstraction", "demangling cache", "nominal type descriptor"};
    if (starts_with(whole, "merged ")) whole += strlen("merged ");
    for (size_t i = 0; i < sizeof helpers / sizeof *helpers; i++)
        if (starts_with(whole, helpers[i])) return true;
    if (strstr(whole, " value witness for ")) return true;
    // These functions make and free an object around the code of init and deinit.
    return strstr(whole, ".__allocating_init(") || strstr(whole, ".unsafeMutableAddressor") ||
           strstr(whole, ".__deallocating_deinit") || strstr(whole, ".__isolated_deallocating_deinit");
}

// The innermost named context: what stands behind the last " in " outside of brackets.
static const char *context_of(const char *text) {
    text = without_wrapping(text);
    for (const char *in; (in = outside(text, " in "));) text = without_wrapping(in + 4);
    return text;
}

static const char *without_words(const char *text) {
    static const char *words[] = {"static ",
                                  "class ",
                                  "variable initialization expression of ",
                                  "default argument 0 of ",
                                  "one-time initialization function for ",
                                  "one-time initialization token for ",
                                  "property wrapper backing initializer of "};
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (starts_with(text, words[i])) { text += strlen(words[i]); again = true; }
    }
    return text;
}

const char *swift_module(const char *whole) {
    const char *text = without_words(context_of(whole));
    if (starts_with(text, "(extension in ")) {
        text += strlen("(extension in ");
        return intern_part(text, strcspn(text, ")"));
    }
    size_t length = strcspn(text, ".");
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)text[i]) && text[i] != '_' && !(text[i] & 0x80)) return NULL;
    return text[length] ? intern_part(text, length) : NULL;
}

// "(Swift.Float, by: Swift.Int)" -> "(_:by:)"
static const char *add_labels(struct buffer *out, const char *arguments) {
    const char *end = behind_brackets(arguments), *at = arguments + 1;
    add_text(out, "(");
    while (at < end - 1) {
        size_t name = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
        if (name && at[name] == ':') add(out, "%.*s:", (int)name, at);
        else add_text(out, "_:");
        int depth = 0;
        for (; at < end - 1; at++) {
            if (*at == '(' || *at == '<' || *at == '[') depth++;
            if (*at == ')' || *at == ']' || (*at == '>' && at[-1] != '-')) depth--;
            if (*at == ',' && !depth) break;
        }
        if (at < end - 1) at++;
        while (at < end - 1 && *at == ' ') at++;
    }
    add_text(out, ")");
    return end;
}

// One declaration: no module, no types, no result.
static void add_declaration(struct buffer *out, const char *text) {
    const char *rest = without_words(text);
    if (starts_with(text, "static ")) add_text(out, "static ");
    else add_bytes(out, text, (size_t)(rest - text));
    text = rest;
    if (starts_with(text, "(extension in ")) {
        text = behind_brackets(text);
        text += *text == ':';
    }
    size_t module = strcspn(text, ".(<: ");
    if (text[module] == '.' && module) text += module + 1;
    while (*text) {
        // A private name: "(render in _D1F0A5C7)".
        if (*text == '(' && outside(text + 1, " in _") && outside(text + 1, " in _") < behind_brackets(text)) {
            size_t name = strcspn(text + 1, " ");
            add_bytes(out, text + 1, name);
            text = behind_brackets(text);
        } else if (*text == '<' && out->length && (isalnum((unsigned char)out->text[out->length - 1])
                                                   || out->text[out->length - 1] == ')')) {
            text = behind_brackets(text);
        } else if (*text == '(') {
            text = add_labels(out, text);
            // The rest is a result, or a name nested in this function.
            if (*text != '.') return;
        } else if (starts_with(text, " : ") || starts_with(text, " -> ") || starts_with(text, " throws")
                   || starts_with(text, " async")) {
            return;
        } else {
            add_bytes(out, text++, 1);
        }
    }
}

const char *short_swift_name(const char *whole) {
    struct buffer out = {0};
    const char *text = without_wrapping(whole);
    for (const char *in; (in = outside(text, " in ")); text = without_wrapping(in + 4)) {
        // "closure #1 (inout Demo.Context) -> ()": only what it is and its number.
        const char *end = outside(text, " (");
        if (!end || end > in) end = in;
        const char *generic = outside(text, " <");
        if (generic && generic < end) end = generic;
        add_bytes(&out, text, (size_t)(end - text));
        add_text(&out, " in ");
    }
    // "__allocating_init", "unsafeMutableAddressor" and the like are helpers that read like a declaration.
    if (is_swift_helper(text) && !strstr(text, "locating_") && !strstr(text, ".unsafe")) add_text(&out, text);
    else add_declaration(&out, text);
    const char *name = intern(out.length ? out.text : whole);
    release(&out);
    return name;
}
