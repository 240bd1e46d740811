#include "buffer.h"
#include "demangle.h"

#include <string.h>

// The text without what stands in angle brackets; those of operators stay.
static void add_without_templates(struct buffer *out, const char *text) {
    int depth = 0;
    for (; *text; text++) {
        if (!depth && starts_with(text, "operator") && strchr("<>-", text[8])) {
            size_t length = 8 + strspn(text + 8, "<>=-");
            add_bytes(out, text, length);
            text += length - 1;
        } else if (*text == '<') {
            depth++;
        } else if (*text == '>' && depth && text[-1] != '-') {
            depth--;
        } else if (!depth) {
            add_bytes(out, text, 1);
        }
    }
}

static const char *behind_parameters(const char *text) {
    int depth = 0;
    for (; *text; text++) {
        if (*text == '(') depth++;
        if (*text == ')' && !--depth) return text + 1;
    }
    return text;
}

const char *short_cpp_name(const char *whole) {
    static const char noise[] = "(anonymous namespace)::";
    struct buffer plain = {0}, out = {0};
    add_without_templates(&plain, whole);
    const char *start = plain.text ? plain.text : "", *at = start;
    // The result stands before the last blank outside of brackets, the parameters from the bracket on.
    int depth = 0;
    for (const char *end = start; *end; end++) {
        if (starts_with(end, noise)) {
            end += strlen(noise) - 1;
            continue;
        }
        if (*end == '(' && !depth && !starts_with(behind_parameters(end), "::") &&
            !ends_with(intern_part(start, (size_t)(end - start)), "operator"))
            break;
        if (*end == '(' || *end == '{') depth++;
        if ((*end == ')' || *end == '}') && depth) depth--;
        if (*end == ' ' && !depth && !starts_with(end - 8 < start ? start : end - 8, "operator")) at = end + 1;
    }
    depth = 0;
    for (; *at; at++) {
        if (starts_with(at, noise)) {
            at += strlen(noise) - 1;
            continue;
        }
        if (*at == '(' && !depth && !ends_with(out.text, "operator")) {
            // The parameters end the name, unless something is nested in the function: "f(int)::{lambda(int)#1}".
            const char *close = behind_parameters(at);
            if (!starts_with(close, "::")) break;
            at = close - 1;
            continue;
        }
        if (*at == '{') depth++;
        if (*at == '}' && depth) depth--;
        add_bytes(&out, at, 1);
    }
    const char *name = out.length ? intern(out.text) : whole;
    release(&plain);
    release(&out);
    return name;
}
