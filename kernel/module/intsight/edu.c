// SPDX-License-Identifier: GPL-2.0-only
/*
 * The trigger edu: QEMU's educational PCI device, which raises its interrupt
 * when it is told to. The path is that of a real device: a register write,
 * the interrupt controller, a vector of its own, a register write to
 * acknowledge. The device is not needed; without it the trigger is not there.
 *
 * Only with MSI, which every version of the device has: an INTx line would be
 * shared, and the handlers of the mechanisms do not ask whether it was us.
 *
 * No module alias is made from the id table: nothing should load intsight
 * because a machine has this device.
 */
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/irqflags.h>
#include <linux/pci.h>

#include "bench.h"
#include "intsight.h"
#include "line.h"

#define EDU_VENDOR		0x1234
#define EDU_DEVICE		0x11e8

#define EDU_REG_RAISE		0x60
#define EDU_REG_ACK		0x64
/* Any value; a set bit is an interrupt that was not acknowledged. */
#define EDU_INTERRUPT		BIT(0)

static void __iomem *edu_regs;
static int edu_vector = -ENODEV;
/* The line that the device raises from other CPUs than the line's. */
static struct intsight_line *carried;

static int edu_irq(void)
{
	return READ_ONCE(edu_vector);
}

static void edu_send(void)
{
	writel(EDU_INTERRUPT, edu_regs + EDU_REG_RAISE);
}

static void edu_fire(u64 delay_ns)
{
	local_irq_disable();
	intsight_open();
	edu_send();
	local_irq_enable();
}

static void edu_ack(void)
{
	writel(EDU_INTERRUPT, edu_regs + EDU_REG_ACK);
}

static irqreturn_t edu_carried(int irq, void *line)
{
	edu_ack();
	intsight_line_arrive(line);
	return IRQ_HANDLED;
}

/**
 * intsight_edu_carry() - let the device raise a line from other CPUs
 * @line: the line; its affinity and the device's must be the same CPU
 *
 * The trigger edu cannot be used meanwhile: the interrupt has one handler.
 *
 * Context: may sleep.
 * Return: 0, -ENODEV without the device, or what request_irq() says.
 */
int intsight_edu_carry(struct intsight_line *line)
{
	int irq = edu_irq(), ret;

	if (irq < 0)
		return irq;
	ret = request_irq(irq, edu_carried, IRQF_NO_THREAD, "intsight-edu",
			  line);
	if (ret)
		return ret;
	carried = line;
	intsight_line_send_by(line, edu_send);
	return 0;
}

/**
 * intsight_edu_leave() - undo intsight_edu_carry(), if the device is still there
 *
 * Context: may sleep. A raise that is on its way is lost.
 */
void intsight_edu_leave(void)
{
	struct intsight_line *line = xchg(&carried, NULL);

	if (!line)
		return;
	intsight_line_send_by(line, NULL);
	free_irq(edu_irq(), line);
}

static int edu_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	int ret;

	/* One is enough. */
	if (edu_irq() >= 0)
		return -EBUSY;

	ret = pcim_enable_device(pdev);
	if (ret)
		return ret;
	ret = pcim_iomap_regions(pdev, BIT(0), KBUILD_MODNAME);
	if (ret)
		return ret;

	pci_set_master(pdev);
	ret = pci_alloc_irq_vectors(pdev, 1, 1, PCI_IRQ_MSI);
	if (ret < 0)
		return ret;

	edu_regs = pcim_iomap_table(pdev)[0];
	WRITE_ONCE(edu_vector, pci_irq_vector(pdev, 0));
	return 0;
}

static void edu_remove(struct pci_dev *pdev)
{
	intsight_edu_leave();
	/* A benchmark that uses it ends with -ENODEV at its next run. */
	WRITE_ONCE(edu_vector, -ENODEV);
	intsight_bench_wait();
	pci_free_irq_vectors(pdev);
}

static const struct pci_device_id edu_ids[] = {
	{ PCI_DEVICE(EDU_VENDOR, EDU_DEVICE) },
	{ }
};

static struct pci_driver edu_driver = {
	.name		= KBUILD_MODNAME,
	.id_table	= edu_ids,
	.probe		= edu_probe,
	.remove		= edu_remove,
};

int intsight_edu_init(void)
{
	return pci_register_driver(&edu_driver);
}

void intsight_edu_exit(void)
{
	pci_unregister_driver(&edu_driver);
}

const struct intsight_trigger intsight_trigger_edu = {
	.name	= "edu",
	.irq	= edu_irq,
	.fire	= edu_fire,
	.ack	= edu_ack,
};
