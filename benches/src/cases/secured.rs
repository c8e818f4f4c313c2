//! Switchboard in process behind the layers that secure a server: each alone, all together, and a signed call.

use std::hint::black_box;
use std::sync::Arc;

use bytes::Bytes;
use switchboard::access::{Access, Rule};
use switchboard::identity::{Authentication, Identity, Proof, Tokens};
use switchboard::rate::{RateLimits, RateRule};
use switchboard::signing::{Key, Sign, SignedMessage, SigningKeys, Verify};
use switchboard::store::MemoryStore;
use switchboard::{Context, Engine, Layer, Metadata, Origin, Service};

use super::switchboard::{router, settings};
use super::{Case, ready};
use crate::workload::Workload;

/// The token of the caller.
pub const TOKEN: &str = "3f9c1b7e-52d4-4d0a-9b1e-7c2f6a8d0e41";

/// The value of the header with the token.
pub const AUTHORIZATION: &str = "Bearer 3f9c1b7e-52d4-4d0a-9b1e-7c2f6a8d0e41";

/// The call without layers.
pub const BARE: &str = "bare";

/// The call behind all layers, with a bearer token.
pub const SECURED: &str = "identity, rate, access, signing";

/// The call with an HMAC signature, whose reply is not signed.
pub const SIGNED_CALL: &str = "HMAC-signed call";

/// The call with an HMAC signature, whose reply has one too.
pub const SIGNED: &str = "HMAC-signed call and reply";

/// The least that a signed call can cost: the bare call, and one HMAC over as long a text.
pub const LIMIT: &str = "bare call and one HMAC";

/// The function that answers signed messages, after others have been spent on signing them.
pub const ANSWERS_SIGNED: &str = "*answer_signed_messages*";

/// The caller, as the token and the key name it.
const CALLER: &str = "alice";

/// The address that messages are signed for.
const AUDIENCE: &str = "https://bench.example/rpc";

const KEY: &str =
    "alice-1 hmac-sha256 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f subject=alice";

/// A call of a caller with a bearer token, behind some of the layers.
pub struct Secured {
    name: &'static str,
    engine: Engine,
    context: Context,
}

impl Secured {
    fn new(name: &'static str, service: Arc<dyn Service>) -> Self {
        let metadata = Metadata::from_iter([("authorization", AUTHORIZATION)]);
        let context = Context::new(Origin::new("bench")).with_metadata(metadata);
        Self { name, engine: Engine::new(service, settings()), context }
    }

    /// For layers that ask who calls, measured without the one that finds out.
    fn with_identity(mut self) -> Self {
        Identity::new(CALLER, Proof::Token).attach(&mut self.context);
        self
    }
}

impl Case for Secured {
    fn name(&self) -> &'static str {
        self.name
    }

    fn call(&self, body: Bytes) -> Bytes {
        let answer = ready(self.engine.exchange(body, &self.context));
        answer.into_body().expect("the call is answered")
    }
}

/// The bare call, each layer alone, and all of them.
pub fn all() -> Vec<Secured> {
    vec![
        Secured::new(BARE, router()),
        Secured::new("identity", authentication().layer(router())),
        Secured::new("rate", rate_limits().layer(router())).with_identity(),
        Secured::new("access", access().layer(router())).with_identity(),
        Secured::new("signing, unsigned call", verify().layer(router())),
        Secured::new(SECURED, secured(router()).1),
    ]
}

/// A service behind all layers, in the order of the documentation, and the admission to use with it.
pub fn secured(service: Arc<dyn Service>) -> (Authentication, Arc<dyn Service>) {
    let authentication = authentication();
    let limited = rate_limits().layer(access().layer(service));
    let service = verify().layer(authentication.layer(limited));
    (authentication, service)
}

/// Knows the token of the caller.
fn authentication() -> Authentication {
    Authentication::new(Tokens::parse(&format!("{CALLER}:{TOKEN}")).expect("the line is valid"))
}

