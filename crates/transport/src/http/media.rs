//! Media types: which request bodies are accepted (JH-21), and the type of the response (JH-26).

use http::HeaderValue;

/// The media type of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// `application/json`.
    Json,
    /// `application/json-rpc`, for who asks for that.
    JsonRpc,
    /// `text/event-stream`, for who asks for that.
    Events,
}

/// How a request wants to be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// With one message of this type.
    Whole(Format),
    /// With one message of this type, or with an event stream where there is more to say than that.
    Either { whole: Format, prefers_events: bool },
    /// With an event stream.
    Events,
}

impl Format {
    /// The header that says so.
    pub(super) const fn value(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            // It is always UTF-8, but some clients read any other text as Latin-1 unless it says so.
            Format::Events => "text/event-stream; charset=utf-8",
            other => other.name(),
        })
    }

    /// The bare type.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Format::Json => "application/json",
            Format::JsonRpc => "application/json-rpc",
            Format::Events => "text/event-stream",
        }
    }
}

/// Whether a `Content-Type` says JSON in UTF-8.
pub(super) fn is_json(content_type: &[u8]) -> bool {
    if content_type == b"application/json" {
        return true;
    }
    let mut parts = split(content_type, b';');
    let essence = parts.next().unwrap_or_default();
    const TAKEN: [&[u8]; 3] = [b"application/json", b"application/json-rpc", b"application/jsonrequest"];
    TAKEN.iter().any(|taken| essence.eq_ignore_ascii_case(taken)) && parts.all(is_utf8_if_charset)
}

/// Whether a `Content-Type` says that an event stream follows, which is always UTF-8.
pub(super) fn is_events(content_type: &[u8]) -> bool {
    let essence = split(content_type, b';').next().unwrap_or_default();
    essence.eq_ignore_ascii_case(Format::Events.name().as_bytes())
}

fn is_utf8_if_charset(parameter: &[u8]) -> bool {
    let (name, value) = parameter_of(parameter);
    !name.eq_ignore_ascii_case(b"charset") || value.eq_ignore_ascii_case(b"utf-8")
}

/// How to answer, if `Accept` leaves any way and stands once or not at all.
pub(super) fn accept(line: Option<&[u8]>) -> Option<Wanted> {
    match line {
        None | Some(b"application/json" | b"*/*") => Some(Wanted::Whole(Format::Json)),
        Some(line) => negotiate(std::iter::once(line)),
    }
}

/// How to answer, if `Accept` leaves any way. Several lines count as one list.
pub(super) fn negotiate<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Option<Wanted> {
    let (mut json, mut json_rpc, mut events) = (None, None, None);
    let mut count = 0;
    for range in lines.flat_map(|line| split(line, b',')).filter(|range| !range.is_empty()) {
        let (essence, quality) = media_range(range);
        weigh(&mut json, essence, Format::Json, quality, count);
        weigh(&mut json_rpc, essence, Format::JsonRpc, quality, count);
        weigh(&mut events, essence, Format::Events, quality, count);
        count += 1;
    }
    if count == 0 {
        return Some(Wanted::Whole(Format::Json));
    }
    // Of two equal qualities the one that was named wins, and plain JSON if both were.
    let rank = |weight: Option<Weight>| weight.map(|w| (w.quality, w.precision)).filter(|w| w.0 > 0);
    let (format, best) = match (rank(json), rank(json_rpc)) {
        (json, json_rpc) if json_rpc > json => (Format::JsonRpc, json_rpc),
        (json, _) => (Format::Json, json),
    };
    let first = |weight: Option<Weight>| weight.map_or(usize::MAX, |weight| weight.place);
    let is_first = first(events) < first(json).min(first(json_rpc));
    match (rank(events), best) {
        (None, best) => best.map(|_| Wanted::Whole(format)),
        (Some(_), None) => Some(Wanted::Events),
        (Some(wanted), Some(best)) => {
            let prefers_events = wanted > best || wanted == best && is_first;
            let is_named = wanted.1 == NAMED;
            // A range that covers everything asks for nothing in particular.
            Some(match prefers_events || is_named {
                true => Wanted::Either { whole: format, prefers_events },
                false => Wanted::Whole(format),
            })
        }
    }
}

/// Whether an event stream is among what `Accept` takes.
pub(super) fn takes_events<'a>(lines: impl Iterator<Item = &'a [u8]>) -> bool {
    let mut events = None;
    let mut is_empty = true;
    for range in lines.flat_map(|line| split(line, b',')).filter(|range| !range.is_empty()) {
        is_empty = false;
        let (essence, quality) = media_range(range);
        weigh(&mut events, essence, Format::Events, quality, 0);
    }
    is_empty || events.is_some_and(|weight| weight.quality > 0)
}

