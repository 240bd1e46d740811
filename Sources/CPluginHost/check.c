// Checks a state before lilv reads it: lilv takes what stands there to be what it itself would have written.

#include "internal.h"

#ifdef CLV2_HAS_LILV

#include "statements.h"
#include <ctype.h>
#include <unistd.h>

/// lilv follows a list by recursion.
enum { LONGEST = 10000 };

static bool fails(struct clv2_statements *statements, const char *problem) {
    if (!statements->problem) statements->problem = problem;
    return false;
}

static bool is_literal(const struct clv2_statements *statements, uint32_t node) {
    return node != CLV2_NO_NODE && statements->nodes[node].kind == CLV2_LITERAL;
}

bool clv2_is_uri(const char *word) {
    if (!isalpha((unsigned char)*word)) return false;
    const char *c = word;
    while (isalnum((unsigned char)*c) || *c == '+' || *c == '-' || *c == '.') c++;
    if (*c != ':') return false;
    for (; *c; c++)
        if ((unsigned char)*c <= ' ' || strchr("<>\"{}|^`\\", *c)) return false;
    return true;
}

static bool has_text(const struct clv2_statements *statements, uint32_t node, uint8_t kind, const char *text) {
    return node != CLV2_NO_NODE && statements->nodes[node].kind == kind && strcmp(statements->nodes[node].text, text) == 0;
}

static bool check_value(struct clv2_statements *statements, uint32_t value);

/// The bytes of a MIDI message are pairs of digits.
static bool check_literal(struct clv2_statements *statements, const struct clv2_node *node) {
    if (!node->datatype || strcmp(node->datatype, LV2_MIDI__MidiEvent) != 0) return true;
    size_t digits = strspn(node->text, "0123456789abcdefABCDEF");
    if (node->text[digits] || digits % 2) return fails(statements, "holds a MIDI message that is none");
    return true;
}

static bool check_uri(struct clv2_statements *statements, const struct clv2_node *node) {
    if (strncmp(node->text, "file:", 5) == 0 && strncmp(node->text, "file:///", 8) != 0)
        return fails(statements, "names a file without its path");
    return true;
}

/// A list whose items are checked.
static bool check_list(
    struct clv2_statements *statements, uint32_t list, bool (*check_item)(struct clv2_statements *, uint32_t)) {
    int firsts, rests;
    for (int length = 0; !has_text(statements, list, CLV2_URI, LILV_NS_RDF "nil"); length++) {
        if (list == CLV2_NO_NODE || statements->nodes[list].kind != CLV2_BLANK || statements->nodes[list].uses != 1)
            return fails(statements, "holds a list that is none");
        if (length == LONGEST) return fails(statements, "holds a list of more than 10,000 items");
        uint32_t item = clv2_object(statements, list, LILV_NS_RDF "first", &firsts);
        uint32_t rest = clv2_object(statements, list, LILV_NS_RDF "rest", &rests);
        if (firsts != 1 || rests != 1) return fails(statements, "holds a list that is none");
        if (!check_item(statements, item)) return false;
        list = rest;
    }
    return true;
}

static bool check_number(struct clv2_statements *statements, uint32_t item) {
    static const char *const types[] = {"int", "integer", "long", "float", "decimal", "double", "boolean"};
    const char *type = is_literal(statements, item) ? statements->nodes[item].datatype : NULL;
    for (size_t i = 0; type && i < sizeof types / sizeof *types; i++)
        if (strncmp(type, LILV_NS_XSD, strlen(LILV_NS_XSD)) == 0 && strcmp(type + strlen(LILV_NS_XSD), types[i]) == 0) return true;
    return fails(statements, "holds a vector of what is no number");
}

static bool check_event(struct clv2_statements *statements, uint32_t event) {
    int beats, frames, values;
    if (statements->nodes[event].kind != CLV2_BLANK || statements->nodes[event].uses != 1)
        return fails(statements, "holds an event without a time");
    uint32_t beat = clv2_object(statements, event, LV2_ATOM__beatTime, &beats);
    uint32_t frame = clv2_object(statements, event, LV2_ATOM__frameTime, &frames);
    if (beats + frames != 1 || !is_literal(statements, beats ? beat : frame))
        return fails(statements, "holds an event without a time");
    uint32_t value = clv2_object(statements, event, LILV_NS_RDF "value", &values);
    return values == 1 ? check_value(statements, value) : fails(statements, "holds an event without a value");
}

