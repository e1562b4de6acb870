// SPDX-License-Identifier: GPL-2.0-or-later
//! Tells a running irqbalance which CPUs to leave alone, through the socket that `irqbalance-ui`
//! uses (irqbalance 1.2 and newer): `setup` answers `SLEEP n [IRQ n ...] BANNED mask`, `settings cpus
//! MASK` sets it. irqbalance takes a new mask up at its next scan, within ten seconds.
//!
//! The kernel attaches the sender's credentials because irqbalance asked for them
//! (`SO_PASSCRED`), so nothing else has to be sent along.

use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use irqpath_model::CpuList;

use crate::{Host, mask};

/// irqbalance answers between two scans, within milliseconds.
const PATIENCE: Duration = Duration::from_secs(2);

fn connect(host: &Host, tid: u32) -> io::Result<UnixStream> {
    let stream = UnixStream::connect(host.path(format!("run/irqbalance/irqbalance{tid}.sock")))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// CPUs that it leaves alone now, whoever said so.
pub(super) fn banned(host: &Host, tid: u32) -> io::Result<CpuList> {
    let mut stream = connect(host, tid)?;
    stream.write_all(b"setup")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    parse(&answer).ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidData, format!("irqbalance answered '{answer}'"))
    })
}

fn parse(answer: &str) -> Option<CpuList> {
    mask::parse(answer.split_once("BANNED ")?.1)
}

/// Make it leave these alone.
pub(super) fn ban(host: &Host, tid: u32, cpus: &CpuList) -> io::Result<()> {
    let mut stream = connect(host, tid)?;
    stream.write_all(format!("settings cpus {}", mask::format(cpus)).as_bytes())?;
    stream.shutdown(Shutdown::Write)?;
    // It closes the connection when it has read the request.
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fake;
    use std::os::unix::net::UnixListener;
    use std::thread;

    #[test]
    fn answers_of_several_versions() {
        for (answer, want) in [
            ("SLEEP 10 BANNED 00000000,0000000c", Some("2-3")),
            ("SLEEP 10 IRQ 9 LOAD 0 DIFF 0 CLASS 0 BANNED 0", Some("")),
            ("SLEEP 10", None),
            ("", None),
        ] {
            assert_eq!(parse(answer).map(|c| c.to_string()).as_deref(), want, "{answer}");
        }
    }

    #[test]
    fn a_conversation() {
        let fake = Fake::new().file("run/irqbalance/keep", "");
        let host = fake.host();
        let socket = UnixListener::bind(host.path("run/irqbalance/irqbalance77.sock")).unwrap();
        let server = thread::spawn(move || {
            let mut heard = Vec::new();
            for _ in 0..2 {
                let (mut peer, _) = socket.accept().unwrap();
                let mut buffer = [0; 256];
                let n = peer.read(&mut buffer).unwrap();
                heard.push(String::from_utf8(buffer[..n].to_vec()).unwrap());
                let _ = peer.write_all(b"SLEEP 10 BANNED 2");
            }
            heard
        });
        assert_eq!(banned(&host, 77).unwrap().to_string(), "1");
        ban(&host, 77, &"2-3".parse().unwrap()).unwrap();
        assert_eq!(server.join().unwrap(), ["setup", "settings cpus c"]);
        assert!(banned(&host, 78).is_err());
    }
}
