//! An authorization server: it does what an honest one does, or what a test wants it to do wrong.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::{Response, StatusCode, header};
use serde_json::{Value, json};
use switchboard_core::{Router, Settings};
use switchboard_layers::identity::jwt::{Jwt, KeySet};
use switchboard_layers::identity::{Authenticate as _, Credential, Verdict};
use switchboard_transport::http::{Body, Endpoint, EndpointOptions, Guarded, HttpServer, Route, RouteFuture};
use switchboard_transport::server::Handle;

use crate::tokens::{Signer, claims};

/// An authorization server on a free port.
pub(crate) struct Issuer {
    pub(crate) url: String,
    pub(crate) signer: Arc<Signer>,
    state: Arc<State>,
    handle: Handle,
}

/// What a test changes.
#[derive(Clone)]
pub(crate) struct Behaviour {
    /// Changes the metadata.
    pub(crate) metadata: fn(&mut Value),
    /// The path of the metadata.
    pub(crate) place: &'static str,
    /// The parameter `iss` with which users are sent back.
    pub(crate) iss: Option<String>,
    /// The audience of tokens; none for the resource that was asked for.
    pub(crate) audience: Option<String>,
    /// The scopes of tokens; none for those that were asked for.
    pub(crate) granted: Option<String>,
    /// How long tokens say that they live, in seconds.
    pub(crate) lifetime: u64,
    pub(crate) gives_refresh_tokens: bool,
    /// The secret of clients that register; none for public clients.
    pub(crate) secret: Option<&'static str>,
    /// The public key of the client that signs assertions.
    pub(crate) client_keys: Option<String>,
    /// What proofs of keys must have.
    pub(crate) nonce: Option<&'static str>,
    /// Whether it is an MCP server too, which accepts no token.
    pub(crate) refuses: bool,
}

impl Default for Behaviour {
    fn default() -> Behaviour {
        Behaviour {
            metadata: |_| {},
            place: "/.well-known/oauth-authorization-server",
            iss: None,
            audience: None,
            granted: None,
            lifetime: 3600,
            gives_refresh_tokens: true,
            secret: None,
            client_keys: None,
            nonce: None,
            refuses: false,
        }
    }
}

struct State {
    url: String,
    signer: Arc<Signer>,
    behaviour: Mutex<Behaviour>,
    asked: Mutex<Vec<Asked>>,
    clients: Mutex<HashSet<String>>,
    /// What was asked for with each code and each refresh token.
    granted: Mutex<HashMap<String, HashMap<String, String>>>,
}

/// A request that it got.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) params: HashMap<String, String>,
    /// The body, for those that are JSON.
    pub(crate) body: Value,
    pub(crate) authorization: Option<String>,
    proof: Option<Value>,
}

impl Issuer {
    pub(crate) async fn start() -> Issuer {
        let listener = HttpServer::bind("127.0.0.1:0").await.unwrap();
        let (address, handle) = (listener.local_addr(), listener.handle());
        let (url, signer) = (format!("http://{address}"), Arc::new(Signer::new()));
        let state = Arc::new(State {
            url: url.clone(),
            signer: Arc::clone(&signer),
            behaviour: Mutex::default(),
            asked: Mutex::default(),
            clients: Mutex::default(),
            granted: Mutex::default(),
        });
        let options = EndpointOptions::default().with_paths(vec!["/none".to_owned()]);
        let options = options.route("/*", Pages(Arc::clone(&state)));
        let endpoint = Endpoint::new(Router::builder().build().unwrap());
        let endpoint = endpoint.with_options(options).with_settings(Settings::default());
        tokio::spawn(listener.serve_endpoint(endpoint));
        Issuer { url, signer, state, handle }
    }

    /// Changes what it does.
    pub(crate) fn behave(&self, change: impl FnOnce(&mut Behaviour)) {
        change(&mut self.state.behaviour.lock().unwrap());
    }

    /// The requests for this path.
    pub(crate) fn asked(&self, path: &str) -> Vec<Asked> {
        let asked = self.state.asked.lock().unwrap();
        asked.iter().filter(|asked| asked.path == path).cloned().collect()
    }

    /// All paths that were asked for.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.state.asked.lock().unwrap().iter().map(|asked| asked.path.clone()).collect()
    }

    /// Knows a client that did not register itself.
    pub(crate) fn knows(&self, client: &str) {
        self.state.clients.lock().unwrap().insert(client.to_owned());
    }
}

