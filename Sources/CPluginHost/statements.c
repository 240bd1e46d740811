// Reads Turtle into a list of statements, in which each URI and each blank node stands once.

#include "internal.h"

#ifdef CLV2_HAS_LILV

#include "statements.h"
#include <serd-0/serd/serd.h>

LINKS_WITH("serd-0");

/// Turtle's brackets, which the reader follows by recursion.
enum { DEEPEST = 100 };

struct reading {
    struct clv2_statements *statements;
    SerdEnv *environment;
};

static bool fails(struct clv2_statements *statements, const char *problem) {
    if (!statements->problem) statements->problem = problem;
    return false;
}

static uint64_t hash_of(uint8_t kind, const char *text) {
    uint64_t hash = 0xcbf29ce484222325u ^ kind;
    for (; *text; text++) hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
    return hash ^ hash >> 32;
}

static uint32_t *slot_of(const struct clv2_statements *statements, uint8_t kind, const char *text) {
    uint64_t at = hash_of(kind, text);
    for (;; at++) {
        uint32_t *slot = &statements->slots[at & (statements->slot_count - 1)];
        if (!*slot) return slot;
        const struct clv2_node *node = &statements->nodes[*slot - 1];
        if (node->kind == kind && strcmp(node->text, text) == 0) return slot;
    }
}

// Makes room for one more of each. Blank nodes and URIs have a slot; the table is never more than half full.
static bool grow(struct clv2_statements *statements) {
    if (statements->count == statements->room) {
        uint32_t room = statements->room ? statements->room * 2 : 256;
        struct clv2_statement *list = reallocarray(statements->list, room, sizeof *list);
        if (!list) return false;
        statements->list = list;
        statements->room = room;
    }
    if (statements->node_count + 4 <= statements->node_room) return true;
    uint32_t room = statements->node_room ? statements->node_room * 2 : 256;
    struct clv2_node *nodes = reallocarray(statements->nodes, room, sizeof *nodes);
    if (!nodes) return false;
    statements->nodes = nodes;
    statements->node_room = room;
    uint32_t *slots = calloc((size_t)room * 2, sizeof *slots);
    if (!slots) return false;
    free(statements->slots);
    statements->slots = slots;
    statements->slot_count = room * 2;
    for (uint32_t i = 0; i < statements->node_count; i++)
        if (nodes[i].kind != CLV2_LITERAL) *slot_of(statements, nodes[i].kind, nodes[i].text) = i + 1;
    return true;
}

static uint32_t add(struct clv2_statements *statements, uint8_t kind, const char *text, const char *datatype) {
    uint32_t *slot = kind == CLV2_LITERAL ? NULL : slot_of(statements, kind, text);
    if (slot && *slot) return *slot - 1;
    struct clv2_node node = {.kind = kind, .text = strdup(text), .datatype = datatype ? strdup(datatype) : NULL};
    if (!node.text || (datatype && !node.datatype)) return free((char *)node.text), CLV2_NO_NODE;
    statements->nodes[statements->node_count++] = node;
    if (slot) *slot = statements->node_count;
    return statements->node_count - 1;
}

// The node with its whole URI.
static uint32_t add_node(struct reading *reading, const SerdNode *node, const SerdNode *datatype) {
    struct clv2_statements *statements = reading->statements;
    uint32_t result = CLV2_NO_NODE;
    if (node->type == SERD_BLANK) return add(statements, CLV2_BLANK, (const char *)node->buf, NULL);
    const SerdNode *name = node->type == SERD_LITERAL ? datatype : node;
    bool has_name = name && name->buf && name->type != SERD_NOTHING;
    SerdNode whole = has_name ? serd_env_expand_node(reading->environment, name) : SERD_NODE_NULL;
    // lilv leaves out what has no whole name.
    if (has_name && (!whole.buf || !serd_uri_string_has_scheme(whole.buf)))
        fails(statements, "has a name that is not whole");
    else if (node->type == SERD_LITERAL)
        result = add(statements, CLV2_LITERAL, (const char *)node->buf, (const char *)whole.buf);
    else if (whole.buf)
        result = add(statements, CLV2_URI, (const char *)whole.buf, NULL);
    serd_node_free(&whole);
    return result;
}

static SerdStatus on_base(void *pointer, const SerdNode *uri) {
    return serd_env_set_base_uri(((struct reading *)pointer)->environment, uri);
}

static SerdStatus on_prefix(void *pointer, const SerdNode *name, const SerdNode *uri) {
    return serd_env_set_prefix(((struct reading *)pointer)->environment, name, uri);
}

