//! Names, origins, tokens and roles: who gets to a route.

use std::net::SocketAddr;

use axum::body::Body;
use axum::http::{Method, Request};

use super::kit::{Api, PORT, asking};
use crate::frontends::http::doors::Peer;

async fn under(api: &Api, host: Option<&str>) -> u16 {
    let mut request = asking(Method::GET, "/v1/tools", "calls-a").body(Body::empty()).unwrap();
    request.headers_mut().remove("host");
    if let Some(host) = host {
        request.headers_mut().insert("host", host.parse().unwrap());
    }
    api.send(request).await.status.as_u16()
}

#[tokio::test]
async fn mc05_a_request_under_any_other_name_is_refused() {
    let api = Api::with("[serve]\nhosts = [\"belljar.test\", \"other.test:99\"]");
    for ours in [
        "localhost:8808",
        "LocalHost:8808",
        "127.0.0.1:8808",
        "[::1]:8808",
        "belljar.test",
        "other.test:99",
    ] {
        assert_eq!(under(&api, Some(ours)).await, 200, "{ours}");
    }
    for other in [
        "evil.test",
        "127.0.0.1.evil.test",
        "127.0.0.1.evil.test:8808",
        "localhost:8809",
        "localhost",
        "localhost.:8808",
        "[::2]:8808",
        "[::1]",
        "me@localhost:8808",
        "0.0.0.0:8808",
        "2130706433:8808",
        "",
    ] {
        assert_eq!(under(&api, Some(other)).await, 403, "{other}");
    }
    assert_eq!(under(&api, None).await, 403, "no name at all");
}

#[tokio::test]
async fn mc05_two_names_or_another_one_in_the_target_are_refused() {
    let api = Api::new();
    let mut two = asking(Method::GET, "/v1/tools", "calls-a").body(Body::empty()).unwrap();
    two.headers_mut().append("host", "evil.test".parse().unwrap());
    api.send(two).await.is_problem(403, "`Host`");
    let target = asking(Method::GET, "http://evil.test/v1/tools", "calls-a");
    api.send(target.body(Body::empty()).unwrap()).await.is_problem(403, "`Host`");
}

