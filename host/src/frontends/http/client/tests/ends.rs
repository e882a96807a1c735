//! How connections end: what is no protocol, no patience, or no room for.

use super::*;
use crate::contract::approval::CallerContext;
use crate::contract::outcome::Outcome;
use crate::engine::ports::ClientGateway as _;
use crate::runners::client::CLIENTS_MAX_OF_ONE;

fn status(refused: Result<Client, Error>) -> u16 {
    match refused {
        Err(Error::Http(response)) => response.status().as_u16(),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was let in"),
    }
}

#[tokio::test]
async fn only_the_protocol_that_is_spoken_here_is_let_in() {
    let served = Served::new().await;
    for protocol in [None, Some("belljar.client.v0"), Some("chat")] {
        assert_eq!(status(served.open_as(protocol).await), 400);
    }
    served.open_as(Some("chat, belljar.client.v1")).await.unwrap();
}

#[tokio::test]
async fn nobody_connects_whom_no_token_vouches_for() {
    let served = Served::new().await;
    let bare = routes_with(Arc::new(served.app.clients.clone()), served.closing.clone(), PATIENT);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let local = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, bare).await });
    let served = Served { local, ..served };
    assert_eq!(status(served.open_as(Some(CLIENT_PROTOCOL)).await), 401);
}

