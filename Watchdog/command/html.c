#include "report.h"

#include <string.h>

// The page, its style and its program stand in the folder beside this file and are put into the command as they are.
#define INCLUDE_FILE(name, file) \
    __asm__(".section .rodata\n.global " #name "\n" #name ":\n.incbin \"" file "\"\n.byte 0\n.previous\n"); \
    extern const char name[];

INCLUDE_FILE(page_html, "page/page.html")
INCLUDE_FILE(page_css, "page/page.css")
INCLUDE_FILE(page_js, "page/page.js")

static void add_part(struct buffer *out, const char *name, const struct report *report) {
    if (starts_with(name, "STYLE")) add_text(out, page_css);
    else if (starts_with(name, "PROGRAM")) add_text(out, page_js);
    // Nothing in the JSON can end the script element: it has no "<".
    else write_json(report, out);
}

// "{{NAME}}" in the page stands for the part of that name.
void write_html(const struct report *report, struct buffer *out) {
    const char *at = page_html;
    for (const char *mark; (mark = strstr(at, "{{"));) {
        const char *end = strstr(mark, "}}");
        add_bytes(out, at, (size_t)(mark - at));
        add_part(out, mark + 2, report);
        at = end ? end + 2 : mark + 2;
    }
    add_text(out, at);
}
