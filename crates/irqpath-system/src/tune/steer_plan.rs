// SPDX-License-Identifier: GPL-2.0-or-later
//! Which receiver gets which receive queue of a device. Looks at nothing and changes nothing;
//! `steer` does both.
//!
//! The most urgent receivers get a queue to themselves, shared only by those of the same priority.
//! The others have queue 0 together, as have all packets without a rule. Rules go to the end of the
//! table, because the first one that fits counts: one by hand comes before ours.

use std::collections::{BTreeMap, BTreeSet};

use irqpath_model::tune::{Flow, FlowRule, FlowTable, FoundRule, Receiver, SteerState, Steered};

/// What of a device's rules is ours.
#[derive(Debug, Default)]
pub(super) struct OwnRules {
    /// Those that are there, by location.
    pub there: BTreeMap<u32, FlowRule>,
    /// Flows whose rule somebody else removed or replaced.
    pub removed: BTreeSet<Flow>,
}

/// What should be done to a device.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SteerPlan {
    /// Each receiver and its queue.
    pub receivers: Vec<Steered>,
    /// Rules to be made, by location, with the number of the receiver.
    pub rules: BTreeMap<u32, (usize, FlowRule)>,
    /// Our rules without a reason.
    pub back: BTreeMap<u32, FlowRule>,
}

/// Decide. The most urgent receivers come first.
pub(super) fn plan_rules(table: &FlowTable, own: &OwnRules, receivers: &[Receiver]) -> SteerPlan {
    let by_hand: BTreeMap<u32, &FoundRule> = table
        .rules
        .iter()
        .filter(|(at, _)| !own.there.contains_key(at))
        .map(|(&at, r)| (at, r))
        .collect();
    let mut plan = SteerPlan::default();
    for receiver in receivers {
        let found = by_hand.values().find(|rule| rule.flow() == Some(receiver.flow));
        let state = match found {
            Some(rule) => SteerState::ByHand(rule.to_string()),
            None if own.removed.contains(&receiver.flow) => SteerState::ChangedMeanwhile,
            None => SteerState::WouldSteer,
        };
        let queue = found.and_then(|rule| rule.queue());
        let receiver = receiver.clone();
        plan.receivers.push(Steered { receiver, queue, is_shared: false, state });
    }
    let taken: BTreeSet<u32> = by_hand.values().filter_map(|rule| rule.queue()).collect();
    let queues = (1..table.nr_queues).filter(|queue| !taken.contains(queue)).collect::<Vec<_>>();
    assign_queues(&mut plan.receivers, &queues);
    assign_places(&mut plan, table, own, |at| by_hand.contains_key(&at));
    plan
}

/// One queue for each priority; those that are left share queue 0.
fn assign_queues(receivers: &mut [Steered], queues: &[u32]) {
    let is_ours = |steered: &&mut Steered| steered.state == SteerState::WouldSteer;
    let ours = || receivers.iter().filter(|s| s.state == SteerState::WouldSteer);
    let priorities: BTreeSet<u8> = ours().map(|steered| steered.receiver.priority).collect();
    let nr_without = priorities.len().saturating_sub(queues.len());
    let ranked: BTreeMap<u8, usize> =
        priorities.into_iter().rev().enumerate().map(|(rank, priority)| (priority, rank)).collect();
    for steered in receivers.iter_mut().filter(is_ours) {
        let queue = queues.get(ranked[&steered.receiver.priority]);
        steered.queue = Some(queue.copied().unwrap_or(0));
        steered.is_shared = queue.is_none() && nr_without > 1;
    }
}

/// A rule of ours that is right stays where it is, and one that is not goes first.
fn assign_places(
    plan: &mut SteerPlan,
    table: &FlowTable,
    own: &OwnRules,
    is_by_hand: impl Fn(u32) -> bool,
) {
    let mut kept = BTreeSet::new();
    let mut missing = Vec::new();
    for (number, steered) in plan.receivers.iter_mut().enumerate() {
        let (SteerState::WouldSteer, Some(queue)) = (&steered.state, steered.queue) else {
            continue;
        };
        let rule = FlowRule { flow: steered.receiver.flow, queue };
        match own.there.iter().find(|(_, there)| **there == rule) {
            Some((&at, _)) => {
                kept.insert(at);
                steered.state = SteerState::Already;
            }
            None => missing.push((number, rule)),
        }
    }
    plan.back =
        own.there.iter().filter(|(at, _)| !kept.contains(at)).map(|(&at, &r)| (at, r)).collect();
    let mut free = (0..table.nr_places).rev().filter(|at| !is_by_hand(*at) && !kept.contains(at));
    for (number, rule) in missing {
        match free.next() {
            Some(at) => drop(plan.rules.insert(at, (number, rule))),
            None => plan.receivers[number].state = SteerState::NoPlace,
        }
    }
}

#[cfg(test)]
mod tests {
    use irqpath_model::tune::Transport;

    use super::*;

    fn receiver(port: u16, priority: u8) -> Receiver {
        let flow = Flow { transport: Transport::Udp, port };
        Receiver { flow, priority, tid: port.into(), comm: "receiver".to_owned() }
    }

