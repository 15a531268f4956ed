/* Positions are found when a mistake is made, not when it is told: the path lives on the stack of
 * whoever found it. */
#include "agent/config/mistakes.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PATH_SIZE  200
#define SHOWN_MAX  60 /* bytes of a text that are shown */
#define QUOTE_SIZE (SHOWN_MAX + 16)
#define SECRET_MIN 32 /* hex digits in a row that may be a key */

struct glbp_mistake {
    struct glbp_position position;
    bool on_key;
    size_t number; /* the order in which they were found, where positions are equal */
    char *text;
};

/* Words it and keeps it. Without memory the run fails all the same, and says why. */
static void add(struct glbp_mistakes *mistakes, struct glbp_position position, bool on_key,
                const char *before, const char *format, va_list args)
{
    struct glbp_mistake *grown =
        reallocarray(mistakes->list, mistakes->n + 1, sizeof *mistakes->list);
    char *what = NULL;
    char *text = NULL;

    if (grown != NULL)
        mistakes->list = grown;
    if (vasprintf(&what, format, args) < 0)
        what = NULL;
    if (what != NULL && asprintf(&text, "%s%s", before, what) < 0)
        text = NULL;
    free(what);
    if (grown == NULL || text == NULL) {
        mistakes->no_memory = true;
        free(text);
        return;
    }
    grown[mistakes->n] = (struct glbp_mistake){
        .position = position, .on_key = on_key, .number = mistakes->n, .text = text};
    mistakes->n++;
}

static struct glbp_position find(const struct glbp_mistakes *mistakes, const struct glbp_path *path,
                                 bool on_key)
{
    if (mistakes->text == NULL)
        return (struct glbp_position){0};
    return glbp_position_find(mistakes->text, mistakes->len, path, on_key);
}

/* "groups[0].id: "; "" for the whole file. */
static void front(const struct glbp_path *path, char ret[PATH_SIZE])
{
    glbp_path_text(path, ret, PATH_SIZE - 2);
    if (ret[0] != '\0')
        memcpy(ret + strlen(ret), ": ", 3);
}

void glbp_mistake(struct glbp_mistakes *mistakes, const struct glbp_path *path, const char *format,
                  ...)
{
    char text[PATH_SIZE];
    va_list args;

    front(path, text);
    va_start(args, format);
    add(mistakes, find(mistakes, path, false), false, text, format, args);
    va_end(args);
}

/* text in quotes, as far as people should see it. */
static void quote(const char *text, char ret[QUOTE_SIZE])
{
    const char *host = strstr(text, "://");
    const char *user_end = host == NULL ? NULL : strchr(host, '@');
    size_t len = strlen(text);
    size_t cut = len;

    if (strspn(text, "0123456789abcdefABCDEF") >= SECRET_MIN || user_end != NULL) {
        snprintf(ret, QUOTE_SIZE, "\"***%.*s\"", SHOWN_MAX / 2, user_end == NULL ? "" : user_end);
        return;
    }
    if (len > SHOWN_MAX)
        cut = SHOWN_MAX;
    while (cut > 0 && cut < len && ((uint8_t)text[cut] & 0xc0) == 0x80) /* not inside UTF-8 */
        cut--;
    snprintf(ret, QUOTE_SIZE, "\"%.*s%s\"", (int)cut, text, cut < len ? "..." : "");
}

void glbp_mistake_text(struct glbp_mistakes *mistakes, const struct glbp_path *path,
                       const char *text, const char *format, ...)
{
    char where[PATH_SIZE + QUOTE_SIZE];
    char quoted[QUOTE_SIZE];
    va_list args;

    front(path, where);
    quote(text, quoted);
    snprintf(where + strlen(where), sizeof where - strlen(where), "%s ", quoted);
    va_start(args, format);
    add(mistakes, find(mistakes, path, false), false, where, format, args);
    va_end(args);
}

void glbp_mistake_key(struct glbp_mistakes *mistakes, const struct glbp_path *path,
                      const char *format, ...)
{
    char text[PATH_SIZE];
    va_list args;

    front(path, text);
    va_start(args, format);
    add(mistakes, find(mistakes, path, true), true, text, format, args);
    va_end(args);
}

void glbp_mistake_at(struct glbp_mistakes *mistakes, struct glbp_position position,
                     const char *format, ...)
{
    va_list args;

    va_start(args, format);
    add(mistakes, position, false, "", format, args);
    va_end(args);
}

bool glbp_mistakes_has(const struct glbp_mistakes *mistakes, const struct glbp_path *path)
{
    size_t offset = find(mistakes, path, false).offset;

    for (size_t i = 0; i < mistakes->n; i++)
        if (!mistakes->list[i].on_key && mistakes->list[i].position.offset == offset)
            return true;
    return false;
}

/* As the file goes; what stands at one place in the order in which it was found. */
static int by_position(const void *a, const void *b)
{
    const struct glbp_mistake *one = a;
    const struct glbp_mistake *other = b;

    if (one->position.line != other->position.line)
        return one->position.line < other->position.line ? -1 : 1;
    if (one->position.column != other->position.column)
        return one->position.column < other->position.column ? -1 : 1;
    return one->number < other->number ? -1 : 1;
}

/* UTF-8 passes (jansson vouches for it), but for the C1 controls, which begin with C2. */
static void print_escaped(FILE *out, const char *text)
{
    for (const uint8_t *c = (const uint8_t *)text; *c != '\0'; c++) {
        if (*c < 0x20 || *c == 0x7f)
            fprintf(out, "\\x%02x", *c);
        else if (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0)
            fprintf(out, "\\x%02x", *++c);
        else
            putc(*c, out);
    }
}

int glbp_mistakes_tell(struct glbp_mistakes *mistakes, FILE *out)
{
    int n = (int)mistakes->n + mistakes->no_memory;

    if (mistakes->n > 0)
        qsort(mistakes->list, mistakes->n, sizeof *mistakes->list, by_position);
    for (size_t i = 0; i < mistakes->n; i++) {
        const struct glbp_mistake *mistake = &mistakes->list[i];

        print_escaped(out, mistakes->name);
        if (mistake->position.line > 0)
            fprintf(out, ":%u:%u", mistake->position.line, mistake->position.column);
        fputs(": ", out);
        print_escaped(out, mistake->text);
        putc('\n', out);
        free(mistake->text);
    }
    if (mistakes->no_memory)
        fputs("out of memory\n", out);
    free(mistakes->list);
    mistakes->list = NULL;
    mistakes->n = 0;
    return n;
}
