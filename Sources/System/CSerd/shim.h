#ifndef CSERD_SHIM_H
#define CSERD_SHIM_H

// CPluginHost alone uses serd, the reader of lilv. This target is here for the flags of pkg-config.

#endif
