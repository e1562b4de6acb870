#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The first process of the guests of pid1, until it becomes the systemd on the disk.
export PATH=/bin
/bin/busybox mkdir -p /proc /sys /dev /disk
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
while read -r module parameters; do
	insmod "$module" $parameters
done < /etc/irqpath/modules
mount -t ext4 /dev/vda /disk
cp -a /payload/. /disk/
cp /usr/bin/* /disk/usr/bin/
cp /bin/busybox /disk/usr/bin/
mkdir -p /disk/results /disk/etc/systemd/system/multi-user.target.wants
ln -sf /etc/systemd/system/irqpath-job.service /disk/etc/systemd/system/multi-user.target.wants/
echo guest > /disk/etc/hostname
umount /proc /sys /dev
exec switch_root /disk /lib/systemd/systemd
