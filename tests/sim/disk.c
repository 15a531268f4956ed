/* The state file of a host: what the writer keeps, packed and read by the real code. */
#include <string.h>

#include "tests/sim/mem.h"
#include "tests/sim/world.h"

void sim_disk_save(struct sim_host *host)
{
    struct sim_disk *disk = &host->disk;
    const struct glbp_table *table = glbp_group_table(host->group);
    struct glbp_group_status status;
    size_t size = glbp_table_size(table->members_n, table->slots_n);
    int len;

    glbp_group_status(host->group, &status);
    disk->present = true;
    disk->incarnation = status.incarnation;
    disk->term = status.term;
    host->disk_due = false;
    if (table->stamp.term == 0 || glbp_stamp_cmp(&disk->stamp, &table->stamp) == 0)
        return;
    disk->stamp = table->stamp;
    if (size > disk->table_cap) {
        disk->table = sim_realloc(disk->table, size);
        disk->table_cap = size;
    }
    len = glbp_table_pack(table, sim_host_now(host).mono_ms, disk->table, size);
    if (len < 0)
        sim_fail(host->world, "%s: its table does not pack: %s", host->label, glbp_strerror(len));
    disk->table_len = (size_t)len;
}

bool sim_disk_table(const struct sim_host *host, struct glbp_table *ret)
{
    const struct sim_disk *disk = &host->disk;
    size_t members_cap = host->config.max_members, slots_cap = host->config.max_forwarders;

    *ret = (struct glbp_table){0};
    if (disk->table_len == 0)
        return false;
    ret->members = sim_alloc(members_cap * sizeof ret->members[0]);
    ret->slots = sim_alloc(slots_cap * sizeof ret->slots[0]);
    return glbp_table_read(disk->table, disk->table_len, sim_host_now(host).mono_ms, members_cap,
                           slots_cap, ret) == 0;
}

void sim_disk_wipe(struct sim_host *host)
{
    sim_free(host->disk.table);
    host->disk = (struct sim_disk){0};
}