/// Whether a page is named, and wanted at least as much as anything else there is.
pub(super) fn prefers_html<'a>(lines: impl Iterator<Item = &'a [u8]>) -> bool {
    let (mut html, mut other) = (0, 0);
    for range in lines.flat_map(|line| split(line, b',')) {
        let (essence, quality) = media_range(range);
        let is_ours = [Format::Json, Format::JsonRpc, Format::Events]
            .iter()
            .any(|format| essence.eq_ignore_ascii_case(format.name().as_bytes()));
        if essence.eq_ignore_ascii_case(b"text/html") {
            html = quality;
        } else if is_ours {
            other = other.max(quality);
        }
    }
    html > 0 && html >= other
}

/// How a body is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    /// As it is.
    Identity,
    /// Compressed.
    Gzip,
}

/// The coding that `Accept-Encoding` prefers, if it allows any that there is (RFC 9110, 12.5.3). Of two that are equal, gzip.
pub(super) fn coding<'a>(lines: impl Iterator<Item = &'a [u8]>, has_gzip: bool) -> Option<Coding> {
    let (mut gzip, mut identity, mut any, mut is_absent) = (None, None, None, true);
    for range in lines.flat_map(|line| split(line, b',')) {
        is_absent = false;
        let (coding, quality) = media_range(range);
        match coding {
            b"*" => any = Some(quality),
            _ if coding.eq_ignore_ascii_case(b"gzip") || coding.eq_ignore_ascii_case(b"x-gzip") => {
                gzip = Some(quality);
            }
            _ if coding.eq_ignore_ascii_case(b"identity") => identity = Some(quality),
            _ => {}
        }
    }
    // Without the header every coding is taken. With it, only those that it names, and no coding unless it is excluded.
    let gzip = if is_absent { 1000 } else { gzip.or(any).unwrap_or(0) };
    let identity = identity.or(any);
    match has_gzip && gzip > 0 && identity.is_none_or(|quality| quality <= gzip) {
        true => Some(Coding::Gzip),
        false => (identity != Some(0)).then_some(Coding::Identity),
    }
}

/// How much a type is wanted, and by how precise a range that was said.
#[derive(Clone, Copy)]
struct Weight {
    precision: u8,
    quality: u16,
    /// Where in the list that was said.
    place: usize,
}

/// The precision of a range that names one type.
const NAMED: u8 = 2;

/// The most precise range decides (RFC 9110, 12.5.1).
fn weigh(weight: &mut Option<Weight>, essence: &[u8], format: Format, quality: u16, place: usize) {
    let precision = match essence {
        b"*/*" => 0,
        _ if is_family(essence, format) => 1,
        _ if essence.eq_ignore_ascii_case(format.name().as_bytes()) => NAMED,
        _ => return,
    };
    if weight.is_none_or(|known| known.precision <= precision) {
        *weight = Some(Weight { precision, quality, place });
    }
}

fn is_family(essence: &[u8], format: Format) -> bool {
    let family: &[u8] = if format == Format::Events { b"text/*" } else { b"application/*" };
    essence.eq_ignore_ascii_case(family)
}

/// A range's type and its quality in thousandths.
fn media_range(range: &[u8]) -> (&[u8], u16) {
    let mut parts = split(range, b';');
    let essence = parts.next().unwrap_or_default();
    let quality = parts.map(parameter_of).find(|(name, _)| name.eq_ignore_ascii_case(b"q"));
    (essence, quality.map_or(1000, |(_, value)| thousandths(value)))
}

fn thousandths(value: &[u8]) -> u16 {
    let number = std::str::from_utf8(value).ok().and_then(|text| text.parse::<f32>().ok());
    // What is not a quality is taken for the default.
    number.filter(|number| (0.0..=1.0).contains(number)).map_or(1000, |number| (number * 1000.0) as u16)
}

/// A parameter's name and its value without quotes.
fn parameter_of(parameter: &[u8]) -> (&[u8], &[u8]) {
    let Some(at) = parameter.iter().position(|byte| *byte == b'=') else { return (parameter, b"") };
    let (name, value) = (parameter[..at].trim_ascii(), parameter[at + 1..].trim_ascii());
    let unquoted = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\""));
    (name, unquoted.unwrap_or(value))
}

/// The parts between separators that stand outside of quotes, without white space around them.
fn split(text: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let mut is_quoted = false;
    text.split(move |byte| {
        is_quoted ^= *byte == b'"';
        !is_quoted && *byte == separator
    })
    .map(<[u8]>::trim_ascii)
}

#[cfg(test)]
mod tests {
    use super::*;

