// SPDX-License-Identifier: GPL-2.0-or-later
//! Joins the paths of a whole record, with everything at hand: no slots, no limits, no clock.
//!
//! Written from what the kernel does, not from `bpf/`. Neighbours: `chain.rs` is what contexts hand
//! on; `judge.rs` compares the result with what irqpath says.

use std::collections::HashMap;

use irqpath_model::{Origin, PathEnd, Point, SoftirqVec, Stamp, Via};

use crate::chain::Chain;
use crate::event::{Event, Subject, What};

const TASK_INTERRUPTIBLE: u32 = 1;
const TASK_RTLOCK_WAIT: u32 = 0x1000;

/// How a wakeup went on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing more was heard of it.
    Open,
    /// It ended like this.
    Ended(PathEnd),
    /// The task ran, but the switch to it was not traced: there is nothing to join.
    Unseen,
    /// The task had not slept when it was woken, and was woken again.
    WokenAgain,
    Exited,
}

/// A wakeup by something that an interrupt began.
#[derive(Debug, Clone)]
pub struct Wakeup {
    pub tid: u32,
    /// The way to it; the waking is stamped, and what followed it.
    pub chain: Chain,
    /// How it went on.
    pub outcome: Outcome,
}

impl Wakeup {
    /// When it was woken, ns.
    pub fn waking(&self) -> Stamp {
        self.chain.stamp(Point::Waking).unwrap_or(Stamp { ns: 0, cpu: 0 })
    }
}

#[derive(Debug, Default)]
struct Cpu {
    hardirqs: Vec<Chain>,
    /// The chain before the expiry of the timer that runs: in a hardirq, in a softirq.
    before_timer: [Option<OuterRaise>; 2],
    softirq: Option<Softirq>,
    pending: HashMap<SoftirqVec, Chain>,
    /// When an interrupt was sent here: without and with a callback.
    ipis: [Option<u64>; 2],
    current: Option<u32>,
    softirqd: Via,
    /// An irq thread that the handler asked for, and what for.
    handed: Option<(u32, Chain)>,
}

/// A softirq that runs, and on whose behalf.
#[derive(Debug)]
struct Softirq(Option<Chain>);

/// The raise of a chain while a timer's callback borrows it.
#[derive(Debug)]
struct OuterRaise(Option<Stamp>);

/// What is known of a task.
#[derive(Debug, Default)]
struct Life {
    /// A wakeup that waits for its switch-in: where it is in the result, or a carrier's chain.
    woken: Option<Woken>,
    /// A wakeup that waits for the return to user space.
    awaits_user: Option<usize>,
    /// What the task does on behalf of an interrupt.
    carries: Option<Chain>,
    runs_work: bool,
    softirq: Option<Softirq>,
}

#[derive(Debug)]
struct Woken {
    what: For,
    /// It was on its CPU: one switch away from it is still to come.
    is_leaving: bool,
    /// It seemed to run, but may have been about to sleep: that switch tells.
    is_guess: bool,
}

impl Woken {
    /// The wakeup of a target of which it is certain that it waits for a switch-in.
    fn find_certain(&self) -> Option<usize> {
        match self.what {
            For::Itself(at) if !self.is_guess => Some(at),
            _ => None,
        }
    }
}

#[derive(Debug)]
enum For {
    Itself(usize),
    Carrying(Box<Chain>, Via),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Target,
    Carrier(Via),
    /// Carries nothing itself: the pending softirq or the work item does.
    Servant,
}

fn target_kind(task: &Subject) -> Kind {
    let starts = |text: &str| task.is_kthread && task.comm.as_str().starts_with(text);
    if starts("irq/") {
        Kind::Carrier(Via::IRQ_THREAD)
    } else if starts("napi") {
        Kind::Carrier(Via::NAPI_THREAD)
    } else if !softirq_thread(task).is_empty() || starts("kworker") {
        Kind::Servant
    } else {
        Kind::Target
    }
}

/// How a softirq is marked that runs in this task.
fn softirq_thread(task: &Subject) -> Via {
    let comm = task.comm.as_str();
    if task.is_kthread && comm.starts_with("ksoftirqd") {
        Via::KSOFTIRQD
    } else if task.is_kthread && comm.starts_with("ktimers") {
        Via::KTIMERS
    } else {
        Via::empty()
    }
}

