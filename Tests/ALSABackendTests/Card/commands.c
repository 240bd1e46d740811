#define _GNU_SOURCE
#include "card.h"

// Commands of the test. `card` is what rscard_find gives.

void *rscard_find(const char *name, int is_capture) { return rscard_card(name, is_capture != 0); }

void rscard_allow(
    struct card *card, const unsigned *formats, unsigned format_count, const unsigned *accesses, unsigned access_count,
    unsigned least_rate, unsigned most_rate, unsigned least_channels, unsigned most_channels) {
    pthread_mutex_lock(&card->lock);
    memcpy(card->formats, formats, format_count * sizeof *formats);
    card->format_count = format_count;
    memcpy(card->accesses, accesses, access_count * sizeof *accesses);
    card->access_count = access_count;
    card->least_rate = least_rate;
    card->most_rate = most_rate;
    card->least_channels = least_channels;
    card->most_channels = most_channels;
    pthread_mutex_unlock(&card->lock);
}

void rscard_set_fault(struct card *card, int fault, int resume, int lies) {
    pthread_mutex_lock(&card->lock);
    card->fault = (enum fault)fault;
    card->resume = (enum resume)resume;
    card->lies_left = lies;
    rscard_show(card);
    pthread_mutex_unlock(&card->lock);
}

void rscard_set_delay(struct card *card, long frames) {
    pthread_mutex_lock(&card->lock);
    card->extra_delay = frames;
    pthread_mutex_unlock(&card->lock);
}

// A suspension comes just after the next preparation.
void rscard_sleep_when_prepared(struct card *card) {
    pthread_mutex_lock(&card->lock);
    card->sleeps_when_prepared = true;
    pthread_mutex_unlock(&card->lock);
}

// The next question for the delay is answered just before so many frames move.
void rscard_move_when_asked(struct card *card, long frames) {
    pthread_mutex_lock(&card->lock);
    card->moves_when_asked = frames;
    pthread_mutex_unlock(&card->lock);
}

// Moves frames; returns how many were moved.
long rscard_move(struct card *card, long frames) {
    pthread_mutex_lock(&card->lock);
    long moved = (long)rscard_advance(card, (uint64_t)frames);
    rscard_show(card);
    pthread_mutex_unlock(&card->lock);
    return moved;
}

// Waits until so many frames are queued to be played, or fewer are waiting to be fetched. 0: it took too long.
int rscard_wait(struct card *card, long frames, double seconds) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += (time_t)seconds;
    end.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
    if (end.tv_nsec >= 1000000000) end.tv_sec++, end.tv_nsec -= 1000000000;
    pthread_mutex_lock(&card->lock);
    int is_so;
    while (true) {
        is_so = card->is_running && card->fault == FAULT_NONE &&
                (card->is_capture ? (long)rscard_available(card) <= frames : (long)rscard_queued(card) >= frames);
        if (is_so || pthread_cond_timedwait(&card->changed, &card->lock, &end) != 0) break;
    }
    pthread_mutex_unlock(&card->lock);
    return is_so;
}

// 0 frames played or captured, 1 opens, 2 prepares, 3 starts, 4 resumes, 5 questions after a poll, 6 whether it runs,
// 7 whether it is open, 8 frames queued or waiting, 9 bytes in a frame.
long rscard_ask(struct card *card, int what) {
    pthread_mutex_lock(&card->lock);
    long values[] = {
        (long)(card->is_capture ? card->captured : card->played), card->opens, card->prepares, card->starts, card->resumes,
        card->polls, card->is_running, card->is_open,
        (long)(card->is_capture ? rscard_available(card) : rscard_queued(card)), (long)card->frame_bytes};
    pthread_mutex_unlock(&card->lock);
    return values[what];
}

// Copies what was played, from a frame on, in the card's own format.
void rscard_read(struct card *card, long first, long frames, void *bytes) {
    pthread_mutex_lock(&card->lock);
    if (first >= 0 && first + frames <= (long)card->played)
        memcpy(bytes, card->memory + (size_t)first * card->frame_bytes, (size_t)frames * card->frame_bytes);
    pthread_mutex_unlock(&card->lock);
}

// Forgets what was played and all faults.
void rscard_forget(struct card *card) {
    pthread_mutex_lock(&card->lock);
    card->played = 0;
    card->fault = FAULT_NONE;
    pthread_mutex_unlock(&card->lock);
}
