//! A file system that lacks something, for the store of a sandbox. It takes no rights and no disk: the calls of the programs are refused
//! as such a file system refuses them, by a library that is loaded before theirs. The same library sets their clock.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::process::Command;

use crate::outcome::skipped;
use crate::sandbox::Sandbox;

/// What a file system may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// Locks, as many that go over a network.
    Locks,
    /// Memory that programs share, which write-ahead logs need.
    SharedMemory,
    /// Space, from one moment to the next.
    Space,
}

impl Sandbox {
    /// From now on the store lies on a file system that lacks something. `false` where that cannot be had, which it prints: it takes a C
    /// compiler, which the build of SQLite takes as well, the loader of Linux, and programs with shared libraries.
    pub fn lack(&mut self, lack: Lack) -> bool {
        if !self.stands_between() {
            return false;
        }
        let name = match lack {
            Lack::Locks => "locks",
            Lack::SharedMemory => "shared memory",
            Lack::Space => "space",
        };
        let below = self.store();
        self.set_variable("JIKIME_LACKING_BELOW", below).set_variable("JIKIME_LACKING", name);
        true
    }

    /// What is started from now on has a clock that is so many seconds behind that of this machine; none of them is the clock of the
    /// machine again. `false` where that cannot be had, which it prints.
    pub fn set_clock_back(&mut self, seconds: i64) -> bool {
        if !self.stands_between() {
            return false;
        }
        self.set_variable("JIKIME_CLOCK_OFFSET", (-seconds).to_string());
        true
    }

    /// Puts the library between programs and the C library.
    fn stands_between(&mut self) -> bool {
        let library = self.root().join("lacking.so");
        if let Some(program) = [&self.binaries.hook, &self.binaries.memory].into_iter().find(|path| is_static(path)) {
            skipped(format_args!("no library can be loaded before {}, which is static", program.display()));
            return false;
        }
        let is_there = library.exists() || compiled(&library);
        match is_there {
            true => {
                self.set_variable("LD_PRELOAD", library);
            }
            false => skipped("there is no C compiler here"),
        }
        is_there
    }

    /// And from now on it lacks nothing again.
    pub fn lack_nothing(&mut self) {
        self.set_variable("JIKIME_LACKING", "");
    }
}

/// Whether a program has no loader, by the headers of its ELF file.
fn is_static(program: &Path) -> bool {
    /// The kind of header that names the loader.
    const INTERPRETER: usize = 3;
    let mut head = Vec::new();
    let read = File::open(program).and_then(|file| file.take(4_096).read_to_end(&mut head));
    let number = |at: usize, bytes: usize| {
        let bytes = head.get(at..at + bytes)?;
        bytes.iter().rev().try_fold(0_usize, |number, byte| Some(number << 8 | usize::from(*byte)))
    };
    // Of 64 bits, the lowest byte first.
    if read.is_err() || !head.starts_with(b"\x7fELF\x02\x01") {
        return false;
    }
    let (Some(first), Some(size), Some(count)) = (number(0x20, 8), number(0x36, 2), number(0x38, 2)) else {
        return false;
    };
    (0..count).all(|n| number(first + n * size, 4) != Some(INTERPRETER))
}

fn compiled(library: &Path) -> bool {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("file-system/lacking.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-w", "-o"]).arg(library).arg(source).arg("-ldl");
    cfg!(target_os = "linux") && compiler.output().is_ok_and(|done| done.status.success())
}
