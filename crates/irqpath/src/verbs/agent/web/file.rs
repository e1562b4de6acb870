// SPDX-License-Identifier: GPL-2.0-or-later
//! The web configuration file, with the keys of Prometheus' exporter-toolkit. A key that is not
//! supported is refused with its line, as ignoring it could open what somebody meant to close.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

/// The whole file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WebFile {
    pub tls_server_config: Option<TlsServer>,
    /// Names, and bcrypt hashes of passwords.
    pub basic_auth_users: BTreeMap<String, String>,
}

/// Relative paths start where the file is.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsServer {
    pub cert_file: PathBuf,
    pub key_file: PathBuf,
    #[serde(default)]
    pub client_auth_type: ClientAuth,
    pub client_ca_file: Option<PathBuf>,
    #[serde(default)]
    pub min_version: MinVersion,
}

/// Go's names. Certificates that nobody verifies (`RequestClientCert`, `RequireAnyClientCert`) are not
/// supported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub enum ClientAuth {
    #[default]
    NoClientCert,
    VerifyClientCertIfGiven,
    RequireAndVerifyClientCert,
}

/// TLS 1.0 and 1.1 are not supported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub enum MinVersion {
    #[default]
    TLS12,
    TLS13,
}

impl WebFile {
    /// From its text.
    ///
    /// # Errors
    /// In one line, what is wrong and in which line of the file.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        // A file without a key is none, and not an error.
        let file: Option<Self> = serde_norway::from_str(text).map_err(|error| {
            let line = error.location().map_or(1, |place| place.line());
            let message = error.to_string().replace('\n', " ");
            let message = message.split(" at line ").next().unwrap_or_default();
            anyhow::anyhow!("line {line}: {message}")
        })?;
        Ok(file.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_of_the_convention_are_read() {
        let text = "tls_server_config:\n  cert_file: a.crt\n  key_file: /b.key\n  \
                    client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.crt\n  \
                    min_version: TLS13\nbasic_auth_users:\n  alice: $2y$10$x\n";
        let file = WebFile::parse(text).unwrap();
        let tls = file.tls_server_config.unwrap();
        assert_eq!((tls.cert_file, tls.min_version), ("a.crt".into(), MinVersion::TLS13));
        assert_eq!(tls.client_auth_type, ClientAuth::RequireAndVerifyClientCert);
        assert_eq!(file.basic_auth_users["alice"], "$2y$10$x");
        assert!(WebFile::parse("").unwrap().tls_server_config.is_none());
    }

    #[test]
    fn what_is_not_supported_is_one_line_with_its_place() {
        for (text, want) in [
            ("tls_config: {}", "line 1: unknown field `tls_config`"),
            ("\ntls_server_config:\n  cert_file: a\n", "line 3: "),
            (
                "tls_server_config:\n  cert_file: a\n  key_file: b\n  min_version: TLS10\n",
                "line 4:",
            ),
            ("basic_auth_users:\n  - alice\n", "line 2: "),
            ("a: &a [*a, *a]", "line 1: "),
            ("\t", "line 1: "),
        ] {
            let error = WebFile::parse(text).unwrap_err().to_string();
            assert!(error.starts_with(want) && !error.contains('\n'), "{text}: {error}");
        }
        let missing = WebFile::parse("tls_server_config:\n  cert_file: a\n").unwrap_err();
        assert!(missing.to_string().contains("missing field `key_file`"), "{missing}");
    }
}
