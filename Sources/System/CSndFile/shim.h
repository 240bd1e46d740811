#if !__has_include(<sndfile.h>)
#error RenderStack needs the headers of libsndfile: please install libsndfile1-dev (its name in Debian).
#else
#include <sndfile.h>
#endif