async fn from(api: &Api, origin: &str) -> super::kit::Answer {
    let asking = asking(Method::GET, "/v1/tools", "calls-a").header("origin", origin);
    api.send(asking.body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn mc05_a_foreign_origin_is_refused_and_only_a_listed_one_may_read() {
    let api = Api::with("[serve]\norigins = [\"https://console.test\"]");
    for foreign in
        ["null", "https://evil.test", "http://localhost:8809", "https://localhost:8808", ""]
    {
        let answer = from(&api, foreign).await;
        answer.is_problem(403, "`Origin`");
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
    let own = from(&api, "http://localhost:8808").await;
    own.is(200);
    assert_eq!(own.header("access-control-allow-origin"), None, "it needs none");
    let listed = from(&api, "https://console.test").await;
    listed.is(200);
    assert_eq!(listed.header("access-control-allow-origin"), Some("https://console.test"));
    assert_eq!(listed.header("vary"), Some("origin"));
    assert_eq!(api.get("calls-a", "/v1/tools").await.header("access-control-allow-origin"), None);
}

#[tokio::test]
async fn a_preflight_is_answered_for_a_listed_origin_alone() {
    let api = Api::with("[serve]\norigins = [\"https://console.test\"]");
    let preflight = |origin: &str| {
        asking(Method::OPTIONS, "/v1/calls", "")
            .header("origin", origin)
            .header("access-control-request-method", "POST")
            .body(Body::empty())
            .unwrap()
    };
    let answer = api.send(preflight("https://console.test")).await;
    assert_eq!(answer.status, 204, "{answer:?}");
    assert_eq!(answer.header("access-control-allow-origin"), Some("https://console.test"));
    assert!(answer.header("access-control-allow-headers").unwrap().contains("authorization"));
    api.send(preflight("https://evil.test")).await.is_problem(403, "`Origin`");
    api.send(preflight("http://localhost:8808")).await.is_problem(405, "method");
}

#[tokio::test]
async fn a_request_without_a_known_token_is_refused() {
    let api = Api::new();
    let answer = api.get("", "/v1/tools").await;
    answer.is_problem(401, "a token is needed");
    assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    api.get("calls-c", "/v1/tools").await.is_problem(401, "none that is known");
    for header in ["Basic Y2FsbHMtYQ==", "Bearer", "Bearer ", "calls-a", "bearer  \t"] {
        let asking = asking(Method::GET, "/v1/tools", "").header("authorization", header);
        api.send(asking.body(Body::empty()).unwrap()).await.is_problem(401, "");
    }
    let two = asking(Method::GET, "/v1/tools", "calls-a").header("authorization", "Bearer calls-b");
    api.send(two.body(Body::empty()).unwrap()).await.is_problem(401, "not one");
    let lower = asking(Method::GET, "/v1/tools", "").header("authorization", "bearer calls-a");
    api.send(lower.body(Body::empty()).unwrap()).await.is(200);
}

#[tokio::test]
async fn each_route_asks_for_its_role() {
    let api = Api::new();
    let refused = [
        ("approves", Method::GET, "/v1/tools"),
        ("operates", Method::POST, "/v1/calls"),
        ("approves", Method::POST, "/v1/batches"),
        ("operates", Method::GET, "/v1/calls/x"),
        ("operates", Method::DELETE, "/v1/calls/x"),
        ("operates", Method::GET, "/v1/results/x/0"),
        ("calls-a", Method::GET, "/v1/approvals"),
        ("calls-a", Method::GET, "/v1/approvals/aaaaaaaaaaaa"),
        ("operates", Method::POST, "/v1/approvals/aaaaaaaaaaaa/decision"),
        ("calls-a", Method::POST, "/v1/approvals/decisions"),
        ("calls-a", Method::GET, "/v1/remembered"),
        ("operates", Method::DELETE, "/v1/remembered/aaaaaaaaaaaa"),
        ("approves", Method::GET, "/v1/events"),
        ("approves", Method::GET, "/v1/audit/export"),
        ("calls-a", Method::GET, "/v1/audit/head"),
    ];
    for (token, method, path) in refused {
        let request = asking(method, path, token).body(Body::empty()).unwrap();
        api.send(request).await.is_problem(403, "needs a token with the role");
    }
}

#[tokio::test]
async fn only_health_and_description_need_no_token_and_only_on_this_machine() {
    let api = Api::new();
    for path in ["/healthz", "/openapi.json"] {
        api.get("", path).await.is(200);
        let far = |token: &str| {
            let mut request = asking(Method::GET, path, token).body(Body::empty()).unwrap();
            let peer = SocketAddr::from(([192, 0, 2, 1], 4));
            request.extensions_mut().insert(Peer(peer));
            request
        };
        api.send(far("")).await.is_problem(401, "a token is needed");
        api.send(far("approves")).await.is(200);
        let nobody = Request::builder().uri(path).header("host", format!("localhost:{PORT}"));
        api.send(nobody.body(Body::empty()).unwrap()).await.is_problem(401, "a token is needed");
    }
}

#[tokio::test]
async fn without_a_token_the_anonymous_caller_is_spoken_for_on_this_machine_alone() {
    let api = Api::with("[serve]\nanonymous = \"b\"");
    let tools = api.get("", "/v1/tools").await.is(200);
    assert_eq!(tools["tools"].as_array().unwrap().len(), 2, "those of its caller: {tools}");
    api.get("wrong", "/v1/tools").await.is_problem(401, "none that is known");
    api.get("", "/v1/approvals").await.is_problem(403, "role");
    let mut far = asking(Method::GET, "/v1/tools", "").body(Body::empty()).unwrap();
    far.extensions_mut().insert(Peer(SocketAddr::from(([192, 0, 2, 1], 4))));
    api.send(far).await.is_problem(401, "a token is needed");
}

#[tokio::test]
async fn what_isnt_there_is_said_in_a_problem_document() {
    let api = Api::new();
    api.get("calls-a", "/v2/tools").await.is_problem(404, "nothing at this path");
    let put = asking(Method::PUT, "/v1/tools", "calls-a").body(Body::empty()).unwrap();
    let answer = api.send(put).await;
    answer.is_problem(405, "doesn't take this method");
    assert!(answer.header("allow").unwrap().contains("GET"), "{answer:?}");
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
}
