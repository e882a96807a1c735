//! What a server may ask for, over a transport that is a queue.

use futures_util::future::BoxFuture;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientResult, ErrorData, JsonRpcMessage,
};
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};

use super::*;

/// Takes messages from a queue; sends nothing before it is let.
struct Queue {
    messages: mpsc::Receiver<RxJsonRpcMessage<RoleClient>>,
    may_send: Arc<Notify>,
}

impl Transport<RoleClient> for Queue {
    type Error = std::io::Error;

    fn send(
        &mut self,
        _item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let may_send = Arc::clone(&self.may_send);
        async move {
            may_send.notified().await;
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.messages.recv().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

struct Bench {
    server: mpsc::Sender<RxJsonRpcMessage<RoleClient>>,
    watched: Watched<Queue>,
    link: Arc<Link>,
    may_send: Arc<Notify>,
}

impl Bench {
    fn new() -> Self {
        let (server, messages) = mpsc::channel(10_000);
        let (link, may_send) = (Arc::new(Link::default()), Arc::new(Notify::new()));
        let queue = Queue { messages, may_send: Arc::clone(&may_send) };
        Self { server, watched: Watched::new(queue, Arc::clone(&link)), link, may_send }
    }

    fn say(&self, message: Value) {
        let message = json_of(message);
        self.server.try_send(message).unwrap();
    }

    fn ask(&self, id: usize) {
        self.say(json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
    }

    fn cancel(&self, id: usize) {
        self.say(json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": id}}));
    }

    /// An answer that is on its way.
    fn answer(&mut self, id: usize) -> BoxFuture<'static, Result<(), std::io::Error>> {
        let id = RequestId::Number(id.try_into().unwrap());
        Box::pin(self.watched.send(JsonRpcMessage::response(ClientResult::empty(()), id)))
    }

    /// A call that goes out.
    fn call(&mut self, id: i64) {
        let request = CallToolRequest::new(CallToolRequestParams::new("echo"));
        let request = ClientRequest::CallToolRequest(request);
        drop(self.watched.send(JsonRpcMessage::request(request, RequestId::Number(id))));
    }

    fn forget(&self, id: i64) -> Option<Spoilt> {
        let token = ProgressToken(RequestId::Number(0));
        self.link.forget(&token, &RequestId::Number(id))
    }
}

fn json_of(message: Value) -> RxJsonRpcMessage<RoleClient> {
    serde_json::from_value(message).unwrap()
}

#[tokio::test]
async fn sixty_four_requests_wait_for_an_answer_and_one_more_ends_the_server() {
    let mut bench = Bench::new();
    for id in 0..=ASKED_MAX {
        bench.ask(id);
    }
    for _ in 0..ASKED_MAX {
        assert!(bench.watched.receive().await.is_some());
    }
    assert!(!bench.link.gone.is_cancelled());
    assert!(bench.watched.receive().await.is_none());
    assert!(bench.link.gone.is_cancelled());
    assert_eq!(bench.link.why(), "it asked for more than belljar could answer");
}

#[tokio::test]
async fn an_answer_that_the_server_does_not_take_still_counts() {
    let mut bench = Bench::new();
    let mut answers = Vec::new();
    for id in 0..ASKED_MAX {
        bench.ask(id);
        assert!(bench.watched.receive().await.is_some());
        answers.push(tokio::spawn(bench.answer(id)));
        // No way to make room: the answer is there and waits.
        bench.cancel(id);
        assert!(bench.watched.receive().await.is_some());
    }
    // One is taken: there is room for one.
    bench.may_send.notify_one();
    let (first, _, _) = futures_util::future::select_all(answers.iter_mut()).await;
    first.unwrap().unwrap();
    bench.ask(1_000);
    assert!(bench.watched.receive().await.is_some());
    bench.ask(1_001);
    assert!(bench.watched.receive().await.is_none());
}

#[tokio::test]
async fn what_a_server_no_longer_asks_for_does_not_count() {
    let mut bench = Bench::new();
    for id in 0..10 * ASKED_MAX {
        bench.ask(id);
        bench.cancel(id);
        assert!(bench.watched.receive().await.is_some());
        assert!(bench.watched.receive().await.is_some());
    }
    let error = JsonRpcMessage::error(ErrorData::internal_error("x", None), None);
    drop(bench.watched.send(error));
    assert!(!bench.link.gone.is_cancelled());
}

#[tokio::test]
async fn news_is_the_hosts_own_and_passes_nobody_else() {
    let mut bench = Bench::new();
    for _ in 0..1_000 {
        bench.say(json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
        bench.say(json!({"jsonrpc": "2.0", "method": "notifications/progress",
            "params": {"progressToken": 9, "progress": 1}}));
        bench.say(json!({"jsonrpc": "2.0", "method": "notifications/message",
            "params": {"level": "info", "data": "x"}}));
        bench.say(json!({"jsonrpc": "2.0", "method": "notifications/of/tomorrow"}));
    }
    bench.ask(1);
    assert!(matches!(bench.watched.receive().await, Some(JsonRpcMessage::Request(_))));
    bench.link.changed.notified().await;
}

#[test]
fn an_overlong_answer_names_its_limit_after_any_number_of_invented_and_late_ones() {
    let mut bench = Bench::new();
    for id in 1_000..2_024 {
        bench.link.spoil(RequestId::Number(id), Spoilt::Unreadable);
    }
    for id in 0..1_024 {
        bench.call(id);
        assert_eq!(bench.forget(id), None);
        bench.link.spoil(RequestId::Number(id), Spoilt::Unreadable);
    }
    assert!(held(&bench.link.called).is_empty());
    // An id that was invented before it was given to a call says nothing of that call.
    bench.call(1_024);
    bench.call(1_025);
    bench.link.spoil(RequestId::Number(1_025), Spoilt::Overlong(10));
    assert_eq!((bench.forget(1_024), bench.forget(1_025)), (None, Some(Spoilt::Overlong(10))));
    assert_eq!(bench.forget(1_025), None);
}

#[test]
fn calls_that_nobody_forgets_are_bounded_and_make_room_for_the_next() {
    let mut bench = Bench::new();
    for id in 0..5_000 {
        bench.call(id);
    }
    assert_eq!(held(&bench.link.called).len(), CALLED_MAX);
    bench.link.spoil(RequestId::Number(4_999), Spoilt::Overlong(10));
    assert_eq!(bench.forget(4_999), Some(Spoilt::Overlong(10)));
}
