// SPDX-License-Identifier: GPL-2.0-or-later
//! A machine that knows who called whom: tasks with stacks, an interrupt stack, an entry stack.
//! Each step is made as the kernel makes it, and tells the plugin what the plugin can see.

/// Bytes of a kernel stack.
const STACK: u64 = 16384;
const FIRST_STACK: u64 = 0xffa0_0000_0000_0000;
const INTERRUPT_STACK: u64 = 0xffa0_0000_8000_0000;
const ENTRY_STACK: u64 = 0xffff_fe00_0000_0000;
const TEXT: u64 = 0xffff_ffff_8100_0000;

/// One step of the machine; the numbers choose sizes and partners.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    Call(u64),
    Return,
    Interrupt(u64),
    /// The handler goes on on the interrupt stack.
    InterruptStack,
    Resume,
    Switch(usize),
    /// Switch to a task that never ran; true: it belongs to user space.
    Fork(bool),
    /// The task ends; its stack is used again.
    Exit(usize),
    /// Leaves several functions at once, then calls.
    Unwind(usize),
    Syscall,
    /// An interrupt in user space, over the entry stack.
    Tick,
    ToUser,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Frame {
    slot: u64,
    /// `c` and `i` with the address, as the script prints it.
    text: String,
    address: u64,
    interrupt: bool,
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
    stack: Segment,
    /// While it is in use.
    interrupt_stack: Option<Segment>,
}

/// The machine. `commands` is what the plugin sees, `truth` the chain after each command; `None`
/// where the plugin cannot know it yet.
#[derive(Debug)]
pub struct Machine {
    tasks: Vec<Task>,
    current: usize,
    free: Vec<u64>,
    next_address: u64,
    pub commands: Vec<String>,
    pub truth: Vec<Option<String>>,
}

impl Machine {
    /// One task, in user space.
    pub fn new() -> Self {
        let mut machine = Self {
            tasks: Vec::new(),
            current: 0,
            free: (0..6).rev().map(|n| FIRST_STACK + n * 2 * STACK).collect(),
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
            Step::Syscall if in_user => self.enter(false),
            Step::Tick if in_user => self.enter(true),
            _ if in_user => {}
            Step::Call(size) => self.call(size),
            Step::Return => self.ret(),
            Step::Interrupt(size) => self.interrupt(size),
            Step::InterruptStack => self.interrupt_stack(),
            Step::Resume => self.resume(),
            Step::Switch(to) => self.switch(to),
            Step::Fork(of_user) => self.fork(of_user),
            Step::Exit(to) => self.exit(to),
            Step::Unwind(frames) => self.unwind(frames),
            Step::ToUser => self.leave(),
            Step::Syscall | Step::Tick => {}
        }
    }

    fn make_task(&mut self, root: char) -> Option<Task> {
        let base = self.free.pop()?;
        // The kernel keeps the registers of user space at the top.
        let stack = Segment { base, sp: base + STACK - 168, frames: Vec::new() };
        Some(Task { root, in_user: false, stack, interrupt_stack: None })
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
        self.truth.push(Some(self.current_chain()));
    }

    /// Something that the plugin sees before it can know the chain.
    fn record_unknown(&mut self, command: String) {
        self.commands.push(command);
        self.truth.push(None);
    }

    fn take_address(&mut self) -> u64 {
        self.next_address += 16;
        self.next_address
    }

    fn call(&mut self, size: u64) {
        let address = self.take_address();
        let segment = self.current_segment();
        if segment.sp < segment.base + 1024 {
            return;
        }
        let slot = segment.sp - 8 * (size % 16 + 1);
        segment.sp = slot;
        let text = format!("c{address:x}");
        segment.frames.push(Frame { slot, text, address, interrupt: false });
        self.record_command(format!("call {slot:x} {address:x}"));
    }

    fn ret(&mut self) {
        let task = &mut self.tasks[self.current];
        let on_interrupt_stack = task.interrupt_stack.is_some();
        let segment = task.interrupt_stack.as_mut().unwrap_or(&mut task.stack);
        let Some(frame) = segment.frames.pop_if(|frame| !frame.interrupt) else { return };
        segment.sp = frame.slot + 8;
        if on_interrupt_stack && segment.frames.is_empty() {
            task.interrupt_stack = None;
        }
        self.record_command(format!("return {:x}", frame.slot));
        self.record_command(format!("returned {:x}", frame.address));
    }

    fn interrupt(&mut self, size: u64) {
        let address = self.take_address();
        let segment = self.current_segment();
        if segment.sp < segment.base + 1024 {
            return;
        }
        // The interrupted function may use the stack below its last call.
        segment.sp = (segment.sp - 8 * (size % 16)) & !15;
        segment.sp -= 48;
        let slot = segment.sp + 8;
        let text = format!("i{address:x}");
        segment.frames.push(Frame { slot, text, address, interrupt: true });
        self.record_command(format!("interrupt {address:x}"));
        // error_entry, called by the first instructions of the handler.
        self.record_unknown(format!("call {:x} {:x}", slot - 16, address + 1));
        self.record_command(format!("return {:x}", slot - 16));
        self.record_command(format!("returned {:x}", address + 1));
    }

