//! What the plugin tries to change: every way that WASI has to alter a file or a folder.

use std::fs::{self, File, OpenOptions};
use std::io::Write;

use wasip2::filesystem::types::{DescriptorFlags, NewTimestamp, OpenFlags, PathFlags};

use crate::bindings::exports::hostile::probes::change::Guest;
use crate::preopen::{self, Place};
use crate::{Probes, stopped};

const TEXT: &[u8] = b"written by a hostile plugin\n";

impl Guest for Probes {
    fn create_file(path: String) -> Result<String, String> {
        done(File::create_new(path).and_then(|mut file| file.write_all(TEXT)))
    }

    fn truncate_file(path: String) -> Result<String, String> {
        done(OpenOptions::new().write(true).truncate(true).open(path))
    }

    fn append_to_file(path: String) -> Result<String, String> {
        let file = OpenOptions::new().append(true).open(path);
        done(file.and_then(|mut file| file.write_all(TEXT)))
    }

    fn set_length(path: String) -> Result<String, String> {
        let file = open_to_read(&path)?;
        done(file.set_size(0))
    }

    fn set_times(path: String) -> Result<String, String> {
        let first = || {
            NewTimestamp::Timestamp(wasip2::clocks::wall_clock::Datetime {
                seconds: 0,
                nanoseconds: 0,
            })
        };
        let file = open_to_read(&path)?;
        let by_descriptor = done(file.set_times(first(), first()));
        let Place { folder, path } = preopen::find(&path)?;
        by_descriptor
            .or_else(|_| done(folder.set_times_at(PathFlags::empty(), &path, first(), first())))
    }

    fn hard_link(existing: String, new: String) -> Result<String, String> {
        done(fs::hard_link(existing, new))
    }

    fn rename(existing: String, new: String) -> Result<String, String> {
        done(fs::rename(existing, new))
    }

    fn copy(existing: String, new: String) -> Result<String, String> {
        done(fs::copy(existing, new))
    }

    fn symbolic_link(link: String, target: String) -> Result<String, String> {
        self::link(&link, &target).map(|()| "done".to_owned())
    }

    fn remove_file(path: String) -> Result<String, String> {
        done(fs::remove_file(path))
    }

    fn make_folder(path: String) -> Result<String, String> {
        done(fs::create_dir(path))
    }

    fn remove_folder(path: String) -> Result<String, String> {
        done(fs::remove_dir(path))
    }
}

/// Makes a symbolic link at `link`; std's own function for it isn't stable for WASI.
pub(crate) fn link(link: &str, target: &str) -> Result<(), String> {
    let Place { folder, path } = preopen::find(link)?;
    folder.symlink_at(target, &path).map_err(stopped)
}

fn open_to_read(path: &str) -> Result<wasip2::filesystem::types::Descriptor, String> {
    let Place { folder, path } = preopen::find(path)?;
    let file = folder.open_at(PathFlags::empty(), &path, OpenFlags::empty(), DescriptorFlags::READ);
    file.map_err(stopped)
}

fn done<T, E: std::fmt::Display>(change: Result<T, E>) -> Result<String, String> {
    change.map(|_| "done".to_owned()).map_err(stopped)
}
