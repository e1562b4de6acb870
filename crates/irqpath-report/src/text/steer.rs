// SPDX-License-Identifier: GPL-2.0-or-later
//! What `irqpath tune --packets --steer` prints for people.

use irqpath_model::tune::{CannotSteer, SteerState, Steered, Steering};

use super::Page;

/// A line for each device and receiver.
pub(super) fn render_steering(steering: &Steering) -> Page {
    let mut text = Page::default();
    for device in &steering.devices {
        let name = &device.name;
        if let Some(cannot) = &device.cannot {
            text.add_line(format_args!("steering of {name}: {}", cannot_words(cannot, name)));
            continue;
        }
        if device.receivers.is_empty() {
            text.add_line(format_args!("steering of {name}: no real-time task receives packets"));
        }
        for words in &device.taken_back {
            text.add_line(format_args!("steering of {name}: no reason any more for: {words}"));
        }
        for steered in &device.receivers {
            let receiver = &steered.receiver;
            text.add_line(format_args!(
                "steering of {name}: {} ({}, priority {}), {}: {}",
                receiver.comm,
                receiver.tid,
                receiver.priority,
                receiver.flow,
                state_words(steered)
            ));
        }
    }
    text
}

fn cannot_words(cannot: &CannotSteer, name: &str) -> String {
    match cannot {
        CannotSteer::Missing => "no such network device".to_owned(),
        CannotSteer::OneQueue => "it has one receive queue".to_owned(),
        CannotSteer::Off => {
            format!("its flow rules are switched off; ethtool -K {name} ntuple on")
        }
        CannotSteer::Refused(reason) => {
            format!("it has no flow rules; ethtool -n {name} would say: {reason}")
        }
    }
}

fn state_words(steered: &Steered) -> String {
    let queue = steered.queue.map_or("a queue".to_owned(), |queue| format!("queue {queue}"));
    let shared = if steered.is_shared { ", with receivers of other priorities" } else { "" };
    match &steered.state {
        SteerState::Already => format!("comes by {queue} already{shared}"),
        SteerState::WouldSteer => format!("would come by {queue}{shared}"),
        SteerState::Steered => format!("comes by {queue} now{shared}"),
        SteerState::ByHand(words) => format!("steered by hand, left so: {words}"),
        SteerState::ChangedMeanwhile => "somebody removed its rule, left so".to_owned(),
        SteerState::NoPlace => "the device has no place for another rule".to_owned(),
        SteerState::Refused(reason) => reason.clone(),
    }
}

#[cfg(test)]
mod tests {
    use irqpath_model::tune::{Flow, Receiver, SteeredDevice, Transport};

    use super::*;

    #[test]
    fn every_receiver_and_every_device_that_cannot_is_named() {
        let steered = |queue, is_shared, state| {
            let flow = Flow { transport: Transport::Udp, port: 5000 };
            let receiver = Receiver { flow, priority: 40, tid: 70, comm: "motion".to_owned() };
            Steered { receiver, queue, is_shared, state }
        };
        let device = |name: &str, cannot| SteeredDevice {
            name: name.to_owned(),
            cannot,
            receivers: Vec::new(),
            taken_back: Vec::new(),
        };
        let receivers = vec![
            steered(Some(1), false, SteerState::WouldSteer),
            steered(Some(0), true, SteerState::Steered),
            steered(None, false, SteerState::ByHand("udp port 5000 to queue 3".to_owned())),
        ];
        let taken_back = vec!["tcp port 9 to queue 1".to_owned()];
        let refused = CannotSteer::Refused("Operation not supported".to_owned());
        let devices = vec![
            SteeredDevice { receivers, taken_back, ..device("eth0", None) },
            device("eth1", None),
            device("veth0", Some(refused)),
            device("eth2", Some(CannotSteer::Off)),
        ];
        assert_eq!(
            render_steering(&Steering { devices }),
            "steering of eth0: no reason any more for: tcp port 9 to queue 1\n\
             steering of eth0: motion (70, priority 40), udp port 5000: would come by queue 1\n\
             steering of eth0: motion (70, priority 40), udp port 5000: comes by queue 0 now, with \
             receivers of other priorities\n\
             steering of eth0: motion (70, priority 40), udp port 5000: steered by hand, left so: \
             udp port 5000 to queue 3\n\
             steering of eth1: no real-time task receives packets\n\
             steering of veth0: it has no flow rules; ethtool -n veth0 would say: Operation not \
             supported\n\
             steering of eth2: its flow rules are switched off; ethtool -K eth2 ntuple on\n"
        );
    }
}
