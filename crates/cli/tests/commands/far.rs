//! A far side whose every word is in the hands of a test: JSON, one message a line, over TCP.

use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

/// A server that takes one connection after the other.
pub(crate) struct Far {
    pub(crate) url: String,
    /// What it received, besides what it answers by itself.
    received: Receiver<Value>,
    connection: Arc<Mutex<Option<TcpStream>>>,
}

impl Far {
    /// Starts it on a free port. It answers `rpc.discover` and `math/add`, and nothing else.
    pub(crate) fn start() -> Far {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("tcp://{}", listener.local_addr().unwrap());
        let (sender, received) = channel();
        let connection = Arc::new(Mutex::new(None));
        let current = Arc::clone(&connection);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                *current.lock().unwrap() = Some(stream.try_clone().unwrap());
                let (sender, current) = (sender.clone(), Arc::clone(&current));
                std::thread::spawn(move || answer(&stream, &current, &sender));
            }
        });
        Far { url, received, connection }
    }

    /// Waits for a message of this method, and gives it.
    pub(crate) fn receive(&self, method: &str) -> Value {
        loop {
            let message = self.received.recv_timeout(Duration::from_secs(20)).expect(method);
            if message["method"] == method {
                return message;
            }
        }
    }

    /// Sends a message over the latest connection.
    pub(crate) fn send(&self, message: &Value) {
        write(&self.connection, message);
    }

    /// Breaks the latest connection.
    pub(crate) fn hang_up(&self) {
        self.connection.lock().unwrap().take().unwrap().shutdown(Shutdown::Both).unwrap();
    }
}

fn write(connection: &Mutex<Option<TcpStream>>, message: &Value) {
    if let Some(stream) = connection.lock().unwrap().as_mut() {
        // The test ends a program whenever it likes.
        let _ = stream.write_all(format!("{message}\n").as_bytes());
    }
}

fn answer(stream: &TcpStream, connection: &Mutex<Option<TcpStream>>, sender: &Sender<Value>) {
    for line in BufReader::new(stream).lines() {
        let Ok(line) = line else { return };
        let message: Value = serde_json::from_str(&line).unwrap();
        let result = match message["method"].as_str() {
            Some("rpc.discover") => document(),
            Some("math/add") => {
                let number = |name: &str, at: usize| {
                    let params = &message["params"];
                    params.get(name).or(params.get(at)).unwrap().as_i64().unwrap()
                };
                json!(number("a", 0) + number("b", 1))
            }
            _ => {
                // Nobody may be left to hear it.
                let _ = sender.send(message);
                continue;
            }
        };
        write(connection, &json!({"jsonrpc": "2.0", "result": result, "id": message["id"]}));
        let _ = sender.send(message);
    }
}

fn document() -> Value {
    json!({"openrpc": "1.3.2", "info": {"title": "Far", "version": "1.0"}, "methods": [
        {"name": "math/add", "summary": "Adds.", "params": [
            {"name": "a", "required": true, "schema": {"type": "integer"}},
            {"name": "b", "required": true, "schema": {"type": "integer"}}]},
        {"name": "wait", "params": []}]})
}
