//! The keys of `engine`, `sandbox` and `audit`.
//!
//! Bounds are those of the modules that act on them, which `config` may not import; the place that
//! converts holds them together.

use super::checks::{GLOB, PATH};
use super::{Default, Key, Kind, Section};

const MINUTE: u64 = 60_000;
const GIB: u64 = 1 << 30;

pub(super) static ENGINE: Section = Section {
    about: "Patterns of tools are globs on ids such as `files.write`.",
    example: "[engine]\nconcurrency = 16\nretries = 1\nunsafe_tools = [\"files.write\"]\n\
              failure_breaker = { after = 5, window = \"30s\" }\n",
    keys: &[
        Key {
            name: "concurrency",
            kind: Kind::Count { min: 1, max: 256 },
            default: Default::Toml("8"),
            about: "Calls of one batch that run at once.",
        },
        Key {
            name: "retries",
            kind: Kind::Count { min: 0, max: 10 },
            default: Default::Words("2 for idempotent tools, 0 for others"),
            about: "Retries of a call. A tool that isn't idempotent is retried only where it \
                    certainly did not run.",
        },
        Key {
            name: "retry_delay",
            kind: Kind::Duration { min: 0, max: MINUTE },
            default: Default::Toml("\"500ms\""),
            about: "The pause before the first retry; it doubles from retry to retry.",
        },
        Key {
            name: "unsafe_tools",
            kind: Kind::List(&Kind::Text(GLOB)),
            default: Default::Toml("[]"),
            about: "Tools whose calls never run beside another call. Wins over everything.",
        },
        Key {
            name: "parallel_tools",
            kind: Kind::List(&Kind::Text(GLOB)),
            default: Default::Toml("[]"),
            about: "Tools whose calls may run beside others, though that isn't proven.",
        },
        Key {
            name: "share_identical",
            kind: Kind::Bool,
            default: Default::Toml("false"),
            about: "Runs identical calls of one batch once and gives each the same answer, unless \
                    they are proven read-only.",
        },
        Key {
            name: "failure_breaker",
            kind: Kind::Table(&BREAKER),
            default: Default::Words("as below"),
            about: "When a call that keeps failing the same way is refused.",
        },
    ],
};

static BREAKER: Section = Section {
    about: "",
    example: "",
    keys: &[
        Key {
            name: "after",
            kind: Kind::Count { min: 0, max: 100 },
            default: Default::Toml("10"),
            about: "Identical failures in a row before the next identical call is refused; 0 turns \
                    the breaker off.",
        },
        Key {
            name: "window",
            kind: Kind::Duration { min: 1, max: 60 * MINUTE },
            default: Default::Toml("\"60s\""),
            about: "The time that they must all lie in.",
        },
    ],
};

pub(super) static SANDBOX: Section = Section {
    about: "A call that waits for a place waits within its deadline. Of plugins with a large image, \
            such as JavaScript and Python ones, at most 64 calls run at once, whatever is said here.",
    example: "[sandbox]\nconcurrency = 256\nplugin_concurrency = 64\nready_instances = 16\n",
    keys: &[
        Key {
            name: "concurrency",
            kind: Kind::Count { min: 1, max: 2048 },
            default: Default::Toml("64"),
            about: "Calls that run in the sandbox at once; others wait.",
        },
        Key {
            name: "plugin_concurrency",
            kind: Kind::Count { min: 1, max: 2048 },
            default: Default::Toml("16"),
            about: "Calls of one plugin that run in the sandbox at once.",
        },
        Key {
            name: "ready_instances",
            kind: Kind::Count { min: 0, max: 64 },
            default: Default::Toml("8"),
            about: "Instances of plugins that are called often, made ahead of their calls, each for \
                    one call; 0 makes none.",
        },
    ],
};

pub(super) static AUDIT: Section = Section {
    about: "Whatever goes first, bytes or days, removes whole old segments; a checkpoint stays.",
    example: "[audit]\npath = \"/var/log/belljar\"\nkeep_bytes = \"4GiB\"\nkeep_days = 365\n",
    keys: &[
        Key {
            name: "enabled",
            kind: Kind::Bool,
            default: Default::Toml("true"),
            about: "Whether calls are recorded.",
        },
        Key {
            name: "path",
            kind: Kind::Text(PATH),
            default: Default::Words("`audit` in the folder `state`"),
            about: "The folder of the log. No plugin may write there.",
        },
        Key {
            name: "keep_bytes",
            kind: Kind::Size { min: 1 << 20, max: 1024 * GIB },
            default: Default::Toml("\"1GiB\""),
            about: "How much of the log is kept.",
        },
        Key {
            name: "keep_days",
            kind: Kind::Count { min: 1, max: 36_500 },
            default: Default::Words("as long as `keep_bytes` lets them"),
            about: "How long records are kept.",
        },
    ],
};
