#if !__has_include(<mpg123.h>)
#error RenderStack needs the headers of libmpg123: please install libmpg123-dev (its name in Debian), which libsndfile1-dev brings.
#else
// Functions under their own names, which every version of the library has.
#define MPG123_ENUM_API
#include <mpg123.h>
#endif
