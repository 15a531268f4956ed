#include "tests/sim/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct block {
    struct block *next, **link;
};
#define HEAD_SIZE                                                                                  \
    ((sizeof(struct block) + _Alignof(max_align_t) - 1) / _Alignof(max_align_t) *                  \
     _Alignof(max_align_t))

static struct block *blocks;

static void *insert(struct block *block)
{
    if (!block) {
        fputs("out of memory\n", stderr);
        exit(3);
    }
    block->next = blocks;
    block->link = &blocks;
    if (blocks)
        blocks->link = &block->next;
    blocks = block;
    return (char *)block + HEAD_SIZE;
}

static struct block *take_out(void *memory)
{
    struct block *block = (struct block *)(void *)((char *)memory - HEAD_SIZE);

    *block->link = block->next; /* NOLINT(clang-analyzer-unix.Malloc): no link to a freed block */
    if (block->next)
        block->next->link = block->link;
    return block;
}

void *sim_alloc(size_t size)
{
    return insert(calloc(1, HEAD_SIZE + size));
}

void *sim_realloc(void *block, size_t size)
{
    return block ? insert(realloc(take_out(block), HEAD_SIZE + size)) : sim_alloc(size);
}

void sim_free(void *block)
{
    if (block)
        free(take_out(block));
}

void sim_free_all(void)
{
    while (blocks)
        sim_free((char *)blocks + HEAD_SIZE);
}
