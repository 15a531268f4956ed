/* Results and asserts of the library.
 *
 * A function that can fail returns 0 or one negative GLBP_E_*; its outputs are untouched on
 * failure. GLBP_ASSERT is for mistakes of the programmer only, never for input, and stays on in
 * release. The program that embeds the library defines glbp_assert_failed(); it must not return. */
#ifndef GLBP_ERR_H
#define GLBP_ERR_H

#define GLBP_ERRORS(X)                                                                             \
    X(-1, GLBP_E_ARG, "an argument is out of its range")                                           \
    X(-2, GLBP_E_SPACE, "the buffer is too small")                                                 \
    X(-3, GLBP_E_REJECT, "the datagram was refused")                                               \
    X(-4, GLBP_E_REFUSED, "the command was refused")                                               \
    X(-5, GLBP_E_CRYPTO, "libcrypto failed")                                                       \
    X(-6, GLBP_E_CORRUPT, "the stored table is damaged")                                           \
    X(-7, GLBP_E_FULL, "no room is left")

#define GLBP_ERROR_ENUM(number, name, text) name = (number),
enum glbp_error { GLBP_ERRORS(GLBP_ERROR_ENUM) };
#undef GLBP_ERROR_ENUM

/* The text of an error; "ok" for 0, "unknown error" for a number that is none. Static storage. */
const char *glbp_strerror(int error);

_Noreturn void glbp_assert_failed(const char *what, const char *file, int line);

#define GLBP_ASSERT(what)                                                                          \
    do {                                                                                           \
        if (!(what))                                                                               \
            glbp_assert_failed(#what, __FILE__, __LINE__);                                         \
    } while (0)

#endif