    fn table(nr_queues: u32, nr_places: u32, rules: &[(u32, FoundRule)]) -> FlowTable {
        FlowTable { is_on: true, nr_queues, nr_places, rules: rules.iter().cloned().collect() }
    }

    fn rule(words: &str) -> FlowRule {
        words.parse().unwrap()
    }

    fn queues(plan: &SteerPlan) -> Vec<(u16, Option<u32>, bool)> {
        let of = |s: &Steered| (s.receiver.flow.port, s.queue, s.is_shared);
        plan.receivers.iter().map(of).collect()
    }

    fn locations(rules: &BTreeMap<u32, FlowRule>) -> Vec<u32> {
        rules.keys().copied().collect()
    }

    fn rules(plan: &SteerPlan) -> Vec<(u32, String)> {
        plan.rules.iter().map(|(at, (_, rule))| (*at, rule.to_string())).collect()
    }

    #[test]
    fn each_priority_gets_a_queue_and_those_of_one_priority_share_it() {
        let receivers = [receiver(1, 40), receiver(2, 40), receiver(3, 20), receiver(4, 10)];
        let plan = plan_rules(&table(4, 16, &[]), &OwnRules::default(), &receivers);
        let want =
            [(1, Some(1), false), (2, Some(1), false), (3, Some(2), false), (4, Some(3), false)];
        assert_eq!(queues(&plan), want);
        assert_eq!(rules(&plan)[3], (15, "udp port 1 to queue 1".to_owned()));
        assert_eq!(rules(&plan)[0], (12, "udp port 4 to queue 3".to_owned()));
    }

    #[test]
    fn the_least_urgent_share_queue_0_where_queues_are_short() {
        let receivers = [receiver(1, 40), receiver(2, 30), receiver(3, 20)];
        let plan = plan_rules(&table(2, 16, &[]), &OwnRules::default(), &receivers);
        assert_eq!(queues(&plan), [(1, Some(1), false), (2, Some(0), true), (3, Some(0), true)]);
        // One that is alone there shares with nobody.
        let plan = plan_rules(&table(3, 16, &[]), &OwnRules::default(), &receivers);
        assert_eq!(queues(&plan), [(1, Some(1), false), (2, Some(2), false), (3, Some(0), false)]);
    }

    #[test]
    fn a_port_and_a_queue_by_hand_are_left_alone() {
        let other = FoundRule::Other { flow: None, queue: Some(1), words: "icmp".to_owned() };
        let by_hand = FoundRule::Plain(rule("udp port 2 to queue 3"));
        let found = [(15, other), (0, by_hand)];
        let receivers = [receiver(1, 40), receiver(2, 30), receiver(3, 20)];
        let plan = plan_rules(&table(4, 16, &found), &OwnRules::default(), &receivers);
        assert_eq!(queues(&plan), [(1, Some(2), false), (2, Some(3), false), (3, Some(0), false)]);
        let state = SteerState::ByHand("udp port 2 to queue 3".to_owned());
        assert_eq!(plan.receivers[1].state, state);
        let want = ["udp port 3 to queue 0", "udp port 1 to queue 2"];
        assert_eq!(rules(&plan), [(13, want[0].to_owned()), (14, want[1].to_owned())]);
    }

    #[test]
    fn rules_of_ours_stay_while_they_are_right_and_go_first_when_not() {
        let there = [(15, rule("udp port 1 to queue 1")), (14, rule("udp port 9 to queue 0"))];
        let found = there.map(|(at, rule)| (at, FoundRule::Plain(rule)));
        let own = OwnRules { there: there.into_iter().collect(), ..OwnRules::default() };
        let plan = plan_rules(&table(2, 16, &found), &own, &[receiver(1, 40), receiver(2, 30)]);
        assert_eq!(plan.receivers[0].state, SteerState::Already);
        assert_eq!(locations(&plan.back), [14]);
        assert_eq!(rules(&plan), [(14, "udp port 2 to queue 0".to_owned())]);
        // A more urgent receiver takes the queue over.
        let plan = plan_rules(&table(2, 16, &found), &own, &[receiver(2, 50), receiver(1, 40)]);
        assert_eq!(locations(&plan.back), [14, 15]);
        assert_eq!(queues(&plan), [(2, Some(1), false), (1, Some(0), false)]);
        // The reason is gone.
        let plan = plan_rules(&table(2, 16, &found), &own, &[]);
        assert_eq!(locations(&plan.back), [14, 15]);
    }

    #[test]
    fn a_removed_rule_stays_away_and_a_full_table_is_named() {
        let removed = BTreeSet::from([receiver(1, 40).flow]);
        let own = OwnRules { removed, ..OwnRules::default() };
        let receivers = [receiver(1, 40), receiver(2, 30), receiver(3, 30)];
        let plan = plan_rules(&table(2, 1, &[]), &own, &receivers);
        let states: Vec<_> = plan.receivers.iter().map(|s| s.state.clone()).collect();
        let want = [SteerState::ChangedMeanwhile, SteerState::WouldSteer, SteerState::NoPlace];
        assert_eq!(states, want);
        assert_eq!(rules(&plan), [(0, "udp port 2 to queue 1".to_owned())]);
    }
}