impl Drop for Issuer {
    fn drop(&mut self) {
        self.handle.shutdown();
    }
}

struct Pages(Arc<State>);

impl Route for Pages {
    fn answer(&self, request: Guarded) -> RouteFuture {
        let state = Arc::clone(&self.0);
        RouteFuture::new(async move {
            let (uri, headers) = (request.head.uri.clone(), request.head.headers.clone());
            let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap().to_owned());
            let body = String::from_utf8(request.read(64 << 10).await.unwrap().to_vec()).unwrap();
            let is_json = text("content-type").is_some_and(|kind| kind == "application/json");
            let form = if body.is_empty() || is_json { uri.query().unwrap_or_default() } else { &body };
            let asked = Asked {
                path: uri.path().to_owned(),
                params: params(form),
                body: serde_json::from_str(&body).unwrap_or_default(),
                authorization: text("authorization"),
                proof: text("dpop").map(|proof| claims_of(&proof)),
            };
            state.asked.lock().unwrap().push(asked.clone());
            state.answer(&asked)
        })
    }
}

pub(crate) fn params(form: &str) -> HashMap<String, String> {
    let pairs = form.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (unescaped(name), unescaped(value))).collect()
}

fn unescaped(text: &str) -> String {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(&part[..2], 16).unwrap());
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).unwrap()
}

/// The claims of a signed token, whoever signed it, and its header.
pub(crate) fn claims_of(token: &str) -> Value {
    let mut parts = token.split('.').map(|part| URL_SAFE_NO_PAD.decode(part).unwrap());
    let header: Value = serde_json::from_slice(&parts.next().unwrap()).unwrap();
    let mut claims: Value = serde_json::from_slice(&parts.next().unwrap()).unwrap();
    claims["header"] = header;
    claims
}

fn json_response(status: u16, value: &Value) -> Response<Body> {
    let mut response = Response::new(Body::new(value.to_string()));
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    response
}

fn refused(code: &str) -> Response<Body> {
    json_response(400, &json!({"error": code, "error_description": "no"}))
}

fn random() -> String {
    let mut bytes = [0; 16];
    aws_lc_rs::rand::fill(&mut bytes).unwrap();
    URL_SAFE_NO_PAD.encode(bytes)
}

impl State {
    fn answer(&self, asked: &Asked) -> Response<Body> {
        let behaviour = self.behaviour.lock().unwrap().clone();
        match asked.path.as_str() {
            path if path == behaviour.place => json_response(200, &self.metadata(&behaviour)),
            "/register" => {
                let id = random();
                self.clients.lock().unwrap().insert(id.clone());
                let method = if behaviour.secret.is_some() { "client_secret_basic" } else { "none" };
                let answer = json!({
                    "client_id": id, "client_secret": behaviour.secret, "token_endpoint_auth_method": method,
                    "redirect_uris": asked.body["redirect_uris"],
                });
                json_response(201, &answer)
            }
            "/authorize" => self.authorize(asked, &behaviour),
            "/token" => self.token(asked, &behaviour),
            "/mcp" if behaviour.refuses => json_response(401, &json!({})),
            _ => json_response(404, &json!({})),
        }
    }

    fn metadata(&self, behaviour: &Behaviour) -> Value {
        let url = &self.url;
        let mut metadata = json!({
            "issuer": url,
            "authorization_endpoint": format!("{url}/authorize"),
            "token_endpoint": format!("{url}/token"),
            "registration_endpoint": format!("{url}/register"),
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
        });
        (behaviour.metadata)(&mut metadata);
        metadata
    }

    /// Sends the user back, who always says yes.
    fn authorize(&self, asked: &Asked, behaviour: &Behaviour) -> Response<Body> {
        let get = |name: &str| asked.params.get(name).cloned().unwrap_or_default();
        let is_right = get("response_type") == "code"
            && get("code_challenge_method") == "S256"
            && get("code_challenge").len() == 43
            && !get("state").is_empty()
            && self.clients.lock().unwrap().contains(&get("client_id"));
        if !is_right {
            return refused("invalid_request");
        }
        let code = random();
        self.granted.lock().unwrap().insert(code.clone(), asked.params.clone());
        let mut to = format!("{}?code={code}&state={}", get("redirect_uri"), get("state"));
        if let Some(iss) = &behaviour.iss {
            to.push_str(&format!("&iss={}", iss.replace(':', "%3A").replace('/', "%2F")));
        }
        let mut response = json_response(302, &json!({}));
        response.headers_mut().insert(header::LOCATION, to.try_into().unwrap());
        response
    }