    // JH-21
    #[test]
    fn only_json_in_utf8_is_taken() {
        let check = |value: &str, expected| assert_eq!(is_json(value.as_bytes()), expected, "{value:?}");
        check("application/json", true);
        check("Application/JSON", true);
        check("application/json-rpc", true);
        check("application/jsonrequest", true);
        check("application/json; charset=utf-8", true);
        check("application/json;charset=UTF-8", true);
        check("application/json; charset=\"utf-8\"", true);
        check("application/json; version=1", true);
        check("application/json; note=\"; charset=x\"", true);
        check("application/json; charset=latin1", false);
        check("application/json; charset=utf-16", false);
        check("application/json; charset", false);
        check("text/plain", false);
        check("text/json", false);
        check("application/x-www-form-urlencoded", false);
        check("application/jsonx", false);
        check("application/json, text/plain", false);
        check("", false);
    }

    // JH-26
    #[test]
    fn the_answer_has_the_type_that_is_wanted_most() {
        let check = |value: &str, expected| {
            assert_eq!(negotiate([value.as_bytes()].into_iter()), expected, "{value:?}");
        };
        let (json, rpc) = (Some(Wanted::Whole(Format::Json)), Some(Wanted::Whole(Format::JsonRpc)));
        let events = Some(Wanted::Events);
        let either = |whole, prefers_events| Some(Wanted::Either { whole, prefers_events });
        check("", json);
        check("*/*", json);
        check("application/json", json);
        check("application/*", json);
        check("application/json, text/event-stream", either(Format::Json, false));
        check("APPLICATION/JSON", json);
        check("application/json-rpc", rpc);
        check("application/json-rpc, */*", rpc);
        check("application/json-rpc, application/json", json);
        check("application/json-rpc, application/json;q=0.9", rpc);
        check("application/json;q=0, */*", rpc);
        check("text/html, */*;q=0.8", json);
        check("text/html", None);
        check("text/event-stream", events);
        check("text/event-stream, application/json", either(Format::Json, true));
        check("text/event-stream;q=0.9, application/json", either(Format::Json, false));
        check("application/json;q=0.9, text/event-stream", either(Format::Json, true));
        check("text/event-stream, */*", either(Format::Json, true));
        check("text/event-stream;q=0, */*", json);
        check("text/*", events);
        check("text/*, application/json", json);
        check("text/event-stream, application/json-rpc", either(Format::JsonRpc, true));
        check("application/json-rpc, text/event-stream", either(Format::JsonRpc, false));
        check("application/json;q=0", None);
        check("*/*;q=0", None);
        check("application/json;q=0, application/json-rpc;q=0, */*", events);
        check("application/*;q=0, text/event-stream;q=0, */*", None);
        check("text/x;a=\"application/json,\"", None);
    }

    #[test]
    fn a_page_is_for_who_names_html_and_wants_nothing_else_more() {
        let check = |value: &str, expected| {
            assert_eq!(prefers_html([value.as_bytes()].into_iter()), expected, "{value:?}");
        };
        check("text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8", true);
        check("text/html", true);
        check("TEXT/HTML;q=0.1, */*", true);
        check("application/json;q=0.9, text/html", true);
        check("text/html;q=0.9, application/json", false);
        check("text/html;q=0.9, text/event-stream", false);
        check("text/html;q=0", false);
        check("text/*", false);
        check("*/*", false);
        check("application/json", false);
        check("", false);
        assert!(!prefers_html(std::iter::empty()));
    }

    // RFC 9110, 12.5.3
    #[test]
    fn a_body_has_the_coding_that_is_wanted_most() {
        let check = |value: &str, expected| {
            assert_eq!(coding([value.as_bytes()].into_iter(), true), expected, "{value:?}");
        };
        let (gzip, identity) = (Some(Coding::Gzip), Some(Coding::Identity));
        check("gzip, deflate, br, zstd", gzip);
        check("GZIP;q=0.1", gzip);
        check("x-gzip", gzip);
        check("*", gzip);
        check("gzip, identity", gzip);
        check("gzip;q=0.5, identity;q=0.8", identity);
        check("*;q=0.8, gzip;q=0.1", identity);
        check("identity", identity);
        check("br", identity);
        check("", identity);
        check("gzip;q=0", identity);
        check("gzip;q=0, *", identity);
        check("*;q=0, identity", identity);
        check("gzip, identity;q=0", gzip);
        check("gzip, *;q=0", gzip);
        check("identity;q=0", None);
        check("*;q=0", None);
        check("br, identity;q=0", None);
        check("gzip;q=0, *;q=0", None);
        assert_eq!(coding(std::iter::empty(), true), gzip);
        assert_eq!(coding(std::iter::empty(), false), identity);
        assert_eq!(coding([&b"gzip"[..]].into_iter(), false), identity);
        assert_eq!(coding([&b"gzip, identity;q=0"[..]].into_iter(), false), None);
    }

    #[test]
    fn several_accept_lines_are_one_list() {
        let lines = [&b"text/html"[..], b"application/json-rpc"];
        assert_eq!(negotiate(lines.into_iter()), Some(Wanted::Whole(Format::JsonRpc)));
    }
}
