#include "CRender.h"

// initial-exec: in a library loaded later the usual model would allocate the slot at a thread's first access.
static _Thread_local void *transaction __attribute__((tls_model("initial-exec")));

void *crender_transaction_get(void) { return transaction; }
void crender_transaction_set(void *value) { transaction = value; }
