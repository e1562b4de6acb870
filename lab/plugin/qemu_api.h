/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of QEMU's TCG plugin interface, version 1, that flame.c uses.
 *
 * Debian does not package the header, so the calls are declared here from the documentation of the
 * interface. QEMU resolves them when it loads the plugin. Only what is used is declared: a wrong
 * prototype that nobody calls would never be found out.
 */
#ifndef IRQPATH_QEMU_API_H
#define IRQPATH_QEMU_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QEMU_PLUGIN_VERSION 1
#define QEMU_EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;

struct qemu_plugin_tb;		/* a translated block, alive during the translation callback */
struct qemu_plugin_insn;	/* one instruction of it */

/* What QEMU tells the plugin about itself and the guest. */
typedef struct {
	const char *target_name;
	struct {
		int min;
		int cur;
	} version;
	bool system_emulation;
	struct {
		int smp_vcpus;
		int max_vcpus;
	} system;
} qemu_info_t;

enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_CB_R_REGS, QEMU_PLUGIN_CB_RW_REGS };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_R = 1, QEMU_PLUGIN_MEM_W, QEMU_PLUGIN_MEM_RW };
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };

typedef void (*qemu_exit_cb)(qemu_plugin_id_t id, void *data);
typedef void (*qemu_vcpu_cb)(qemu_plugin_id_t id, unsigned int cpu);
typedef void (*qemu_trans_cb)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
typedef void (*qemu_exec_cb)(unsigned int cpu, void *data);
typedef void (*qemu_mem_cb)(unsigned int cpu, uint32_t info, uint64_t vaddr, void *data);

/* The two symbols that QEMU looks for in the plugin. */
extern QEMU_EXPORT int qemu_plugin_version;
QEMU_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
				    char **argv);

void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, qemu_exit_cb cb, void *data);
void qemu_plugin_register_vcpu_idle_cb(qemu_plugin_id_t id, qemu_vcpu_cb cb);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, qemu_trans_cb cb);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, qemu_exec_cb cb,
					  enum qemu_plugin_cb_flags flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, qemu_exec_cb cb,
					    enum qemu_plugin_cb_flags flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn,
						enum qemu_plugin_op op, void *counter,
						uint64_t amount);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, qemu_mem_cb cb,
				      enum qemu_plugin_cb_flags flags, enum qemu_plugin_mem_rw rw,
				      void *data);
bool qemu_plugin_mem_is_store(uint32_t info);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
/* Where the instruction lies in the memory of QEMU itself; NULL if it is not in the guest's RAM. */
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);

#endif
