// SPDX-License-Identifier: GPL-2.0-or-later
//! A machine as in `model`, with arm64's calls: the return address is in a register until the
//! function stores its frame record, which functions that call nothing never do.

/// Bytes of a kernel stack.
const STACK: u64 = 16384;
/// Bytes of the registers that an exception saves.
const REGISTERS: u64 = 336;
const FIRST_STACK: u64 = 0xffff_8000_8000_0000;
const INTERRUPT_STACK: u64 = 0xffff_8000_9000_0000;
const FIRST_TASK: u64 = 0xffff_0000_c000_0c20;
const TEXT: u64 = 0xffff_8000_8101_0000;

/// One step of the machine; the numbers choose sizes and partners.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    /// The function stores its record, if it has not, and calls.
    Call(u64),
    /// It stores its record, if it has not.
    Store(u64),
    /// It loads its record, if it stored one.
    Load,
    /// Load, if needed, and return.
    Return,
    Interrupt(u64),
    /// The handler goes on on the interrupt stack.
    InterruptStack,
    Resume,
    Switch(usize),
    /// Switch to a task that never ran; true: it belongs to user space.
    Fork(bool),
    /// The task ends; its stack and its place are used again.
    Exit(usize),
    Syscall,
    Tick,
    ToUser,
}

#[derive(Debug, Clone)]
struct Frame {
    /// `c` and `i` with the address, as the script prints it.
    text: String,
    address: u64,
    interrupt: bool,
    /// Where the record is, while it is on the stack, and the stack pointer before.
    slot: Option<u64>,
    before: u64,
}

/// One stack: of a task, or of interrupts.
#[derive(Debug, Clone, Default)]
struct Segment {
    base: u64,
    sp: u64,
    frames: Vec<Frame>,
}

#[derive(Debug, Clone)]
struct Task {
    /// `u` below a system call, `?` for a thread of the kernel.
    root: char,
    in_user: bool,
    /// Where the kernel keeps its stack pointer.
    place: u64,
    stack: Segment,
    /// While it is in use.
    interrupt_stack: Option<Segment>,
}

/// The machine. `commands` is what the plugin sees, `truth` the chain after each command.
#[derive(Debug)]
pub struct Machine {
    tasks: Vec<Task>,
    current: usize,
    free_stacks: Vec<u64>,
    free_places: Vec<u64>,
    next_address: u64,
    pub commands: Vec<String>,
    pub truth: Vec<String>,
}

impl Machine {
    /// One task, in user space.
    pub fn new() -> Self {
        let mut machine = Self {
            tasks: Vec::new(),
            current: 0,
            free_stacks: (0..6).rev().map(|n| FIRST_STACK + n * 2 * STACK).collect(),
            free_places: (0..6).rev().map(|n| FIRST_TASK + n * 4608).collect(),
            next_address: TEXT,
            commands: Vec::new(),
            truth: Vec::new(),
        };
        let task = machine.make_task('u').unwrap();
        machine.tasks.push(Task { in_user: true, ..task });
        machine.record_command("user 401000".to_owned());
        machine
    }

    /// Make a step, if it makes sense now.
    pub fn apply_step(&mut self, step: Step) {
        let in_user = self.tasks[self.current].in_user;
        match step {
            Step::Syscall if in_user => self.enter(4),
            Step::Tick if in_user => self.enter(3),
            _ if in_user => {}
            Step::Call(size) => self.call(size),
            Step::Store(size) => self.store(size),
            Step::Load => self.load(),
            Step::Return => self.ret(),
            Step::Interrupt(size) => self.interrupt(size),
            Step::InterruptStack => self.interrupt_stack(),
            Step::Resume => self.resume(),
            Step::Switch(to) => self.switch(to),
            Step::Fork(of_user) => self.fork(of_user),
            Step::Exit(to) => self.exit(to),
            Step::ToUser => self.leave(),
            Step::Syscall | Step::Tick => {}
        }
    }

    fn make_task(&mut self, root: char) -> Option<Task> {
        let base = self.free_stacks.pop()?;
        // Not in step with the stacks: a place is used again with another stack.
        let place = self.free_places.remove(0);
        let stack = Segment { base, sp: base + STACK - REGISTERS, frames: Vec::new() };
        Some(Task { root, in_user: false, place, stack, interrupt_stack: None })
    }

    fn current_segment(&mut self) -> &mut Segment {
        let task = &mut self.tasks[self.current];
        task.interrupt_stack.as_mut().unwrap_or(&mut task.stack)
    }

    fn current_chain(&self) -> String {
        let task = &self.tasks[self.current];
        let above = task.interrupt_stack.iter().flat_map(|segment| &segment.frames);
        let frames = task.stack.frames.iter().chain(above);
        frames.fold(task.root.to_string(), |text, frame| text + " " + &frame.text)
    }

    fn record_command(&mut self, command: String) {
        self.commands.push(command);
        self.truth.push(self.current_chain());
    }

    fn take_address(&mut self) -> u64 {
        self.next_address += 16;
        self.next_address
    }

    fn has_room(&mut self) -> bool {
        let segment = self.current_segment();
        segment.sp > segment.base + 2048
    }

    fn store(&mut self, size: u64) {
        let segment = self.current_segment();
        let Some(frame) = segment.frames.last_mut() else { return };
        if frame.interrupt || frame.slot.is_some() {
            return;
        }
        frame.before = segment.sp;
        segment.sp -= 16 * (size % 8 + 1);
        // Somewhere in the function's part of the stack.
        let slot = segment.sp + 16 * (size / 8 % (size % 8 + 1));
        frame.slot = Some(slot);
        self.record_command(format!("store {slot:x}"));
    }

