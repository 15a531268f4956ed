/* The table of keys for people. */
#include <inttypes.h>
#include <string.h>

#include "agent/config/config.h"
#include "agent/config/keys.h"

/* What a reader of the table must write there. */
static const char *type_name(enum glbp_key_kind kind)
{
    switch (kind) {
    case GLBP_KIND_OBJECT:
        return "object";
    case GLBP_KIND_OBJECTS:
        return "array of objects";
    case GLBP_KIND_BOOL:
        return "true or false";
    case GLBP_KIND_PATH:
        return "absolute path";
    case GLBP_KIND_URL:
        return "url";
    case GLBP_KIND_TIME:
        return "time";
    case GLBP_KIND_TEXTS:
        return "array of strings";
    case GLBP_KIND_URLS:
        return "array of urls";
    case GLBP_KIND_LATER:
        return "not in this version";
    case GLBP_KIND_TEXT:
    case GLBP_KIND_MATCH:
    case GLBP_KIND_ENUM:
    case GLBP_KIND_UINT:
    case GLBP_KIND_UINTS:
    default:
        return "string";
    }
}

static void print_type(FILE *out, const struct glbp_key_row *row)
{
    const char *plural = row->kind == GLBP_KIND_UINTS ? "array of " : "";

    if (row->kind == GLBP_KIND_UINT || row->kind == GLBP_KIND_UINTS) {
        fprintf(out, "%s%" PRIu32 "..%" PRIu32, plural, row->min, row->max);
        return;
    }
    if (row->kind != GLBP_KIND_ENUM) {
        fputs(type_name(row->kind), out);
        return;
    }
    for (const char *const *name = row->names; *name != NULL; name++)
        fprintf(out, "%s%s", name == row->names ? "" : ", ", *name);
}

/* In words where they are given, else the number itself. */
static void print_default(FILE *out, const struct glbp_key_row *row)
{
    if (row->shown != NULL)
        fputs(row->shown, out);
    else if (row->kind == GLBP_KIND_UINT)
        fprintf(out, "%" PRIu32, row->fallback);
    else if (row->kind == GLBP_KIND_BOOL)
        fputs(row->fallback != 0 ? "true" : "false", out);
    else if (row->kind == GLBP_KIND_ENUM)
        fputs(row->names[row->fallback - row->min], out);
}

static void print_markdown(FILE *out)
{
    fputs("| key | value | default | what it is |\n| --- | --- | --- | --- |\n", out);
    for (size_t i = 0; i < glbp_keys_n; i++) {
        fprintf(out, "| `%s` | ", glbp_keys[i].path);
        print_type(out, &glbp_keys[i]);
        fputs(" | ", out);
        print_default(out, &glbp_keys[i]);
        fprintf(out, " | %s |\n", glbp_keys[i].help);
    }
}

/* \& keeps words such as "file" at the beginning of a line from being taken for macros, and dots
 * from ending sentences. */
static void print_mdoc(FILE *out)
{
    fputs(".Bl -tag -width Ds\n", out);
    for (size_t i = 0; i < glbp_keys_n; i++) {
        fprintf(out, ".It Cm %s\n\\&", glbp_keys[i].path);
        print_type(out, &glbp_keys[i]);
        fputs("; default: ", out);
        print_default(out, &glbp_keys[i]);
        fprintf(out, ".\n.br\n\\&%s\n", glbp_keys[i].help);
    }
    fputs(".El\n", out);
}

void glbp_config_print_keys(FILE *out, bool mdoc)
{
    if (mdoc)
        print_mdoc(out);
    else
        print_markdown(out);
}
