//! Whether a server that speaks over standard output could write there.

use switchboard::server::Server;

#[cfg(unix)]
use crate::exit::Exit;
use crate::failure::Failure;

/// Learns whether standard output could be written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Written {
    #[cfg(unix)]
    failure: switchboard::stdio::OutputFailure,
}

#[cfg(unix)]
impl Written {
    /// The same server, which tells why it cannot write.
    pub(crate) fn watch(&self, server: Server) -> Server {
        server.with_extension(self.failure.clone())
    }

    /// How a server that has ended did.
    pub(crate) fn judge(&self) -> Result<(), Failure> {
        match self.failure.error() {
            None => Ok(()),
            Some(error) => {
                let what = format!("cannot write to standard output: {error}");
                Err(Failure::new(Exit::CannotWrite, what)
                    .advise("answers were lost; check where stdout goes"))
            }
        }
    }
}

#[cfg(not(unix))]
impl Written {
    pub(crate) fn watch(&self, server: Server) -> Server {
        server
    }

    pub(crate) fn judge(&self) -> Result<(), Failure> {
        Ok(())
    }
}
