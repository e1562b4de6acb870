/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of QEMU's TCG plugin interface that the plugins use.
 *
 * Debian does not package the header, so the calls are declared here from the documentation of the
 * interface. QEMU resolves them when it loads the plugin. Only what is used is declared: a wrong
 * prototype that nobody calls would never be found out.
 *
 * The interface changed twice in ways that matter here, and QEMU refuses a plugin of another
 * version, so each plugin is compiled once for each (crates/irqpath-lab/src/flame/plugin.rs):
 *
 *   1	QEMU 7 and 8
 *   3	QEMU 9.1 to 10: inline counters are scoreboards; an instruction's bytes are copied
 *   7	QEMU 11: callbacks get user data in place of the plugin's id
 *
 * The rest of a plugin uses the functions at the end, which are the same in all of them.
 */
#ifndef IRQPATH_QEMU_API_H
#define IRQPATH_QEMU_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef QEMU_PLUGIN_VERSION
#define QEMU_PLUGIN_VERSION 1
#endif
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

typedef void (*qemu_exec_cb)(unsigned int cpu, void *data);
typedef void (*qemu_mem_cb)(unsigned int cpu, uint32_t info, uint64_t vaddr, void *data);

/* The two symbols that QEMU looks for in the plugin. */
extern QEMU_EXPORT int qemu_plugin_version;
QEMU_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
				    char **argv);

void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, qemu_exec_cb cb,
					  enum qemu_plugin_cb_flags flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, qemu_exec_cb cb,
					    enum qemu_plugin_cb_flags flags, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, qemu_mem_cb cb,
				      enum qemu_plugin_cb_flags flags, enum qemu_plugin_mem_rw rw,
				      void *data);
bool qemu_plugin_mem_is_store(uint32_t info);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
/* Where the instruction lies in the memory of QEMU itself; NULL if it is not in the guest's RAM. */
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);

/* What differs, and below it what a plugin calls instead. */
#if QEMU_PLUGIN_VERSION >= 7
typedef void (*qemu_exit_cb)(void *data);
typedef void (*qemu_vcpu_cb)(unsigned int cpu, void *data);
typedef void (*qemu_trans_cb)(struct qemu_plugin_tb *tb, void *data);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, qemu_exit_cb cb, void *data);
void qemu_plugin_register_vcpu_idle_cb(qemu_plugin_id_t id, qemu_vcpu_cb cb, void *data);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, qemu_trans_cb cb, void *data);
#else
typedef void (*qemu_exit_cb)(qemu_plugin_id_t id, void *data);
typedef void (*qemu_vcpu_cb)(qemu_plugin_id_t id, unsigned int cpu);
typedef void (*qemu_trans_cb)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, qemu_exit_cb cb, void *data);
void qemu_plugin_register_vcpu_idle_cb(qemu_plugin_id_t id, qemu_vcpu_cb cb);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, qemu_trans_cb cb);
#endif

/* Functions of the plugin that QEMU calls; NULL if it shall not. */
struct plugin {
	void (*translated)(struct qemu_plugin_tb *tb);
	void (*idle)(void);
	void (*quit)(void);
};

static struct plugin qemu_plugin_calls;

#if QEMU_PLUGIN_VERSION >= 7
static inline void qemu_translated(struct qemu_plugin_tb *tb, void *data)
{
	(void)data;
	qemu_plugin_calls.translated(tb);
}

static inline void qemu_idle(unsigned int cpu, void *data)
{
	(void)cpu, (void)data;
	qemu_plugin_calls.idle();
}

static inline void qemu_quit(void *data)
{
	(void)data;
	qemu_plugin_calls.quit();
}

#define QEMU_DATA , NULL
#else
static inline void qemu_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	(void)id;
	qemu_plugin_calls.translated(tb);
}

static inline void qemu_idle(qemu_plugin_id_t id, unsigned int cpu)
{
	(void)id, (void)cpu;
	qemu_plugin_calls.idle();
}

static inline void qemu_quit(qemu_plugin_id_t id, void *data)
{
	(void)id, (void)data;
	qemu_plugin_calls.quit();
}

#define QEMU_DATA
#endif

/* Asks QEMU for the calls of a plugin. */
static inline void plugin_register(qemu_plugin_id_t id, struct plugin calls)
{
	qemu_plugin_calls = calls;
	if (calls.translated)
		qemu_plugin_register_vcpu_tb_trans_cb(id, qemu_translated QEMU_DATA);
	if (calls.idle)
		qemu_plugin_register_vcpu_idle_cb(id, qemu_idle QEMU_DATA);
	if (calls.quit)
		qemu_plugin_register_atexit_cb(id, qemu_quit, NULL);
}

#if QEMU_PLUGIN_VERSION >= 3
struct qemu_plugin_scoreboard;
typedef struct {
	struct qemu_plugin_scoreboard *score;
	size_t offset;
} qemu_plugin_u64;
struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t element_size);
void *qemu_plugin_scoreboard_find(struct qemu_plugin_scoreboard *score, unsigned int cpu);
void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(struct qemu_plugin_insn *insn,
							 enum qemu_plugin_op op,
							 qemu_plugin_u64 counter, uint64_t amount);
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *bytes, size_t size);

typedef struct qemu_plugin_scoreboard *counter_t;

/* A counter that translated code advances on the one virtual CPU. Ask for its place only after it
 * exists: QEMU may move the counters when virtual CPUs are added. */
static inline counter_t counter_new(void)
{
	return qemu_plugin_scoreboard_new(sizeof(uint64_t));
}

static inline uint64_t *counter_place(counter_t counter)
{
	return qemu_plugin_scoreboard_find(counter, 0);
}

/* Advances the counter whenever the instruction starts. */
static inline void counter_advance(counter_t counter, struct qemu_plugin_insn *insn, uint64_t by)
{
	qemu_plugin_u64 first = { .score = counter, .offset = 0 };

	qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, QEMU_PLUGIN_INLINE_ADD_U64, first,
							    by);
}

/* The instruction's bytes, copied to `room` where QEMU does not lend them. */
static inline const void *insn_bytes(const struct qemu_plugin_insn *insn, void *room, size_t size)
{
	qemu_plugin_insn_data(insn, room, size);
	return room;
}
#else
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn,
						enum qemu_plugin_op op, void *counter,
						uint64_t amount);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);

typedef uint64_t *counter_t;

static inline counter_t counter_new(void)
{
	static uint64_t counter;

	return &counter;
}

static inline uint64_t *counter_place(counter_t counter)
{
	return counter;
}

static inline void counter_advance(counter_t counter, struct qemu_plugin_insn *insn, uint64_t by)
{
	qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64, counter, by);
}

static inline const void *insn_bytes(const struct qemu_plugin_insn *insn, void *room, size_t size)
{
	(void)room, (void)size;
	return qemu_plugin_insn_data(insn);
}
#endif

#endif
