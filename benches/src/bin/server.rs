//! `server NAME [WORKERS]`: runs one server on a free port of 127.0.0.1 and prints its address.
//!
//! It ends when its standard input does, so it never outlives whoever started it.

use std::io::{self, Read};
use std::net::{Ipv4Addr, TcpListener};

use switchboard_benches::servers;

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let Some(name) = arguments.next() else {
        return Err(io::Error::other(format!(
            "usage: server NAME [WORKERS]; names: {}",
            servers::names().join(", ")
        )));
    };
    let workers = arguments.next().map_or(Ok(1), |workers| workers.parse()).map_err(io::Error::other)?;

    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    println!("{}", listener.local_addr()?);
    std::thread::spawn(end_with_stdin);
    servers::run(&name, workers, listener)
}

fn end_with_stdin() {
    // An error on standard input is its end as well.
    let _ = io::stdin().read_to_end(&mut Vec::new());
    std::process::exit(0);
}
