#ifndef C_ALLOCATION_COUNTER_H
#define C_ALLOCATION_COUNTER_H

/// Returns whether this build counts: not with a sanitizer, which has an allocator of its own.
int allocation_counter_works(void);

/// Begins to count the calls of malloc and its relatives on this thread.
void allocation_counter_begin(void);

/// Ends that. Returns how many there were, frees included.
long allocation_counter_end(void);

#endif
