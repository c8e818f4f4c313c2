//! An upstream from its configuration.

use std::sync::Arc;

use switchboard::access::Pattern;
use switchboard::gateway::{Backend, Breaker, Discovered, Pool};
use switchboard::openrpc::remote::RemoteError;
use switchboard::{Call, CallError, Service};
use tokio::sync::watch;

use super::clearing::Clearing;
use super::{nodes, safe};
use crate::config::{Config, PolicyConfig, Profile, UpstreamConfig};
use crate::failure::Failure;
use crate::source;

/// An upstream that is ready to be called.
#[derive(Clone)]
pub(crate) struct Upstream {
    pub(crate) name: String,
    pub(crate) prefix: String,
    pub(crate) pool: Pool,
    pub(super) breaker: Option<Breaker>,
    pub(super) policy: PolicyConfig,
    pub(super) is_ethereum: bool,
    pub(super) clearing: Clearing,
    discovered: Discovered,
}

impl Upstream {
    pub(super) fn new(config: &UpstreamConfig, all: &Config) -> Result<Upstream, Failure> {
        let pool = nodes::pool(config, all)?;
        let discovered = match &config.openrpc {
            None => Discovered::watch(pool.clone(), safe_methods(config)),
            Some(path) => {
                let document = source::file(path)?;
                Discovered::from_document(document, safe_methods(config))
                    .map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?
            }
        };
        Ok(Upstream {
            name: config.name.clone(),
            prefix: config.prefix.clone(),
            breaker: config.breaker.map(|breaker| Breaker::new(breaker.errors, breaker.open)),
            policy: config.policy.clone(),
            clearing: Clearing::new(&config.prefix),
            is_ethereum: config.profile == Profile::Ethereum,
            pool,
            discovered,
        })
    }

    /// Asks it for its description. An upstream that has none is fine; one that cannot be reached is not.
    pub(super) async fn describe(&self) -> Result<(), String> {
        match self.discovered.refresh().await {
            Ok(()) | Err(RemoteError::Undescribed) => Ok(()),
            Err(RemoteError::Call(CallError::Rejected(_))) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Tells when its methods have changed.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.discovered.changes()
    }

    /// How many methods it describes.
    pub(crate) fn methods(&self) -> usize {
        self.discovered.methods().len()
    }

    pub(super) fn is_safe(&self) -> impl Fn(&Call) -> bool + Clone + Send + Sync + 'static {
        let discovered = self.discovered.clone();
        move |call| discovered.is_safe(call.method.as_str())
    }

    pub(super) fn is_stream(&self) -> impl Fn(&Call) -> bool + Clone + Send + Sync + 'static {
        let discovered = self.discovered.clone();
        move |call| discovered.is_stream(&call.method)
    }

    pub(super) fn backend(&self, service: Arc<dyn Service>) -> Backend {
        Backend::new(self.name.as_str(), self.prefix.as_str(), service).discovered(self.discovered.clone())
    }
}

fn safe_methods(config: &UpstreamConfig) -> Vec<Pattern> {
    let known = match config.profile {
        Profile::Ethereum => safe::ETHEREUM,
        Profile::Plain | Profile::Mcp | Profile::Lsp => &[],
    };
    let known = known.iter().filter_map(|pattern| pattern.parse().ok());
    config.safe.iter().cloned().chain(known).collect()
}
