//! Simulates a limited file system for a sandbox's store, without privileges or a real disk: a preloaded library makes
//! system calls fail. The same library sets the clock.

use std::path::Path;
use std::process::Command;

use crate::program_output::report_skip;
use crate::sandbox::Sandbox;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingFeature {
    /// Locks, as on many network file systems.
    Locks,
    /// Shared memory, which write-ahead logs need.
    SharedMemory,
    /// Space, suddenly.
    Space,
}

impl Sandbox {
    /// Limits the store's file system from now on. Returns `false`, with a message, if that is impossible: it needs a C
    /// compiler, Linux's loader and dynamically linked programs.
    pub fn remove_feature(&mut self, lack: MissingFeature) -> bool {
        if !self.preload_library() {
            return false;
        }
        let name = match lack {
            MissingFeature::Locks => "locks",
            MissingFeature::SharedMemory => "shared memory",
            MissingFeature::Space => "space",
        };
        let below = self.store();
        self.set_variable("JIKIME_LACKING_BELOW", below).set_variable("JIKIME_LACKING", name);
        true
    }

    /// Sets the clock of programs started from now on back by this many seconds; 0 restores it. Returns `false`, with a message, if that is
    /// impossible.
    pub fn set_clock_back(&mut self, seconds: i64) -> bool {
        if !self.preload_library() {
            return false;
        }
        self.set_variable("JIKIME_CLOCK_OFFSET", (-seconds).to_string());
        true
    }

    /// Preloads the library into all later programs.
    fn preload_library(&mut self) -> bool {
        let library = self.root().join("lacking.so");
        if cfg!(target_feature = "crt-static") {
            report_skip("static programs load no library");
            return false;
        }
        let is_there = library.exists() || compile_library(&library);
        match is_there {
            true => {
                self.set_variable("LD_PRELOAD", library);
            }
            false => report_skip("no C compiler"),
        }
        is_there
    }

    /// Restores the features for programs started from now on.
    pub fn restore_features(&mut self) {
        self.set_variable("JIKIME_LACKING", "");
    }
}

fn compile_library(library: &Path) -> bool {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("file-system/lacking.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-w", "-o"]).arg(library).arg(source).arg("-ldl");
    cfg!(target_os = "linux") && compiler.output().is_ok_and(|done| done.status.success())
}
