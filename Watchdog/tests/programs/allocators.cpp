// A cycle that allocates in all ways of C and C++, with whichever allocator stands behind them.
#include "../../rtwatch.h"

#include <cstdlib>
#include <new>
#include <vector>

struct alignas(64) Wide { float values[16]; };
static void *volatile kept;

__attribute__((noinline)) static void c() {
    kept = malloc(100);
    free(kept);
}
__attribute__((noinline)) static void one() {
    int *volatile number = new int(3);
    delete number;
}
__attribute__((noinline)) static void many() {
    int *volatile numbers = new int[30];
    delete[] numbers;
}
__attribute__((noinline)) static void wide() {
    Wide *volatile value = new Wide;
    delete value;
}
__attribute__((noinline)) static void quiet() {
    int *volatile number = new (std::nothrow) int;
    ::operator delete(number, std::nothrow);
}
__attribute__((noinline)) static void grow() {
    std::vector<int> numbers(3);
    kept = numbers.data();
}
// Jumps to the operator: the function leaves the stack.
__attribute__((noinline)) static void last(int *number) { delete number; }

int main() {
    for (int n = 0; n < 10; n++) {
        int *volatile number;
        rtwatch_cycle_begin("allocators", 0);
        c(), one(), many(), wide(), quiet(), grow();
        number = new int(4);
        last(number);
        rtwatch_cycle_end();
    }
}
