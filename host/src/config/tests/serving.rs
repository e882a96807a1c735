//! Tokens, sets of tools, and `serve`: what a good file comes to, and what a bad one is told.

use super::*;

const FILE: &str = r#"
[callers.ci]
level = "READ_WRITE"
[tokens.laptop]
sha256 = "9F86D081884C7D659A2FEAA0C55AD015A3BF4F1B2B0B822CD15D6C15B0F00A08"
caller = "ci"
roles = ["caller", "approver"]
expose = ["claude"]
[tokens.console]
from = "file:console.token"
roles = ["operator"]
[expose.claude]
tools = ["files.read", "search.*"]
[serve]
http = "[::1]:9000"
hosts = ["jar.example", "jar.example:9000"]
origins = ["https://console.example", "http://localhost:3000"]
expose = ["claude", "codec", "results"]
anonymous = "ci"
drain = "30s"
[approvals]
mcp = "elicit"
http = "deny"
"#;

#[test]
fn a_file_says_who_may_speak_and_what_is_shown() {
    let config = config(FILE);
    let [laptop, console] = &config.tokens[..] else { panic!("{:?}", config.tokens) };
    let hash = crate::contract::ids::Digest::of(b"test");
    assert_eq!(laptop.origin, TokenOrigin::Sha256(hash));
    assert_eq!((laptop.name.as_str(), laptop.caller.as_deref()), ("laptop", Some("ci")));
    assert_eq!(laptop.roles, [Role::Caller, Role::Approver]);
    assert_eq!((laptop.expose.as_deref(), laptop.line), (Some(&["claude".to_owned()][..]), 4));
    let file = SecretOrigin::File("/etc/belljar/console.token".into());
    assert_eq!(console.origin, TokenOrigin::From(file));
    assert_eq!((&console.caller, &console.expose), (&None, &None));
    assert_eq!(config.expose[0].tools, ["files.read", "search.*"]);
    let serve = &config.serve;
    assert_eq!(serve.http, "[::1]:9000".parse().unwrap());
    assert_eq!((serve.hosts.len(), serve.origins.len()), (2, 2));
    assert_eq!(serve.expose.as_ref().unwrap().len(), 3);
    assert_eq!((serve.anonymous.as_deref(), serve.drain_ms), (Some("ci"), 30_000));
    assert_eq!(config.approvals.mcp, McpApprovals::Elicit);
    assert_eq!(config.approvals.http, HttpApprovals::Deny);
    assert_eq!(findings(FILE), [""; 0]);
}

#[test]
fn an_empty_file_serves_this_machine_every_tool_and_nobody_without_a_token() {
    let config = config("");
    assert_eq!(config.serve.http, "127.0.0.1:8808".parse().unwrap());
    assert_eq!((&config.serve.expose, &config.serve.anonymous), (&None, &None));
    assert_eq!(config.serve.drain_ms, 10_000);
    assert!(config.tokens.is_empty() && config.serve.hosts.is_empty());
    let mcp = config.caller(MCP_CALLER).unwrap();
    assert_eq!(mcp.level, crate::contract::invocation::PermissionLevel::ReadWrite);
}

#[test]
fn what_a_token_lacks_is_told() {
    let sha256 = format!("sha256 = \"{}\"\n", "0".repeat(64));
    let both = format!("[tokens.t]\ncaller = \"mcp\"\n{sha256}from = \"env:T\"\n");
    let neither = "[tokens.t]\ncaller = \"mcp\"\n";
    for text in [both.as_str(), neither] {
        let expected = "belljar.toml:1: `tokens.t` must have either `sha256` or `from`";
        assert_eq!(wrong(text), expected);
    }
    assert_eq!(
        wrong(&format!("[tokens.t]\n{sha256}")),
        "belljar.toml:1: `tokens.t` has the role `caller` and no `caller`: whose calls it makes \
         must be said"
    );
    assert_eq!(
        wrong(&format!("[tokens.t]\n{sha256}caller = \"cii\"\n")),
        "belljar.toml:3: `tokens.t.caller` is none of `callers`: `cii`"
    );
    assert_eq!(
        wrong("[serve]\nanonymous = \"nobody\"\n"),
        "belljar.toml:2: `serve.anonymous` is none of `callers`: `nobody`"
    );
}

#[test]
fn addresses_names_origins_and_hashes_are_checked() {
    for (text, expected) in [
        ("serve.http = \"8808\"\n", "it is no address with a port, such as `127.0.0.1:8808`"),
        ("serve.http = \"localhost:8808\"\n", "it is no address with a port"),
        ("serve.hosts = [\"*.example\"]\n", "a name under which it is asked can't hold `*`"),
        ("serve.hosts = [\"http://a\"]\n", "it is a host alone, without scheme and path"),
        ("serve.origins = [\"console.example\"]\n", "it is no origin such as"),
        ("serve.origins = [\"https://a.example/\"]\n", "it is no origin such as"),
        ("serve.origins = [\"*\"]\n", "it is no origin such as"),
        ("tokens.t.sha256 = \"9f86\"\n", "it is no SHA-256 in 64 hexadecimal digits"),
        ("tokens.t.from = \"hush\"\n", "it begins with neither `env:` nor `file:`"),
        ("tokens.t.roles = [\"root\"]\n", "expected one of `\"caller\"`, `\"approver\"`"),
        ("expose.a.tools = [\"[\"]\n", "unclosed character class"),
        ("[expose.a]\n", "`expose.a.tools`: it is missing"),
        ("serve.drain = \"16m\"\n", "expected a time from 0 s to 900 s"),
    ] {
        let found = wrong(text);
        assert!(found.contains(expected), "{text}{found}");
    }
}

#[test]
fn what_of_serving_may_not_be_meant_is_a_finding() {
    let set = "which is neither a set under `expose` nor a plugin of this file";
    for (text, expected) in [
        (
            "serve.expose = [\"nothing\"]\n",
            vec![format!("1: `serve.expose` names `nothing`, {set}")],
        ),
        ("serve.expose = [\"files\", \"belljar\", \"results\"]\n", vec![]),
        ("serve.expose = [\"w\"]\n[plugins.w]\npath = \"w.wasm\"\n", vec![]),
        (
            "[tokens.t]\nfrom = \"env:T\"\ncaller = \"mcp\"\nexpose = [\"x\"]\n",
            vec![format!("4: `tokens.t.expose` names `x`, {set}")],
        ),
        (
            "[serve]\nhttp = \"0.0.0.0:1\"\nanonymous = \"mcp\"\n",
            vec![
                "3: `serve.anonymous` holds for this machine alone: requests from others need a \
                 token, though `serve.http` lets them in"
                    .to_owned(),
            ],
        ),
        ("serve.anonymous = \"mcp\"\n", vec![]),
    ] {
        assert_eq!(findings(text), expected, "{text}");
    }
}

#[test]
fn what_is_shown_of_a_token_is_what_stands_in_the_file() {
    let shown: Vec<_> = config(FILE).effective;
    let of = |key: &str| {
        let found = shown.iter().find(|it| it.key == key);
        found.map(|it| format!("{} ({})", it.value, it.origin))
    };
    let from = of("tokens.console.from").unwrap();
    assert_eq!(from, "\"file:console.token\" (belljar.toml:10)");
    assert_eq!(of("tokens.console.sha256"), None);
    assert_eq!(of("tokens.console.caller"), None);
    let roles = of("tokens.laptop.roles").unwrap();
    assert_eq!(roles, "[\"caller\", \"approver\"] (belljar.toml:7)");
    assert_eq!(of("serve.drain").unwrap(), "30 s (belljar.toml:20)");
}