static SerdStatus on_statement(
    void *pointer, SerdStatementFlags flags, const SerdNode *graph, const SerdNode *subject, const SerdNode *predicate,
    const SerdNode *object, const SerdNode *datatype, const SerdNode *language) {
    struct reading *reading = pointer;
    struct clv2_statements *statements = reading->statements;
    (void)flags, (void)graph, (void)language;
    if (!grow(statements)) return fails(statements, "is too long for the memory"), SERD_ERR_INTERNAL;
    struct clv2_statement statement = {
        add_node(reading, subject, NULL), add_node(reading, predicate, NULL), add_node(reading, object, datatype)};
    if (statement.subject == CLV2_NO_NODE || statement.predicate == CLV2_NO_NODE || statement.object == CLV2_NO_NODE)
        return fails(statements, "has a name that is not whole"), SERD_ERR_INTERNAL;
    struct clv2_node *nodes = statements->nodes, *inner = &nodes[statement.object];
    if (inner->uses < UINT16_MAX) inner->uses++;
    if (inner->kind == CLV2_BLANK) {
        bool goes_on = strcmp(nodes[statement.predicate].text, LILV_NS_RDF "rest") == 0;
        inner->depth = (uint16_t)(nodes[statement.subject].depth + !goes_on);
        if (inner->depth > DEEPEST) return fails(statements, "has more than 100 brackets in one another"), SERD_ERR_INTERNAL;
    }
    statements->list[statements->count++] = statement;
    return SERD_SUCCESS;
}

static SerdStatus on_end(void *pointer, const SerdNode *node) { return (void)pointer, (void)node, SERD_SUCCESS; }

static SerdStatus on_error(void *pointer, const SerdError *error) {
    struct clv2_statements *statements = ((struct reading *)pointer)->statements;
    if (!statements->line) statements->line = error->line;
    fails(statements, "is not Turtle");
    return SERD_SUCCESS;
}

static bool read_all(struct clv2_statements *statements, const char *text, const char *path) {
    SerdNode base = path ? serd_node_new_file_uri((const uint8_t *)path, NULL, NULL, true) : SERD_NODE_NULL;
    struct reading reading = {statements, serd_env_new(&base)};
    SerdReader *reader =
        serd_reader_new(SERD_TURTLE, &reading, NULL, on_base, on_prefix, on_statement, on_end);
    if (!reading.environment || !reader || !grow(statements)) {
        fails(statements, "is too long for the memory");
    } else {
        static const char *const prefixes[][2] = {
            {"atom", LV2_ATOM_PREFIX}, {"lv2", LV2_CORE_PREFIX}, {"pset", LV2_PRESETS_PREFIX}, {"rdf", LILV_NS_RDF},
            {"rdfs", LILV_NS_RDFS}, {"state", LV2_STATE_PREFIX}, {"xsd", LILV_NS_XSD}};
        for (size_t i = 0; !path && i < sizeof prefixes / sizeof *prefixes; i++)
            serd_env_set_prefix_from_strings(
                reading.environment, (const uint8_t *)prefixes[i][0], (const uint8_t *)prefixes[i][1]);
        serd_reader_set_error_sink(reader, on_error, &reading);
        SerdStatus status = path ? serd_reader_read_file(reader, base.buf) : serd_reader_read_string(reader, (const uint8_t *)text);
        if (status > SERD_FAILURE) fails(statements, "is not Turtle");
    }
    if (reader) serd_reader_free(reader);
    serd_env_free(reading.environment);
    serd_node_free(&base);
    return !statements->problem;
}

bool clv2_read_text(struct clv2_statements *statements, const char *text) { return read_all(statements, text, NULL); }
bool clv2_read_file(struct clv2_statements *statements, const char *path) { return read_all(statements, NULL, path); }

void clv2_statements_free(struct clv2_statements *statements) {
    for (uint32_t i = 0; i < statements->node_count; i++)
        free((char *)statements->nodes[i].text), free((char *)statements->nodes[i].datatype);
    free(statements->nodes);
    free(statements->list);
    free(statements->slots);
    *statements = (struct clv2_statements){0};
}

static int by_subject(const void *a, const void *b) {
    const struct clv2_statement *one = a, *other = b;
    return one->subject < other->subject ? -1 : one->subject > other->subject;
}

void clv2_sort_statements(struct clv2_statements *statements) {
    if (statements->count) qsort(statements->list, statements->count, sizeof *statements->list, by_subject);
    for (uint32_t i = statements->count; i-- > 0;) {
        struct clv2_node *subject = &statements->nodes[statements->list[i].subject];
        subject->first = i;
        subject->count++;
    }
}

uint32_t clv2_uri_node(const struct clv2_statements *statements, const char *uri) {
    uint32_t found = statements->slot_count ? *slot_of(statements, CLV2_URI, uri) : 0;
    return found ? found - 1 : CLV2_NO_NODE;
}

uint32_t clv2_object(const struct clv2_statements *statements, uint32_t subject, const char *predicate, int *count) {
    const struct clv2_node *node = &statements->nodes[subject];
    uint32_t found = CLV2_NO_NODE, wanted = clv2_uri_node(statements, predicate);
    *count = 0;
    for (uint32_t i = node->first; i < node->first + node->count; i++) {
        if (statements->list[i].predicate != wanted) continue;
        found = statements->list[i].object;
        ++*count;
    }
    return *count == 1 ? found : CLV2_NO_NODE;
}

#endif
