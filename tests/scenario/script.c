#include "tests/scenario/script.h"

#include <stdio.h>
#include <string.h>

#include "tests/sim/mem.h"

static const char dashes[] = "----";

static char *copy(const char *text)
{
    size_t size = strlen(text) + 1;
    char *fresh = sim_alloc(size);

    memcpy(fresh, text, size);
    return fresh;
}

void lines_add(struct lines *lines, const char *text, unsigned number)
{
    if (lines->n == lines->cap) {
        lines->cap = lines->cap ? 2 * lines->cap : 16;
        lines->lines = sim_realloc(lines->lines, lines->cap * sizeof lines->lines[0]);
    }
    lines->lines[lines->n++] = (struct line){copy(text), number};
}

static struct block *block_add(struct script *script)
{
    if (script->n == script->cap) {
        script->cap = script->cap ? 2 * script->cap : 16;
        script->blocks = sim_realloc(script->blocks, script->cap * sizeof script->blocks[0]);
    }
    script->blocks[script->n] = (struct block){0};
    return &script->blocks[script->n++];
}

bool script_read(const char *path, struct script *ret)
{
    FILE *file = fopen(path, "r");
    struct block *block = NULL;
    bool below = false;
    unsigned number = 0;
    char text[1024];

    if (!file)
        return false;
    *ret = (struct script){.path = path};
    while (fgets(text, sizeof text, file)) {
        number++;
        text[strcspn(text, "\n")] = '\0';
        if (!text[0]) {
            block = NULL;
            continue;
        }
        if (!block) {
            block = block_add(ret);
            below = false;
        }
        if (strcmp(text, dashes) == 0)
            below = true;
        else
            lines_add(below ? &block->expected : &block->script, text, number);
    }
    fclose(file);
    return true;
}

bool script_rewrite(const struct script *script)
{
    FILE *file = fopen(script->path, "w");

    if (!file)
        return false;
    for (size_t i = 0; i < script->n; i++) {
        const struct block *block = &script->blocks[i];

        if (i > 0)
            fputc('\n', file);
        for (size_t k = 0; k < block->script.n; k++)
            fprintf(file, "%s\n", block->script.lines[k].text);
        if (block->actual.n > 0)
            fprintf(file, "%s\n", dashes);
        for (size_t k = 0; k < block->actual.n; k++)
            fprintf(file, "%s\n", block->actual.lines[k].text);
    }
    return fclose(file) == 0;
}

static bool same(const struct line *a, const struct line *b)
{
    return strcmp(a->text, b->text) == 0;
}

/* Longest common lines: length[i][k] of what is left from expected i and actual k on. */
static void print_difference(const struct lines *expected, const struct lines *actual)
{
    size_t rows = expected->n, columns = actual->n, width = columns + 1;
    size_t *length = sim_alloc((rows + 1) * width * sizeof length[0]);

    for (size_t i = rows; i-- > 0;) {
        for (size_t k = columns; k-- > 0;) {
            size_t skip = length[(i + 1) * width + k], keep = length[i * width + k + 1];

            length[i * width + k] = same(&expected->lines[i], &actual->lines[k])
                                        ? length[(i + 1) * width + k + 1] + 1
                                        : (skip > keep ? skip : keep);
        }
    }
    for (size_t i = 0, k = 0; i < rows || k < columns;) {
        if (i < rows && k < columns && same(&expected->lines[i], &actual->lines[k])) {
            printf("  %s\n", expected->lines[i].text);
            i++;
            k++;
        } else if (k == columns ||
                   (i < rows && length[(i + 1) * width + k] >= length[i * width + k + 1])) {
            printf("- %s\n", expected->lines[i++].text);
        } else {
            printf("+ %s\n", actual->lines[k++].text);
        }
    }
    sim_free(length);
}

bool block_agrees(const struct script *script, const struct block *block)
{
    bool equal = block->expected.n == block->actual.n;

    for (size_t i = 0; equal && i < block->expected.n; i++)
        equal = same(&block->expected.lines[i], &block->actual.lines[i]);
    if (equal)
        return true;
    printf("%s:%u: the timeline of this block is another (- expected, + came):\n", script->path,
           block->script.n > 0 ? block->script.lines[0].number : 1);
    print_difference(&block->expected, &block->actual);
    return false;
}
