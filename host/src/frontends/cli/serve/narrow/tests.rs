//! What the options of `serve` make of a configuration.

use std::path::Path;

use clap::Parser as _;

use super::*;
use crate::config::{Sources, Surroundings, from_text};
use crate::contract::invocation::PermissionLevel;
use crate::frontends::cli::args::{Cli, Command};

fn config(text: &str) -> Config {
    let surroundings = Surroundings::default();
    let sources = Sources { option: None, surroundings, builtins: &[] };
    from_text(text, Path::new("belljar.toml"), &sources).unwrap()
}

fn args(line: &str) -> ServeArgs {
    match Cli::try_parse_from(line.split_whitespace()).unwrap().command {
        Command::Serve(args) => args,
        other => panic!("{other:?}"),
    }
}

#[test]
fn options_lower_levels_and_raise_none() {
    let file = config("callers.ci.level = \"READ_ONLY\"\ncallers.mcp.level = \"FULL\"\n");
    let narrow = narrowed(file, &args("belljar serve --stdio --level READ_WRITE"));
    let level = |name: &str| narrow.caller(name).unwrap().level;
    assert_eq!(level("mcp"), PermissionLevel::ReadWrite);
    assert_eq!(level("ci"), PermissionLevel::ReadOnly);
}

#[test]
fn options_stand_in_the_place_of_their_keys() {
    let plain = narrowed(config("serve.expose = [\"a\"]\n"), &args("belljar serve --http"));
    assert_eq!(plain.serve.expose.as_deref(), Some(&["a".to_owned()][..]));
    let line = "belljar serve --stdio --expose x,y --expose z --approvals deny";
    let set = narrowed(config("serve.expose = [\"a\"]\n"), &args(line));
    assert_eq!(set.serve.expose.unwrap(), ["x", "y", "z"]);
    assert_eq!(set.approvals.mcp, McpApprovals::Deny);
    assert_eq!(set.approvals.http, HttpApprovals::Deny);
}

#[test]
fn exactly_one_way_is_served() {
    for line in [
        "belljar serve",
        "belljar serve --stdio --http",
        "belljar serve --http --as mcp",
        "belljar serve --http nowhere",
    ] {
        let error = Cli::try_parse_from(line.split_whitespace()).unwrap_err();
        assert_eq!(error.exit_code(), 2, "{line}");
    }
    assert_eq!(args("belljar serve --http").http, Some(None));
    let address = "127.0.0.1:9".parse().unwrap();
    assert_eq!(args("belljar serve --http 127.0.0.1:9").http, Some(Some(address)));
}

#[test]
fn another_machine_is_served_only_with_tokens_and_names() {
    let token = format!("[tokens.t]\nsha256 = \"{}\"\ncaller = \"mcp\"\n", "0".repeat(64));
    let hosts = "serve.hosts = [\"jar.example\"]\n";
    let open = "0.0.0.0:1".parse().unwrap();
    let why = |text: &str| refuse_open(open, &config(text)).map_err(|error| error.to_string());
    let nothing = why("").unwrap_err();
    assert!(nothing.contains("no `tokens`") && nothing.contains("no `serve.hosts`"), "{nothing}");
    assert!(!why(hosts).unwrap_err().contains("serve.hosts"));
    assert!(!why(&token).unwrap_err().contains("`tokens`"));
    assert_eq!(why(&format!("{hosts}{token}")), Ok(()));
    for own in ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1"] {
        refuse_open(own.parse().unwrap(), &config("")).unwrap();
    }
    for other in ["[::]:1", "192.168.0.1:1", "[::ffff:127.0.0.1]:1"] {
        refuse_open(other.parse().unwrap(), &config("")).unwrap_err();
    }
}
