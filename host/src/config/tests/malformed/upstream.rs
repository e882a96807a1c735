//! Servers that can't be: each with the sentence that says so.

use super::*;

const ROWS: &[(&str, &str)] = &[
    ("upstream = 3\n", "belljar.toml:1: `upstream`: expected a table, found `3`"),
    ("[upstream]\na = \"x\"\n", "belljar.toml:2: `upstream.a`: expected a table, found `\"x\"`"),
    (
        "[upstream.My_Server]\ncommand = \"x\"\n",
        "belljar.toml:1: `upstream.My_Server`: expected a plugin's name: `My_Server` is not a \
         name: expected 1 to 128 ASCII letters, digits and single hyphens, beginning with a letter",
    ),
    (
        "[upstream.a]\ncomand = \"x\"\n",
        "belljar.toml:2: `upstream.a.comand`: there is no such key, did you mean \
         `upstream.a.command`?",
    ),
    // Either way, and one alone.
    (
        "[upstream.a]\nconcurrency = 2\n",
        "belljar.toml:1: `upstream.a` must have either `command`, with `args`, `dir` and `env`, or \
         `url`, with `headers`",
    ),
    (
        "[upstream.a]\ncommand = \"x\"\nurl = \"https://x.example\"\n",
        "belljar.toml:1: `upstream.a` must have either `command`, with `args`, `dir` and `env`, or \
         `url`, with `headers`",
    ),
    (
        "[upstream.a]\nurl = \"https://x.example\"\nargs = [\"y\"]\n",
        "belljar.toml:1: `upstream.a` must have either `command`, with `args`, `dir` and `env`, or \
         `url`, with `headers`",
    ),
    (
        "[upstream.a]\ncommand = \"x\"\nheaders = { X = { secret = \"s\" } }\n[secrets.s]\nfrom = \
         \"env:S\"\n",
        "belljar.toml:1: `upstream.a` must have either `command`, with `args`, `dir` and `env`, or \
         `url`, with `headers`",
    ),
    (
        "[upstream.files]\ncommand = \"x\"\n",
        "belljar.toml:1: `upstream.files`: a plugin has that name; give it another",
    ),
    // A child.
    (
        "[upstream.a]\ncommand = 3\n",
        "belljar.toml:2: `upstream.a.command`: expected a program, found `3`",
    ),
    (
        "[upstream.a]\ncommand = \"x --y \"\n",
        "belljar.toml:2: `upstream.a.command`: expected a program, found `\"x --y \"`: white space \
         stands round it; arguments are for `args`",
    ),
    (
        "[upstream.a]\ncommand = \"x\"\nargs = \"--y\"\n",
        "belljar.toml:3: `upstream.a.args`: expected a list, found `\"--y\"`",
    ),
    (
        "[upstream.a]\ncommand = \"x\"\nargs = [\"\\u0000\"]\n",
        "belljar.toml:3: `upstream.a.args[1]`: expected a text, found `\"<U+0000>\"`: it can't hold \
         NUL",
    ),
    (
        "[upstream.a]\ncommand = \"x\"\nenv = [\"PATH\"]\n",
        "belljar.toml:3: `upstream.a.env`: expected a table, found a list",
    ),
    (
        "[upstream.a]\ncommand = \"x\"\n[upstream.a.env]\n\"A=B\" = \"1\"\n",
        "belljar.toml:4: `upstream.a.env.\"A=B\"`: expected a variable's name: a variable's name \
         can't hold `=` or NUL",
    ),
    (
        "[upstream.a]\ncommand = \"x\"\nenv = { A = 1 }\n",
        "belljar.toml:3: `upstream.a.env.A`: expected a text, or a table, found another \
         value",
    ),
    (
        "[upstream.a]\ncommand = \"x\"\nenv = { A = { secret = \"tokn\" } }\n[secrets.token]\nfrom \
         = \"env:T\"\n",
        "belljar.toml:3: `upstream.a.env.A` is none of `secrets`: `tokn`",
    ),
    (
        "[upstream.a]\ncommand = \"x\"\nenv = { A = { secret = \"s\", prefix = \"p\" } \
         }\n[secrets.s]\nfrom = \"env:S\"\n",
        "belljar.toml:3: `upstream.a.env.A.prefix`: there is no such key, did you mean \
         `upstream.NAME.headers.HEADER.prefix`?",
    ),
    // An address.
    (
        "[upstream.a]\nurl = \"ftp://x\"\n",
        "belljar.toml:2: `upstream.a.url`: expected an address, found `\"ftp://x\"`: it begins with \
         neither `http://` nor `https://`",
    ),
    (
        "[upstream.a]\nurl = \"https://me:hush@x.example\"\n",
        "belljar.toml:2: `upstream.a.url`: expected an address, found `\"https://me:hush@x.example\"`: \
         a name or a password belongs into `headers`, by a secret",
    ),
    (
        "[upstream.a]\nurl = \"https://x.example\"\nheaders = { Authorization = \"Bearer hush\" }\n",
        "belljar.toml:3: `upstream.a.headers.Authorization`: expected a table, found \
         another value",
    ),
    (
        "[upstream.a]\nurl = \"https://x.example\"\nheaders = { \"a b\" = { secret = \"s\" } \
         }\n[secrets.s]\nfrom = \"env:S\"\n",
        "belljar.toml:3: `upstream.a.headers.\"a b\"`: expected a header's name: it is no name of a \
         header",
    ),
    // Bounds.
    (
        "[upstream.a]\ncommand = \"x\"\nstart_timeout = \"0s\"\n",
        "belljar.toml:3: `upstream.a.start_timeout`: expected a time from 1 s to 600 s, such as \
         `\"5s\"`, found `\"0s\"`",
    ),
    (
        "[upstream.a]\ncommand = \"x\"\nconcurrency = 257\n",
        "belljar.toml:3: `upstream.a.concurrency`: expected a whole number from 1 to 256, found \
         `257`",
    ),
    (
        "[upstream.a]\ncommand = \"x\"\n[upstream.a.limits]\nfule = 1\n",
        "belljar.toml:4: `upstream.a.limits.fule`: there is no such limit, did you mean `fuel`?",
    ),
    (
        "[upstream.a]\ncommand = \"x\"\n[upstream.a.tools.\"b_c\"]\ngate = { deny = true }\n",
        "belljar.toml:3: `upstream.a.tools.b_c`: expected a tool's name: `b_c` is not a name: \
         expected 1 to 128 ASCII letters, digits and single hyphens, beginning with a letter",
    ),
];

#[test]
fn every_server_that_cannot_be_gets_its_sentence() {
    told(ROWS);
}

#[test]
fn no_secret_that_stands_in_the_wrong_place_is_shown() {
    // What a hidden key holds isn't told, whatever is wrong with it.
    let text = "[upstream.a]\nurl = \"https://x.example\"\nheaders = { K = \"hunter22\" }\n";
    assert!(!wrong(text).contains("hunter22"), "{}", wrong(text));
}
