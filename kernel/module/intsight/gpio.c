// SPDX-License-Identifier: GPL-2.0-only
/*
 * The trigger gpio: a loop on a board. Connect an output pin with an input pin
 * that can interrupt, and give their global GPIO numbers (see
 * /sys/kernel/debug/gpio) when the module is loaded:
 *
 *	insmod intsight.ko gpio_out=117 gpio_in=118
 *
 * The output rises to make an interrupt and falls in the handler, before its
 * checkpoint. The output is written with interrupts off. The controller of both
 * pins therefore must not sleep, as one behind I2C or SPI does, and must have a
 * raw lock on PREEMPT_RT. The numbers are legacy ones, because no firmware node
 * names a pair of bare pins.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/gpio.h>
#include <linux/gpio/consumer.h>
#include <linux/interrupt.h>
#include <linux/irqflags.h>
#include <linux/module.h>
#include <linux/printk.h>

#include "bench.h"
#include "intsight.h"

static int gpio_out = -1;
module_param(gpio_out, int, 0444);
MODULE_PARM_DESC(gpio_out, "number of the output pin of the trigger gpio");

static int gpio_in = -1;
module_param(gpio_in, int, 0444);
MODULE_PARM_DESC(gpio_in, "number of the input pin that gpio_out is connected to");

static struct gpio_desc *out;
static int in_irq = -ENODEV;

static int loop_irq(void)
{
	return in_irq;
}

static void loop_fire(u64 delay_ns)
{
	local_irq_disable();
	intsight_open();
	gpiod_set_raw_value(out, 1);
	local_irq_enable();
}

static void loop_ack(void)
{
	gpiod_set_raw_value(out, 0);
}

static int loop_request(void)
{
	int ret;

	ret = gpio_request_one(gpio_out, GPIOF_OUT_INIT_LOW, "intsight-out");
	if (ret)
		return ret;
	ret = gpio_request_one(gpio_in, GPIOF_IN, "intsight-in");
	if (ret)
		goto free_out;

	out = gpio_to_desc(gpio_out);
	ret = -EINVAL;
	if (gpiod_cansleep(out) || gpiod_cansleep(gpio_to_desc(gpio_in)))
		goto free_in;
	ret = gpiod_to_irq(gpio_to_desc(gpio_in));
	if (ret < 0)
		goto free_in;
	in_irq = ret;
	return 0;

free_in:
	gpio_free(gpio_in);
free_out:
	gpio_free(gpio_out);
	return ret;
}

int intsight_gpio_init(void)
{
	int ret;

	/* Nothing asked for, and the trigger stays absent. */
	if (gpio_out < 0 && gpio_in < 0)
		return 0;

	ret = loop_request();
	if (ret)
		pr_err("cannot use gpio_out=%d gpio_in=%d (%d): both must exist, be free and not sleep, and gpio_in must interrupt\n",
		       gpio_out, gpio_in, ret);
	return ret;
}

void intsight_gpio_exit(void)
{
	if (in_irq < 0)
		return;
	gpio_free(gpio_in);
	gpio_free(gpio_out);
}

const struct intsight_trigger intsight_trigger_gpio = {
	.name		= "gpio",
	.irq		= loop_irq,
	.irqflags	= IRQF_TRIGGER_RISING,
	.fire		= loop_fire,
	.ack		= loop_ack,
};
