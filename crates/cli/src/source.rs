//! Documents of OpenRPC: from a file, from stdin, or from a far side that describes itself.

use std::path::Path;

use switchboard::Json;
use switchboard::openrpc::Document;

use crate::discovery;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::target::Target;
use crate::text;

/// The help of the argument that names a place of a document.
pub(crate) fn described(argument: clap::Arg) -> clap::Arg {
    if argument.get_id() != "url" {
        return argument;
    }
    argument.value_name("URL|FILE").help(
        "Where the document is: a file, `-` for stdin, or the URL of a far side that describes itself, of http, https, ws, wss, \
         tcp, tls, unix or exec",
    )
}

/// The document at this place: `-` is stdin, then a file that is there, otherwise a URL that is called as the target says. A far side
/// other than the target sees none of its credentials.
pub(crate) fn document(place: &str, target: &Target) -> Result<Document, Failure> {
    if is_far(place) {
        let found = ask(&target.at(place))?;
        return Document::parse(found.to_string()).map_err(|error| {
            Failure::new(
                Exit::Protocol,
                format!("what {place} describes itself with is no OpenRPC document: {error}"),
            )
        });
    }
    Document::parse(local(place)?.to_string()).map_err(|error| none(place, &error.to_string()))
}

/// Why what stands at a place is no document, and where to get one.
fn none(place: &str, why: &str) -> Failure {
    Failure::usage(format!("{} is no OpenRPC document: {why}", text::name(Path::new(place))))
        .advise("get one with `switchboard discover URL --openrpc`")
}

/// The document in a file or on stdin, as it is written.
pub(crate) fn local(place: &str) -> Result<Json, Failure> {
    let json = Json::parse(written(place)?)
        .map_err(|error| Failure::usage(format!("{} is not JSON: {error}", text::name(Path::new(place)))))?;
    match discovery::is_document(&json) {
        true => Ok(json),
        false => Err(none(place, "it lists no methods")),
    }
}

fn written(place: &str) -> Result<String, Failure> {
    if place != "-" && !Path::new(place).exists() {
        return Err(Failure::usage(format!("there is no file {place}, and it is no URL"))
            .advise("write a URL as `http://127.0.0.1:8000`"));
    }
    text::read(place)
}

/// Whether the document at this place comes from a far side. What has no scheme and no port is a file, though it may be missing.
pub(crate) fn is_far(place: &str) -> bool {
    place.contains(':') && !Path::new(place).is_file()
}

/// What a far side answers to `rpc.discover`.
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
