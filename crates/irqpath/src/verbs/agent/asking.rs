// SPDX-License-Identifier: GPL-2.0-or-later
//! How the threads that serve and push get the numbers, and what they read and write.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use irqpath_report::openmetrics::Exposed;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::oneshot;

/// How long the measurement may take to answer.
const ANSWER_PATIENCE: Duration = Duration::from_secs(5);

/// A question to the measurement: its numbers of now.
pub type Ask = oneshot::Sender<Arc<Exposed>>;

/// The numbers of now; `None` if the measurement has too many questions or ends.
pub async fn ask(asks: &SyncSender<Ask>) -> Option<Arc<Exposed>> {
    let (sender, receiver) = oneshot::channel();
    asks.try_send(sender).ok()?;
    tokio::time::timeout(ANSWER_PATIENCE, receiver).await.ok()?.ok()
}

/// Any kind of connection.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}
