// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * truth - a known number of interrupts with delays of known kind and size.
 *
 * Arms /dev/intsight0 periodically, sleeps in read() for each interrupt, and writes what the
 * device did: OUT.csv has one line per interrupt (when it was due, whether it was disturbed),
 * OUT.values the totals. That is the truth that `irqpath trace` is compared with; sizes are the
 * disturber's own, by the cycle counter.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <getopt.h>
#include <unistd.h>

#include "disturb.h"
#include "guest.h"

static const char usage[] =
"usage: truth -o OUT [-n COUNT] [-t PERIOD_NS] [-p FIFO_PRIORITY] [-k KIND:BUSY_NS:FIRST:EVERY]\n";

struct options {
	const char *out, *kind;
	uint64_t count, period_ns, priority, first, every;
};

static FILE *result(const char *stem, const char *suffix)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s.%s", stem, suffix);
	file = fopen(path, "w");
	if (!file)
		die("%s", path);
	return file;
}

/* Remembers the schedule before the parser cuts the text up. */
static void schedule(struct options *options, const char *kind)
{
	if (sscanf(kind, "%*[^:]:%*u:%lu:%lu", &options->first, &options->every) != 2 ||
	    !options->first || !options->every)
		quit(usage);
}

static void write_events(const struct options *options, const struct intsight_event *events,
			 uint64_t before)
{
	FILE *csv = result(options->out, "csv");

	fprintf(csv, "seq,due_ns,disturbed,raise,primary,handler,wake,task\n");
	for (uint64_t i = 0; i < options->count; i++) {
		const struct intsight_event *e = &events[i];
		uint64_t nr = e->seq - before;
		int hit = options->every && nr >= options->first &&
			  (nr - options->first) % options->every == 0;

		fprintf(csv, "%llu,%llu,%d,%llu,%llu,%llu,%llu,%llu\n", e->seq, e->due_ns, hit,
			e->raise, e->primary, e->handler, e->wake, e->task);
	}
	if (fclose(csv))
		die("%s.csv", options->out);
}

static void write_totals(const struct options *options, int fd, uint64_t before, uint64_t missed)
{
	struct intsight_counts counts = { .size = sizeof(counts) };
	struct intsight_info info = { .size = sizeof(info) };
	FILE *values = result(options->out, "values");
	unsigned long long done = 0, cycles = 0;

	request(fd, INTSIGHT_IOC_COUNTS, &counts, "counts");
	request(fd, INTSIGHT_IOC_INFO, &info, "info");
	for (int kind = 0; kind < INTSIGHT_NR_DISTURB; kind++) {
		struct intsight_disturb d = { .size = sizeof(d), .kind = kind };

		request(fd, INTSIGHT_IOC_DISTURBED, &d, kinds[kind]);
		done += d.done;
		cycles += d.cycles;
	}
	fprintf(values, "raised %llu\nhandled %llu\nmissed %lu\noverruns %llu\nspurious %llu\n",
		counts.raised - before, counts.handled - before, missed, counts.overruns,
		counts.spurious);
	fprintf(values, "disturbances %llu\ndisturbed_cycles %llu\n", done, cycles);
	fprintf(values, "cycles_khz %llu\nirq %u\nintruder_irq %u\n", info.cycles_khz, info.irq,
		info.intruder_irq);
	if (fclose(values))
		die("%s.values", options->out);
}

static struct options parse(int argc, char **argv, char **kind)
{
	struct options got = { .count = 400, .period_ns = 5000000, .priority = 80 };

	for (int opt; (opt = getopt(argc, argv, "o:n:t:p:k:")) != -1;) {
		switch (opt) {
		case 'o': got.out = optarg; break;
		case 'n': got.count = number(optarg); break;
		case 't': got.period_ns = number(optarg); break;
		case 'p': got.priority = number(optarg); break;
		case 'k': *kind = optarg; break;
		default: quit(usage);
		}
	}
	if (!got.out || !got.count)
		quit(usage);
	if (*kind)
		schedule(&got, *kind);
	return got;
}

int main(int argc, char **argv)
{
	char *kind = NULL;
	struct options options = parse(argc, argv, &kind);
	struct intsight_counts counts = { .size = sizeof(counts) };
	struct intsight_event *events = calloc(options.count, sizeof(*events));
	struct intsight_arm arm = { .size = sizeof(arm), .delay_ns = options.period_ns,
				    .period_ns = options.period_ns, .count = options.count };
	int fd = open("/dev/intsight0", O_RDWR | O_CLOEXEC);
	uint64_t missed = 0;

	if (fd < 0 || !events)
		die("/dev/intsight0");
	request(fd, INTSIGHT_IOC_COUNTS, &counts, "counts");
	disturb_none(fd);
	if (kind)
		disturb(fd, kind, counts.raised);
	lock_memory();
	be_fifo(options.priority);
	request(fd, INTSIGHT_IOC_ARM, &arm, "arm");
	for (uint64_t i = 0; i < options.count; i++) {
		if (read(fd, &events[i], sizeof(events[i])) != sizeof(events[i]))
			die("read");
		missed += events[i].missed;
	}
	write_events(&options, events, counts.raised);
	write_totals(&options, fd, counts.raised, missed);
	return 0;
}
