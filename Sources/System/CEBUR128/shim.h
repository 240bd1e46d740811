#if !__has_include(<ebur128.h>)
#error RenderStack needs the headers of libebur128: please install libebur128-dev (its name in Debian).
#else
#include <ebur128.h>
#endif
