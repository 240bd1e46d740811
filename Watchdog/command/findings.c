#include "findings.h"

#include "buffer.h"
#include "ends.h"
#include "tails.h"

#include <stdlib.h>
#include <string.h>

#define MOST_FINDINGS 65536

static struct finding **table, **all;
static size_t capacity;
static int count;
static uint64_t dropped;
static void (*listener)(struct finding *, uint64_t);

void on_new_finding(void (*call)(struct finding *, uint64_t)) { listener = call; }
int finding_count(void) { return count; }
struct finding *finding_at(int index) { return all[index]; }
uint64_t findings_dropped(void) { return dropped; }

static uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 29;
}

static const char *joined(const char *before, const char *text, const char *after) {
    char *whole = format("%s%s%s", before, text, after);
    const char *kept = intern(whole);
    free(whole);
    return kept;
}

static const char *symbol_of(struct process *process, const struct rtwatch_record *record) {
    if (!record->name || record->name >= RTWATCH_NAMES) return NULL;
    const char *text = process->channel->names[record->name].name;
    const char *name = intern_part(text, strnlen(text, sizeof process->channel->names[record->name].name));
    return starts_with(name, "__libc_") ? intern(name + strlen("__libc_")) : name;
}

// C++'s operators have a name for each kind of their arguments.
static const char *operator_name(const char *symbol) {
    static const char *const names[][2] = {{"_Znw", "operator new"}, {"_Zna", "operator new[]"},
                                           {"_Zdl", "operator delete"}, {"_Zda", "operator delete[]"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (starts_with(symbol, names[i][0])) return intern(names[i][1]);
    return symbol;
}

static const char *call_of(struct process *process, const struct rtwatch_record *record) {
    static const char *const kinds[] = {"", "call", "system call", "page fault", "preemption", "hang", "deadline", "crash"};
    const char *name = symbol_of(process, record);
    if (record->kind == RTWATCH_SYSCALL) return system_call_name(record->argument);
    if (name) name = operator_name(name);
    if (record->kind == RTWATCH_HANG && name) return joined("hang in ", name, "");
    if (record->kind != RTWATCH_CALL || !name) return kinds[record->kind];
    // libc's function of that name: its first argument says which.
    return strcmp(name, "syscall") ? name : joined("syscall(", system_call_name(record->argument), ")");
}

static const char *foreign_of(struct process *process, const struct rtwatch_record *record) {
    if (!record->foreign || record->foreign >= RTWATCH_FOREIGN) return NULL;
    const struct rtwatch_foreign *foreign = &process->channel->foreign[record->foreign];
    return intern_part(foreign->name, strnlen(foreign->name, sizeof foreign->name));
}

static void grow(void) {
    size_t before = capacity;
    struct finding **old = table;
    capacity = before ? before * 2 : 1024;
    table = allocate(capacity * sizeof *table);
    for (size_t i = 0; i < before; i++) {
        if (!old[i]) continue;
        size_t at = old[i]->hash & (capacity - 1);
        while (table[at]) at = (at + 1) & (capacity - 1);
        table[at] = old[i];
    }
    free(old);
    all = reallocate(all, capacity * sizeof *all);
}

static int tier_of(const struct rtwatch_record *record) {
    return record->tier >= RTWATCH_BLOCKS && record->tier <= RTWATCH_NOTE ? record->tier : RTWATCH_NOTE;
}

static struct finding *find(struct process *process, const struct rtwatch_record *record, uint32_t depth) {
    const char *call = call_of(process, record), *foreign = foreign_of(process, record);
    uint64_t hash = mix((uintptr_t)foreign,
        mix(mix((uint64_t)process->index, (uint64_t)record->kind << 8 | (unsigned)tier_of(record)), (uintptr_t)call));
    for (uint32_t i = 0; i < depth; i++) hash = mix(hash, record->stack[i]);
    if ((size_t)count * 2 >= capacity) grow();
    size_t at = hash & (capacity - 1);
    for (; table[at]; at = (at + 1) & (capacity - 1)) {
        struct finding *known = table[at];
        if (known->hash == hash && known->call == call && known->kind == record->kind && known->tier == tier_of(record)
            && known->process == process && known->depth == depth && known->foreign == foreign
            && !known->left_out == !record->left_out
            && !memcmp(known->stack, record->stack, depth * sizeof *known->stack)) return known;
    }
    if (count == MOST_FINDINGS) return NULL;
    struct finding *finding = allocate(sizeof *finding);
    *finding = (struct finding){.process = process, .kind = record->kind, .tier = tier_of(record), .call = call,
        .symbol = symbol_of(process, record),
        .foreign = foreign, .system_call = record->kind == RTWATCH_SYSCALL, .first_cycle = record->cycle, .first_time = record->time,
        .depth = depth, .left_out = record->left_out, .place = -1, .hash = hash};
    memcpy(finding->stack, record->stack, depth * sizeof *finding->stack);
    table[at] = finding;
    return all[count++] = finding;
}

static void note_thread(struct finding *finding, uint32_t thread) {
    for (uint32_t i = 0; i < finding->thread_count; i++)
        if (finding->threads[i] == thread) return;
    if (finding->thread_count < FINDING_THREADS) finding->threads[finding->thread_count++] = thread;
}

// Was a power of ten passed on the way to `count`? The greatest, else 0.
static uint64_t power_of_ten_passed(uint64_t before, uint64_t count) {
    uint64_t passed = 0;
    for (uint64_t power = 1; power <= count && power < UINT64_MAX / 10; power *= 10)
        if (power > before) passed = power;
    return passed;
}

void take_record(struct process *process, const struct rtwatch_record *record) {
    struct repeats one = {.count = 1, .measured = record->duration > 0, .total = record->duration,
        .longest = record->duration, .last_cycle = record->cycle, .last_time = record->time};
    take_repeats(process, record, &one);
}

void take_repeats(struct process *process, const struct rtwatch_record *record, const struct repeats *more) {
    // A program that writes where it should not may have changed anything.
    if (record->kind < RTWATCH_CALL || record->kind > RTWATCH_CRASH || record->kind == RTWATCH_DEADLINE) return;
    uint32_t depth = record->depth < RTWATCH_STACK_DEPTH ? record->depth : RTWATCH_STACK_DEPTH;
    struct finding *finding = find(process, record, depth);
    if (!finding) {
        dropped += more->count;
        return;
    }
    uint64_t before = finding->count;
    finding->count += more->count;
    if (record->kind == RTWATCH_CRASH) {
        finding->signal = (int)record->argument;
        finding->handled = record->handled;
        if (record->time > finding->last_time) finding->last_time = record->time;
        finding->address = record->duration;
        if (record->thread < RTWATCH_THREADS) note_thread(finding, record->thread);
        return;
    }
    if (record->cycle < finding->first_cycle) finding->first_cycle = record->cycle;
    if (more->last_cycle > finding->last_cycle) finding->last_cycle = more->last_cycle;
    if (record->time < finding->first_time) finding->first_time = record->time;
    if (more->last_time > finding->last_time) finding->last_time = more->last_time;
    if (more->measured) {
        finding->measured += more->measured;
        finding->total += more->total;
        if (more->longest > finding->longest) finding->longest = more->longest;
    }
    if (record->kind == RTWATCH_HANG && record->argument > finding->longest) finding->longest = record->argument;
    if (record->kind == RTWATCH_HANG) note_hang(process, record, finding);
    note_thread(finding, record->thread);
    uint64_t passed = listener ? power_of_ten_passed(before, finding->count) : 0;
    if (passed) listener(finding, passed);
}

static void add_frames(struct finding *finding, const struct frame *list, int count) {
    finding->frames = reallocate(finding->frames, (size_t)(finding->frame_count + count) * sizeof *finding->frames);
    for (int i = 0; i < count; i++) finding->frames[finding->frame_count++] = &list[i];
}

static void find_frames(struct finding *finding) {
    static const struct frame gap = {.function = "(frames left out)", .origin = ORIGIN_RUNTIME};
    const char *names[48] = {finding->symbol ? finding->symbol : finding->call};
    int name_count = 1;
    for (uint32_t i = 0; i < finding->depth; i++) {
        const struct frames *frames = frames_at(finding->process, finding->stack[i]);
        bool gap_here = i == RTWATCH_STACK_INNER && finding->left_out;
        struct tails tails = {0};
        if (gap_here) add_frames(finding, &gap, 1);
        // No call stands before an address at which a system call or a fault struck in.
        else if (i > 0 || finding->kind == RTWATCH_CALL)
            tails = tails_between(finding->process, i ? finding->stack[i - 1] : 0, finding->stack[i], names, name_count);
        for (int j = 0; j < tails.count; j++) {
            const struct frames *left = left_frames_at(finding->process, tails.at[j]);
            add_frames(finding, left->list, left->count);
        }
        add_frames(finding, frames->list, frames->count);
        if (tails.only_caller) finding->unsure |= 1ull << i;
        if (name_count < 48) names[name_count++] = frames->list[frames->count - 1].symbol;
    }
}

// Code without lines in a file whose other code has them is a library or a runtime that was linked into the program; a
// macro's expansion has lines that no editor can open. The next frame out that has a line says more than these.
static int first_with_line(const struct finding *finding, int from) {
    // Functions of equal code that the compiler merged have no line either, but are the user's. Their caller has a name
    // and a line of its own.
    if (ends_with(finding->frames[from]->symbol, "Tm") && !finding->frames[from]->inlined) {
        const struct frame *next = from + 1 < finding->frame_count ? finding->frames[from + 1] : NULL;
        return next && next->left && next->file && next->origin == ORIGIN_USER ? from + 1 : from;
    }
    for (int i = from; i < finding->frame_count; i++) {
        const struct frame *frame = finding->frames[i];
        bool line = frame->file && !strstr(frame->file, "@__swiftmacro_");
        if (frame->origin == ORIGIN_USER && line && frame->module == finding->frames[from]->module) return i;
    }
    return from;
}

// The user's own frame: the innermost that belongs neither to a runtime nor to a library of the system; where there is
// none, the innermost of a library; else the innermost of all.
static int find_place(const struct finding *finding) {
    int library = -1;
    for (int i = 0; i < finding->frame_count; i++) {
        if (finding->frames[i]->origin == ORIGIN_USER) return first_with_line(finding, i);
        if (finding->frames[i]->origin == ORIGIN_SYSTEM && library < 0 && finding->frames[i]->module) library = i;
    }
    return library >= 0 ? library : finding->frame_count ? 0 : -1;
}

static bool is_unsure(const struct finding *finding) {
    const struct frame *place = finding->place >= 0 ? finding->frames[finding->place] : NULL;
    for (uint32_t i = 0; place && i < finding->depth; i++) {
        if (!(finding->unsure >> i & 1)) continue;
        const struct frames *frames = frames_at(finding->process, finding->stack[i]);
        if (place >= frames->list && place < frames->list + frames->count) return true;
    }
    return false;
}

static void judge(struct finding *finding) {
    finding->place = find_place(finding);
    finding->only_caller = is_unsure(finding);
    finding->called = finding->call;
    finding->advice = advice_for_call(finding->call, finding->kind);
    if (finding->kind != RTWATCH_CALL && finding->kind != RTWATCH_SYSCALL) return;
    // The function that the user's code called says most: Swift's `print` more than the `fwrite` under it.
    for (int runtime = 0; runtime < 2; runtime++)
        for (int i = finding->place - 1; i >= 0; i--) {
            const char *function = finding->frames[i]->function;
            const struct advice *advice = runtime ? advice_for_runtime(function) : advice_for_function(function);
            if (!advice) continue;
            finding->advice = advice;
            // The compiler's call is swift_release; this is the part of it that frees.
            finding->called = strstr(function, "swift_release") ? intern("swift_release") : function;
            return;
        }
}

// A function's part without a line says nothing beside the same function's.
static void drop_empty_frames(struct finding *finding) {
    int kept = 0;
    for (int i = 0; i < finding->frame_count; i++) {
        const struct frame *frame = finding->frames[i], *inner = kept ? finding->frames[kept - 1] : NULL;
        if (inner && !frame->file && frame->function && frame->function == inner->function) continue;
        finding->frames[kept++] = frame;
    }
    finding->frame_count = kept;
}

void resolve_finding(struct finding *finding) {
    if (!finding->frames) find_frames(finding);
    name_frames();
    drop_empty_frames(finding);
    judge(finding);
    finding->suppressed = suppression_for(finding);
}

void resolve_findings(void) {
    for (int i = 0; i < count; i++)
        if (!all[i]->frames) find_frames(all[i]);
    name_frames();
    for (int i = 0; i < count; i++) {
        drop_empty_frames(all[i]);
        judge(all[i]);
        all[i]->suppressed = all[i]->kind == RTWATCH_CRASH ? NULL : suppression_for(all[i]);
        if (all[i]->suppressed) all[i]->suppressed->used += all[i]->count;
    }
}

const char *frame_name(const struct frame *frame) {
    if (!frame) return "an unknown place";
    if (frame->function) return frame->function;
    char *text = frame->module ? format("%s+0x%llx", base_name(frame->module), (unsigned long long)frame->offset)
                               : format("0x%llx", (unsigned long long)frame->offset);
    const char *name = intern(text);
    free(text);
    return name;
}

const char *frame_source(const struct frame *frame) {
    if (!frame || !frame->file) return NULL;
    char *text = frame->line ? format("%s:%d", frame->file, frame->line) : format("%s", frame->file);
    const char *source = intern(text);
    free(text);
    return source;
}