    fn token(&self, asked: &Asked, behaviour: &Behaviour) -> Response<Body> {
        let get = |name: &str| asked.params.get(name).cloned().unwrap_or_default();
        if let (Some(proof), Some(nonce)) = (&asked.proof, behaviour.nonce)
            && proof["nonce"] != nonce
        {
            let mut response = refused("use_dpop_nonce");
            response.headers_mut().insert("dpop-nonce", nonce.parse().unwrap());
            return response;
        }
        if !self.is_authenticated(asked, behaviour) {
            return refused("invalid_client");
        }
        // RFC 8707: a token is for one resource.
        if get("resource").is_empty() {
            return refused("invalid_target");
        }
        let taken = |name: &str| self.granted.lock().unwrap().remove(&get(name));
        let before = match get("grant_type").as_str() {
            "authorization_code" => {
                let verifier = URL_SAFE_NO_PAD.encode(digest(&SHA256, get("code_verifier").as_bytes()));
                taken("code").filter(|before| {
                    before["code_challenge"] == verifier
                        && before["redirect_uri"] == get("redirect_uri")
                        && before["resource"] == get("resource")
                })
            }
            "refresh_token" => taken("refresh_token").filter(|before| before["resource"] == get("resource")),
            "client_credentials" => Some(asked.params.clone()),
            "urn:ietf:params:oauth:grant-type:jwt-bearer" => {
                let is_for_us = claims_of(&get("assertion"))["aud"] == self.url;
                is_for_us.then(|| asked.params.clone())
            }
            "urn:ietf:params:oauth:grant-type:token-exchange" => {
                let mut claims = claims(&self.url, &get("audience"), "");
                claims["resource"] = json!(get("resource"));
                let assertion = self.signer.sign(&claims);
                return json_response(200, &json!({"access_token": assertion, "token_type": "N_A"}));
            }
            _ => return refused("unsupported_grant_type"),
        };
        let Some(before) = before else { return refused("invalid_grant") };
        self.issue(before, asked, behaviour)
    }

    fn issue(&self, before: HashMap<String, String>, asked: &Asked, behaviour: &Behaviour) -> Response<Body> {
        let scope = before.get("scope").cloned().unwrap_or_default();
        let scope = behaviour.granted.clone().unwrap_or(scope);
        let audience = behaviour.audience.clone().unwrap_or_else(|| before["resource"].clone());
        let mut claims = claims(&self.url, &audience, &scope);
        claims["jti"] = json!(random());
        let kind = if asked.proof.is_some() { "DPoP" } else { "Bearer" };
        let refresh = behaviour.gives_refresh_tokens.then(random);
        if let Some(refresh) = &refresh {
            self.granted.lock().unwrap().insert(refresh.clone(), before);
        }
        let token = self.signer.sign(&claims);
        let answer = json!({
            "access_token": token, "token_type": kind, "expires_in": behaviour.lifetime,
            "refresh_token": refresh, "scope": scope,
        });
        json_response(200, &answer)
    }

    fn is_authenticated(&self, asked: &Asked, behaviour: &Behaviour) -> bool {
        let get = |name: &str| asked.params.get(name).cloned().unwrap_or_default();
        let is_known = |id: &str| self.clients.lock().unwrap().contains(id);
        if let Some(keys) = &behaviour.client_keys {
            let keys = KeySet::parse(keys).unwrap();
            let jwt = Jwt::new(get("client_id"), [self.url.clone()], keys);
            let assertion = get("client_assertion");
            let verdict = jwt.authenticate(&Credential::Bearer(assertion.as_bytes()));
            return is_known(&get("client_id")) && matches!(verdict, Verdict::Known(_));
        }
        let Some(secret) = behaviour.secret else { return is_known(&get("client_id")) };
        let basic = asked.authorization.as_deref().and_then(|value| value.strip_prefix("Basic "));
        let basic = basic.map(|text| String::from_utf8(STANDARD.decode(text).unwrap()).unwrap());
        let pair = basic.as_deref().and_then(|pair| pair.split_once(':'));
        pair.is_some_and(|(id, given)| is_known(&unescaped(id)) && given == secret)
    }
}
