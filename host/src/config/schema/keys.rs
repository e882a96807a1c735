//! The keys of the file's top, of plugins, grants and limits.
//!
//! Static text alone; adding a key here makes it accepted, shown and documented.

use super::checks::{
    FOLDER, GUEST, HOST, METHOD, NAME, PATH, PLUGIN, TEMPLATE, TOOL, VARIABLE, WIRE_NAME,
};
use super::{Default, Key, Kind, Map, Section, calls, people, serving, upstream};

pub(in crate::config) static ROOT: Section = Section {
    about: "One file, `belljar.toml`. What it doesn't say has the default that stands here. Paths \
            that aren't absolute begin at the folder of the file. Times need their unit (`ms`, `s` \
            or `m`), sizes may have one (`KiB`, `MiB` or `GiB`).",
    example: "state = \"/var/lib/belljar\"\nbuiltins = [\"files\", \"search\"]\n",
    keys: &[
        Key {
            name: "state",
            kind: Kind::Text(PATH),
            default: Default::Words("`$XDG_STATE_HOME/belljar`, else `~/.local/state/belljar`"),
            about: "The folder for approvals and the audit log. No plugin may write there.",
        },
        Key {
            name: "builtins",
            kind: Kind::Either(&[Kind::Bool, Kind::List(&Kind::Text(PLUGIN))]),
            default: Default::Toml("true"),
            about: "Whether the builtin plugins are loaded, or the names of those that are.",
        },
        Key {
            name: "grants",
            kind: Kind::Table(&GRANTS),
            default: Default::Words("nothing"),
            about: "What every plugin may use.",
        },
        Key {
            name: "limits",
            kind: Kind::Limits,
            default: Default::Words("each limit's own default"),
            about: "The limits of every tool's calls.",
        },
        Key {
            name: "plugins",
            kind: Kind::Map(&PLUGINS),
            default: Default::Words("none but the builtins"),
            about: "Plugins by name: components to load, and settings for builtins.",
        },
        Key {
            name: "upstream",
            kind: Kind::Map(&upstream::UPSTREAM),
            default: Default::Words("none"),
            about: "MCP servers by name, whose tools are offered as belljar's own.",
        },
        Key {
            name: "secrets",
            kind: Kind::Map(&people::SECRETS),
            default: Default::Words("none"),
            about: "Secrets by name. Their values never stand in this file.",
        },
        Key {
            name: "callers",
            kind: Kind::Map(&people::CALLERS),
            default: Default::Words("`cli` and `mcp`"),
            about: "Who calls, by name. `cli` is who calls on the command line, `mcp` whoever \
                    speaks MCP on the standard streams.",
        },
        Key {
            name: "tokens",
            kind: Kind::Map(&serving::TOKENS),
            default: Default::Words("none"),
            about: "Who may speak to `belljar serve` over http, by name.",
        },
        Key {
            name: "expose",
            kind: Kind::Map(&serving::EXPOSE),
            default: Default::Words("none"),
            about: "Sets of tools by name, for `serve --expose`. A plugin's own name is one too.",
        },
        Key {
            name: "serve",
            kind: Kind::Table(&serving::SERVE),
            default: Default::Words("as below"),
            about: "What `belljar serve` does.",
        },
        Key {
            name: "policy",
            kind: Kind::Table(&people::POLICY),
            default: Default::Words("the levels' own rules"),
            about: "Which calls run, which are refused and which ask a person.",
        },
        Key {
            name: "approvals",
            kind: Kind::Table(&people::APPROVALS),
            default: Default::Words("as below"),
            about: "How a person is asked.",
        },
        Key {
            name: "engine",
            kind: Kind::Table(&calls::ENGINE),
            default: Default::Words("as below"),
            about: "Batches, retries and repeated failures.",
        },
        Key {
            name: "sandbox",
            kind: Kind::Table(&calls::SANDBOX),
            default: Default::Words("as below"),
            about: "How much of this machine the calls of plugins take together.",
        },
        Key {
            name: "audit",
            kind: Kind::Table(&calls::AUDIT),
            default: Default::Words("as below"),
            about: "The record of every call.",
        },
    ],
};

static PLUGINS: Map =
    Map { placeholder: "NAME", name: PLUGIN, value: Kind::Table(&ONE_PLUGIN), hidden: false };

static ONE_PLUGIN: Section = Section {
    about: "The name is the plugin's, whatever the component says of itself. A builtin's has no \
            `path`.",
    example: "[plugins.weather]\npath = \"weather.wasm\"\n\n[plugins.files.grants]\ndirs = \
              [\"/usr/share/doc\"]\n",
    keys: &[
        Key {
            name: "path",
            kind: Kind::Text(PATH),
            default: Default::Words("none: a builtin"),
            about: "The component's file.",
        },
        Key {
            name: "grants",
            kind: Kind::Table(&GRANTS),
            default: Default::Words("nothing more than every plugin's"),
            about: "What this plugin may use beside what every plugin may.",
        },
        Key {
            name: "limits",
            kind: Kind::Limits,
            default: Default::Words("every tool's"),
            about: "The limits of this plugin's calls.",
        },
        Key {
            name: "tools",
            kind: Kind::Map(&TOOLS),
            default: Default::Words("none"),
            about: "Settings of single tools, by their names within the plugin.",
        },
    ],
};

