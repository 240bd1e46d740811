// A ring of messages: each is its size and its bytes. One thread writes, one reads, and neither waits.

#include "internal.h"

#ifdef CLV2_HAS_LILV

bool clv2_ring_init(struct clv2_ring *ring, uint32_t size) {
    ring->memory = malloc(size);
    ring->size = size;
    return ring->memory != NULL;
}

static void copy_in(struct clv2_ring *ring, uint32_t place, const void *data, uint32_t size) {
    uint32_t start = place % ring->size, first = ring->size - start;
    if (first > size) first = size;
    memcpy(ring->memory + start, data, first);
    memcpy(ring->memory, (const uint8_t *)data + first, size - first);
}

static void copy_out(struct clv2_ring *ring, uint32_t place, void *data, uint32_t size) {
    uint32_t start = place % ring->size, first = ring->size - start;
    if (first > size) first = size;
    memcpy(data, ring->memory + start, first);
    memcpy((uint8_t *)data + first, ring->memory, size - first);
}

bool clv2_ring_write(struct clv2_ring *ring, uint32_t size, const void *data) {
    uint32_t written = atomic_load_explicit(&ring->written, memory_order_relaxed);
    uint32_t used = written - atomic_load_explicit(&ring->read, memory_order_acquire);
    if ((uint64_t)size + sizeof size > ring->size - used) return false;
    copy_in(ring, written, &size, sizeof size);
    copy_in(ring, written + sizeof size, data, size);
    atomic_store_explicit(&ring->written, written + (uint32_t)sizeof size + size, memory_order_release);
    return true;
}

int64_t clv2_ring_read(struct clv2_ring *ring, void *message) {
    uint32_t read = atomic_load_explicit(&ring->read, memory_order_relaxed);
    if (read == atomic_load_explicit(&ring->written, memory_order_acquire)) return -1;
    uint32_t size;
    copy_out(ring, read, &size, sizeof size);
    copy_out(ring, read + sizeof size, message, size);
    atomic_store_explicit(&ring->read, read + (uint32_t)sizeof size + size, memory_order_release);
    return size;
}

bool clv2_ring_is_empty(struct clv2_ring *ring) {
    return atomic_load_explicit(&ring->read, memory_order_relaxed) ==
           atomic_load_explicit(&ring->written, memory_order_acquire);
}

#endif