/// URIs as members are numbers in an atom.
static bool check_vector(struct clv2_statements *statements, uint32_t node, uint32_t value) {
    static const char *const types[] = {LV2_ATOM__Int, LV2_ATOM__Long, LV2_ATOM__Float, LV2_ATOM__Double, LV2_ATOM__Bool};
    int count;
    uint32_t child = clv2_object(statements, node, LV2_ATOM__childType, &count);
    for (size_t i = 0; count == 1 && i < sizeof types / sizeof *types; i++)
        if (has_text(statements, child, CLV2_URI, types[i])) return check_list(statements, value, check_number);
    if (count == 1 && has_text(statements, child, CLV2_URI, LV2_ATOM__URID)) return check_list(statements, value, check_value);
    return fails(statements, "holds a vector without a type");
}

static bool check_members(struct clv2_statements *statements, uint32_t node) {
    const struct clv2_node *subject = &statements->nodes[node];
    for (uint32_t i = subject->first; i < subject->first + subject->count; i++)
        if (!check_value(statements, statements->list[i].object)) return false;
    return true;
}

/// What stands in brackets: a tuple, a sequence, a vector, bytes with a type, or an object.
static bool check_brackets(struct clv2_statements *statements, uint32_t node) {
    int types, values;
    uint32_t type = clv2_object(statements, node, LILV_NS_RDF "type", &types);
    uint32_t value = clv2_object(statements, node, LILV_NS_RDF "value", &values);
    // What is used twice could lead back to itself.
    if (statements->nodes[node].uses != 1) return fails(statements, "uses the content of brackets twice");
    if (types > 1 || values > 1) return fails(statements, "holds something of several types or values");
    if (has_text(statements, type, CLV2_URI, LV2_ATOM__Tuple)) return check_list(statements, value, check_value);
    if (has_text(statements, type, CLV2_URI, LV2_ATOM__Sequence)) return check_list(statements, value, check_event);
    if (has_text(statements, type, CLV2_URI, LV2_ATOM__Vector)) return check_vector(statements, node, value);
    return check_members(statements, node);
}

static bool check_value(struct clv2_statements *statements, uint32_t value) {
    const struct clv2_node *node = &statements->nodes[value];
    switch (node->kind) {
    case CLV2_LITERAL: return check_literal(statements, node);
    case CLV2_URI: return check_uri(statements, node);
    default: return check_brackets(statements, value);
    }
}

static bool check_port(struct clv2_statements *statements, uint32_t port) {
    int symbols, values, defaults, labels;
    if (statements->nodes[port].kind == CLV2_LITERAL) return fails(statements, "has a port that is none");
    uint32_t symbol = clv2_object(statements, port, LV2_CORE__symbol, &symbols);
    uint32_t value = clv2_object(statements, port, LV2_PRESETS__value, &values);
    uint32_t initial = clv2_object(statements, port, LV2_CORE__default, &defaults);
    uint32_t label = clv2_object(statements, port, LILV_NS_RDFS "label", &labels);
    if (symbols != 1 || !is_literal(statements, symbol)) return fails(statements, "has a port without a symbol");
    if (values > 1 || defaults > 1) return fails(statements, "has a port of several values");
    if (labels == 1 && !is_literal(statements, label)) return fails(statements, "has a port with a name that is none");
    if (values) return check_value(statements, value);
    return !defaults || check_value(statements, initial);
}

static bool check_state(struct clv2_statements *statements, uint32_t subject) {
    const struct clv2_node *node = &statements->nodes[subject];
    uint32_t port = clv2_uri_node(statements, LV2_CORE__port), state = clv2_uri_node(statements, LV2_STATE__state);
    uint32_t applies = clv2_uri_node(statements, LV2_CORE__appliesTo);
    int states = 0;
    for (uint32_t i = node->first; i < node->first + node->count; i++) {
        uint32_t predicate = statements->list[i].predicate, object = statements->list[i].object;
        const struct clv2_node *value = &statements->nodes[object];
        if (predicate == applies && value->kind != CLV2_URI) return fails(statements, "names a plug-in that is none");
        if (predicate == port && !check_port(statements, object)) return false;
        if (predicate != state) continue;
        if (value->kind == CLV2_LITERAL || ++states > 1) return fails(statements, "has a content that is none");
        if (!check_members(statements, object)) return false;
    }
    return true;
}

