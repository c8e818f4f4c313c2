//! Traces and metrics, as a collector gets them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;

use crate::carriers::Folder;
use crate::program::{Serving, parts, program, run, run_with};
use crate::tap::tap;
use crate::tokens::CredentialFile;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";
const LONG: Duration = Duration::from_secs(30);

/// What a collector was sent: the path, and the message.
type Sent = (String, Vec<u8>);

/// A collector over HTTP: its URL, and what it is sent.
fn collector() -> (String, Receiver<Sent>) {
    collector_that_answers("200 OK")
}

fn collector_that_answers(status: &'static str) -> (String, Receiver<Sent>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, sent) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let sender = sender.clone();
            std::thread::spawn(move || take(&stream.unwrap(), status, &sender));
        }
    });
    (url, sent)
}

/// Takes requests from a connection until it ends.
fn take(mut stream: &TcpStream, status: &str, sender: &Sender<Sent>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let path = line.split(' ').nth(1)?.to_owned();
        let mut length = 0;
        while line.trim() != "" {
            line.clear();
            reader.read_line(&mut line).ok()?;
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let head =
            format!("HTTP/1.1 {status}\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n");
        stream.write_all(head.as_bytes()).ok()?;
        sender.send((path, body)).ok()?;
    }
}

/// A span with the name of its service.
struct Found {
    service: String,
    span: Span,
}

fn spans(request: &ExportTraceServiceRequest) -> Vec<Found> {
    let mut found = Vec::new();
    for resource in &request.resource_spans {
        let service = attribute(&resource.resource.as_ref().unwrap().attributes, "service.name").unwrap();
        for span in resource.scope_spans.iter().flat_map(|scope| &scope.spans) {
            found.push(Found { service: service.clone(), span: span.clone() });
        }
    }
    found
}

/// All spans that arrive until there are so many.
fn wait_for(sent: &Receiver<Sent>, count: usize) -> Vec<Found> {
    let mut found = Vec::new();
    while found.len() < count {
        let (path, body) = sent.recv_timeout(LONG).unwrap();
        if path == "/v1/traces" {
            found.extend(spans(&ExportTraceServiceRequest::decode(&body[..]).unwrap()));
        }
    }
    assert_eq!(found.len(), count);
    found
}

