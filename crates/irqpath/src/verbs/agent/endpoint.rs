// SPDX-License-Identifier: GPL-2.0-or-later
//! The collector in the configuration: where it is, and what may be sent there.

use std::net::IpAddr;
use std::path::PathBuf;

use anyhow::{anyhow, ensure};
use irqpath_source::confine::Connects;
use serde::Deserialize;

/// Where a collector takes metrics, unless the endpoint says it.
pub const DEFAULT_PATH: &str = "/v1/metrics";

/// Where, and how often.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Otlp {
    pub endpoint: String,
    #[serde(default = "default_interval")]
    pub interval_s: u32,
    /// Whom it trusts over https.
    pub ca_file: Option<PathBuf>,
}

fn default_interval() -> u32 {
    60
}

/// A collector.
#[derive(Debug, PartialEq, Eq)]
pub enum Place<'a> {
    Unix(&'a str),
    Http { is_tls: bool, authority: &'a str, host: &'a str, port: u16, path: &'a str },
}

impl Otlp {
    /// # Errors
    /// In one line, what cannot be.
    pub fn check(&self) -> anyhow::Result<()> {
        ensure!(
            (1..=3600).contains(&self.interval_s),
            "otlp.interval_s is {}; 1 to 3600 are possible",
            self.interval_s
        );
        let place = self.place()?;
        if let Place::Http { is_tls, host, .. } = place {
            let is_loopback = host == "localhost"
                || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
            ensure!(
                is_tls || is_loopback,
                "otlp.endpoint '{}' leaves this host without TLS; write https:// and a ca_file",
                self.endpoint
            );
            ensure!(
                !is_tls || self.ca_file.is_some(),
                "otlp.ca_file is missing: https needs the certificates to trust"
            );
        }
        Ok(())
    }

    /// The endpoint in its parts.
    pub fn place(&self) -> anyhow::Result<Place<'_>> {
        let wrong = || {
            anyhow!(
                "otlp.endpoint '{}' is no place; write http://127.0.0.1:4318, https://HOST:4318 or \
                 unix:/path",
                self.endpoint
            )
        };
        if let Some(path) = self.endpoint.strip_prefix("unix:") {
            return path.starts_with('/').then_some(Place::Unix(path)).ok_or_else(wrong);
        }
        let (scheme, rest) = self.endpoint.split_once("://").ok_or_else(wrong)?;
        let is_tls = match scheme {
            "http" => false,
            "https" => true,
            _ => return Err(wrong()),
        };
        let at = rest.find('/').unwrap_or(rest.len());
        let (authority, path) = rest.split_at(at);
        let (host, port) = authority.rsplit_once(':').ok_or_else(wrong)?;
        let port = port.parse().map_err(|_| wrong())?;
        let host = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-_:".contains(c);
        ensure!(!host.is_empty() && host.chars().all(is_plain), wrong());
        ensure!(path.chars().all(|c| c.is_ascii_graphic()), wrong());
        let path = if path.len() > 1 { path } else { DEFAULT_PATH };
        Ok(Place::Http { is_tls, authority, host, port, path })
    }

    /// What of the network it needs.
    pub fn connects(&self) -> anyhow::Result<Connects> {
        Ok(match self.place()? {
            Place::Unix(_) => Connects::Unix,
            Place::Http { .. } => Connects::Inet,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn otlp(endpoint: &str) -> Otlp {
        Otlp { endpoint: endpoint.to_owned(), interval_s: 60, ca_file: None }
    }

    #[test]
    fn an_endpoint_has_its_parts() {
        let (one, other, six) = (
            otlp("http://localhost:4318"),
            otlp("https://c.example:443/a/b"),
            otlp("http://[::1]:4318/"),
        );
        let Ok(Place::Http { is_tls: false, host: "localhost", port: 4318, path, .. }) =
            one.place()
        else {
            panic!("{:?}", one.place())
        };
        assert_eq!(path, "/v1/metrics");
        let Ok(Place::Http { is_tls: true, host: "c.example", port: 443, path: "/a/b", .. }) =
            other.place()
        else {
            panic!("{:?}", other.place())
        };
        assert!(matches!(six.place(), Ok(Place::Http { host: "::1", .. })));
        assert_eq!(otlp("unix:/run/c").place().unwrap(), Place::Unix("/run/c"));
        for one in [one, six, otlp("unix:/run/c"), otlp("http://127.9.9.9:1/x")] {
            one.check().unwrap();
        }
    }

    #[test]
    fn what_is_no_endpoint_is_one_line() {
        for endpoint in [
            "",
            "x",
            "http://",
            "http://localhost",
            "ftp://localhost:1",
            "http://localhost:99999",
            "unix:a",
            "http://a b:1",
            "http://localhost:1/\r\nX: y",
            "http://10.0.0.1:4318",
            "https://10.0.0.1:4318",
            "http://collector:4318",
        ] {
            let error = otlp(endpoint).check().unwrap_err().to_string();
            assert!(
                error.starts_with("otlp.") && error.lines().count() <= 2,
                "{endpoint}: {error}"
            );
        }
    }
}
