//! Bad files: each with the sentence that says what is wrong and where.

mod upstream;

use proptest::prelude::*;

use super::super::schema::{LIST_MAX, MAP_MAX, TEXT_MAX};
use super::*;

/// A file, and all that is said of it.
const ROWS: &[(&str, &str)] = &[
    // Syntax.
    ("state = \"/x\"\nstate = \"/y\"\n", "belljar.toml:2: it is not TOML: duplicate key"),
    ("a = [1,", "belljar.toml:1: it is not TOML: unclosed array, expected `]`"),
    ("\n[engine\n", "belljar.toml:2: it is not TOML: unclosed table, expected `]`"),
    // Keys that nobody knows.
    (
        "[engine]\nconcurency = 8\n",
        "belljar.toml:2: `engine.concurency`: there is no such key, did you mean \
         `engine.concurrency`?",
    ),
    (
        "[engine]\r\n\r\nconcurency = 8\r\n",
        "belljar.toml:3: `engine.concurency`: there is no such key, did you mean \
         `engine.concurrency`?",
    ),
    (
        "\u{feff}polcy = 1\n",
        "belljar.toml:1: `polcy`: there is no such key, did you mean `policy`?",
    ),
    (
        "retries = 1\n",
        "belljar.toml:1: `retries`: there is no such key, did you mean `engine.retries`?",
    ),
    (
        "[audit]\nzzzzzz = 1\n",
        "belljar.toml:2: `audit.zzzzzz`: there is no such key, expected one of `enabled`, `path`, \
         `keep_bytes`, `keep_days`",
    ),
    (
        "[plugins.files.grants]\ndir = []\n",
        "belljar.toml:2: `plugins.files.grants.dir`: there is no such key, did you mean \
         `plugins.files.grants.dirs`?",
    ),
    (
        "[plugins.files.limits]\nfule = 1\n",
        "belljar.toml:2: `plugins.files.limits.fule`: there is no such limit, did you mean `fuel`?",
    ),
    (
        "[[policy.rules]]\nacton = \"ask\"\ntool = \"*\"\n",
        "belljar.toml:2: `policy.rules[1].acton`: there is no such key, did you mean \
         `policy.rules[1].action`?",
    ),
    (
        "[secrets.a]\nvalue = \"hush\"\nfrom = \"env:A\"\n",
        "belljar.toml:2: `secrets.a.value`: there is no such key, expected one of `from`, \
         `header`, `hosts`, `per`",
    ),
    (
        "\"\\u001b[2J\" = 1\n",
        "belljar.toml:1: `\"<U+001B>[2J\"`: there is no such key, expected one of `state`, \
         `builtins`, `grants`, `limits`, `plugins`, `upstream`, `secrets`, `callers`, `tokens`, \
         `expose`, `serve`, `policy`, `approvals`, `engine`, `sandbox`, `audit`",
    ),
    // Values of the wrong form, one a section.
    ("state = 1\n", "belljar.toml:1: `state`: expected a path, found `1`"),
    ("state = 2020-01-01\n", "belljar.toml:1: `state`: expected a path, found `2020-01-01`"),
    (
        "builtins = \"files\"\n",
        "belljar.toml:1: `builtins`: expected `true` or `false`, or a list, found `\"files\"`",
    ),
    ("plugins = []\n", "belljar.toml:1: `plugins`: expected a table, found a list"),
    ("[plugins]\nfiles = 3\n", "belljar.toml:2: `plugins.files`: expected a table, found `3`"),
    ("grants = true\n", "belljar.toml:1: `grants`: expected a table, found `true`"),
    ("[grants]\ndirs = \"/x\"\n", "belljar.toml:2: `grants.dirs`: expected a list, found `\"/x\"`"),
    (
        "[grants]\ndirs = [3]\n",
        "belljar.toml:2: `grants.dirs[1]`: expected a folder, or a table, found `3`",
    ),
    ("limits = 3\n", "belljar.toml:1: `limits`: expected a table of limits, found `3`"),
    ("secrets = 3\n", "belljar.toml:1: `secrets`: expected a table, found `3`"),
    ("callers = 3\n", "belljar.toml:1: `callers`: expected a table, found `3`"),
    ("policy = 3\n", "belljar.toml:1: `policy`: expected a table, found `3`"),
    ("policy.rules = {}\n", "belljar.toml:1: `policy.rules`: expected a list, found a table"),
    ("approvals = 3\n", "belljar.toml:1: `approvals`: expected a table, found `3`"),
    ("engine = 3\n", "belljar.toml:1: `engine`: expected a table, found `3`"),
    (
        "[engine]\nshare_identical = 1\n",
        "belljar.toml:2: `engine.share_identical`: expected `true` or `false`, found `1`",
    ),
    ("audit = 3\n", "belljar.toml:1: `audit`: expected a table, found `3`"),
    // Numbers, times and sizes.
    (
        "[engine]\nconcurrency = 0\n",
        "belljar.toml:2: `engine.concurrency`: expected a whole number from 1 to 256, found `0`",
    ),
    (
        "[engine]\nconcurrency = 257\n",
        "belljar.toml:2: `engine.concurrency`: expected a whole number from 1 to 256, found `257`",
    ),
    (
        "[engine]\nconcurrency = -1\n",
        "belljar.toml:2: `engine.concurrency`: expected a whole number from 1 to 256, found `-1`",
    ),
    (
        "[engine]\nconcurrency = 1.5\n",
        "belljar.toml:2: `engine.concurrency`: expected a whole number from 1 to 256, found `1.5`",
    ),
    (
        "[engine]\nretry_delay = 500\n",
        "belljar.toml:2: `engine.retry_delay`: expected a time from 0 s to 60 s, such as `\"5s\"`, \
         found `500`",
    ),
    (
        "[engine]\nretry_delay = \"5 hours\"\n",
        "belljar.toml:2: `engine.retry_delay`: expected a time from 0 s to 60 s, such as `\"5s\"`, \
         found `\"5 hours\"`",
    ),
    (
        "[audit]\nkeep_bytes = \"1GB\"\n",
        "belljar.toml:2: `audit.keep_bytes`: expected a size from 1 MiB to 1024 GiB, such as \
         `\"64MiB\"`, found `\"1GB\"`",
    ),
    (
        "[limits]\nmemory = \"5GiB\"\n",
        "belljar.toml:2: `limits.memory`: expected a size from 1 byte to 4 GiB, such as \
         `\"64MiB\"`, found `\"5GiB\"`",
    ),
    (
        "[limits]\nfuel = nan\n",
        "belljar.toml:2: `limits.fuel`: expected a whole number from 1 to 1000000000000, found \
         `nan`",
    ),
    (
        "[limits]\nattempt-deadline = \"1s\"\nattempt_deadline = \"2s\"\n",
        "belljar.toml:3: `limits.attempt_deadline`: it is set twice, with `-` and with `_`",
    ),
    (
        "[callers.\"c\\u202ei\"]\nuser = \"u\"\n",
        "belljar.toml:1: `callers.\"c<U+202E>i\"`: expected a name: a name has at most 128 bytes \
         and nothing that a reader can't see",
    ),
    // Words.
    (
        "[callers.ci]\nlevel = \"READWRITE\"\n",
        "belljar.toml:2: `callers.ci.level`: expected one of `READ_ONLY`, `READ_WRITE`, `SMART`, \
         `FULL`, found `\"READWRITE\"`, did you mean `READ_WRITE`?",
    ),
    (
        "[callers.ci]\nlevel = \"root\"\n",
        "belljar.toml:2: `callers.ci.level`: expected one of `\"READ_ONLY\"`, `\"READ_WRITE\"`, \
         `\"SMART\"`, `\"FULL\"`, found `\"root\"`",
    ),
    (
        "[secrets.a]\nfrom = \"hush\"\n",
        "belljar.toml:2: `secrets.a.from`: expected `\"env:NAME\"` or `\"file:PATH\"`, found \
         `\"hush\"`: it begins with neither `env:` nor `file:`",
    ),
    (
        "[secrets.a]\nper = \"user\"\n",
        "belljar.toml:1: `secrets.a.from`: it is missing, expected `\"env:NAME\"` or \
         `\"file:PATH\"`",
    ),
    (
        "[plugins.My_Plugin]\npath = \"x.wasm\"\n",
        "belljar.toml:1: `plugins.My_Plugin`: expected a plugin's name: `My_Plugin` is not a \
         name: expected 1 to 128 ASCII letters, digits and single hyphens, beginning with a letter",
    ),
    (
        "[plugins.files.tools.read]\nwire_name = \"a b\"\n",
        "belljar.toml:2: `plugins.files.tools.read.wire_name`: expected a name for models, found \
         `\"a b\"`: it must be 1 to 64 of a to z, A to Z, 0 to 9, `_` and `-`",
    ),
    (
        "state = \"~/belljar\"\n",
        "belljar.toml:1: `state`: expected a path, found `\"~/belljar\"`: `~` isn't expanded here, \
         write the whole path",
    ),
    ("state = \"\"\n", "belljar.toml:1: `state`: expected a path, found `\"\"`: it is empty"),
    // What doesn't go together.
    (
        "[plugins.fils.limits]\nfuel = 1\n",
        "belljar.toml:1: `plugins.fils`: `fils` is no builtin and it has no `path`, did you mean \
         `files`?",
    ),
    (
        "builtins = [\"file\"]\n",
        "belljar.toml:1: `builtins`: `file` is no builtin, did you mean `files`?",
    ),
    (
        "[plugins.files]\npath = \"x.wasm\"\n",
        "belljar.toml:1: `plugins.files`: a builtin has that name; give the plugin another, or \
         leave `files` out of `builtins`",
    ),
    (
        "[grants]\ndirs = [\"/a/x\",\n\"/b/x\"]\n",
        "belljar.toml:3: `/a/x` and `/b/x` are both granted as `/x`: give one another `guest`",
    ),
    (
        "grants.dirs = [\"/a/x\"]\n[plugins.files.grants]\ndirs = [\"/b/x\"]\n",
        "belljar.toml:3: `/a/x` and `/b/x` are both granted to `files` as `/x`: give one another \
         `guest`",
    ),
    (
        "[grants]\ndirs = [{ path = \"/a\", mode = \"rw\" },\n\"/a/b\"]\n",
        "belljar.toml:3: `/a` and `/a/b` overlap with different modes: give both one `mode`, or \
         grant one of them",
    ),
    (
        "grants.dirs = [{ path = \"d\", mode = \"rw\" }]\n[plugins.files.grants]\ndirs = \
         [\"/etc/belljar/d/x\"]\n",
        "belljar.toml:3: `d` and `/etc/belljar/d/x` overlap with different modes: give both one \
         `mode`, or grant one of them",
    ),
    (
        "[grants]\ndirs = [\"/a:rw\"]\n",
        "belljar.toml:2: `grants.dirs[1]`: expected a folder, found `\"/a:rw\"`: the mode is a key \
         here: `{ path = \"…\", mode = \"rw\" }`",
    ),
    (
        "[grants]\ndirs = [{ path = \"/a\", guest = \"/x/../y\" }]\n",
        "belljar.toml:2: `grants.dirs[1].guest`: expected a place in the guest, found \
         `\"/x/../y\"`: it is neither `.` nor an absolute path without `..`",
    ),
    (
        "[grants]\ndirs = [\"/srv/{workspace}\"]\n",
        "belljar.toml:2: `/srv/{workspace}` has a placeholder as its name: say with `guest` where \
         plugins see it",
    ),
    (
        "[grants]\ndirs = [{ path = \"/srv/{worksp}\", guest = \"/w\" }]\n",
        "belljar.toml:2: `grants.dirs[1].path`: expected a folder, found `\"/srv/{worksp}\"`: \
         `{worksp}` is no placeholder: expected `{workspace}`, `{user}`, `{execution_user}`, \
         `{session}`, `{caller}`; `{{` stands for a brace",
    ),
    (
        "[grants.env]\n\"A=B\" = \"x\"\n",
        "belljar.toml:2: `grants.env.\"A=B\"`: expected a variable's name: a variable's name can't \
         hold `=` or NUL",
    ),
    (
        "grants.hosts = [\"https://a.example\"]\n",
        "belljar.toml:1: `grants.hosts[1]`: expected a host, found `\"https://a.example\"`: it is \
         a host alone, without scheme and path",
    ),
    (
        "grants.secrets = [\"githb\"]\n[secrets.github]\nfrom = \"env:T\"\n",
        "belljar.toml:1: there is no secret `githb`, did you mean `github`?",
    ),
    // The gate's own checks.
    (
        "[[policy.rules]]\naction = \"ask\"\n",
        "belljar.toml:1: `policy.rules[1]`: rule `policy.rules[1]` has no condition; to match \
         every call, write `tool = \"*\"`",
    ),
    (
        "[[policy.rules]]\naction = \"ask\"\ntool = \"[\"\n",
        "belljar.toml:3: `policy.rules[1].tool`: expected a pattern, found `\"[\"`: unclosed \
         character class; missing ']'",
    ),
    (
        "[[policy.rules]]\naction = \"deny\"\ntool = \"*\"\nyes = true\nname = \"x\"\n",
        "belljar.toml:1: `policy.rules[1]`: rule `x` sets `yes`, which goes with `action = \
         \"ask\"` alone",
    ),
    (
        "[[policy.rules]]\nname = \"x\"\naction = \"ask\"\ntool = \"a\"\n[[policy.rules]]\nname = \
         \"x\"\naction = \"ask\"\ntool = \"b\"\n",
        "belljar.toml:1: `policy.rules`: two rules are called rule `x`; give one another name",
    ),
];