fn attribute(attributes: &[KeyValue], name: &str) -> Option<String> {
    let found = attributes.iter().find(|attribute| attribute.key == name)?;
    match found.value.as_ref()?.value.as_ref()? {
        any_value::Value::StringValue(text) => Some(text.clone()),
        any_value::Value::IntValue(number) => Some(number.to_string()),
        _ => None,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn serving(variables: &[(&str, &str)], more: &[&str]) -> Serving {
    let mut command = program(&[&["serve", "--listen", "http://127.0.0.1:0"], more].concat());
    command.env("OTEL_BSP_SCHEDULE_DELAY", "50").envs(variables.iter().copied());
    Serving::spawn(command)
}

fn call(url: &str, arguments: &[&str]) -> String {
    let (_, stdout, _) = parts(run(&[&["call", url], arguments].concat()));
    stdout
}

// OBS-R-01, OBS-C-01, OBS-C-02
#[test]
fn a_collector_gets_the_spans_of_calls_over_http_and_websocket() {
    let (endpoint, sent) = collector();
    let serving = serving(&[("OTEL_SERVICE_NAME", "shop")], &["--otlp", &endpoint]);
    let url = serving.url();
    let header = format!("traceparent: 00-{TRACE}-{PARENT}-01");
    assert_eq!(call(&url, &["-H", &header, "math/add", "2", "3"]), "5\n");
    assert_eq!(call(&url.replace("http:", "ws:"), &["-H", &header, "math/add", "2", "3"]), "5\n");
    for Found { service, span } in wait_for(&sent, 2) {
        assert_eq!((service.as_str(), span.name.as_str()), ("shop", "math/add"));
        assert_eq!((hex(&span.trace_id).as_str(), hex(&span.parent_span_id).as_str()), (TRACE, PARENT));
        assert_eq!(span.kind, 2, "a server");
        assert_eq!(attribute(&span.attributes, "rpc.method").as_deref(), Some("math/add"));
    }
}

// OBS-C-02, OBS-C-05
#[test]
fn a_collector_gets_the_spans_of_calls_over_stdio_with_a_batch_above_its_entries() {
    let (endpoint, sent) = collector();
    let trace = format!(r#""metadata":{{"traceparent":"00-{TRACE}-{PARENT}-01"}}"#);
    let one = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"math/add","params":[2,3],{trace}}}"#);
    let batch =
        r#"[{"jsonrpc":"2.0","id":2,"method":"math/add","params":[2,3]},{"jsonrpc":"2.0","method":"echo"}]"#;
    let output = run_with(&format!("{one}\n{batch}\n"), &["serve", "--stdio", "--otlp", &endpoint]);
    assert!(output.status.success());
    let found = wait_for(&sent, 4);
    let named =
        |name: &'static str| found.iter().map(|found| &found.span).filter(move |span| span.name == name);
    assert!(
        named("math/add").any(|span| hex(&span.trace_id) == TRACE && hex(&span.parent_span_id) == PARENT)
    );
    let batch = named("jsonrpc batch").next().unwrap();
    let below = found.iter().filter(|found| found.span.parent_span_id == batch.span_id);
    assert_eq!(below.count(), 2);
}

// OBS-C-01, OBS-C-02
#[test]
fn a_proxy_keeps_the_trace_whatever_it_connects() {
    let (endpoint, sent) = collector();
    let serving = serving(&[], &["--otlp", &endpoint, "--set", "otel.metrics=false"]);
    let header = format!("traceparent: 00-{TRACE}-{PARENT}-01");
    // HTTP to WebSocket, and stdio to HTTP.
    let to_websocket = tap(&serving.url().replace("http:", "ws:"), &["--extensions"]);
    assert_eq!(call(&to_websocket.url(), &["-H", &header, "math/add", "2", "3"]), "5\n");
    let metadata = format!(r#""metadata":{{"traceparent":"00-{TRACE}-{PARENT}-01"}}"#);
    let message = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"math/add","params":[2,3],{metadata}}}"#);
    assert!(run_with(&format!("{message}\n"), &["tap", "stdio", &serving.url()]).status.success());
    // WebSocket to a program over stdio.
    let exec = format!("exec:{} serve --stdio --otlp {endpoint}", program(&[]).get_program().display());
    let mut command = program(&["tap", "0", &exec, "--extensions"]);
    command.env("OTEL_BSP_SCHEDULE_DELAY", "50");
    let to_program = Serving::spawn(command);
    let url = to_program.url().replace("http:", "ws:");
    assert_eq!(call(&url, &["-H", &header, "math/add", "2", "3"]), "5\n");
    for Found { span, .. } in wait_for(&sent, 3) {
        assert_eq!((hex(&span.trace_id).as_str(), hex(&span.parent_span_id).as_str()), (TRACE, PARENT));
    }
}

/// A collector over gRPC.
struct Grpc(Sender<ExportTraceServiceRequest>);

#[tonic::async_trait]
impl TraceService for Grpc {
    async fn export(
        &self,
        request: tonic::Request<ExportTraceServiceRequest>,
    ) -> Result<tonic::Response<ExportTraceServiceResponse>, tonic::Status> {
        self.0.send(request.into_inner()).unwrap();
        Ok(tonic::Response::new(ExportTraceServiceResponse::default()))
    }
}

#[test]
fn a_collector_gets_spans_over_grpc() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let (sender, sent) = mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let server = tonic::transport::Server::builder().add_service(TraceServiceServer::new(Grpc(sender)));
        runtime.block_on(server.serve(address)).unwrap();
    });
    let endpoint = format!("http://{address}");
    let more = ["--otlp", &endpoint, "--otlp-protocol", "grpc", "--set", "otel.metrics=false"];
    let serving = serving(&[], &more);
    assert_eq!(call(&serving.url(), &["math/add", "2", "3"]), "5\n");
    let found = spans(&sent.recv_timeout(LONG).unwrap());
    assert_eq!((found[0].service.as_str(), found[0].span.name.as_str()), ("switchboard", "math/add"));
}

// OBS-R-07
#[test]
fn a_collector_gets_metrics() {
    let (endpoint, sent) = collector();
    let variables = [("OTEL_METRIC_EXPORT_INTERVAL", "100"), ("OTEL_TRACES_SAMPLER", "always_off")];
    let serving = serving(&variables, &["--otlp", &endpoint]);
    assert_eq!(call(&serving.url(), &["math/add", "2", "3"]), "5\n");
    loop {
        let (path, body) = sent.recv_timeout(LONG).unwrap();
        assert_eq!(path, "/v1/metrics", "nothing is sampled");
        let request = ExportMetricsServiceRequest::decode(&body[..]).unwrap();
        let text = format!("{request:?}");
        if text.contains("rpc.server.call.duration") {
            for name in ["math/add", "switchboard.calls.in_flight", "switchboard.calls_waiting"] {
                assert!(text.contains(name), "no {name} in {text}");
            }
            break;
        }
    }
}

