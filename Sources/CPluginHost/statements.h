// What a text or a file in Turtle says, read by the library that lilv reads with.

#ifndef CPLUGINHOST_STATEMENTS_H
#define CPLUGINHOST_STATEMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CLV2_URI, CLV2_BLANK, CLV2_LITERAL };

struct clv2_node {
    uint8_t kind;
    /// How many brackets it is in, and how often it is an object.
    uint16_t depth, uses;
    const char *text, *datatype;
    /// Its statements: a range in `by_subject`.
    uint32_t first, count;
};

struct clv2_statement {
    uint32_t subject, predicate, object;
};

struct clv2_statements {
    struct clv2_node *nodes;
    struct clv2_statement *list;
    uint32_t node_count, count;
    uint32_t node_room, room, slot_count;
    uint32_t *slots;
    /// What is wrong with the text, or with what it says: an end of a sentence.
    const char *problem;
    /// The line that is wrong, or 0.
    unsigned line;
};

/// Not a node.
#define CLV2_NO_NODE UINT32_MAX

void clv2_statements_free(struct clv2_statements *statements);

/// Read a text, and a file; false: `problem` says why.
bool clv2_read_text(struct clv2_statements *statements, const char *text);
bool clv2_read_file(struct clv2_statements *statements, const char *path);

/// Sorts the statements by their subjects; before the functions that follow.
void clv2_sort_statements(struct clv2_statements *statements);
uint32_t clv2_uri_node(const struct clv2_statements *statements, const char *uri);
/// The object of a subject's only statement with a predicate, or no node. `count`: how many there are.
uint32_t clv2_object(const struct clv2_statements *statements, uint32_t subject, const char *predicate, int *count);

#endif