/// Joins events, in order of time.
#[derive(Debug, Default)]
pub struct Joiner {
    cpus: HashMap<u16, Cpu>,
    lives: HashMap<u32, Life>,
    works: HashMap<u64, Chain>,
    /// When the timers were set.
    timers: HashMap<u64, u64>,
    wakeups: Vec<Wakeup>,
}

impl Joiner {
    /// Every wakeup of a record that has an interrupt behind it, in order of time.
    pub fn join_events(events: &[Event]) -> Vec<Wakeup> {
        let mut joiner = Self::default();
        for event in events {
            joiner.push(event);
        }
        joiner.wakeups
    }

    fn push(&mut self, event: &Event) {
        if matches!(event.what, What::Nmi { .. }) {
            return;
        }
        self.follow_event(event);
        match &event.what {
            What::Waking { task, state, .. } => self.note_waking(event, task, *state),
            What::Switch { prev, prev_state, preempted, next, in_syscall } => {
                let state = if *preempted { 0 } else { *prev_state };
                self.switch_out(event, *prev, state);
                self.switch_in(event, next, *in_syscall);
            }
            What::SysExit => self.sys_exit(event),
            What::TaskExit { tid } => self.task_exit(*tid),
            What::WorkQueue(work) => self.work_queue(event, *work),
            What::WorkStart(work) => self.work_start(event, *work),
            What::WorkEnd => self.work_end(event),
            What::SoftirqRaise(vec) => self.softirq_raise(event, *vec),
            What::IpiSend { to, has_callback } => {
                let sent = &mut self.cpu_state(*to).ipis[usize::from(*has_callback)];
                sent.get_or_insert(event.ns);
            }
            What::IrqEntry(_) | What::IrqExit { .. } => self.follow_hardirq(event),
            What::SoftirqEntry(_) | What::SoftirqExit(_) => self.follow_softirq(event),
            What::HrtimerStart(timer) => drop(self.timers.insert(*timer, event.ns)),
            What::HrtimerEntry { .. } | What::HrtimerExit => self.follow_hrtimer(event),
            What::Wakeup { .. } | What::Migrate { .. } | What::Nmi { .. } => {}
        }
    }

    fn cpu_state(&mut self, cpu: u16) -> &mut Cpu {
        self.cpus.entry(cpu).or_default()
    }

    /// Is this the task that was there before? If not, a switch was not traced, and what became of
    /// the things that were pending is not known.
    fn follow_event(&mut self, event: &Event) {
        let cpu = self.cpus.entry(event.cpu).or_default();
        let missed = cpu.current.is_some_and(|known| known != event.current);
        cpu.current = Some(event.current);
        if !missed {
            return;
        }
        cpu.hardirqs.clear();
        cpu.softirq = None;
        cpu.handed = None;
        cpu.ipis = [None; 2];
        for chain in cpu.pending.values_mut() {
            chain.is_unsure = true;
        }
        let life = self.lives.entry(event.current).or_default();
        if let Some(at) = life.woken.take().and_then(|woken| woken.find_certain()) {
            self.wakeups[at].outcome = Outcome::Unseen;
        }
    }

    /// On whose behalf the CPU works.
    fn current_context(&self, event: &Event) -> Option<&Chain> {
        let cpu = self.cpus.get(&event.cpu)?;
        if let Some(innermost) = cpu.hardirqs.last() {
            return Some(innermost);
        }
        if let Some(Softirq(Some(chain))) = &cpu.softirq {
            return Some(chain);
        }
        self.lives.get(&event.current)?.carries.as_ref()
    }

