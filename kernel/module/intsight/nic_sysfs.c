// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/class/net/isightN/intsight: configuration of the test NIC, which both
 * ends share, and counts of each end. One value per file; what is out of range
 * is refused with EINVAL and changes nothing.
 */
#include <linux/device.h>
#include <linux/etherdevice.h>
#include <linux/kstrtox.h>
#include <linux/rtnetlink.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "intsight_uapi.h"
#include "nic.h"

/* At most this many ports above the first, which therefore ends below. */
#define MAX_BURST_PORTS	1024
#define MAX_BURST_SIZE	(ETH_DATA_LEN - 28)	/* IP and UDP headers */

struct config_attribute {
	struct device_attribute attr;
	size_t offset;
	u32 min;
	u32 max;
};

struct count_attribute {
	struct device_attribute attr;
	size_t offset;
};

static struct intsight_end *to_end(struct device *device)
{
	return netdev_priv(to_net_dev(device));
}

static u32 *to_value(struct device *device, struct device_attribute *attr)
{
	struct config_attribute *config = container_of(attr,
						       struct config_attribute,
						       attr);

	return (void *)to_end(device)->config + config->offset;
}

static ssize_t config_show(struct device *device,
			   struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(*to_value(device, attr)));
}

static ssize_t config_store(struct device *device,
			    struct device_attribute *attr, const char *buf,
			    size_t len)
{
	struct config_attribute *config = container_of(attr,
						       struct config_attribute,
						       attr);
	u32 value;

	if (kstrtou32(buf, 0, &value) ||
	    value < config->min || value > config->max)
		return -EINVAL;
	WRITE_ONCE(*to_value(device, attr), value);
	return len;
}

static ssize_t count_show(struct device *device, struct device_attribute *attr,
			  char *buf)
{
	struct count_attribute *count = container_of(attr,
						     struct count_attribute,
						     attr);
	struct intsight_end *end = to_end(device), *queue;
	u64 sum = 0;

	intsight_for_each_queue(queue, end)
		sum += READ_ONCE(*(u64 *)((void *)&queue->counts +
					  count->offset));
	return sysfs_emit(buf, "%llu\n", sum);
}

static const char * const peers[] = {
	[INTSIGHT_PEER_PAIR] = "pair",
	[INTSIGHT_PEER_ECHO] = "echo",
};

static ssize_t peer_show(struct device *device, struct device_attribute *attr,
			 char *buf)
{
	return sysfs_emit(buf, "%s\n",
			  peers[READ_ONCE(to_end(device)->config->peer)]);
}

static ssize_t peer_store(struct device *device, struct device_attribute *attr,
			  const char *buf, size_t len)
{
	struct intsight_end *end = to_end(device);
	int peer = sysfs_match_string(peers, buf);
	ssize_t ret = len;

	if (peer < 0)
		return -EINVAL;
	/* The device may be on its way out, which waits for this file. */
	if (!rtnl_trylock())
		return restart_syscall();
	if (netif_running(end->netdev) || netif_running(end->other->netdev))
		ret = -EBUSY;
	else
		WRITE_ONCE(end->config->peer, peer);
	rtnl_unlock();
	return ret;
}
static DEVICE_ATTR_RW(peer);

static ssize_t burst_show(struct device *device, struct device_attribute *attr,
			  char *buf)
{
	return sysfs_emit(buf, "%llu\n", READ_ONCE(to_end(device)->burst.left));
}

static ssize_t burst_store(struct device *device,
			   struct device_attribute *attr, const char *buf,
			   size_t len)
{
	struct intsight_end *end = to_end(device);
	int ret;
	u64 nr;

	if (kstrtou64(buf, 0, &nr))
		return -EINVAL;
	if (!rtnl_trylock())
		return restart_syscall();
	if (nr && !intsight_peer_can_burst(end))
		ret = -EADDRNOTAVAIL;
	else
		ret = intsight_wire_burst(end, nr);
	rtnl_unlock();
	return ret ?: len;
}
static DEVICE_ATTR_RW(burst);

#define CONFIG(_name, _min, _max)					\
	static struct config_attribute attr_##_name = {			\
		.attr.attr = { .name = #_name, .mode = 0644 },		\
		.attr.show = config_show,				\
		.attr.store = config_store,				\
		.offset = offsetof(struct intsight_nic_config, _name),	\
		.min = _min,						\
		.max = _max,						\
	}

#define COUNT(_name)							\
	static struct count_attribute attr_##_name = {			\
		.attr.attr = { .name = #_name, .mode = 0444 },		\
		.attr.show = count_show,				\
		.offset = offsetof(struct intsight_nic_counts, _name),	\
	}

CONFIG(rtt_us, 0, 10 * USEC_PER_SEC);
CONFIG(slow_port, 0, U16_MAX);
CONFIG(slow_rtt_us, 0, 10 * USEC_PER_SEC);
CONFIG(rate_pps, 0, INTSIGHT_MAX_PPS);
CONFIG(ring, 1, INTSIGHT_MAX_RING);
CONFIG(burst_pps, 1, INTSIGHT_MAX_PPS);
CONFIG(burst_port, 1, U16_MAX - MAX_BURST_PORTS);
CONFIG(burst_ports, 1, MAX_BURST_PORTS);
CONFIG(burst_size, sizeof(struct intsight_burst_payload), MAX_BURST_SIZE);
COUNT(sent);
COUNT(send_failed);
COUNT(received);
COUNT(overflowed);
COUNT(cut_off);
COUNT(no_memory);
COUNT(raised);
COUNT(handled);
COUNT(spurious);
COUNT(polls);
COUNT(answered);
COUNT(ignored);

static struct attribute *nic_attrs[] = {
	&dev_attr_peer.attr,
	&dev_attr_burst.attr,
	&attr_rtt_us.attr.attr,
	&attr_slow_port.attr.attr,
	&attr_slow_rtt_us.attr.attr,
	&attr_rate_pps.attr.attr,
	&attr_ring.attr.attr,
	&attr_burst_pps.attr.attr,
	&attr_burst_port.attr.attr,
	&attr_burst_ports.attr.attr,
	&attr_burst_size.attr.attr,
	&attr_sent.attr.attr,
	&attr_send_failed.attr.attr,
	&attr_received.attr.attr,
	&attr_overflowed.attr.attr,
	&attr_cut_off.attr.attr,
	&attr_no_memory.attr.attr,
	&attr_raised.attr.attr,
	&attr_handled.attr.attr,
	&attr_spurious.attr.attr,
	&attr_polls.attr.attr,
	&attr_answered.attr.attr,
	&attr_ignored.attr.attr,
	NULL
};

const struct attribute_group intsight_nic_group = {
	.name	= "intsight",
	.attrs	= nic_attrs,
};
