/* Looking keys up, and guessing what an unknown one was meant to be. */
#include <ctype.h>
#include <string.h>

#include "agent/config/keys.h"

#define WORD_MAX 40 /* longer than any key */
#define FAR_MAX  4  /* further off is no misspelling */

const struct glbp_key_row *glbp_keys_find(const char *prefix, const char *key)
{
    size_t len = strlen(prefix);

    for (size_t i = 0; i < glbp_keys_n; i++)
        if (strncmp(glbp_keys[i].path, prefix, len) == 0 &&
            strcmp(glbp_keys[i].path + len, key) == 0)
            return &glbp_keys[i];
    return NULL;
}

/* What counts of a word; returns its length, WORD_MAX if it is longer. */
static size_t fold(const char *word, char ret[WORD_MAX])
{
    size_t len = 0;

    for (; *word != '\0' && len < WORD_MAX; word++)
        if (isalnum((unsigned char)*word))
            ret[len++] = (char)tolower((unsigned char)*word);
    return len;
}

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;

    return least < c ? least : c;
}

/* Optimal string alignment: Levenshtein's rows, and a third one for neighbours swapped. */
size_t glbp_keys_distance(const char *a, const char *b)
{
    char x[WORD_MAX];
    char y[WORD_MAX];
    size_t x_len = fold(a, x);
    size_t y_len = fold(b, y);
    size_t rows[3][WORD_MAX + 1];
    size_t *before = rows[0];
    size_t *last = rows[1];
    size_t *row = rows[2];

    for (size_t j = 0; j <= y_len; j++)
        last[j] = j;
    for (size_t i = 1; i <= x_len; i++) {
        size_t *spare = before;

        row[0] = i;
        for (size_t j = 1; j <= y_len; j++) {
            row[j] = min3(last[j] + 1, row[j - 1] + 1, last[j - 1] + (x[i - 1] != y[j - 1]));
            if (i > 1 && j > 1 && x[i - 1] == y[j - 2] && x[i - 2] == y[j - 1])
                row[j] = min3(row[j], row[j], before[j - 2] + 1);
        }
        before = last;
        last = row;
        row = spare;
    }
    return last[y_len];
}

static const char *leaf(const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot == NULL ? path : dot + 1;
}

const char *glbp_keys_suggest(const char *prefix, const char *key)
{
    size_t prefix_len = strlen(prefix);
    size_t least = strlen(key) / 3 + 1;
    const char *best = NULL;

    if (least > FAR_MAX)
        least = FAR_MAX;
    for (size_t i = 0; i < glbp_keys_n; i++) {
        const char *path = glbp_keys[i].path;
        size_t distance;

        if (strncmp(path, prefix, prefix_len) != 0 || strchr(path + prefix_len, '.') != NULL)
            continue;
        distance = glbp_keys_distance(path + prefix_len, key);
        if (distance < least || (distance == least && best == NULL)) {
            least = distance;
            best = path + prefix_len;
        }
    }
    for (size_t i = 0; best == NULL && i < glbp_keys_n; i++)
        if (glbp_keys_distance(leaf(glbp_keys[i].path), key) == 0)
            best = glbp_keys[i].path;
    return best;
}
