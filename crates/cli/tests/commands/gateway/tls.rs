//! TLS on either side of a gateway.

use crate::carriers::Folder;
use crate::program::{Serving, parts, program, run};

#[test]
fn certificates_are_verified_on_both_sides() {
    let (inner, outer) = (Folder::new("gateway-tls-inner"), Folder::new("gateway-tls-outer"));
    let ((inner_cert, inner_key), (outer_cert, outer_key)) = (inner.certificate(), outer.certificate());
    let server = Serving::spawn(program(&[
        "serve",
        "--listen=https://127.0.0.1:0",
        "--listen=tls://127.0.0.1:0",
        "--tls-cert",
        &inner_cert,
        "--tls-key",
        &inner_key,
    ]));
    let mut upstreams = server.urls();
    upstreams.push(upstreams[0].replacen("https", "wss", 1));
    let trust = format!("--set=upstream.upstream.tls.ca={inner_cert}");
    for upstream in upstreams {
        let arguments = ["gateway", &upstream, "--listen=https://127.0.0.1:0", "--listen=tls://127.0.0.1:0"];
        let certificate = ["--tls-cert", &outer_cert, "--tls-key", &outer_key];
        let start = |more: &[&str]| Serving::spawn(program(&[&arguments[..], &certificate, more].concat()));
        let gateway = start(&[&trust]);
        let mut urls = gateway.urls();
        urls.push(urls[0].replacen("https", "wss", 1));
        for url in urls {
            let call = ["call", &url, "math/add", "2", "3", "--cacert"];
            let added = parts(run(&[&call[..], &[&outer_cert]].concat()));
            assert_eq!(added, (Some(0), "5\n".to_owned(), String::new()), "{url} to {upstream}");
            // The certificate of the server behind is not that of the gateway.
            let (code, ..) = parts(run(&[&call[..], &[&inner_cert]].concat()));
            assert_eq!(code, Some(3), "{url} to {upstream}");
        }
        // Without its authority, the server behind is not trusted, and gets no call.
        let distrustful = start(&[]);
        let call = ["call", &distrustful.url(), "math/add", "2", "3", "--cacert", &outer_cert];
        let (code, _, stderr) = parts(run(&call));
        assert!(code == Some(1) && stderr.contains("-32004"), "{upstream}: {stderr}");
    }
}