#[tokio::test]
async fn garbage_closes_with_a_code_and_a_reason() {
    let served = Served::new().await;
    for (message, code, words) in [
        (Message::Text("{".into()), 4400, "no message"),
        (Message::Text("[]".into()), 4400, "no message"),
        (Message::Text(r#"["register","laptop",[]]"#.into()), 4400, "no JSON object"),
        (Message::Text(r#"{"type":"shell"}"#.into()), 4400, "no message"),
        (Message::Text("[".repeat(100_000).into()), 4400, "no message"),
        (Message::Text(r#"{"type":"result","requestId":"r"}"#.into()), 4400, "register"),
        (Message::Binary(vec![0].into()), 1003, "JSON text"),
        (Message::Text(r#"{"type":"register","name":"mcp"}"#.into()), 4409, "belongs to belljar"),
    ] {
        let mut client = served.open().await;
        client.0.send(message).await.unwrap();
        let (closed, reason) = client.closed().await;
        assert_eq!(closed, code, "{reason}");
        assert!(reason.contains(words), "{reason}");
    }
}

#[tokio::test]
async fn a_registration_that_is_refused_is_told_before_the_close() {
    let served = Served::new().await;
    let _first = served.client("laptop").await;
    let mut second = served.open().await;
    second.register("laptop").await;
    let told = second.told().await;
    assert_eq!(told, json!({"type": "refused", "reason": "the name `laptop` is taken"}));
    assert_eq!(second.closed().await.0, 4409);
}

#[tokio::test]
async fn a_message_past_its_size_closes_and_ends_nobody_elses_call() {
    let served = Served::new().await;
    let (mut good, mut bad) = (served.client("good").await, served.client("bad").await);
    let running = served.start(served.invocation("good.run-shell", "{}"));
    let call = good.told().await;
    let huge = Message::Text("x".repeat(super::super::MESSAGE_MAX + 1).into());
    // The host may close while it is still being sent.
    let sent = bad.0.send(huge).await;
    while sent.is_ok() && !matches!(bad.0.next().await, None | Some(Err(_) | Ok(Message::Close(_))))
    {
    }
    good.say(json!({"type": "result", "requestId": call["requestId"], "content": "ok"})).await;
    assert_eq!(running.await.unwrap().outcome, Outcome::Success);
}

#[tokio::test]
async fn a_client_that_does_not_register_or_falls_silent_is_closed() {
    let brief = Duration::from_millis(200);
    let served = Served::with(Patience { register: brief, ..PATIENT }).await;
    let (code, reason) = served.open().await.closed().await;
    assert_eq!((code, reason.as_str()), (4408, "no registration in time"));
    let served = Served::with(Patience { silence: brief, ..PATIENT }).await;
    let (code, reason) = served.open().await.closed().await;
    assert_eq!((code, reason.as_str()), (4408, "silent for too long"));
}

#[tokio::test]
async fn a_client_that_answers_pings_is_not_silent() {
    let times =
        Patience { ping: Duration::from_millis(20), silence: Duration::from_secs(60), ..PATIENT };
    let served = Served::with(times).await;
    let mut client = served.client("laptop").await;
    for _ in 0..3 {
        assert!(matches!(client.0.next().await, Some(Ok(Message::Ping(_)))));
    }
}

#[tokio::test]
async fn past_the_callers_clients_the_next_is_refused_before_the_upgrade() {
    let served = Served::new().await;
    let mut open = Vec::new();
    for _ in 0..CLIENTS_MAX_OF_ONE {
        open.push(served.open().await);
    }
    assert_eq!(status(served.open_as(Some(CLIENT_PROTOCOL)).await), 429);
    let others = CallerContext { caller: Some("ann".to_owned()), ..CallerContext::default() };
    served.app.clients.connect(&others).unwrap();
}

#[tokio::test]
async fn a_server_that_ends_says_so_to_its_clients() {
    let served = Served::new().await;
    let mut client = served.client("laptop").await;
    let running = served.start(served.invocation("laptop.run-shell", "{}"));
    client.told().await;
    served.closing.cancel();
    assert_eq!(client.closed().await.0, 1001);
    assert_eq!(running.await.unwrap().outcome, Outcome::Unavailable);
}

#[tokio::test]
async fn a_client_that_does_not_read_loses_its_connection_and_holds_no_call() {
    let times = Patience { send: Duration::from_millis(200), ..PATIENT };
    let served = Served::with(times).await;
    let _reads_nothing = served.client("laptop").await;
    let long = json!({"text": "x".repeat(900_000)}).to_string();
    let running: Vec<_> =
        (0..40).map(|_| served.start(served.invocation("laptop.run-shell", &long))).collect();
    for call in running {
        assert_eq!(call.await.unwrap().outcome, Outcome::Unavailable);
    }
    assert!(served.host().tool("laptop.run-shell").is_none());
}

#[tokio::test]
async fn a12_no_client_stands_in_for_a_configured_server_that_isnt_there() {
    let served = Served::new().await;
    for name in ["github", "git-hub", "GitHub"] {
        let mut client = served.open().await;
        client.register(name).await;
        assert_eq!(client.told().await["type"], "refused", "{name}");
        assert_eq!(client.closed().await.0, 4409, "{name}");
    }
    assert!(served.host().tools().is_empty());
}

#[tokio::test]
async fn a15_a_level_that_is_none_is_the_lowest_and_the_client_is_told() {
    let served = Served::new().await;
    let mut client = served.open().await;
    client
        .say(json!({"type": "register", "name": "laptop", "tools": [], "permissionLevel": "full"}))
        .await;
    let told = client.told().await;
    assert_eq!(told["type"], "warning", "{told}");
    let reason = told["reason"].as_str().unwrap();
    assert!(reason.starts_with(r#"`permissionLevel` is "full" and was taken for `READ_ONLY`"#));
    assert_eq!(client.told().await["type"], "registered");
    for (said, is_warned) in [
        (json!("READ_ONLY"), false),
        (json!("FULL"), false),
        (json!(null), true),
        (json!({"\u{1b}[2J": "x".repeat(10_000)}), true),
    ] {
        client.say(json!({"type": "level", "permissionLevel": said})).await;
        if is_warned {
            let told = client.told().await.to_string();
            assert!(told.contains("warning") && told.len() < 300, "{told}");
        }
    }
    // Nothing else was said: the next word is the close.
    served.closing.cancel();
    assert_eq!(client.closed().await.0, 1001);
}

#[tokio::test]
async fn what_is_wrong_with_a_message_is_said_without_a_type_of_ours() {
    let served = Served::new().await;
    for (message, words) in [
        (r#"{"type":"shell"}"#, "no message: it is `shell`: expected one of `register`"),
        (r#"{"type":"register","name":5}"#, "no message: it is a number: expected text"),
        (r#"{"type":"register"}"#, "no message: `name` is missing"),
    ] {
        let mut client = served.open().await;
        client.0.send(Message::Text(message.into())).await.unwrap();
        let (code, reason) = client.closed().await;
        assert!(code == 4400 && reason.starts_with(words), "{reason}");
    }
}
