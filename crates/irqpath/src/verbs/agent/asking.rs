// SPDX-License-Identifier: GPL-2.0-or-later
//! How the threads that serve and push get the numbers, and what they read and write.

use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError};
use std::time::Duration;

use irqpath_report::openmetrics::Exposed;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::oneshot;

/// How long the measurement may take to answer.
const ANSWER_PATIENCE: Duration = Duration::from_secs(5);

/// A question to the measurement: its numbers of now.
pub type Ask = oneshot::Sender<Arc<Exposed>>;

/// Why there are no numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoAnswer {
    /// The measurement has too many questions, or takes too long.
    Busy,
    /// The measurement has ended, and the process is about to.
    Ended,
}

/// The numbers of now.
pub async fn ask(asks: &SyncSender<Ask>) -> Result<Arc<Exposed>, NoAnswer> {
    let (sender, receiver) = oneshot::channel();
    asks.try_send(sender).map_err(|error| match error {
        TrySendError::Full(_) => NoAnswer::Busy,
        TrySendError::Disconnected(_) => NoAnswer::Ended,
    })?;
    match tokio::time::timeout(ANSWER_PATIENCE, receiver).await {
        Ok(Ok(exposed)) => Ok(exposed),
        Ok(Err(_)) => Err(NoAnswer::Ended),
        Err(_) => Err(NoAnswer::Busy),
    }
}

/// Any kind of connection.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}
