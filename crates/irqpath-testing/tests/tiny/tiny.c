// SPDX-License-Identifier: GPL-2.0
/*
 * A module that does nothing, to test that modules can be built. __FILE__ is in it on purpose:
 * the place where it was built must not be.
 */
#include <linux/module.h>

#ifdef TINY_BREAK
#error "broken on purpose"
#endif

static int __init tiny_init(void)
{
	pr_info("%s\n", __FILE__);
	return 0;
}
module_init(tiny_init);

static void __exit tiny_exit(void)
{
}
module_exit(tiny_exit);

MODULE_DESCRIPTION("Nothing, to test the build");
MODULE_LICENSE("GPL");
