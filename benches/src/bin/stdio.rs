//! `stdio NAME [WORKERS]`: runs one server on standard input and output, until the input ends.

use std::io;

use switchboard_benches::servers;

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_default();
    let workers = arguments.next().map_or(Ok(1), |workers| workers.parse()).map_err(io::Error::other)?;
    servers::run_stdio(&name, workers)
}
