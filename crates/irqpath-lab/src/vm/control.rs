// SPDX-License-Identifier: GPL-2.0-or-later
//! Asks a running QEMU what its processors do.
//!
//! QEMU inherits its end of a pair of sockets, so nobody else can talk to it; nothing is said while
//! a guest runs.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use super::outcome::Forced;

/// A QEMU that does not answer is not waited for.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);
const NR_SAMPLES: usize = 10;
const BETWEEN_SAMPLES: Duration = Duration::from_millis(20);
const INTERRUPT_FLAG: u64 = 1 << 9;

/// What one processor was doing at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Sample {
    instruction: String,
    /// x86-64 only: elsewhere an idle processor has its interrupts masked.
    interrupts_off: bool,
    halted: bool,
}

/// The monitor of a running QEMU.
pub struct Monitor<'a> {
    stream: BufReader<&'a UnixStream>,
    is_greeted: bool,
}

impl<'a> Monitor<'a> {
    /// At the other end of this socket.
    pub fn new(stream: &'a UnixStream) -> Self {
        Self { stream: BufReader::new(stream), is_greeted: false }
    }

    /// Looks several times at what the guest's processors do.
    pub fn inspect_cpus(&mut self, silent: Duration) -> Forced {
        match self.take_samples() {
            Ok(samples) => judge_samples(&samples, silent),
            Err(error) => {
                let cpus = format!("QEMU does not answer: {error}");
                Forced { silent, cpus, dead: true, stale_breakpoint: false }
            }
        }
    }

    fn take_samples(&mut self) -> io::Result<Vec<Vec<Sample>>> {
        let mut samples = Vec::new();
        for _ in 0..NR_SAMPLES {
            samples.push(parse_registers(&self.run_command("info registers -a", 0)?));
            thread::sleep(BETWEEN_SAMPLES);
        }
        Ok(samples)
    }

    /// Runs a command of QEMU's monitor for people, as one processor sees memory. Returns what it prints.
    pub fn run_command(&mut self, command: &str, cpu: usize) -> io::Result<String> {
        if !self.is_greeted {
            self.stream.get_ref().set_read_timeout(Some(ANSWER_LIMIT))?;
            self.stream.get_ref().set_write_timeout(Some(ANSWER_LIMIT))?;
            self.send_command(r#"{"execute":"qmp_capabilities"}"#)?;
            self.is_greeted = true;
        }
        self.send_command(&format!(
            r#"{{"execute":"human-monitor-command","arguments":{{"command-line":"{command}","cpu-index":{cpu}}}}}"#
        ))
    }

    /// Sends a command and returns the text of its answer; events and the greeting are passed over.
    fn send_command(&mut self, command: &str) -> io::Result<String> {
        self.stream.get_mut().write_all(format!("{command}\n").as_bytes())?;
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let message: serde_json::Value = serde_json::from_str(&line)?;
            if let Some(answer) = message.get("return") {
                return Ok(answer.as_str().unwrap_or_default().to_owned());
            }
            if let Some(error) = message.get("error") {
                return Err(io::Error::other(error.to_string()));
            }
        }
    }
}

/// Reads the registers of all processors.
fn parse_registers(registers: &str) -> Vec<Sample> {
    let mut samples: Vec<Sample> = Vec::new();
    for word in registers.split_whitespace() {
        if let Some(value) = word.strip_prefix("RIP=").or(word.strip_prefix("PC=")) {
            let instruction = value.to_owned();
            samples.push(Sample { instruction, interrupts_off: false, halted: false });
        }
        let Some(last) = samples.last_mut() else { continue };
        if let Some(flags) = word.strip_prefix("RFL=") {
            let flags = u64::from_str_radix(flags, 16).unwrap_or(INTERRUPT_FLAG);
            last.interrupts_off = flags & INTERRUPT_FLAG == 0;
        }
        last.halted |= word == "HLT=1";
    }
    samples
}

fn judge_samples(samples: &[Vec<Sample>], silent: Duration) -> Forced {
    let all = |test: fn(&Sample) -> bool| {
        let mut seen = samples.iter().flatten().peekable();
        seen.peek().is_some() && seen.all(test)
    };
    let off = all(|sample| sample.interrupts_off);
    let idle = all(|sample| sample.halted);
    let at = samples.last().into_iter().flatten().map(|sample| sample.instruction.as_str());
    let at = at.collect::<Vec<_>>().join(", ");
    let doing = match (off, idle) {
        (true, true) => "halted for good",
        (true, false) => "running with interrupts off",
        (false, true) => "idle with nothing to wait for",
        (false, false) => "running",
    };
    let cpus = format!("its processors are {doing} at {at}");
    Forced { silent, cpus, dead: off || idle, stale_breakpoint: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPINNING: &str = "\r\nCPU#0\r\nRAX=0000000000000000 RBX=0000000000000001\r\n\
        RIP=ffffffff81e2a3b5 RFL=00000046 [---Z-P-] CPL=0 II=0 A20=1 SMM=0 HLT=0\r\n";
    const WORKING: &str =
        "RIP=00000000004c1d2e RFL=00000246 [---Z-P-] CPL=3 II=0 A20=1 SMM=0 HLT=0";
    const IDLE: &str = "RIP=ffffffff81e2a3b6 RFL=00000246 [---Z-P-] CPL=0 II=0 A20=1 SMM=0 HLT=1";
    const ARM: &str =
        " PC=ffff800080f1c9d8 X00=0000000000000000 SP=ffff8000 PSTATE=600003c5 -ZC- EL1h";

    #[test]
    fn what_processors_do() {
        for (registers, words, dead) in [
            (vec![SPINNING, SPINNING], "interrupts off at ffffffff81e2a3b5", true),
            (vec![SPINNING, WORKING], "running at 00000000004c1d2e", false),
            (vec![IDLE, IDLE], "idle with nothing", true),
            (vec![ARM], "running at ffff800080f1c9d8", false),
            (vec![], "running at", false),
        ] {
            let samples: Vec<_> = registers.iter().map(|text| parse_registers(text)).collect();
            let forced = judge_samples(&samples, Duration::ZERO);
            assert!(forced.cpus.contains(words), "{}", forced.cpus);
            assert_eq!(forced.dead, dead, "{registers:?}");
        }
    }

    #[test]
    fn several_processors() {
        let samples = parse_registers(&format!("CPU#0\n{SPINNING}CPU#1\n{WORKING}"));
        assert_eq!(samples.len(), 2);
        assert!(samples[0].interrupts_off && !samples[1].interrupts_off);
    }
}
