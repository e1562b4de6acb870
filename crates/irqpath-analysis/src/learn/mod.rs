// SPDX-License-Identifier: GPL-2.0-or-later
//! Learns which interrupt serves which real-time task, and plans the priorities that follow.
//!
//! - [`Attention`]: whether there may be something to learn.
//! - [`Carriers`]: the kernel threads that a path went through, by name.
//! - [`Learner`]: counts wakeups per interrupt and task; old ones weigh less.
//! - [`plan_priorities`]: from associations and the threads that are there to priorities.
//! - [`select_ordinary`]: which interrupt threads need none.
//!
//! The rule to know: a real-time task that sleeps for long is still served. What ends an
//! association is that the task is gone or the interrupt is busy without it, never time alone.

mod attention;
mod carriers;
mod learner;
mod plan;
mod roles;
mod selective;

pub use attention::Attention;
pub use carriers::Carriers;
pub use learner::{Learner, ThreadWakeups};
pub use plan::plan_priorities;
pub use roles::Role;
pub use selective::{Wakeups, keep_ordinary, select_ordinary};
