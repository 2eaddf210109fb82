//! A file system that lacks something, for the store of a sandbox. It takes no rights and no disk: the calls of the programs are refused
//! as such a file system refuses them, by a library that is loaded before theirs.

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
        let library = self.root().join("lacking.so");
        if !library.exists() && !compiled(&library) {
            return false;
        }
        let name = match lack {
            Lack::Locks => "locks",
            Lack::SharedMemory => "shared memory",
            Lack::Space => "space",
        };
        let below = self.store();
        self.set_variable("LD_PRELOAD", library).set_variable("JIKIME_LACKING_BELOW", below);
        self.set_variable("JIKIME_LACKING", name);
        true
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
