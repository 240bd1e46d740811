#if !__has_include(<soxr.h>)
#error RenderStack needs the headers of libsoxr: please install libsoxr-dev (its name in Debian).
#else
#include <soxr.h>
#endif
