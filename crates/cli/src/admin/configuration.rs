//! The methods of the admin listener about the configuration.

use switchboard::{Context, ErrorObject, service};

use crate::config::{InUse, Reloaded};

/// What can be asked about the configuration.
pub(super) struct Configuration(pub(super) InUse);

#[service]
impl Configuration {
    /// Returns the configuration in use as TOML: every key with its value and where it was set. Secrets are masked.
    #[method(safe, name = "admin/config")]
    fn config(&self) -> String {
        self.0.toml()
    }

    /// Reads the configuration again, and returns what changed. If it has errors, nothing changes.
    #[method(name = "admin/reload")]
    async fn reload(
        &self,
        _cx: &Context,
        /// Whether to find out only what would change.
        #[arg(name = "dryRun", default = false)]
        dry_run: bool,
        /// Configuration in TOML to publish for all servers that share the store, instead of what was published before.
        publish: Option<String>,
    ) -> Result<Reloaded, ErrorObject> {
        let reloaded = match publish {
            Some(text) => self.0.publish(text, dry_run).await,
            None => self.0.reload(dry_run).await,
        };
        reloaded.map_err(ErrorObject::validation_failed)
    }
}