    fn load(&mut self) {
        let segment = self.current_segment();
        let Some(frame) = segment.frames.last_mut() else { return };
        let Some(slot) = frame.slot.take() else { return };
        segment.sp = frame.before;
        self.record_command(format!("load {slot:x}"));
    }

    /// A call as it is made by a function that has stored its record.
    fn branch(&mut self) {
        let address = self.take_address();
        let text = format!("c{address:x}");
        let segment = self.current_segment();
        let before = segment.sp;
        segment.frames.push(Frame { text, address, interrupt: false, slot: None, before });
        self.record_command(format!("link {address:x}"));
    }

    fn call(&mut self, size: u64) {
        if self.has_room() {
            self.store(size);
            self.branch();
        }
    }

    fn ret(&mut self) {
        self.load();
        let task = &mut self.tasks[self.current];
        let on_interrupt_stack = task.interrupt_stack.is_some();
        let segment = task.interrupt_stack.as_mut().unwrap_or(&mut task.stack);
        let Some(frame) = segment.frames.pop_if(|frame| !frame.interrupt) else { return };
        if on_interrupt_stack && segment.frames.is_empty() {
            task.interrupt_stack = None;
        }
        self.record_command(format!("ret {:x}", frame.address));
    }

    fn interrupt(&mut self, size: u64) {
        if !self.has_room() {
            return;
        }
        let address = self.take_address();
        let segment = self.current_segment();
        let before = segment.sp;
        // Functions that call nothing may use the stack as well.
        segment.sp -= 16 * (size % 4) + REGISTERS;
        let text = format!("i{address:x}");
        segment.frames.push(Frame { text, address, interrupt: true, slot: None, before });
        self.record_command(format!("interrupt {address:x}"));
    }

    fn interrupt_stack(&mut self) {
        let task = &mut self.tasks[self.current];
        // Only a function does it, which returns on the task's stack afterwards.
        let in_handler = task.stack.frames.iter().any(|frame| frame.interrupt)
            && task.stack.frames.last().is_some_and(|frame| !frame.interrupt);
        if task.interrupt_stack.is_some() || !in_handler {
            return;
        }
        self.store(0);
        let base = INTERRUPT_STACK;
        self.tasks[self.current].interrupt_stack =
            Some(Segment { base, sp: base + STACK, frames: Vec::new() });
        self.branch();
    }

    fn resume(&mut self) {
        let segment = self.current_segment();
        if let Some(frame) = segment.frames.pop_if(|frame| frame.interrupt) {
            segment.sp = frame.before;
            self.record_command("resume".to_owned());
        }
    }

    /// Leave the current task inside its call of the switch.
    fn suspend(&mut self) -> bool {
        if self.tasks[self.current].interrupt_stack.is_some() || !self.has_room() {
            return false;
        }
        self.call(3);
        self.call(1);
        let place = self.tasks[self.current].place;
        self.record_command(format!("suspend {place:x}"));
        true
    }

    fn switch(&mut self, to: usize) {
        let to = to % self.tasks.len();
        if to != self.current && self.suspend() {
            self.continue_with(to);
        }
    }

    /// A suspended task: the switch returns on its stack. Until then it runs for the one before.
    fn continue_with(&mut self, to: usize) {
        let place = self.tasks[to].place;
        self.record_command(format!("continue {place:x}"));
        self.current = to;
        self.ret();
    }

    fn fork(&mut self, of_user: bool) {
        if self.free_stacks.is_empty() || !self.suspend() {
            return;
        }
        let task = self.make_task('?').unwrap();
        self.record_command(format!("continue {:x}", task.place));
        self.tasks.push(task);
        self.current = self.tasks.len() - 1;
        // It returns to where nobody called it from.
        let first = self.take_address();
        self.record_command(format!("ret {first:x}"));
        if of_user {
            self.branch();
            self.store(1);
            self.ret();
            self.leave();
        }
    }

    fn exit(&mut self, to: usize) {
        if self.tasks.len() < 2 {
            return;
        }
        let suspended: Vec<usize> = (0..self.tasks.len()).filter(|&t| t != self.current).collect();
        let to = suspended[to % suspended.len()];
        if !self.suspend() {
            return;
        }
        let place = self.tasks[to].place;
        self.record_command(format!("continue {place:x}"));
        let gone = self.tasks.remove(self.current);
        self.free_stacks.push(gone.stack.base);
        self.free_places.push(gone.place);
        self.current = if to > self.current { to - 1 } else { to };
        self.ret();
    }

    fn enter(&mut self, kind: u32) {
        let address = self.take_address();
        let task = &mut self.tasks[self.current];
        task.in_user = false;
        task.root = 'u';
        task.stack.sp = task.stack.base + STACK - REGISTERS;
        self.record_command(format!("enter {kind:x} {address:x}"));
        // The trampoline jumps by a return.
        self.record_command("ret ffff800080010c04".to_owned());
    }

    fn leave(&mut self) {
        let task = &mut self.tasks[self.current];
        if !task.stack.frames.is_empty() || task.interrupt_stack.is_some() {
            return;
        }
        (task.in_user, task.root) = (true, 'u');
        self.record_command("user 401000".to_owned());
    }
}
