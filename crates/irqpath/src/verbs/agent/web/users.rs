// SPDX-License-Identifier: GPL-2.0-or-later
//! Passwords by bcrypt, which is slow on purpose: whoever guesses must not take the processor.
//!
//! One is computed at a time, and after each the next one waits nine times as long, so that guesses
//! take a tenth of one processor at most. A password that was right is known by a digest from then
//! on and costs nothing, so that a scraper does not wait for those who guess.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{anyhow, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;

/// A cost of 14 takes a second.
const MAX_COST: u32 = 14;
/// Passwords of a user that are known to be right: one, and another while it is changed.
const MAX_GOOD: usize = 64;
/// How long a request waits for its turn.
const TURN_PATIENCE: Duration = Duration::from_secs(4);

/// What became of a request's password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is right.
    Right,
    /// There is none, or it is wrong.
    Wrong,
    /// Too many others are being tried.
    Busy,
}

/// Users and the hashes of their passwords.
pub struct Users {
    hashes: BTreeMap<String, String>,
    /// For a user that does not exist: the answer takes as long.
    nobody: String,
    salt: [u8; 32],
    good: Mutex<Vec<[u8; 32]>>,
    turn: Arc<Semaphore>,
}

impl Users {
    /// With the hashes of a configuration.
    ///
    /// # Errors
    /// If one is no bcrypt hash, or costs too much.
    pub fn new(hashes: BTreeMap<String, String>) -> anyhow::Result<Self> {
        let mut cost = 4;
        for (user, hash) in &hashes {
            let parts: bcrypt::HashParts = hash.parse().map_err(|_| {
                anyhow!("the password of the user {user:?} is no bcrypt hash (htpasswd -nBC 10)")
            })?;
            ensure!(
                parts.get_cost() <= MAX_COST,
                "the hash of the user {user:?} has the cost {}; at most {MAX_COST} is possible",
                parts.get_cost()
            );
            cost = cost.max(parts.get_cost());
        }
        let mut salt = [0; 32];
        let random = rustls::crypto::ring::default_provider().secure_random;
        random.fill(&mut salt).map_err(|_| anyhow!("the system has no random numbers"))?;
        let nobody = bcrypt::hash(STANDARD.encode(salt), cost)?;
        let (good, turn) = (Mutex::default(), Arc::new(Semaphore::new(1)));
        Ok(Self { hashes, nobody, salt, good, turn })
    }

    /// Judges an `Authorization` header.
    pub async fn judge(&self, header: Option<&[u8]>) -> Verdict {
        let Some((user, password)) = header.and_then(parse_basic) else { return Verdict::Wrong };
        let digest = self.digest(&user, &password);
        if self.good.lock().unwrap_or_else(PoisonError::into_inner).contains(&digest) {
            return Verdict::Right;
        }
        let turn = Arc::clone(&self.turn).acquire_owned();
        let Ok(Ok(turn)) = tokio::time::timeout(TURN_PATIENCE, turn).await else {
            return Verdict::Busy;
        };
        let known = self.hashes.get(&user);
        let hash = known.unwrap_or(&self.nobody).clone();
        let started = Instant::now();
        let right = tokio::task::spawn_blocking(move || bcrypt::verify(password, &hash)).await;
        let rest = started.elapsed() * 9;
        tokio::spawn(async move {
            tokio::time::sleep(rest).await;
            drop(turn);
        });
        if known.is_none() || !matches!(right, Ok(Ok(true))) {
            return Verdict::Wrong;
        }
        let mut good = self.good.lock().unwrap_or_else(PoisonError::into_inner);
        if good.len() >= MAX_GOOD {
            good.remove(0);
        }
        good.push(digest);
        Verdict::Right
    }

    /// Of a name and a password; the salt is this process's, and is nowhere else.
    fn digest(&self, user: &str, password: &[u8]) -> [u8; 32] {
        let mut digest = Sha256::new_with_prefix(self.salt);
        digest.update((user.len() as u64).to_le_bytes());
        digest.update(user);
        digest.update(password);
        digest.finalize().into()
    }
}

/// Name and password of `Basic BASE64`.
fn parse_basic(header: &[u8]) -> Option<(String, Vec<u8>)> {
    let (scheme, rest) = std::str::from_utf8(header).ok()?.split_once(' ')?;
    let decoded = STANDARD.decode(rest.trim()).ok()?;
    let colon = decoded.iter().position(|byte| *byte == b':')?;
    let user = String::from_utf8(decoded[..colon].to_vec()).ok()?;
    scheme.eq_ignore_ascii_case("basic").then(|| (user, decoded[colon + 1..].to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn basic(user: &str, password: &str) -> Vec<u8> {
        format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))).into_bytes()
    }

    fn users() -> Users {
        let hash = bcrypt::hash("secret", 4).unwrap();
        Users::new(BTreeMap::from([("alice".to_owned(), hash)])).unwrap()
    }

    fn run<T>(future: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        runtime.unwrap().block_on(future)
    }

    #[test]
    fn a_password_is_right_or_wrong() {
        let users = users();
        let judge = |header: Option<Vec<u8>>| run(users.judge(header.as_deref()));
        for (header, want) in [
            (Some(basic("alice", "secret")), Verdict::Right),
            (Some(basic("alice", "secret")), Verdict::Right),
            (Some(basic("alice", "Secret")), Verdict::Wrong),
            (Some(basic("bob", "secret")), Verdict::Wrong),
            (Some(basic("alicesecret", "")), Verdict::Wrong),
            (Some(b"Bearer x".to_vec()), Verdict::Wrong),
            (Some(b"Basic !".to_vec()), Verdict::Wrong),
            (None, Verdict::Wrong),
        ] {
            assert_eq!(judge(header.clone()), want, "{header:?}");
        }
        assert_eq!(users.good.lock().unwrap().len(), 1);
    }

    #[test]
    fn who_guesses_does_not_keep_the_others_out() {
        let users = users();
        run(async {
            assert_eq!(users.judge(Some(&basic("alice", "secret"))).await, Verdict::Right);
            // Somebody has the turn for long.
            let turn = Arc::clone(&users.turn).acquire_owned().await.unwrap();
            tokio::time::timeout(Duration::from_secs(1), async {
                assert_eq!(users.judge(Some(&basic("alice", "secret"))).await, Verdict::Right);
            })
            .await
            .unwrap();
            assert_eq!(users.judge(Some(&basic("alice", "guess"))).await, Verdict::Busy);
            drop(turn);
        });
    }

    #[test]
    fn hashes_that_are_none_or_too_dear_are_refused() {
        for (hash, want) in [
            ("secret", "no bcrypt hash"),
            ("$2b$31$DCq7YPn5Rq63x1Lad4cll.TV4S6ytwfsfvkY8jIucDrjc8deX1s.", "is no bcrypt hash"),
            ("$2b$31$DCq7YPn5Rq63x1Lad4cll.TV4S6ytwfsfvkY8jIucDrjc8deX1s.O", "cost 31; at most"),
        ] {
            let users = BTreeMap::from([("a".to_owned(), hash.to_owned())]);
            let error = Users::new(users).err().unwrap().to_string();
            assert!(error.contains(want) && !error.contains('\n'), "{hash}: {error}");
        }
    }
}
