// SPDX-License-Identifier: GPL-2.0-or-later
//! The helper of [`lock_memory_after_exec`](super::lock_memory_after_exec).
//!
//! It is a grandchild, so that the program does not find a child that it never had. After the fork
//! it makes system calls only: no memory is allocated, nothing of the standard library that could
//! take a lock is used. At the exec the kernel stops the program; the helper lets it execute a
//! system call and a breakpoint in place of its first instructions, and puts those back.

use std::io;
use std::mem::zeroed;
use std::ptr::{null_mut, without_provenance_mut};

use libc::{c_int, c_long, c_void, pid_t};

#[cfg(target_arch = "x86_64")]
#[path = "x86_64.rs"]
mod arch;

#[cfg(target_arch = "aarch64")]
#[path = "aarch64.rs"]
mod arch;

use arch::Registers;

/// Fork the helper and wait until it is attached to this process.
pub(super) fn attach_helper() -> io::Result<()> {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for the two descriptors.
    check_libc(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) })?;
    let [read, write] = ends;
    // SAFETY: a process id has no preconditions.
    let program = unsafe { libc::getpid() };
    // SAFETY: the child makes system calls only and never returns from `child`.
    let child_pid = check_libc(unsafe { libc::fork() })?;
    if child_pid == 0 {
        fork_helper(program, write);
    }
    // SAFETY: both are ours; the reading end is closed below, after its last use.
    unsafe {
        libc::close(write);
        libc::waitpid(child_pid, null_mut(), 0);
    }
    let mut answer = [0_u8; 4];
    // SAFETY: `answer` has room for four bytes.
    let got = unsafe { libc::read(read, answer.as_mut_ptr().cast(), answer.len()) };
    // SAFETY: it is ours and not used any more.
    unsafe { libc::close(read) };
    match (got, c_int::from_ne_bytes(answer)) {
        (4, 0) => Ok(()),
        (4, errno) => Err(io::Error::from_raw_os_error(errno)),
        _ => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
    }
}