/// The only state of a text, which has to say whose it is.
static bool check_subject(struct clv2_statements *statements, const char *uri) {
    uint32_t subject = clv2_uri_node(statements, uri), kind = clv2_uri_node(statements, LV2_PRESETS__Preset), states = 0;
    uint32_t type = clv2_uri_node(statements, LILV_NS_RDF "type");
    int owners;
    for (uint32_t i = 0; i < statements->count; i++) {
        if (statements->list[i].predicate != type || statements->list[i].object != kind) continue;
        if (statements->list[i].subject != subject) return fails(statements, "holds another one's too");
        states++;
    }
    if (subject == CLV2_NO_NODE || states != 1) return fails(statements, "has no state in it");
    clv2_object(statements, subject, LV2_CORE__appliesTo, &owners);
    if (owners != 1) return fails(statements, "does not name its plug-in");
    return check_state(statements, subject);
}

static void say(const struct clv2_statements *statements, const char *what, char *error) {
    if (statements->line)
        clv2_say(error, "%s: it %s (line %u)", what, statements->problem, statements->line);
    else
        clv2_say(error, "%s: it %s", what, statements->problem);
}

bool clv2_check_text(const char *text, const char *subject, char *error) {
    struct clv2_statements statements = {0};
    // The reader looks behind the end of a text that is empty.
    bool is_good = *text ? clv2_read_text(&statements, text) : fails(&statements, "has no state in it");
    clv2_sort_statements(&statements);
    is_good = is_good && check_subject(&statements, subject);
    if (!is_good) say(&statements, "the text is not the whole state of a plug-in", error);
    clv2_statements_free(&statements);
    return is_good;
}

/// lilv sorts these by their URIs, which what stands in brackets has not.
bool clv2_check_manifest(const char *path) {
    static const char *const kinds[] = {LV2_CORE__Plugin, LV2_CORE__Specification, "http://www.w3.org/2002/07/owl#Ontology"};
    struct clv2_statements statements = {0};
    bool is_good = true;
    clv2_read_file(&statements, path);
    uint32_t type = clv2_uri_node(&statements, LILV_NS_RDF "type");
    for (uint32_t i = 0; i < statements.count; i++) {
        const struct clv2_statement *statement = &statements.list[i];
        if (statement->predicate != type || statements.nodes[statement->subject].kind != CLV2_BLANK) continue;
        for (size_t j = 0; j < sizeof kinds / sizeof *kinds; j++)
            if (has_text(&statements, statement->object, CLV2_URI, kinds[j])) is_good = false;
    }
    clv2_statements_free(&statements);
    return is_good;
}

bool clv2_check_file(const char *path, const char *subject, char *error) {
    struct clv2_statements statements = {0};
    bool is_good = clv2_read_file(&statements, path);
    clv2_sort_statements(&statements);
    uint32_t node = clv2_uri_node(&statements, subject);
    is_good = is_good && (node == CLV2_NO_NODE || check_state(&statements, node));
    if (!is_good) {
        char what[300];
        snprintf(what, sizeof what, "the file %.200s is damaged", path);
        say(&statements, what, error);
    }
    clv2_statements_free(&statements);
    return is_good;
}

static bool check_node_files(const LilvNodes *files, const char *subject, bool needs_all, char *error) {
    bool is_good = true;
    LILV_FOREACH (nodes, i, files) {
        const LilvNode *file = lilv_nodes_get(files, i);
        char *path = is_good && lilv_node_is_uri(file) ? lilv_node_get_path(file, NULL) : NULL;
        bool is_there = path && access(path, R_OK) == 0;
        if (is_there) is_good = clv2_check_file(path, subject, error);
        if (path && !is_there && needs_all) {
            clv2_say(error, "the file %.200s cannot be read", path);
            is_good = false;
        }
        lilv_free(path);
    }
    return is_good;
}

bool clv2_check_files(
    LilvWorld *world, const LilvPlugin *plugin, const LilvNode *subject, bool needs_all, char *error) {
    const char *uri = lilv_node_as_uri(subject);
    LilvNode *also = lilv_new_uri(world, LILV_NS_RDFS "seeAlso");
    LilvNodes *files = lilv_world_find_nodes(world, subject, also, NULL);
    bool is_good = check_node_files(files, uri, needs_all, error) &&
                   check_node_files(lilv_plugin_get_data_uris(plugin), uri, false, error);
    lilv_nodes_free(files);
    lilv_node_free(also);
    return is_good;
}

#endif