#[test]
fn the_environment_says_where_to_send_and_how_much() {
    let (endpoint, sent) = collector();
    let variables =
        [("OTEL_EXPORTER_OTLP_ENDPOINT", &*endpoint), ("OTEL_TRACES_SAMPLER", "parentbased_always_off")];
    let serving = serving(&variables, &["--set", "otel.metrics=false"]);
    let url = serving.url();
    assert_eq!(call(&url, &["math/add", "2", "3"]), "5\n");
    let header = format!("traceparent: 00-{TRACE}-{PARENT}-01");
    assert_eq!(call(&url, &["-H", &header, "echo", "1"]), "1\n");
    let found = wait_for(&sent, 1);
    assert_eq!(found[0].span.name, "echo");
    let wrong = program(&["serve", "--listen", "http://127.0.0.1:0", "--otlp", &endpoint])
        .env("OTEL_TRACES_SAMPLER", "sometimes")
        .output()
        .unwrap();
    let (code, _, stderr) = parts(wrong);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("parentbased_traceidratio") && stderr.contains("--trace-sample"), "{stderr}");
}

#[test]
fn a_collector_that_refuses_is_reported_once() {
    let (endpoint, sent) = collector_that_answers("400 Bad Request");
    let mut serving = serving(&[("OTEL_METRIC_EXPORT_INTERVAL", "50")], &["--otlp", &endpoint]);
    // The first export may fail before the server says where it listens.
    let (url, banner, log) = (serving.url(), serving.banner.clone(), serving.log());
    let (mut traces, mut metrics) = (0, 0);
    while traces < 3 || metrics < 3 {
        assert_eq!(call(&url, &["math/add", "2", "3"]), "5\n");
        match sent.recv_timeout(LONG).unwrap().0.as_str() {
            "/v1/traces" => traces += 1,
            _ => metrics += 1,
        }
    }
    serving.signal("TERM");
    assert!(serving.wait().0.success());
    let log = banner + &log.join().unwrap();
    for line in ["traces cannot be exported", "metrics cannot be exported"] {
        assert_eq!(log.matches(line).count(), 1, "{log}");
    }
}

// The caller is named in the span and in the log line, although layers copy the call.
#[test]
fn a_caller_is_named_in_the_span_and_in_the_log() {
    let (endpoint, sent) = collector();
    let folder = Folder::new("traced-callers");
    let log = folder.file("calls.jsonl");
    let tokens = CredentialFile::new("traced-callers", "alice:2f9c1b7e55a04d13\n", 0o600);
    let more = ["--otlp", &endpoint, "--tokens", tokens.path(), "--log-file", &log, "--admin", "0"];
    let serving = serving(&[], &more);
    let url = serving.url().replace("http:", "ws:");
    assert_eq!(call(&url, &["math/add", "2", "3", "--token", "2f9c1b7e55a04d13"]), "5\n");
    let span = wait_for(&sent, 1).remove(0).span;
    assert_eq!(attribute(&span.attributes, "enduser.id").as_deref(), Some("alice"));
    serving.signal("TERM");
    assert!(serving.wait().0.success());
    let lines = std::fs::read_to_string(&log).unwrap();
    let line = lines.lines().find(|line| line.contains("math/add")).unwrap();
    assert!(line.contains(r#""who":"alice""#) && line.contains(&hex(&span.trace_id)), "{line}");
}

#[test]
fn without_a_collector_calls_are_answered_and_the_log_says_so_once() {
    // Nothing listens there any more.
    let endpoint = format!("http://{}", TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap());
    let mut serving = serving(&[], &["--otlp", &endpoint, "--set", "otel.metrics=false"]);
    let url = serving.url();
    for _ in 0..5 {
        assert_eq!(call(&url, &["math/add", "2", "3"]), "5\n");
    }
    let text = serving.read_until("traces cannot be exported");
    assert!(text.contains("WARN"), "{text}");
    let rest = serving.log();
    serving.signal("TERM");
    assert!(serving.wait().0.success());
    let rest = rest.join().unwrap();
    assert!(!rest.contains("traces cannot be exported"), "{rest}");
}
