//! OpenRPC documents: from a file, from stdin, or from a server.

use std::path::Path;

use switchboard::Json;
use switchboard::openrpc::Document;

use crate::discovery;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::target::Target;
use crate::text;
use crate::usage;

/// The help of the argument that names a place of a document.
pub(crate) fn described(argument: clap::Arg) -> clap::Arg {
    if argument.get_id() != "url" {
        return argument;
    }
    argument.value_name("URL|FILE").help(
        "Server or OpenRPC document: a URL such as http://127.0.0.1:8000, a file, or `-` for stdin. Schemes: http, https, ws, \
         wss, tcp, tls, unix, exec",
    )
}

/// The document at this place: `-` is stdin, an existing file is read, and a URL is called with the options of the target. A
/// server other than the target gets none of its credentials.
pub(crate) fn document(place: &str, target: &Target) -> Result<Document, Failure> {
    if is_far(place) {
        let found = ask(&target.at(place))?;
        return Document::parse(found.to_string()).map_err(|error| {
            Failure::new(
                Exit::Protocol,
                format!("rpc.discover of {place} returned an invalid OpenRPC document: {error}"),
            )
        });
    }
    Document::parse(local(place)?.to_string()).map_err(|error| none(place, &error.to_string()))
}

/// The document in this file.
pub(crate) fn file(path: &Path) -> Result<Document, Failure> {
    let place = path.to_string_lossy();
    Document::parse(local(&place)?.to_string()).map_err(|error| none(&place, &error.to_string()))
}

/// Why the text at a place is not a document, and how to get one.
fn none(place: &str, why: &str) -> Failure {
    Failure::usage(format!("{} is not an OpenRPC document: {why}", text::name(Path::new(place))))
        .advise("get one with `switchboard discover URL --openrpc`")
}

/// The document in a file or on stdin, unchanged.
pub(crate) fn local(place: &str) -> Result<Json, Failure> {
    let json = Json::parse(written(place)?)
        .map_err(|error| Failure::usage(format!("{} is not JSON: {error}", text::name(Path::new(place)))))?;
    match discovery::is_document(&json) {
        true => Ok(json),
        false => Err(none(place, "it has no list of methods")),
    }
}

fn written(place: &str) -> Result<String, Failure> {
    if place != "-" && !Path::new(place).exists() {
        let advice = "write a URL as `http://127.0.0.1:8000`";
        return Err(Failure::usage(format!("`{place}` is neither a file nor a URL"))
            .advise(usage::url_first(place).unwrap_or_else(|| advice.to_owned())));
    }
    text::read(place)
}

/// Whether the document comes from a server. Without a scheme and a port it is a file, which may be missing.
pub(crate) fn is_far(place: &str) -> bool {
    place.contains(':') && !Path::new(place).is_file()
}

/// What a server answers to `rpc.discover`.
fn ask(target: &Target) -> Result<Json, Failure> {
    let mut found = Json::NULL;
    target.run(async |session| {
        let line = session.open().await?;
        found =
            discovery::ask(&line, target.timeout).await.map_err(|error| discovery::explain(target, error))?;
        Ok(())
    })?;
    Ok(found)
}
