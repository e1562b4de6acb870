// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * threads FILE - a process of three threads that sleep: its main one, `axis` and `helper`. When FILE
 * appears, `axis` starts one more, `born`, which is where its parent is then.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"

static const struct timespec nap = { .tv_nsec = 10000000 };
static const char *file;

static void *rest(void *name)
{
	pthread_setname_np(pthread_self(), name);
	for (;;)
		pause();
	return NULL;
}

static void start(void *(*run)(void *), char *name)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, name))
		quit("no thread could be started");
}

static void *axis(void *name)
{
	pthread_setname_np(pthread_self(), name);
	while (access(file, F_OK))
		nanosleep(&nap, NULL);
	start(rest, "born");
	return rest(name);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		quit("usage: threads FILE");
	file = argv[1];
	start(axis, "axis");
	start(rest, "helper");
	rest("threads");
	return 0;
}