/// A rate for each caller that no bench reaches.
fn rate_limits() -> RateLimits {
    RateLimits::new([RateRule::new("1000000000/s".parse().expect("it is a rate"))])
}

/// A hundred rules, half of them with patterns. The last one allows the call.
fn access() -> Access {
    let others = (0..99).map(|n| match n % 2 {
        0 => format!("accounts/read{n}"),
        _ => format!("area{n}/*"),
    });
    let rule = |methods: &str| {
        let who = format!("user:{CALLER}").parse().expect("it names a caller");
        Rule::allow([methods.parse().expect("it is a pattern")], [who])
    };
    Access::new(others.chain(["add".to_owned()]).map(|methods| rule(&methods)))
}

/// Requires signatures of other methods.
fn verify() -> Verify {
    let keys = SigningKeys::parse(KEY).expect("the line is valid");
    let verify = Verify::new(keys, [AUDIENCE], Arc::new(MemoryStore::default()));
    verify.required_for(["admin/**".parse().expect("it is a pattern")])
}

/// The limit of signed calls.
pub struct Limit {
    bare: Secured,
    key: Key,
    text: Vec<u8>,
    signature: Vec<u8>,
}

/// The signed text of a call has about so many bytes.
const SIGNED_TEXT: usize = 340;

impl Default for Limit {
    fn default() -> Self {
        let (key, text): (Key, _) = (KEY.parse().expect("the line is valid"), vec![b'x'; SIGNED_TEXT]);
        let signature = key.sign(&text).expect("it has the secret");
        Self { bare: Secured::new(LIMIT, router()), key, text, signature }
    }
}

impl Case for Limit {
    fn name(&self) -> &'static str {
        LIMIT
    }

    fn call(&self, body: Bytes) -> Bytes {
        assert!(self.key.verifies(black_box(&self.text), &self.signature));
        self.bare.call(body)
    }
}

/// A call with an HMAC signature instead of a token, behind the same layers but the one for tokens. Every message is signed anew,
/// because none is accepted twice.
pub struct Signed {
    name: &'static str,
    engine: Engine,
    context: Context,
    sign: Sign,
}

impl Signed {
    /// With signed replies, as servers have it by default.
    pub fn with_replies() -> Self {
        Self::new(SIGNED, &verify())
    }

    /// With replies that are not signed.
    pub fn without_replies() -> Self {
        Self::new(SIGNED_CALL, &verify().without_signed_replies())
    }

    fn new(name: &'static str, verify: &Verify) -> Self {
        let service = verify.layer(rate_limits().layer(access().layer(router())));
        let key: Key = KEY.parse().expect("the line is valid");
        let (context, sign) = (Context::new(Origin::new("bench")), Sign::new(Arc::new(key), AUDIENCE));
        Self { name, engine: Engine::new(service, settings()), context, sign }
    }

    /// So many messages with different nonces.
    pub fn messages(&self, body: &Bytes, count: u32) -> Vec<Bytes> {
        let text = std::str::from_utf8(body).expect("the workloads are UTF-8");
        let sign = || SignedMessage::sign(text, &self.sign).expect("it can be signed");
        (0..count).map(|_| sign().into()).collect()
    }

    /// Answers messages that were signed before. Its name is known to callgrind.
    #[inline(never)]
    pub fn answer_signed_messages(&self, messages: Vec<Bytes>) {
        for message in messages {
            black_box(self.answer(black_box(message)));
        }
    }

    fn answer(&self, message: Bytes) -> Bytes {
        let answer = ready(self.engine.exchange(message, &self.context));
        answer.into_body().expect("the call is answered")
    }
}

impl Case for Signed {
    fn name(&self) -> &'static str {
        self.name
    }

    fn call(&self, body: Bytes) -> Bytes {
        let mut messages = self.messages(&body, 1);
        self.answer(messages.remove(0))
    }

    fn run(&self, body: &Bytes, calls: u32) {
        self.answer_signed_messages(self.messages(body, calls));
    }

    fn takes(&self, workload: Workload) -> bool {
        workload == Workload::Add
    }
}
