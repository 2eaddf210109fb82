//! The programs, and the disk.

use std::path::Path;

use super::Check;
use crate::setup::programs::{Program, Programs, version_of};

/// What this program is, which the other one must be as well.
const VERSION: &str = env!("CARGO_PKG_VERSION");

const INSTALL: &str = "install both programs from the same version, as README.md tells";

/// Bytes below which a disk counts as full: an index that is rebuilt needs its own size once more.
const LITTLE: u64 = 100 * 1024 * 1024;

pub(super) fn programs(programs: &Programs, is_named_by_path: bool) -> Vec<Check> {
    let running = programs.memory.beside.as_deref().map(|path| path.display().to_string()).unwrap_or_default();
    let mut checks = vec![match &programs.memory.on_path {
        Some(path) => match version_of(path) {
            Some(version) if version == VERSION => {
                Check::fine("jikime-memory", format!("{VERSION} at {}", path.display()))
            }
            other => {
                let other = other.unwrap_or_else(|| "no version that it tells".to_owned());
                let text = format!("this is {VERSION} at {running}, and PATH starts {other} at {}", path.display());
                Check::finding("jikime-memory", text, INSTALL)
            }
        },
        None if is_named_by_path => {
            Check::fine("jikime-memory", format!("{VERSION} at {running}, which hosts start by its path"))
        }
        None => {
            let text = format!("{VERSION} at {running} is not on PATH, so hosts do not find it by its name");
            Check::finding("jikime-memory", text, "add its folder to PATH, or run jikime-memory init to write its path")
        }
    }];
    checks.push(hook(&programs.hook));
    checks
}

fn hook(program: &Program) -> Check {
    let Some(path) = program.path() else {
        return Check::finding("jikime-hook", "it is neither on PATH nor beside jikime-memory", INSTALL);
    };
    match version_of(path) {
        Some(version) if version == VERSION => Check::fine("jikime-hook", format!("{VERSION} at {}", path.display())),
        Some(version) => {
            let text = format!("{version} at {}, and jikime-memory is {VERSION}", path.display());
            Check::finding("jikime-hook", text, INSTALL)
        }
        None => Check::finding("jikime-hook", format!("{} does not start", path.display()), INSTALL),
    }
}

pub(super) fn disk(root: &Path) -> Option<Check> {
    let free = free_bytes(root)?;
    let text = format!("{} MiB free", free / 1024 / 1024);
    Some(if free < LITTLE {
        Check::finding("disk", text, "make room: what cannot be written is not remembered")
    } else {
        Check::fine("disk", text)
    })
}

#[cfg(unix)]
fn free_bytes(path: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(path).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Not asked here.
#[cfg(not(unix))]
fn free_bytes(_: &Path) -> Option<u64> {
    None
}