fn check_libc(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Forks the helper and ends, which makes the helper an orphan.
fn fork_helper(program: pid_t, write: c_int) -> ! {
    // SAFETY: as in `attach_helper`; `_exit` runs nothing of the parent's exit handlers.
    unsafe {
        if libc::fork() == 0 {
            run_helper(program, write);
        }
        libc::_exit(0)
    }
}

fn run_helper(program: pid_t, write: c_int) -> ! {
    // SAFETY: system calls on numbers, and on local memory that outlives them.
    unsafe {
        libc::setsid(); // a Ctrl-C is for the program
        let options = without_provenance_mut::<c_void>(libc::PTRACE_O_TRACEEXEC as usize);
        let seized = libc::ptrace(libc::PTRACE_SEIZE, program, null_mut::<c_void>(), options);
        let answer = if seized == 0 { 0 } else { last_errno() }.to_ne_bytes();
        libc::write(write, answer.as_ptr().cast(), answer.len());
        libc::close(write);
        if seized == 0 {
            match until_exec(program) {
                Ok(()) => {}
                Err(0) => libc::_exit(0), // it ended without an exec
                Err(errno) => give_up(program, errno),
            }
            if let Err(errno) = lock_memory(program) {
                give_up(program, errno);
            }
            libc::ptrace(libc::PTRACE_DETACH, program, null_mut::<c_void>(), null_mut::<c_void>());
        }
        libc::_exit(0)
    }
}

fn last_errno() -> c_int {
    // SAFETY: the location is valid for the calling thread.
    unsafe { *libc::__errno_location() }
}

fn check_ptrace(result: c_long) -> Result<c_long, c_int> {
    if result < 0 { Err(last_errno()) } else { Ok(result) }
}

/// A program that was to have its memory locked must not run without.
fn give_up(program: pid_t, errno: c_int) -> ! {
    const RIGHTS: &[u8] =
        b"irqpath: the program may not lock its memory, so it was not started; look at ulimit -l\n";
    const OTHER: &[u8] =
        b"irqpath: the program's memory cannot be locked, so it was not started; leave out --mlock\n";
    let text = if [libc::EPERM, libc::ENOMEM].contains(&errno) { RIGHTS } else { OTHER };
    // SAFETY: system calls on numbers and on a constant.
    unsafe {
        libc::kill(program, libc::SIGKILL);
        libc::write(2, text.as_ptr().cast(), text.len());
        libc::_exit(1)
    }
}

/// The next stop of the program: the signal, and the event above it. `Err(0)` if it ended.
fn next_stop(program: pid_t) -> Result<(c_int, c_int), c_int> {
    let mut status = 0;
    loop {
        // SAFETY: `status` outlives the call.
        let waited = unsafe { libc::waitpid(program, &raw mut status, libc::__WALL) };
        if waited == program {
            break;
        }
        if last_errno() != libc::EINTR {
            return Err(last_errno());
        }
    }
    if libc::WIFSTOPPED(status) { Ok((libc::WSTOPSIG(status), status >> 16)) } else { Err(0) }
}

fn go_on(program: pid_t, signal: c_int) -> Result<(), c_int> {
    resume_program(program, libc::PTRACE_CONT, signal)
}

fn resume_program(program: pid_t, how: libc::c_uint, signal: c_int) -> Result<(), c_int> {
    let signal = without_provenance_mut::<c_void>(signal as usize);
    // SAFETY: the program is stopped; a number is passed in place of a pointer, as ptrace wants.
    check_ptrace(unsafe { libc::ptrace(how, program, null_mut::<c_void>(), signal) }).map(drop)
}

/// Go on, as `how` says, to the next trap. A signal that comes in between is returned, to be sent
/// again when the program is itself.
fn until_trap(program: pid_t, how: libc::c_uint) -> Result<c_int, c_int> {
    let mut late = 0;
    resume_program(program, how, 0)?;
    loop {
        match next_stop(program)? {
            (libc::SIGTRAP, 0) => return Ok(late),
            (_, event) if event != 0 => {}
            (signal, _) => late = signal,
        }
        resume_program(program, how, 0)?;
    }
}

fn until_exec(program: pid_t) -> Result<(), c_int> {
    loop {
        match next_stop(program)? {
            (_, libc::PTRACE_EVENT_EXEC) => return Ok(()),
            // A stop of the whole group has an event, too; it is not for us to end it, but
            // nothing else can happen before the exec.
            (_, event) if event != 0 => go_on(program, 0)?,
            (signal, _) => go_on(program, signal)?,
        }
    }
}

fn read_registers(program: pid_t) -> Result<Registers, c_int> {
    // SAFETY: all bits zero are registers, and the kernel fills as much as fits.
    unsafe {
        let mut registers: Registers = zeroed();
        let mut vector = io_vector(&raw mut registers);
        let set = without_provenance_mut::<c_void>(libc::NT_PRSTATUS as usize);
        check_ptrace(libc::ptrace(libc::PTRACE_GETREGSET, program, set, &raw mut vector))?;
        Ok(registers)
    }
}

fn set_registers(program: pid_t, registers: &Registers) -> Result<(), c_int> {
    let mut copy = *registers;
    let mut vector = io_vector(&raw mut copy);
    let set = without_provenance_mut::<c_void>(libc::NT_PRSTATUS as usize);
    // SAFETY: the vector points to registers that outlive the call.
    check_ptrace(unsafe { libc::ptrace(libc::PTRACE_SETREGSET, program, set, &raw mut vector) })
        .map(drop)
}

fn io_vector(registers: *mut Registers) -> libc::iovec {
    libc::iovec { iov_base: registers.cast(), iov_len: size_of::<Registers>() }
}

fn peek_word(program: pid_t, address: u64) -> Result<c_long, c_int> {
    let address = without_provenance_mut::<c_void>(address as usize);
    // SAFETY: the address is one of the stopped program, not ours. A word may be -1, so only
    // errno tells an error.
    unsafe {
        *libc::__errno_location() = 0;
        let word = libc::ptrace(libc::PTRACE_PEEKTEXT, program, address, null_mut::<c_void>());
        if last_errno() == 0 { Ok(word) } else { Err(last_errno()) }
    }
}

fn poke_word(program: pid_t, address: u64, word: c_long) -> Result<(), c_int> {
    let address = without_provenance_mut::<c_void>(address as usize);
    let word = without_provenance_mut::<c_void>(word as usize);
    // SAFETY: as above; the page is private to the program.
    check_ptrace(unsafe { libc::ptrace(libc::PTRACE_POKETEXT, program, address, word) }).map(drop)
}

/// Make the stopped program call `mlockall`, and leave no other trace.
fn lock_memory(program: pid_t) -> Result<(), c_int> {
    // The exec is still under way and would overwrite registers when it returns.
    let mut late = until_trap(program, libc::PTRACE_SYSCALL)?;
    let saved = read_registers(program)?;
    let entry = arch::instruction_pointer(&saved);
    let code = peek_word(program, entry)?;
    poke_word(program, entry, arch::call_code(code))?;
    let everything = (libc::MCL_CURRENT | libc::MCL_FUTURE) as u64;
    set_registers(program, &arch::prepare_call(saved, libc::SYS_mlockall as u64, everything))?;
    late = until_trap(program, libc::PTRACE_CONT)?.max(late);
    let result = arch::call_result(&read_registers(program)?);
    poke_word(program, entry, code)?;
    set_registers(program, &arch::restore_registers(saved))?;
    if late != 0 {
        // SAFETY: only numbers are passed.
        unsafe { libc::kill(program, late) };
    }
    if result < 0 { Err(-result as c_int) } else { Ok(()) }
}
