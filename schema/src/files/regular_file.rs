//! Opens regular files and nothing else. Opening a pipe could block, and a device may have no end.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

/// The size limit for files that are read as a whole, in bytes. It is enough for a hundred years of logs, and fits in RAM.
pub const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Opens a file for reading. Links are followed, because people link their settings and notes.
pub fn open(path: &Path) -> io::Result<File> {
    // Checked before the open too, because opening some devices has effects.
    require_regular_file(&fs::metadata(path)?)?;
    open_with(open_options().read(true), path)
}

/// Reads a file of at most `limit` bytes.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    read_open(&open(path)?, limit)
}

/// Reads a text file of at most `limit` bytes.
pub fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    String::from_utf8(read(path, limit)?).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// Reads an open file of at most `limit` bytes.
pub(crate) fn read_open(file: &File, limit: u64) -> io::Result<Vec<u8>> {
    let size = file.metadata()?.len();
    let mut bytes = Vec::new();
    if size <= limit {
        bytes.reserve_exact(usize::try_from(size).unwrap_or_default());
        file.take(limit + 1).read_to_end(&mut bytes)?;
    }
    if size.max(bytes.len() as u64) > limit {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {limit} bytes")));
    }
    Ok(bytes)
}

/// Returns options with which an open never waits for the other end of a pipe.
pub(crate) fn open_options() -> OpenOptions {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "options are added only on Unix"))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    options
}

/// Opens a file, and returns an error if something else was put in its place meanwhile.
pub(crate) fn open_with(options: &OpenOptions, path: &Path) -> io::Result<File> {
    let file = options.open(path)?;
    require_regular_file(&file.metadata()?)?;
    Ok(file)
}

/// Whether metadata is that of a pipe, a device or a socket.
pub(crate) fn is_special(metadata: &Metadata) -> bool {
    !metadata.is_file() && !metadata.is_dir() && !metadata.is_symlink()
}

fn require_regular_file(metadata: &Metadata) -> io::Result<()> {
    if metadata.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder, not a file"));
    }
    if is_special(metadata) { Err(io::Error::other("it is a pipe or device, not a file")) } else { Ok(()) }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn pipes_and_devices_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
        for path in [pipe.as_path(), Path::new("/dev/zero")] {
            assert!(open(path).unwrap_err().to_string().contains("a pipe or device"), "{}", path.display());
        }
    }

    #[test]
    fn oversized_sparse_file_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sparse");
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(read(&path, MAX_BYTES).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        File::create(&path).unwrap().set_len(3).unwrap();
        assert_eq!(read(&path, 3).unwrap(), [0; 3]);
        assert!(read(&path, 2).is_err());
    }
}
