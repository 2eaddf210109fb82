//! A file system that lacks something, for the store of a sandbox. It takes no rights and no disk: the calls of the programs are refused
//! as such a file system refuses them, by a library that is loaded before theirs. The same library sets their clock.

use std::path::Path;
use std::process::Command;

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
    /// From now on the store lies on a file system that lacks something. `false` where that cannot be had: it takes a C compiler, which
    /// the build of SQLite takes as well, and the loader of Linux.
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
    /// machine again. `false` where that cannot be had.
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
        let is_there = library.exists() || compiled(&library);
        if is_there {
            self.set_variable("LD_PRELOAD", library);
        }
        is_there
    }

    /// And from now on it lacks nothing again.
    pub fn lack_nothing(&mut self) {
        self.set_variable("JIKIME_LACKING", "");
    }
}

fn compiled(library: &Path) -> bool {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("file-system/lacking.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-w", "-o"]).arg(library).arg(source).arg("-ldl");
    cfg!(target_os = "linux") && compiler.output().is_ok_and(|done| done.status.success())
}
