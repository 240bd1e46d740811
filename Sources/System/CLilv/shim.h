#ifndef CLILV_SHIM_H
#define CLILV_SHIM_H

// CPluginHost alone uses lilv, and compiles without it too: then it says at run time that lilv is missing. This target is here
// for the flags of pkg-config.

#endif
