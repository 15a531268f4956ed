#include "agent/ctl/words.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *glbp_words_item(const json_t *value)
{
    const char *text = json_string_value(value);

    return text == NULL || text[0] == '\0' ? "-" : text;
}

const char *glbp_words_text(const json_t *object, const char *key)
{
    return glbp_words_item(json_object_get(object, key));
}

json_int_t glbp_words_number(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

bool glbp_words_yes(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

bool glbp_words_is(const json_t *object, const char *key, const char *value)
{
    return strcmp(glbp_words_text(object, key), value) == 0;
}

const char *glbp_words_seconds(json_int_t ms, char *ret)
{
    if (ms % 1000 == 0)
        snprintf(ret, GLBP_WORDS_SIZE, "%lld sec", (long long)ms / 1000);
    else
        snprintf(ret, GLBP_WORDS_SIZE, "%lld msec", (long long)ms);
    return ret;
}

const char *glbp_words_left(json_int_t ms, char *ret)
{
    long long left = ms > 0 ? (long long)ms : 0;

    snprintf(ret, GLBP_WORDS_SIZE, "%lld.%03lld sec", left / 1000, left % 1000);
    return ret;
}

const char *glbp_words_ago(json_int_t ms, char *ret)
{
    long long minutes = ms > 0 ? (long long)ms / 60000 : 0;
    long long seconds = ms > 0 ? (long long)ms / 1000 % 60 : 0;
    long long hours = minutes / 60, days = hours / 24;

    if (days >= 7)
        snprintf(ret, GLBP_WORDS_SIZE, "%lldw%lldd", days / 7, days % 7);
    else if (days > 0)
        snprintf(ret, GLBP_WORDS_SIZE, "%lldd%02lldh", days, hours % 24);
    else
        snprintf(ret, GLBP_WORDS_SIZE, "%02lld:%02lld:%02lld", hours, minutes % 60, seconds);
    return ret;
}

const char *glbp_words_paint(const struct glbp_show *show, const char *word)
{
    static const struct {
        const char *word, *paint;
    } paints[] = {
        {"Active", "\033[32m"},   {"active", "\033[32m"},   {"Standby", "\033[36m"},
        {"Up", "\033[32m"},       {"suspect", "\033[33m"},  {"draining", "\033[33m"},
        {"retiring", "\033[33m"}, {"Disabled", "\033[31m"}, {"Initial", "\033[31m"},
        {"down", "\033[31m"},     {"Down", "\033[31m"},     {"lost", "\033[31m"},
    };

    for (size_t i = 0; show->colour && i < sizeof paints / sizeof paints[0]; i++) {
        if (strcmp(word, paints[i].word) == 0)
            return paints[i].paint;
    }
    return "";
}

const char *glbp_words_plain(const struct glbp_show *show, const char *word)
{
    return glbp_words_paint(show, word)[0] == '\0' ? "" : "\033[0m";
}

void glbp_words_cell(struct glbp_words_table *table, const char *format, ...)
{
    char **cells = realloc(table->cells, (table->cells_n + 1) * sizeof *cells);
    va_list args;

    if (cells == NULL)
        abort();
    table->cells = cells;
    va_start(args, format);
    if (vasprintf(&cells[table->cells_n++], format, args) < 0)
        abort();
    va_end(args);
}

void glbp_words_print(const struct glbp_show *show, struct glbp_words_table *table)
{
    size_t widths[GLBP_WORDS_COLUMNS] = {0};

    for (size_t i = 0; i < table->cells_n; i++) {
        size_t len = strlen(table->cells[i]);

        if (len > widths[i % table->columns])
            widths[i % table->columns] = len;
    }
    for (size_t i = 0; i < table->cells_n; i++) {
        const char *cell = table->cells[i];
        bool last = i % table->columns == table->columns - 1;
        int fill = last ? 0 : (int)(widths[i % table->columns] + 2 - strlen(cell));

        /* The heads stay plain: "Active" may be one of them. */
        fprintf(show->out, "%s%s%s%*s%s", i < table->columns ? "" : glbp_words_paint(show, cell),
                cell, i < table->columns ? "" : glbp_words_plain(show, cell), fill, "",
                last ? "\n" : "");
        free(table->cells[i]);
    }
    free(table->cells);
    table->cells = NULL;
    table->cells_n = 0;
}
