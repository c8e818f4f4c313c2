//! Signed messages: the options of commands that call and of the server, and the commands for scripts.

use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use switchboard::signing::{Key, Sign, SignedMessage, SigningKeys, Verifier, audience_of};
use switchboard::{Dial, Peer};

use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::output;

/// How calls are signed.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SignOptions {
    /// Sign calls with a key from this file: the key KID, or the first one that can sign.
    #[arg(long, value_name = "FILE[#KID]", help_heading = "Connection")]
    sign: Option<String>,
    /// Sign for this audience instead of the URL.
    #[arg(long, value_name = "URL", requires = "sign", help_heading = "Connection")]
    audience: Option<String>,
    /// Accept only signed answers.
    #[arg(long, requires = "sign", help_heading = "Connection")]
    require_signed_answers: bool,
    /// Sign whole HTTP requests with the header fields of RFC 9421, instead of each call.
    #[arg(long, requires = "sign", help_heading = "Connection")]
    sign_http: bool,
}

impl SignOptions {
    /// Whether calls are signed.
    pub(crate) fn is_on(&self) -> bool {
        self.sign.is_some()
    }

    /// What signs the calls to this URL, if calls are signed.
    pub(crate) fn signer(&self, url: &str) -> Result<Option<Signer>, Failure> {
        let Some(place) = &self.sign else { return Ok(None) };
        let is_http = url.starts_with("http://") || url.starts_with("https://");
        if self.sign_http && !is_http {
            return Err(Failure::usage(
                "--sign-http needs an http or https URL; --sign alone works everywhere",
            ));
        }
        let (keys, key) = read_key(place)?;
        let audience = self.audience.clone().unwrap_or_else(|| audience_of(url));
        let sign = Sign::new(key, &audience).with_server_keys(keys);
        let sign = if self.require_signed_answers { sign.requiring_signed_replies() } else { sign };
        Ok(Some(Signer { sign, is_over_http: self.sign_http }))
    }
}

/// What signs calls.
#[derive(Clone)]
pub(crate) struct Signer {
    sign: Sign,
    /// Whether whole requests are signed.
    is_over_http: bool,
}

impl Signer {
    /// What connects to the server.
    pub(crate) fn dial(&self, dial: Dial) -> Dial {
        if self.is_over_http { dial.with_seal(self.sign.seal()) } else { dial }
    }

    /// The server, with calls that are signed.
    pub(crate) fn peer(&self, peer: Peer) -> Peer {
        match self.is_over_http {
            true => self.sign.clone().peer_over_http(peer),
            false => self.sign.clone().peer(peer),
        }
    }
}

/// The keys of a file, and the one to sign with: `FILE#KID`, or `FILE` for the first that can sign.
fn read_key(place: &str) -> Result<(SigningKeys, Arc<Key>), Failure> {
    let (path, kid) = match place.rsplit_once('#') {
        Some((path, kid)) => (path, Some(kid)),
        None => (place, None),
    };
    let keys = SigningKeys::read(path).map_err(|error| Failure::usage(format!("{path}: {error}")))?;
    let key = match kid {
        Some(kid) => keys.get(kid).filter(|key| key.can_sign()),
        None => keys.first_signer(),
    };
    let key = key.ok_or_else(|| match kid {
        Some(kid) => Failure::usage(format!("{path} has no key `{kid}` that can sign")),
        None => Failure::usage(format!("{path} has no key that can sign")),
    })?;
    Ok((keys, key))
}

/// How the server verifies signed calls.
#[derive(Clone, Debug, Args)]
pub(crate) struct VerifyOptions {
    /// Verify signed calls with the keys in this file, one `kid algorithm hex` per line. The file must be readable only by its owner.
    #[arg(long, value_name = "FILE")]
    signing_keys: Option<PathBuf>,
    /// Methods whose calls must be signed, as patterns separated by commas; `none` for no method.
    #[arg(long, value_name = "METHODS", default_value = "**", requires = "signing_keys")]
    require_signature: String,
    /// Also accept calls that are signed for this audience. The URLs of the listeners are always accepted. Can be repeated.
    #[arg(long, value_name = "URL", requires = "signing_keys")]
    signing_audience: Vec<String>,
}

const SIGN_EXAMPLES: &str = "\
Examples:
  switchboard sign bob.key https://bank.example/rpc < message.json
  switchboard sign bob.key#bob-2 https://bank.example/rpc < message.json";

/// Signs a message from stdin and prints it.
#[derive(Debug, Args)]
#[command(after_help = SIGN_EXAMPLES, after_long_help = format!("{SIGN_EXAMPLES}\n\n{}", exit::HELP))]
pub(crate) struct SignMessage {
    /// File with the key, and the id of the key to use if it has several.
    #[arg(value_name = "FILE[#KID]")]
    key: String,
    /// URL of the server that the message is for.
    #[arg(value_name = "URL")]
    audience: String,
}

impl SignMessage {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let (_, key) = read_key(&self.key)?;
        let message = read_message()?;
        let signed = SignedMessage::sign(&message, &Sign::new(key, &self.audience));
        let signed = signed.map_err(|error| Failure::usage(error.to_string()))?;
        output::bytes(format!("{signed}\n").as_bytes()).map(drop)
    }
}

const VERIFY_EXAMPLES: &str = "\
Examples:
  switchboard verify keys.txt https://bank.example/rpc < message.json
  switchboard verify keys.txt https://bank.example/rpc --explain < message.json";

/// Verifies a signed message from stdin, and says why if it is refused.
#[derive(Debug, Args)]
#[command(after_help = VERIFY_EXAMPLES, after_long_help = format!("{VERIFY_EXAMPLES}\n\n{}", exit::HELP))]
pub(crate) struct VerifyMessage {
    /// File with the keys.
    #[arg(value_name = "FILE")]
    keys: PathBuf,
    /// URL of the server that the message is for.
    #[arg(value_name = "URL")]
    audience: String,
    /// Print the signed text, so that you can compare it with that of another implementation.
    #[arg(long)]
    explain: bool,
}

impl VerifyMessage {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let keys = SigningKeys::read(&self.keys).map_err(|error| Failure::usage(error.to_string()))?;
        let message = read_message()?;
        let message =
            SignedMessage::parse(message.as_bytes()).map_err(|error| Failure::usage(error.to_string()))?;
        if self.explain
            && let Ok(Some(member)) = message.member()
            && let Some(key) = keys.get(&member.kid)
            && let Some(text) = message.text(&member, key.algorithm())
        {
            output::bytes(format!("{}\n\n", text.as_str()).as_bytes())?;
        }
        let verifier = Verifier::new(keys, [self.audience]);
        match message.verify(&verifier, None) {
            Ok(accepted) => {
                let (subject, kid) = (accepted.key.subject(), accepted.key.kid());
                output::bytes(format!("accepted: signed by {subject} with the key {kid}\n").as_bytes())
                    .map(drop)
            }
            Err(reason) => Err(Failure::new(Exit::Rejected, format!("refused: {reason}"))),
        }
    }
}

fn read_message() -> Result<String, Failure> {
    /// More than any server takes.
    const LONGEST: u64 = 64 * 1024 * 1024;
    let mut text = String::new();
    std::io::stdin()
        .take(LONGEST)
        .read_to_string(&mut text)
        .map_err(|error| Failure::usage(format!("cannot read stdin: {error}")))?;
    Ok(text)
}
