/* https: a check believes the certificates it is told to, a probe any. The server is one thread
 * with a certificate of its own making for "bff.test". */
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/check_rig.h"

static SSL_CTX *tls;
static int listener = -1;
static uint16_t port;
static uv_thread_t thread;
static char ca_path[] = "/tmp/glbp-ca-XXXXXX";

static X509 *make_certificate(EVP_PKEY *key)
{
    X509 *cert = X509_new();
    X509_NAME *name = X509_get_subject_name(cert);
    X509_EXTENSION *names = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, "DNS:bff.test");

    X509_set_version(cert, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    X509_gmtime_adj(X509_getm_notBefore(cert), -60);
    X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"bff.test", -1, -1,
                               0);
    X509_set_issuer_name(cert, name);
    X509_set_pubkey(cert, key);
    X509_add_ext(cert, names, -1);
    X509_EXTENSION_free(names);
    ck_assert_int_gt(X509_sign(cert, key, EVP_sha256()), 0);
    return cert;
}

static void make_context(void)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = make_certificate(key);
    int fd = mkstemp(ca_path);
    FILE *file = fdopen(fd, "w");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(PEM_write_X509(file, cert), 1);
    fclose(file);
    tls = SSL_CTX_new(TLS_server_method());
    ck_assert_int_eq(SSL_CTX_use_certificate(tls, cert), 1);
    ck_assert_int_eq(SSL_CTX_use_PrivateKey(tls, key), 1);
    X509_free(cert);
    EVP_PKEY_free(key);
}

/* One connection after the other, until the listener is shut. */
static void serve(void *arg)
{
    static const char text[] = SERVER_OK_HEAD;
    char in[4096];
    int fd;

    (void)arg;
    while ((fd = accept(listener, NULL, NULL)) >= 0) {
        SSL *ssl = SSL_new(tls);

        SSL_set_fd(ssl, fd);
        if (SSL_accept(ssl) == 1 && SSL_read(ssl, in, sizeof in) > 0)
            (void)SSL_write(ssl, text, sizeof text - 1);
        SSL_free(ssl);
        close(fd);
    }
}

static void open_tls(void)
{
    struct sockaddr_in addr = {.sin_family = AF_INET};
    socklen_t len = sizeof addr;

    rig_open();
    make_context();
    listener = socket(AF_INET, SOCK_STREAM, 0);
    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&addr, sizeof addr), 0);
    ck_assert_int_eq(listen(listener, 16), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&addr, &len), 0);
    port = ntohs(addr.sin_port);
    signal(SIGPIPE, SIG_IGN); /* of the server here; the checks thread takes care of itself */
    ck_assert_int_eq(uv_thread_create(&thread, serve, NULL), 0);
}

static void close_tls(void)
{
    rig_close();
    shutdown(listener, SHUT_RDWR);
    uv_thread_join(&thread);
    close(listener);
    SSL_CTX_free(tls);
    unlink(ca_path);
}

static const char *url(const char *host)
{
    static char text[64];

    snprintf(text, sizeof text, "https://%s:%u/", host, port);
    return text;
}

START_TEST(a_probe_asks_for_no_certificate)
{
    rig_start();
    rig_probe("bff-2", url("127.0.0.1"), 2000);
    rig_until(5000, rig.probes_n == 1);
    ck_assert_int_eq(rig.probes[0].result, GLBP_PROBE_ANSWERED);
    rig_probe("bff-2", url("bff.test"), 2000);
    rig_until(5000, rig.probes_n == 2);
    ck_assert_int_eq(rig.probes[1].result, GLBP_PROBE_ANSWERED);
}
END_TEST

START_TEST(tls_towards_plain_http_is_no_answer)
{
    struct server server;
    char text[64];

    server_open(&server, &rig.loop);
    server.hang_up = true;
    snprintf(text, sizeof text, "https://127.0.0.1:%u/", server.port);
    rig_start();
    rig_probe("bff-2", text, 500);
    rig_until(5000, rig.probes_n == 1);
    ck_assert_int_eq(rig.probes[0].result, GLBP_PROBE_FAILED);
    server_close(&server);
}
END_TEST

START_TEST(a_check_believes_what_it_is_told_to)
{
    char by_name[64];
    char by_address[64];

    snprintf(by_name, sizeof by_name, "%s", url("bff.test"));
    snprintf(by_address, sizeof by_address, "%s", url("127.0.0.1"));
    rig_add(0, "unknown", GLBP_CHECK_HTTP, by_name);
    rig_add(0, "known", GLBP_CHECK_HTTP, by_name)->ca = ca_path;
    rig_add(0, "wrong name", GLBP_CHECK_HTTP, by_address)->ca = ca_path;
    rig_add(0, "any", GLBP_CHECK_HTTP, by_address)->verify = false;
    for (size_t i = 0; i < rig.groups[0].checks_n; i++)
        rig.groups[0].checks[i].timeout_ms = 9000; /* the system's list of authorities is long */
    rig_start();
    rig_until(20000, rig.healths[0] > 0 && rig.health[0].unknown == 0);
    ck_assert(rig_is("unknown", GLBP_VERDICT_DOWN));
    ck_assert_msg(strstr(rig_check("unknown")->text, "certificate") != NULL, "%s",
                  rig_check("unknown")->text);
    ck_assert(rig_is("known", GLBP_VERDICT_UP));
    ck_assert(rig_is("wrong name", GLBP_VERDICT_DOWN));
    ck_assert(rig_is("any", GLBP_VERDICT_UP));
}
END_TEST

Suite *check_tls_suite(void)
{
    Suite *suite = suite_create("check tls");
    TCase *tcase = tcase_create("tls");

    tcase_add_checked_fixture(tcase, open_tls, close_tls);
    tcase_set_timeout(tcase, 30);
    tcase_add_test(tcase, a_probe_asks_for_no_certificate);
    tcase_add_test(tcase, tls_towards_plain_http_is_no_answer);
    tcase_add_test(tcase, a_check_believes_what_it_is_told_to);
    suite_add_tcase(suite, tcase);
    return suite;
}
