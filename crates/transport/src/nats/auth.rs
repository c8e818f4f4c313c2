//! How to authenticate to a NATS server: by the environment variables that its own tools use.

use std::path::{Path, PathBuf};

use async_nats::ConnectOptions;

/// The variables that are read. Credentials do not belong in URLs, which are shown and logged.
const VARIABLES: &str = "NATS_CREDS, NATS_NKEY, NATS_TOKEN, or NATS_USER and NATS_PASSWORD; for TLS NATS_CA, NATS_CERT and NATS_KEY";

/// Options with the credentials and certificates that the environment names.
///
/// - `NATS_CREDS`: a credentials file, with a JWT and the seed of its key
/// - `NATS_NKEY`: a file with the seed of an NKey
/// - `NATS_TOKEN`, or `NATS_USER` and `NATS_PASSWORD`
/// - `NATS_CA`: certificates to trust; `NATS_CERT` and `NATS_KEY`: the client's certificate
///
/// # Errors
///
/// What is wrong, and what to do.
pub(super) fn from_environment(
    variable: impl Fn(&str) -> Option<String>,
) -> Result<(ConnectOptions, Option<String>), String> {
    let path = |name: &str| variable(name).map(PathBuf::from);
    let (user, password) = (variable("NATS_USER"), variable("NATS_PASSWORD"));
    let mut options = if let Some(path) = path("NATS_CREDS") {
        let text = secret(&path)?;
        let wrong = |error| format!("{} (NATS_CREDS) is not a credentials file: {error}", path.display());
        ConnectOptions::with_credentials(&text).map_err(wrong)?
    } else if let Some(path) = path("NATS_NKEY") {
        ConnectOptions::with_nkey(secret(&path)?.trim().to_owned())
    } else if let Some(token) = variable("NATS_TOKEN") {
        ConnectOptions::with_token(token)
    } else {
        match (&user, password) {
            (Some(user), Some(password)) => ConnectOptions::with_user_and_password(user.clone(), password),
            (Some(_), None) => return Err("NATS_USER is set, but NATS_PASSWORD is not".to_owned()),
            (None, _) => ConnectOptions::new(),
        }
    };
    if let Some(path) = path("NATS_CA") {
        options = options.add_root_certificates(path);
    }
    options = match (path("NATS_CERT"), path("NATS_KEY")) {
        (Some(certificate), Some(key)) => options.add_client_certificate(certificate, key),
        (None, None) => options,
        _ => return Err("NATS_CERT and NATS_KEY belong together: set both or neither".to_owned()),
    };
    Ok((options, user))
}

/// What to do when the server refuses to let us in.
pub(super) fn advice() -> String {
    format!("set the credentials in the environment: {VARIABLES}")
}

/// The content of a file that only its owner can read.
fn secret(path: &Path) -> Result<String, String> {
    let unreadable = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(path).map_err(unreadable)?.permissions().mode();
        if mode & 0o077 != 0 {
            let path = path.display();
            return Err(format!("{path} can be read by other users; run: chmod 600 {path}"));
        }
    }
    std::fs::read_to_string(path).map_err(unreadable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_a_pair_is_refused() {
        let check = |set: &[&str], expected: &str| {
            let variable = |name: &str| set.contains(&name).then(|| "x".to_owned());
            let error = from_environment(variable).err().unwrap_or_default();
            assert!(error.contains(expected), "{set:?}: {error}");
        };
        check(&["NATS_USER"], "NATS_PASSWORD is not");
        check(&["NATS_CERT"], "belong together");
        check(&["NATS_CREDS"], "cannot read x");
        check(&[], "");
    }
}
