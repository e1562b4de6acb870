// SPDX-License-Identifier: GPL-2.0-or-later
//! Certificates and keys, checked when they are read: a server that starts with a certificate of
//! yesterday fails at whoever asks, and nobody looks for it there.

use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, anyhow, bail, ensure};
use irqpath_files::input;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig, SupportedProtocolVersion, version};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::file::{ClientAuth, MinVersion, TlsServer};

/// A chain has a few certificates; a list of authorities some hundred.
const MAX_PEM: u64 = 1 << 20;
/// What the mode of a file allows to users who neither own it nor belong to its group.
const OF_OTHERS: u32 = 0o007;
const WITH_TLS12: &[&SupportedProtocolVersion] = &[&version::TLS13, &version::TLS12];
const TLS13_ALONE: &[&SupportedProtocolVersion] = &[&version::TLS13];

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// A server's side, from the files that are named.
pub fn acceptor(settings: &TlsServer, directory: &Path) -> anyhow::Result<TlsAcceptor> {
    let cert_file = directory.join(&settings.cert_file);
    let key_file = directory.join(&settings.key_file);
    let chain = read_certificates(&cert_file)?;
    check_validity(&chain[0], SystemTime::now())
        .with_context(|| format!("cert_file {}", cert_file.display()))?;
    let key = read_key(&key_file)?;
    let versions = match settings.min_version {
        MinVersion::TLS12 => WITH_TLS12,
        MinVersion::TLS13 => TLS13_ALONE,
    };
    let builder = ServerConfig::builder_with_provider(provider());
    let builder = builder.with_protocol_versions(versions)?;
    let builder = match (settings.client_auth_type, &settings.client_ca_file) {
        (ClientAuth::NoClientCert, None) => builder.with_no_client_auth(),
        (ClientAuth::NoClientCert, Some(_)) => {
            bail!("client_ca_file is of no use without a client_auth_type")
        }
        (_, None) => bail!("client_auth_type needs a client_ca_file"),
        (auth, Some(file)) => {
            let roots = Arc::new(read_roots(&directory.join(file))?);
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider());
            let verifier = match auth {
                ClientAuth::RequireAndVerifyClientCert => verifier,
                _ => verifier.allow_unauthenticated(),
            };
            builder.with_client_cert_verifier(verifier.build()?)
        }
    };
    let config = builder.with_single_cert(chain, key).map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => anyhow!(
            "the key in {} does not belong to the certificate in {}",
            key_file.display(),
            cert_file.display()
        ),
        other => anyhow!("{}: {other}", cert_file.display()),
    })?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// A client's side, which trusts these authorities alone.
pub fn connector(ca_file: &Path) -> anyhow::Result<TlsConnector> {
    let roots = read_roots(ca_file)?;
    let builder = ClientConfig::builder_with_provider(provider());
    let builder = builder.with_protocol_versions(WITH_TLS12)?;
    let config = builder.with_root_certificates(roots).with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

fn read_certificates(path: &Path) -> anyhow::Result<Vec<CertificateDer<'static>>> {
    let pem = input::read(path, MAX_PEM);
    let pem = pem.with_context(|| format!("cannot read {}", path.display()))?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let chain = chain.map_err(|error| anyhow!("{}: {error}", path.display()))?;
    ensure!(!chain.is_empty(), "{} has no certificate (PEM)", path.display());
    Ok(chain)
}

fn read_roots(path: &Path) -> anyhow::Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in read_certificates(path)? {
        let added = roots.add(certificate);
        added.map_err(|error| anyhow!("{}: {error}", path.display()))?;
    }
    Ok(roots)
}

/// A key that every user can read is no secret.
fn read_key(path: &Path) -> anyhow::Result<PrivateKeyDer<'static>> {
    let cannot = || format!("cannot read {}", path.display());
    let file = input::open(path).with_context(cannot)?;
    let mode = file.metadata().with_context(cannot)?.permissions().mode();
    ensure!(
        mode & OF_OTHERS == 0,
        "every user may read or write the key {}; set its mode to 0600 or 0640",
        path.display()
    );
    let mut pem = Vec::new();
    file.take(MAX_PEM).read_to_end(&mut pem).with_context(cannot)?;
    PrivateKeyDer::from_pem_slice(&pem).map_err(|error| anyhow!("{}: {error}", path.display()))
}

/// Its dates alone: who trusts it is for the client to say.
fn check_validity(certificate: &CertificateDer<'_>, now: SystemTime) -> anyhow::Result<()> {
    let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let now = UnixTime::since_unix_epoch(now);
    let parsed = webpki::EndEntityCert::try_from(certificate)
        .map_err(|error| anyhow!("not a certificate of a server: {error:?}"))?;
    let usage = webpki::KeyUsage::server_auth();
    let algorithms = provider().signature_verification_algorithms.all;
    // Nobody is trusted here, so that it never succeeds; the dates are looked at before that.
    match parsed.verify_for_usage(algorithms, &[], &[], now, usage, None, None) {
        Err(webpki::Error::CertExpired { not_after, .. }) => {
            bail!("it expired {} days ago", (now.as_secs() - not_after.as_secs()) / 86_400)
        }
        Err(webpki::Error::CertNotValidYet { not_before, .. }) => {
            bail!("it is valid in {} days only", (not_before.as_secs() - now.as_secs()) / 86_400)
        }
        _ => Ok(()),
    }
}