    fn note_waking(&mut self, event: &Event, task: &Subject, state: u32) {
        let handed = self.cpu_state(event.cpu).handed.take_if(|(tid, _)| *tid == task.tid);
        let context =
            handed.map(|(_, chain)| chain).or_else(|| self.current_context(event).cloned());
        let life = self.lives.entry(task.tid).or_default();
        if state & TASK_RTLOCK_WAIT != 0 {
            return; // a lock on its way was handed over
        }
        if let Some(at) = life.woken.take().and_then(|woken| woken.find_certain()) {
            self.wakeups[at].outcome = Outcome::WokenAgain;
        }
        let is_current = task.tid == event.current;
        let is_running = is_current || (task.is_on_cpu && task.is_on_rq && !task.is_delayed);
        let is_busy = life.awaits_user.is_some()
            || (life.carries.is_some() && state & TASK_INTERRUPTIBLE == 0);
        let Some(context) = context else { return };
        let what = match target_kind(task) {
            Kind::Servant => return,
            Kind::Carrier(_) if is_current || is_busy => return,
            Kind::Carrier(via) => {
                let context = context.carried_by(task.tid, event.ns, event.cpu);
                For::Carrying(Box::new(context), via)
            }
            Kind::Target if is_busy && !is_running => return,
            Kind::Target => {
                let outcome = if is_running {
                    Outcome::Ended(PathEnd::AlreadyRunning)
                } else {
                    Outcome::Open
                };
                let chain = context.with_stamp(Point::Waking, event.ns, event.cpu);
                self.wakeups.push(Wakeup { tid: task.tid, chain, outcome });
                For::Itself(self.wakeups.len() - 1)
            }
        };
        if !is_current {
            let (is_leaving, is_guess) = (task.is_on_cpu, is_running);
            life.woken = Some(Woken { what, is_leaving, is_guess });
        }
    }

    fn switch_out(&mut self, event: &Event, tid: u32, state: u32) {
        let softirq = self.cpu_state(event.cpu).softirq.take();
        let life = self.lives.entry(tid).or_default();
        life.softirq = softirq;
        let sleeps = state != 0 && state & TASK_RTLOCK_WAIT == 0;
        match &mut life.woken {
            Some(woken) if woken.is_guess && !sleeps => life.woken = None,
            Some(woken) if woken.is_leaving => woken.is_leaving = false,
            // It leaves a CPU that it was never seen to enter.
            _ => {
                if let Some(at) = life.woken.take().and_then(|woken| woken.find_certain()) {
                    self.wakeups[at].outcome = Outcome::Unseen;
                }
            }
        }
        if sleeps && let Some(at) = life.awaits_user.take() {
            self.wakeups[at].outcome = Outcome::Ended(PathEnd::SleptAgain);
        }
        if !life.runs_work && state & TASK_INTERRUPTIBLE != 0 {
            life.carries = None; // its loop waits for the next interrupt
        }
    }

    fn switch_in(&mut self, event: &Event, next: &Subject, in_syscall: bool) {
        let life = self.lives.entry(next.tid).or_default();
        let cpu = self.cpus.entry(event.cpu).or_default();
        cpu.hardirqs.clear();
        cpu.handed = None;
        cpu.current = Some(next.tid);
        cpu.softirqd = softirq_thread(next);
        cpu.softirq = life.softirq.take();
        match life.woken.take().map(|woken| woken.what) {
            None => {}
            Some(For::Carrying(chain, via)) => {
                let chain = chain.with_stamp(Point::IrqThread, event.ns, event.cpu).with_via(via);
                life.carries = Some(chain);
            }
            Some(For::Itself(at)) => {
                let wakeup = &mut self.wakeups[at];
                let remote =
                    if wakeup.waking().cpu == event.cpu { Via::empty() } else { Via::REMOTE };
                wakeup.chain =
                    wakeup.chain.with_stamp(Point::SwitchIn, event.ns, event.cpu).with_via(remote);
                if !next.is_kthread && in_syscall {
                    life.awaits_user = Some(at);
                } else {
                    wakeup.outcome = Outcome::Ended(PathEnd::SwitchIn);
                }
            }
        }
    }

    fn sys_exit(&mut self, event: &Event) {
        let life = self.lives.entry(event.current).or_default();
        if let Some(at) = life.awaits_user.take() {
            let wakeup = &mut self.wakeups[at];
            wakeup.chain = wakeup.chain.with_stamp(Point::User, event.ns, event.cpu);
            wakeup.outcome = Outcome::Ended(PathEnd::User);
        }
    }

    fn task_exit(&mut self, tid: u32) {
        let Some(life) = self.lives.remove(&tid) else { return };
        let woken = life.woken.and_then(|woken| woken.find_certain());
        for at in woken.into_iter().chain(life.awaits_user) {
            self.wakeups[at].outcome = Outcome::Exited;
        }
    }

