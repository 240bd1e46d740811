// A header of one's own, for the command's tests: a template and an inline function that call what is unsafe.
#include <cstdlib>
#include <vector>

template <typename Element> struct Ring {
    std::vector<Element> list;
    __attribute__((always_inline)) void add(Element element) {
        list.push_back(element);   // line: header push
    }
    __attribute__((noinline)) void grow(std::size_t size) {
        list.reserve(size);   // line: header reserve
    }
};

static inline __attribute__((always_inline)) void *take_memory(std::size_t size) {
    return std::malloc(size);   // line: header malloc
}