    fn interrupt_stack(&mut self) {
        let address = self.take_address();
        let task = &mut self.tasks[self.current];
        // Only a function does it, which returns on the task's stack afterwards.
        let in_handler = task.stack.frames.iter().any(|frame| frame.interrupt)
            && task.stack.frames.last().is_some_and(|frame| !frame.interrupt);
        if task.interrupt_stack.is_some() || !in_handler {
            return;
        }
        let slot = INTERRUPT_STACK + STACK - 16;
        let text = format!("c{address:x}");
        let frame = Frame { slot, text, address, interrupt: false };
        task.interrupt_stack =
            Some(Segment { base: INTERRUPT_STACK, sp: slot, frames: vec![frame] });
        self.record_command(format!("call {slot:x} {address:x}"));
    }

    fn resume(&mut self) {
        let segment = self.current_segment();
        if let Some(frame) = segment.frames.pop_if(|frame| frame.interrupt) {
            segment.sp = frame.slot + 40;
            self.record_command("resume".to_owned());
        }
    }

    /// Leave the current task inside its call of the switch.
    fn suspend(&mut self) -> bool {
        if self.tasks[self.current].interrupt_stack.is_some() {
            return false;
        }
        let before = self.commands.len();
        self.call(3);
        self.commands.len() > before
    }

    fn switch(&mut self, to: usize) {
        let to = to % self.tasks.len();
        if to == self.current || !self.suspend() {
            return;
        }
        self.continue_with(to);
    }

    /// A suspended task: the switch returns on its stack.
    fn continue_with(&mut self, to: usize) {
        self.current = to;
        let slot = self.tasks[to].stack.frames.last().unwrap().slot;
        if slot & 16 == 0 {
            self.record_command(format!("touch {:x} 0", slot - 32));
        }
        self.ret();
    }

    fn fork(&mut self, of_user: bool) {
        if self.free.is_empty() || !self.suspend() {
            return;
        }
        let task = self.make_task('?').unwrap();
        let slot = task.stack.sp - 8;
        self.tasks.push(task);
        self.current = self.tasks.len() - 1;
        // It returns to where nobody called it from.
        self.record_unknown(format!("return {slot:x}"));
        let first = self.take_address();
        self.record_command(format!("returned {first:x}"));
        if of_user {
            self.call(1);
            self.ret();
            self.leave();
        }
    }

    fn exit(&mut self, to: usize) {
        let task = &self.tasks[self.current];
        if self.tasks.len() < 2 || task.interrupt_stack.is_some() {
            return;
        }
        let suspended: Vec<usize> = (0..self.tasks.len()).filter(|&t| t != self.current).collect();
        let to = suspended[to % suspended.len()];
        self.call(3);
        let gone = self.tasks[self.current].stack.base;
        self.free.push(gone);
        self.tasks.remove(self.current);
        self.continue_with(if to > self.current { to - 1 } else { to });
    }

    fn unwind(&mut self, frames: usize) {
        let segment = self.current_segment();
        for _ in 0..frames % 4 {
            if let Some(frame) = segment.frames.pop_if(|frame| !frame.interrupt) {
                segment.sp = frame.slot + 8;
            }
        }
        self.call(0);
    }

    fn enter(&mut self, tick: bool) {
        let address = self.take_address();
        let task = &mut self.tasks[self.current];
        task.in_user = false;
        task.root = 'u';
        task.stack.sp = task.stack.base + STACK - 168;
        let top = task.stack.sp;
        let kind = if tick { 3 } else { 4 };
        self.record_command(format!("enter {kind:x} {address:x}"));
        if tick {
            // error_entry runs on the entry stack.
            let slot = ENTRY_STACK + 8192 - 56;
            self.record_unknown(format!("call {slot:x} {address:x}"));
            self.record_command(format!("return {slot:x}"));
            self.record_command(format!("returned {address:x}"));
            // The handler itself runs on the stack of the task.
            self.call(1);
        } else {
            self.record_command(format!("touch {:x} 1", top - 8));
        }
    }

    fn leave(&mut self) {
        let task = &self.tasks[self.current];
        if !task.stack.frames.is_empty() || task.interrupt_stack.is_some() {
            return;
        }
        // The last steps are made on the entry stack.
        self.record_command(format!("touch {:x} 1", ENTRY_STACK + 8192 - 8));
        let task = &mut self.tasks[self.current];
        (task.in_user, task.root) = (true, 'u');
        self.record_command("user 401000".to_owned());
    }
}
