// SPDX-License-Identifier: GPL-2.0-or-later
//! Who may ask over TCP: TLS and basic auth by the conventions of Prometheus' exporters.
//!
//! `file` is the configuration that they share, `tls` certificates and keys, `users` passwords. All is
//! read before privileges go, and again on SIGHUP as far as the agent's user may read it.

mod file;
mod tls;
mod users;

use std::path::Path;
use std::sync::{Arc, RwLock};

use anyhow::{Context as _, ensure};
use irqpath_files::input;
use tokio_rustls::TlsAcceptor;

use self::file::{ClientAuth, WebFile};
use self::users::Users;

pub use self::tls::connector;
pub use self::users::Verdict;

/// A configuration has a few lines, and a line for each user.
const MAX_FILE: u64 = 1 << 20;

/// What a client on TCP has to pass.
#[derive(Default)]
pub struct Door {
    /// Speaks TLS.
    pub tls: Option<TlsAcceptor>,
    /// Asks for a password.
    pub users: Option<Users>,
    asks_certificate: bool,
}

impl Door {
    /// As the file says, with all that it names.
    pub fn load(path: &Path) -> anyhow::Result<Self> {
        let text = input::read_text(path, MAX_FILE);
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        let at = || path.display().to_string();
        let file = WebFile::parse(&text).with_context(at)?;
        let directory = path.parent().unwrap_or(Path::new("."));
        let tls = file.tls_server_config.as_ref();
        let asks_certificate =
            tls.is_some_and(|tls| tls.client_auth_type == ClientAuth::RequireAndVerifyClientCert);
        let tls = tls.map(|tls| tls::acceptor(tls, directory)).transpose().with_context(at)?;
        let users = match file.basic_auth_users {
            users if users.is_empty() => None,
            users => Some(Users::new(users).with_context(at)?),
        };
        Ok(Self { tls, users, asks_certificate })
    }

    /// Whether it may be reached from other hosts.
    ///
    /// # Errors
    /// If names of tasks would go to everybody, or passwords over the wire as they are.
    pub fn check_for_others(&self) -> anyhow::Result<()> {
        ensure!(
            self.tls.is_some(),
            "web_config has no tls_server_config, which an address that is not on the loopback \
             interface needs"
        );
        ensure!(
            self.users.is_some() || self.asks_certificate,
            "web_config has neither basic_auth_users nor client_auth_type \
             RequireAndVerifyClientCert: names of tasks are not for everybody"
        );
        Ok(())
    }
}

/// The door of now, which a reload replaces.
#[derive(Clone, Default)]
pub struct Doors(Arc<RwLock<Arc<Door>>>);

impl Doors {
    /// With this door.
    pub fn new(door: Door) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(door))))
    }

    /// For a connection that begins now.
    pub fn now(&self) -> Arc<Door> {
        Arc::clone(&self.0.read().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// Connections that are open keep theirs.
    pub fn replace(&self, door: Door) {
        *self.0.write().unwrap_or_else(std::sync::PoisonError::into_inner) = Arc::new(door);
    }
}
