//! Checks the programs and the disk.

use std::path::Path;

use super::check::DoctorCheck;
use crate::setup::programs::{Program, Programs, program_version};

/// Both programs must have this version.
const VERSION: &str = env!("CARGO_PKG_VERSION");

const INSTALL: &str = "install both programs in the same version; https://github.com/jikime/jikime-memory says how";

/// Free space below which a disk counts as full. A rebuilt index needs its own size again.
const MIN_FREE_BYTES: u64 = 100 * 1024 * 1024;

pub(super) fn check_programs(programs: &Programs, is_named_by_path: bool) -> Vec<DoctorCheck> {
    let running = programs.memory.sibling.as_deref().map(|path| path.display().to_string()).unwrap_or_default();
    let memory = match &programs.memory.on_path {
        Some(path) => match program_version(path) {
            Some(version) if version == VERSION => {
                DoctorCheck::fine("jikime-memory", format!("{VERSION} at {}", path.display()))
            }
            other => {
                let other = other.unwrap_or_else(|| "an unknown version".to_owned());
                let text = format!("this is {VERSION} at {running}, but PATH has {other} at {}", path.display());
                DoctorCheck::finding("jikime-memory", text, INSTALL)
            }
        },
        None if is_named_by_path => {
            DoctorCheck::fine("jikime-memory", format!("{VERSION} at {running}; hosts start it by its path"))
        }
        None => {
            let text = format!("{VERSION} at {running} is not on PATH, so hosts cannot find it by name");
            DoctorCheck::finding(
                "jikime-memory",
                text,
                "add its folder to PATH, or run jikime-memory init to write its path",
            )
        }
    };
    vec![memory, check_hook_program(&programs.hook)]
}

fn check_hook_program(program: &Program) -> DoctorCheck {
    let Some(path) = program.path() else {
        return DoctorCheck::finding("jikime-hook", "it is neither on PATH nor next to jikime-memory", INSTALL);
    };
    match program_version(path) {
        Some(version) if version == VERSION => {
            DoctorCheck::fine("jikime-hook", format!("{VERSION} at {}", path.display()))
        }
        Some(version) => {
            let text = format!("{version} at {}, but jikime-memory is {VERSION}", path.display());
            DoctorCheck::finding("jikime-hook", text, INSTALL)
        }
        None => DoctorCheck::finding("jikime-hook", format!("{} does not start", path.display()), INSTALL),
    }
}

pub(super) fn check_disk(root: &Path) -> Option<DoctorCheck> {
    let free = free_bytes(root)?;
    let text = format!("{} MiB free", free / 1024 / 1024);
    Some(if free < MIN_FREE_BYTES {
        DoctorCheck::finding("disk", text, "free some space; otherwise new memories cannot be written")
    } else {
        DoctorCheck::fine("disk", text)
    })
}

#[cfg(unix)]
fn free_bytes(path: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(path).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Not checked on this platform.
#[cfg(not(unix))]
fn free_bytes(_: &Path) -> Option<u64> {
    None
}
