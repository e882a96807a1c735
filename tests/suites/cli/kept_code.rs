//! Compiled code that is kept between runs: used when it is whole and private, else made anew.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use crate::guests::built;
use crate::suites::harness::{Ran, belljar, code_in, folder_with, settled};

/// Signal 9 (POSIX), which no process can answer.
const SIGKILL: i32 = 9;
/// On a busy machine a compilation may be over before whoever kills it has its turn.
const TRIES: usize = 20;

struct Cache {
    folder: tempfile::TempDir,
    plugin: tempfile::TempDir,
}

impl Cache {
    fn new() -> Self {
        let plugin = folder_with(&[("counter", &built::wat("counter"))]);
        Self { folder: tempfile::tempdir().unwrap(), plugin }
    }

    fn code(&self) -> PathBuf {
        code_in(self.folder.path())
    }

    /// With a plugin that takes a while to compile.
    fn slow() -> Self {
        let plugin = folder_with(&[("counter", built::rust("hostile"))]);
        Self { folder: tempfile::tempdir().unwrap(), plugin }
    }

    /// Inspects the plugin by itself: the builtins would be compiled into this folder too.
    fn inspect(&self) -> Ran {
        Ran::of(self.inspecting(belljar()).output().unwrap())
    }

    /// Inspects it with `kill -9` as soon as `now` says so, if it doesn't end before.
    fn killed(&self, now: impl Fn(&Path) -> bool) -> ExitStatus {
        let mut command = Command::new(env!("CARGO_BIN_EXE_belljar"));
        settled(&mut command);
        let mut command = self.inspecting(command);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while !now(&self.code()) && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap()
    }

    fn inspecting(&self, mut command: Command) -> Command {
        command.env("XDG_CACHE_HOME", self.folder.path()).arg("inspect");
        command.arg(self.plugin.path().join("counter.wasm"));
        command
    }

    fn files(&self) -> Vec<PathBuf> {
        fs::read_dir(self.code()).unwrap().map(|it| it.unwrap().path()).collect()
    }

    fn only_file(&self) -> PathBuf {
        let files = self.files();
        assert_eq!(files.len(), 1, "{files:?}");
        files[0].clone()
    }
}

fn mode(path: &PathBuf) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn code_is_kept_privately_and_used_again() {
    let cache = Cache::new();
    let first = cache.inspect().ends_with(0);
    let file = cache.only_file();
    assert_eq!((mode(&cache.code()), mode(&file)), (0o700, 0o600));
    // A file that belljar wrote again would be another one.
    let before = fs::metadata(&file).unwrap().ino();
    let second = cache.inspect().ends_with(0);
    assert_eq!(first.stdout, second.stdout);
    assert_eq!(fs::metadata(cache.only_file()).unwrap().ino(), before);
}

#[test]
fn sec26_code_that_was_changed_is_not_run_but_made_anew() {
    let cache = Cache::new();
    let first = cache.inspect().ends_with(0);
    let file = cache.only_file();
    let whole = fs::read(&file).unwrap();
    let mut turned = whole.clone();
    let middle = turned.len() / 2;
    turned[middle] = !turned[middle];
    for bad in [&turned[..], &whole[..whole.len() / 2], b"", b"\x7fELF"] {
        fs::write(&file, bad).unwrap();
        assert_eq!(cache.inspect().ends_with(0).stdout, first.stdout);
        assert!(fs::read(&file).unwrap() == whole, "it wasn't made anew");
    }
}

#[test]
fn a_folder_that_others_may_enter_is_not_used_and_the_work_is_done_all_the_same() {
    let cache = Cache::new();
    fs::create_dir_all(cache.code()).unwrap();
    fs::set_permissions(cache.code(), fs::Permissions::from_mode(0o755)).unwrap();
    let ran = cache.inspect().ends_with(0);
    assert!(ran.stderr.contains("mode 0755"), "{ran:?}");
    assert!(cache.files().is_empty());
}

#[test]
fn a_place_that_is_no_folder_is_not_used_and_the_work_is_done_all_the_same() {
    let cache = Cache::new();
    fs::write(cache.folder.path().join("belljar"), "in the way").unwrap();
    let ran = cache.inspect().ends_with(0);
    assert!(ran.stderr.contains("compiled code"), "{ran:?}");
}

#[test]
fn t44_a_load_that_was_killed_while_it_compiled_or_wrote_works_the_next_time() {
    let whole = Cache::slow();
    let expected = whole.inspect().ends_with(0).stdout;
    let code = fs::read(whole.only_file()).unwrap();

    // The folder is made before anything is compiled for it.
    let compiling = |cache: &Cache| {
        cache.killed(Path::exists).signal() == Some(SIGKILL) && cache.files().is_empty()
    };
    let cache = (0..TRIES).map(|_| Cache::slow()).find(compiling).expect("it was always too late");
    let half = &code[..code.len() / 2];
    fs::write(cache.code().join("left-behind.part"), half).unwrap();
    let kept = cache.code().join(whole.only_file().file_name().unwrap());
    fs::write(&kept, half).unwrap();
    assert_eq!(cache.inspect().ends_with(0).stdout, expected);
    assert!(fs::read(&kept).unwrap() == code, "what was half written wasn't made anew");

    let cache = Cache::slow();
    // From when its file appears to when it is whole, or a moment after.
    cache.killed(|code| fs::read_dir(code).is_ok_and(|mut files| files.next().is_some()));
    assert_eq!(cache.inspect().ends_with(0).stdout, expected);
    assert!(cache.files().iter().any(|file| file.extension().is_some_and(|it| it == "code")));
}

#[test]
fn a_start_without_descriptors_says_so_and_compiles_nothing_anew() {
    let cache = Cache::new();
    cache.inspect().ends_with(0);
    let bounded = |files: u32| {
        let script = format!(r#"ulimit -n {files}; exec timeout 60 "$0" "$@""#);
        let mut shell = Command::new("sh");
        settled(&mut shell);
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_belljar")]);
        Ran::of(cache.inspecting(shell).output().unwrap())
    };
    // Each place where a start opens something is met by one of these. With fewer there is no
    // program: its libraries can't be opened (127, or 125 from `timeout`).
    let ran: Vec<_> = (4..64).map(bounded).collect();
    let ran: Vec<_> = ran.iter().filter(|it| !matches!(it.code, Some(125 | 127))).collect();
    let (began, refused): (Vec<&Ran>, _) = ran.into_iter().partition(|it| it.code == Some(0));
    assert!(began.len() > 20, "{began:?}");
    for ran in began.iter().chain(&refused) {
        assert!(matches!(ran.code, Some(0 | 6)) && !ran.stderr.contains("anew"), "{ran:?}");
    }
    for said in ["can't have the descriptors", "the machine has no room for it: Too many open"] {
        assert!(refused.iter().any(|ran| ran.stderr.contains(said)), "{refused:?}");
    }
}
