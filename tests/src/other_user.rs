//! A sandbox owned by an unprivileged user, and files of another user in it.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::Path;

use crate::sandbox::{Binaries, Sandbox, copy_program};

/// The user ids of the sandbox's owner and of another user.
pub const OWNER: u32 = 65_534;
pub const STRANGER: u32 = 65_533;

impl Sandbox {
    /// Gives the sandbox to an unprivileged user, who runs all later programs. Returns `false` if the tests do not run as
    /// the superuser.
    pub fn give_to_a_user(&mut self) -> bool {
        if fs::metadata(self.home()).expect("the home of a sandbox").uid() != 0 {
            return false;
        }
        // The build directory may be unreadable to the user.
        let copy = |program: &Path| {
            let copy = self.root().join(program.file_name().expect("a program has a name"));
            copy_program(program, &copy).expect("a program that can be copied");
            copy
        };
        let copies = Binaries { memory: copy(&self.binaries.memory), hook: copy(&self.binaries.hook) };
        self.set_binaries(copies);
        self.user = Some(OWNER);
        let mut pending = vec![self.root()];
        while let Some(path) = pending.pop() {
            chown(&path, Some(OWNER), Some(OWNER)).expect("the superuser can change owners");
            if path.is_dir() {
                pending.extend(fs::read_dir(&path).expect("a folder").filter_map(|item| Some(item.ok()?.path())));
            }
        }
        true
    }

    /// Creates a file of another user in the store with these permissions.
    pub fn plant_foreign_file(&self, name: &str, bytes: &[u8], mode: u32) {
        let path = self.store().join(name);
        let folder = path.parent().expect("a file of the store has a folder");
        fs::create_dir_all(folder).expect("a folder can be made");
        if folder != self.store() {
            chown(folder, Some(OWNER), Some(OWNER)).expect("the superuser can change owners");
        }
        let _ = fs::remove_file(&path);
        fs::write(&path, bytes).expect("the superuser can write everywhere");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("permissions can be set");
        chown(&path, Some(STRANGER), Some(STRANGER)).expect("the superuser can change owners");
    }
}