pub(super) static TOOLS: Map =
    Map { placeholder: "TOOL", name: TOOL, value: Kind::Table(&ONE_TOOL), hidden: false };

static ONE_TOOL: Section = Section {
    about: "What is set here goes before what is set for the plugin.",
    example: "[plugins.weather]\npath = \"weather.wasm\"\n\n[plugins.weather.tools.current]\n\
              limits = { attempt_deadline = \"5s\" }\ngate = { require_approval = true }\n",
    keys: &[
        Key {
            name: "limits",
            kind: Kind::Limits,
            default: Default::Words("the plugin's"),
            about: "The limits of this tool's calls.",
        },
        Key {
            name: "wire_name",
            kind: Kind::Text(WIRE_NAME),
            default: Default::Words("`PLUGIN_TOOL`"),
            about: "The name that models use for it.",
        },
        Key {
            name: "gate",
            kind: Kind::Table(&GATE),
            default: Default::Words("nothing"),
            about: "Whether its calls run: `deny` before `require_approval` before `allow`.",
        },
        Key {
            name: "parallel",
            kind: Kind::Bool,
            default: Default::Words("by what is proven of it"),
            about: "Whether its calls may run beside others of a batch.",
        },
    ],
};

static GATE: Section = Section {
    about: "",
    example: "",
    keys: &[
        Key {
            name: "deny",
            kind: Kind::Bool,
            default: Default::Toml("false"),
            about: "It never runs.",
        },
        Key {
            name: "require_approval",
            kind: Kind::Bool,
            default: Default::Toml("false"),
            about: "Each call asks a person, at every level.",
        },
        Key {
            name: "allow",
            kind: Kind::Bool,
            default: Default::Toml("false"),
            about: "A call runs where nothing else denies or asks.",
        },
    ],
};

static GRANTS: Section = Section {
    about: "Folders and values of variables may hold `{workspace}`, `{user}`, `{execution_user}`, \
            `{session}` and `{caller}`, which stand for the caller's own; a call whose caller has \
            none of that name is refused, and so is one whose name isn't a plain folder name. `{{` \
            and `}}` stand for braces. Folders of different modes must not lie in one another.",
    example: "[grants]\ndirs = [\n    { path = \"/srv/{workspace}\", guest = \"/work\", mode = \
              \"rw\" },\n    \"/usr/share/doc\",\n]\nenv = { LANG = \"C\" }\n",
    keys: &[
        Key {
            name: "dirs",
            kind: Kind::List(&Kind::Either(&[Kind::Text(FOLDER), Kind::Table(&DIR)])),
            default: Default::Words("none"),
            about: "Folders. A bare path is read-only. A plugin's first folder is also `.`.",
        },
        Key {
            name: "env",
            kind: Kind::Map(&ENV),
            default: Default::Words("none"),
            about: "Variables by name. Plugins see their values. A plugin's own go first.",
        },
        Key {
            name: "hosts",
            kind: Kind::List(&Kind::Either(&[Kind::Text(HOST), Kind::Table(&HOST_GRANT)])),
            default: Default::Words("none"),
            about: "Hosts over http. Without effect in this version.",
        },
        Key {
            name: "secrets",
            kind: Kind::List(&Kind::Text(NAME)),
            default: Default::Words("none"),
            about: "Names of `secrets` that the host adds to requests. Without effect in this \
                    version.",
        },
    ],
};

static DIR: Section = Section {
    about: "",
    example: "",
    keys: &[
        Key {
            name: "path",
            kind: Kind::Text(FOLDER),
            default: Default::Required,
            about: "The folder on this machine.",
        },
        Key {
            name: "guest",
            kind: Kind::Text(GUEST),
            default: Default::Words("`/` and the folder's name"),
            about: "Where plugins see it. Needed where the folder's name is a placeholder.",
        },
        Key {
            name: "mode",
            kind: Kind::Choice(&["ro", "rw"]),
            default: Default::Toml("\"ro\""),
            about: "Read only, or read and write.",
        },
    ],
};

static ENV: Map =
    Map { placeholder: "NAME", name: VARIABLE, value: Kind::Text(TEMPLATE), hidden: true };

static HOST_GRANT: Section = Section {
    about: "",
    example: "",
    keys: &[
        Key {
            name: "host",
            kind: Kind::Text(HOST),
            default: Default::Required,
            about: "The host, with its port where that isn't the scheme's own.",
        },
        Key {
            name: "methods",
            kind: Kind::List(&Kind::Text(METHOD)),
            default: Default::Toml("[\"GET\", \"HEAD\"]"),
            about: "The methods that may be used.",
        },
    ],
};
