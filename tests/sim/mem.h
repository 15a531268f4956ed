/* Memory of a simulation. A run may end anywhere (a failed assert of the core jumps out of it), so
 * every block hangs on one list and sim_free_all() ends them all. */
#ifndef GLBP_SIM_MEM_H
#define GLBP_SIM_MEM_H

#include <stddef.h>

/* Never NULL: without memory the program ends. sim_alloc() gives zeroed memory. */
void *sim_alloc(size_t size);
void *sim_realloc(void *block, size_t size);
void sim_free(void *block);
void sim_free_all(void);

#endif
