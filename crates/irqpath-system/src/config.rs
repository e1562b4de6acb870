// SPDX-License-Identifier: GPL-2.0-or-later
//! The kernel's configuration, wherever the distribution put it.
//!
//! Its hash is taken over the text, so that the same configuration has the same hash whether it
//! was found compressed or not.

use std::io::Read;

use flate2::read::GzDecoder;
use sha2::{Digest, Sha256};

use crate::Host;

/// Longest configuration accepted; real ones have about 300 KiB.
const MAX_CONFIG: u64 = 8 << 20;

#[derive(Debug, Clone)]
pub(crate) struct Config(String);

impl Config {
    /// True if `option` (`CONFIG_PREEMPT_RT`) is built in.
    pub fn is_set(&self, option: &str) -> bool {
        self.0.lines().any(|l| l.strip_prefix(option) == Some("=y"))
    }

    /// SHA-256 of the text, hex.
    pub fn sha256(&self) -> String {
        let hash = Sha256::digest(self.0.as_bytes());
        hash.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().concat()
    }
}

impl Host {
    /// The configuration of the running kernel, if it can be read.
    pub(crate) fn kernel_config(&self, release: &str) -> Option<Config> {
        let packed = self.read_bytes("proc/config.gz").ok().and_then(|bytes| {
            let mut text = String::new();
            GzDecoder::new(&bytes[..]).take(MAX_CONFIG).read_to_string(&mut text).ok()?;
            Some(text)
        });
        packed
            .or_else(|| self.read(&format!("boot/config-{release}")).ok())
            .or_else(|| self.read(&format!("lib/modules/{release}/config")).ok())
            .map(Config)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use crate::testing::Fake;

    const TEXT: &str =
        "CONFIG_PREEMPT_RT=y\n# CONFIG_KASAN is not set\nCONFIG_HZ=250\nCONFIG_M=m\n";

    fn gzip(text: &str) -> Vec<u8> {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(text.as_bytes()).unwrap();
        packer.finish().unwrap()
    }

    #[test]
    fn the_hash_does_not_depend_on_where_it_was_found() {
        let packed = Fake::new().with_bytes("proc/config.gz", &gzip(TEXT));
        let plain = Fake::new().with_file("boot/config-6.12.1", TEXT);
        let hashes = [packed, plain].map(|f| f.host().kernel_config("6.12.1").unwrap().sha256());
        assert_eq!(hashes[0], hashes[1]);
        assert_eq!(hashes[0].len(), 64);
    }

    #[test]
    fn only_built_in_options_count() {
        let fake = Fake::new().with_file("boot/config-1", TEXT);
        let config = fake.host().kernel_config("1").unwrap();
        assert!(config.is_set("CONFIG_PREEMPT_RT"));
        for option in ["CONFIG_KASAN", "CONFIG_PREEMPT", "CONFIG_M", "CONFIG_HZ"] {
            assert!(!config.is_set(option), "{option}");
        }
    }

    #[test]
    fn a_damaged_or_absent_configuration_is_none() {
        let mut bytes = gzip(TEXT);
        bytes.truncate(20);
        let fake = Fake::new().with_bytes("proc/config.gz", &bytes);
        assert!(fake.host().kernel_config("1").is_none());
        assert!(Fake::new().host().kernel_config("1").is_none());
    }
}