#[test]
fn every_bad_file_gets_its_sentence() {
    told(ROWS);
}

/// Holds each file to all that is said of it.
#[track_caller]
fn told(rows: &[(&str, &str)]) {
    let mut failed = Vec::new();
    for (text, expected) in rows {
        let found = read(text).map_or_else(|error| error.to_string(), |_| "accepted".to_owned());
        if found != *expected {
            failed.push(format!("file:     {text:?}\nexpected: {expected}\nfound:    {found}\n"));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn all_that_is_wrong_is_told_at_once_in_order() {
    let text = "[audit]\nenabeld = 1\n[engine]\nconcurrency = 0\nretries = \"x\"\n\
                [plugins.fils]\n[grants]\ndirs = [\"/a/x\", \"/b/x\"]\n";
    let found = wrong(text);
    let lines: Vec<_> = found.lines().map(|line| line.split(':').nth(1).unwrap()).collect();
    assert_eq!(lines, ["2", "4", "5", "6", "8"], "{found}");
}

#[test]
fn one_fault_is_not_told_as_another() {
    for text in [
        "[[policy.rules]]\naction = \"ask\"\ntool = [3]\n",
        "[secrets.a]\nfrom = 3\n[grants]\nsecrets = [\"a\"]\n",
        "[secrets]\na = 3\n[grants]\nsecrets = [\"a\"]\n",
        "[plugins.weather]\npath = 3\n",
        "[plugins.weather]\npth = \"weather.wasm\"\n",
    ] {
        assert_eq!(wrong(text).lines().count(), 1, "{}", wrong(text));
    }
}

#[test]
fn twenty_problems_are_told_and_the_rest_counted() {
    let text: String = (0..50).map(|n| format!("k{n} = 1\n")).collect();
    let found = wrong(&text);
    assert_eq!(found.lines().count(), PROBLEMS_MAX + 1);
    assert!(found.starts_with("belljar.toml:1: "), "{found}");
    assert!(found.ends_with("\nand 30 more"), "{found}");
    let many: String = (0..20_000).map(|n| format!("k{n} = 1\n")).collect();
    assert!(wrong(&many).ends_with("\nand 19980 more"));
}

#[test]
fn lists_names_and_texts_are_bounded() {
    let list = |n: usize| format!("[engine]\nunsafe_tools = [{}]\n", "\"a\",".repeat(n));
    config(&list(LIST_MAX));
    assert!(wrong(&list(LIST_MAX + 1)).contains("it has 257 values, at most 256 fit"));
    let names = |n: usize| (0..n).map(|n| format!("callers.c{n}.user = \"u\"\n")).collect();
    let (most, more): (String, String) = (names(MAP_MAX), names(MAP_MAX + 1));
    config(&most);
    assert!(wrong(&more).contains("it has 1001 entries, at most 1000 fit"));
    let state = |n: usize| format!("state = \"{}\"\n", "a".repeat(n));
    config(&state(TEXT_MAX));
    assert!(wrong(&state(TEXT_MAX + 1)).contains("it has 4097 bytes, at most 4096 fit"));
}

#[test]
fn deep_and_endless_files_are_refused_in_bounded_time() {
    let deep = format!("a = {}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(wrong(&deep).contains("it is not TOML"), "{}", wrong(&deep));
    let keys = format!("{}a = 1\n", "a.".repeat(100_000));
    assert!(wrong(&keys).contains("it is not TOML"));
    for part in ["=", "[", "\"", "[[a]]\n", "a=1\n", "[a", "{", "\n", "\u{0}"] {
        let text = part.repeat(usize::try_from(CONFIG_MAX_LEN).unwrap() / part.len());
        let told = read(&text).map_or_else(|error| error.to_string(), |_| String::new());
        assert!(told.lines().count() <= PROBLEMS_MAX + 1, "{part:?}");
        assert!(told.len() < 20_000, "{part:?}: {}", told.len());
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC*") {
        drop(read(&text));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        drop(read(&String::from_utf8_lossy(&bytes)));
    }

    #[test]
    fn no_near_miss_makes_it_panic(
        section in "(engine|policy|grants|limits|callers\\.x|plugins\\.x|secrets\\.x|audit)",
        key in "[a-z_\\-]{1,12}",
        value in "(true|[0-9e.\\-]{1,9}|\"[^\"\\\\]{0,9}\"|\\[[0-9,\"a]{0,6}\\]|\\{ *\\})",
    ) {
        drop(read(&format!("[{section}]\n{key} = {value}\n")));
    }
}