    fn softirq_raise(&mut self, event: &Event, vec: SoftirqVec) {
        let context = self.current_context(event).cloned();
        let chain = context.unwrap_or_else(|| Chain::by_task(vec));
        let raised = chain.with_stamp(Point::SoftirqRaise, event.ns, event.cpu);
        self.cpu_state(event.cpu).pending.entry(vec).or_insert(raised);
    }

    fn follow_softirq(&mut self, event: &Event) {
        let cpu = self.cpu_state(event.cpu);
        cpu.softirq = match event.what {
            What::SoftirqEntry(vec) => {
                let softirqd = cpu.softirqd;
                let chain = cpu.pending.remove(&vec).map(|chain| {
                    let via = Via::softirq(vec) | softirqd;
                    chain.with_stamp(Point::Softirq, event.ns, event.cpu).with_via(via)
                });
                Some(Softirq(chain))
            }
            _ => None,
        };
    }

    fn follow_hardirq(&mut self, event: &Event) {
        let cpu = self.cpu_state(event.cpu);
        match event.what {
            What::IrqEntry(origin) => {
                let sent = ipi_of(origin).and_then(|kind| cpu.ipis[kind].take());
                let chain = Chain::new(origin).with_stamp(Point::Hardirq, event.ns, event.cpu);
                cpu.hardirqs.push(match sent {
                    Some(ns) => chain.with_raise(ns, event.cpu),
                    None => chain,
                });
            }
            What::IrqExit { wakes } => {
                let chain = cpu.hardirqs.pop();
                if let Some(chain) = chain.filter(|_| wakes != 0) {
                    cpu.handed = Some((wakes, chain));
                }
            }
            _ => {}
        }
    }

    /// While a timer's callback runs, the raise is that timer's expiry, or its setting if that
    /// was later.
    fn follow_hrtimer(&mut self, event: &Event) {
        let set_ns = match event.what {
            What::HrtimerEntry { timer, .. } => self.timers.remove(&timer),
            _ => None,
        };
        let cpu = self.cpu_state(event.cpu);
        let is_hard = !cpu.hardirqs.is_empty();
        let Some(chain) =
            cpu.hardirqs.last_mut().or(cpu.softirq.as_mut().and_then(|softirq| softirq.0.as_mut()))
        else {
            return;
        };
        let before = &mut cpu.before_timer[usize::from(is_hard)];
        if let What::HrtimerEntry { expires_ns, .. } = event.what {
            let raise_ns = expires_ns.max(set_ns.unwrap_or_default());
            *before = Some(OuterRaise(chain.stamp(Point::Raise)));
            *chain = chain.with_raise(raise_ns, event.cpu);
        } else if let Some(OuterRaise(raise)) = before.take() {
            chain.stamps[Point::Raise.index()] = raise;
        }
    }

    fn work_queue(&mut self, event: &Event, work: u64) {
        match self.current_context(event).cloned() {
            Some(chain) => {
                let queued = chain.with_stamp(Point::WorkQueue, event.ns, event.cpu);
                self.works.insert(work, queued);
            }
            None => drop(self.works.remove(&work)),
        }
    }

    fn work_start(&mut self, event: &Event, work: u64) {
        let Some(chain) = self.works.remove(&work) else { return };
        let chain = chain.with_stamp(Point::Work, event.ns, event.cpu).with_via(Via::WORK);
        let cpu = self.cpu_state(event.cpu);
        if cpu.softirq.is_some() {
            cpu.softirq = Some(Softirq(Some(chain)));
        } else {
            let life = self.lives.entry(event.current).or_default();
            life.carries = Some(chain);
            life.runs_work = true;
        }
    }

    fn work_end(&mut self, event: &Event) {
        if self.cpu_state(event.cpu).softirq.is_some() {
            return; // its chain ends with the softirq
        }
        let life = self.lives.entry(event.current).or_default();
        if std::mem::take(&mut life.runs_work) {
            life.carries = None;
        }
    }
}

/// Which of the two kinds of IPI a vector is; `None` for what nobody sends.
fn ipi_of(origin: Origin) -> Option<usize> {
    use irqpath_model::Vector::{CallFunction, CallFunctionSingle, GenericIpi, Reschedule};
    match origin {
        Origin::Vector(Reschedule | GenericIpi) => Some(0),
        Origin::Vector(CallFunction | CallFunctionSingle) => Some(1),
        _ => None,
    }
}
