#include "buffer.h"
#include "findings.h"

#include <stdlib.h>
#include <string.h>

static const struct frame *frame_of(const struct finding *finding) {
    return finding->place >= 0 ? finding->frames[finding->place] : NULL;
}

// The compiler writes the same path whole in one place and, seen from where it was started, in another.
static bool same_file(const char *a, const char *b) {
    if (a == b) return true;
    if (!a || !b) return false;
    const char *longer = *a == '/' ? a : b, *shorter = *a == '/' ? b : a;
    size_t more = strlen(longer), length = strlen(shorter);
    return *shorter != '/' && more > length && longer[more - length - 1] == '/' && ends_with(longer, shorter);
}

static bool same_frame(const struct frame *a, const struct frame *b) {
    if (a == b) return true;
    if (!a || !b || a->function != b->function || a->module != b->module) return false;
    // Without a line, the function is all there is to tell places apart; without that, the address.
    if (a->file || b->file) return same_file(a->file, b->file) && a->line == b->line;
    return a->function ? true : a->offset == b->offset;
}

static int kind_of(const struct finding *finding) {
    return finding->kind == RTWATCH_SYSCALL ? RTWATCH_CALL : finding->kind;
}

static bool fits_kind(const struct finding *finding, int kind) {
    return kind_of(finding) == kind || (kind == RTWATCH_CALL && finding->kind == RTWATCH_HANG);
}

static bool same_stack(const struct finding *a, const struct finding *b) {
    if (a->call != b->call || a->foreign != b->foreign || a->kind != b->kind || a->tier != b->tier ||
        a->frame_count != b->frame_count)
        return false;
    for (int i = 0; i < a->frame_count; i++)
        if (!same_frame(a->frames[i], b->frames[i])) return false;
    return true;
}

static void join(struct finding *into, const struct finding *from) {
    into->count += from->count;
    if (from->first_cycle < into->first_cycle) into->first_cycle = from->first_cycle;
    if (from->last_cycle > into->last_cycle) into->last_cycle = from->last_cycle;
    if (from->first_time < into->first_time) into->first_time = from->first_time;
    if (from->last_time > into->last_time) into->last_time = from->last_time;
    into->measured += from->measured;
    into->total += from->total;
    if (from->longest > into->longest) into->longest = from->longest;
    for (uint32_t i = 0; i < from->thread_count && into->process == from->process; i++) {
        bool known = false;
        for (uint32_t j = 0; j < into->thread_count; j++) known = known || into->threads[j] == from->threads[i];
        if (!known && into->thread_count < FINDING_THREADS) into->threads[into->thread_count++] = from->threads[i];
    }
}

// Stacks that differ by an address only (two calls on one line) read the same: one of them stands for both.
static void add_to_place(struct place *place, const struct finding *finding) {
    for (struct finding *other = place->findings; other; other = other->next)
        if (same_stack(other, finding)) {
            join(other, finding);
            return;
        }
    struct finding *copy = allocate(sizeof *copy);
    *copy = *finding;
    copy->next = place->findings;
    place->findings = copy;
    place->finding_count++;
}

static int by_count(const void *a, const void *b) {
    const struct finding *first = *(struct finding *const *)a, *second = *(struct finding *const *)b;
    if (first->tier != second->tier) return first->tier < second->tier ? -1 : 1;
    if (first->count != second->count) return first->count > second->count ? -1 : 1;
    return first->first_time < second->first_time ? -1 : first->first_time > second->first_time;
}

static void sort_findings(struct place *place) {
    struct finding **list = allocate((size_t)place->finding_count * sizeof *list), *at = place->findings;
    for (int i = 0; i < place->finding_count; i++, at = at->next) list[i] = at;
    qsort(list, (size_t)place->finding_count, sizeof *list, by_count);
    for (int i = 0; i < place->finding_count; i++) list[i]->next = i + 1 < place->finding_count ? list[i + 1] : NULL;
    place->findings = list[0];
    place->advice = list[0]->advice;
    free(list);
}

static int worst_first(const void *a, const void *b) {
    const struct place *first = a, *second = b;
    if (first->tier != second->tier) return first->tier < second->tier ? -1 : 1;
    if (first->count != second->count) return first->count > second->count ? -1 : 1;
    return first->first_cycle < second->first_cycle ? -1 : first->first_cycle > second->first_cycle;
}

struct place_list find_places(int kind) {
    struct place_list places = {0};
    for (int i = 0; i < finding_count(); i++) {
        struct finding *finding = finding_at(i);
        if (finding->suppressed || !fits_kind(finding, kind)) continue;
        const struct frame *frame = frame_of(finding);
        const char *called = finding->called;
        struct place *place = NULL;
        for (int j = 0; j < places.count && !place; j++) {
            struct place *other = &places.list[j];
            if (other->kind == kind_of(finding) && same_frame(other->frame, frame)
                && other->findings->foreign == finding->foreign
                && (other->called == called || other->advice == finding->advice)) place = other;
        }
        if (!place) {
            places.list = reallocate(places.list, (size_t)(places.count + 1) * sizeof *places.list);
            place = &places.list[places.count++];
            *place = (struct place){.frame = frame, .called = called, .tier = finding->tier, .kind = kind_of(finding),
                .first_cycle = finding->first_cycle, .last_cycle = finding->last_cycle, .advice = finding->advice};
        }
        if (finding->tier < place->tier) place->tier = finding->tier;
        if (finding->first_cycle < place->first_cycle) place->first_cycle = finding->first_cycle;
        if (finding->last_cycle > place->last_cycle) place->last_cycle = finding->last_cycle;
        if (finding->longest > place->longest) place->longest = finding->longest;
        place->count += finding->count;
        add_to_place(place, finding);
    }
    for (int i = 0; i < places.count; i++) sort_findings(&places.list[i]);
    if (places.count) qsort(places.list, (size_t)places.count, sizeof *places.list, worst_first);
    return places;
}
