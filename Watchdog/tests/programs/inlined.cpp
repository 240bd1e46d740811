// For the command's tests: a C++ program with code inlined from the system's headers and from a header of its own.
#include "../../rtwatch.h"
#include "inlined.h"

#include <string>

static std::vector<int> plain;
static Ring<double> ring;
static void *volatile kept;

__attribute__((noinline)) static void push(int value)
{
    plain.push_back(value);   // line: push
}

__attribute__((noinline)) static void through_header(double value)
{
    ring.add(value);   // line: through header
}

__attribute__((noinline)) static void also_through_header(double value)
{
    ring.list.shrink_to_fit();
    ring.add(value);   // line: also through header
}

__attribute__((noinline)) static void take()
{
    kept = take_memory(100);   // line: take
}

__attribute__((noinline)) static void name(const char *text)
{
    std::string whole = std::string(text) + " is a name too long for the string itself";   // line: string
    kept = const_cast<char *>(whole.data());
}

int main(int argc, char **argv)
{
    rtwatch_cycle_begin("inlined", 1000000);
    push(argc);
    through_header(argc);
    also_through_header(argc);
    ring.grow(1000);
    take();
    name(argv[0]);
    rtwatch_cycle_end();
    return 0;
}
