//! Secrets in the URLs of upstreams.

use super::{call, free_port};
use crate::carriers::Folder;
use crate::program::{Serving, parts, program, run};

const SECRET: &str = "5f1e77a90c";

#[test]
fn secrets_in_the_url_of_an_upstream_are_not_shown() {
    let server = Serving::start(&[]);
    let folder = Folder::new("gateway-secrets");
    let file = folder.file("gateway.toml");
    let text = format!(
        "[upstream.web]\nurl = \"{}/?key={SECRET}\"\n\
         [upstream.gone]\nurl = [\"ws://127.0.0.1:{dead}/?{SECRET}\", \"http://127.0.0.1:{dead}/?a={SECRET}\"]\n\
         [upstream.tool]\nurl = \"exec:no-such-program https://me:{SECRET}@a.example/?key={SECRET}\"\n",
        server.url(),
        dead = free_port(),
    );
    std::fs::write(&file, text).unwrap();
    let admin = format!("unix:{}", folder.file("admin.sock"));
    let arguments = ["--listen=http://127.0.0.1:0", "--admin", &admin, "--log-level=debug", "-vv"];
    let gateway = Serving::spawn(program(&[&["gateway", "--config", &file], &arguments[..]].concat()));
    let url = gateway.url();
    assert_eq!(call(&url, &["web/math/add", "2", "3"]).1, "5\n");
    let mut shown = vec![gateway.banner.clone()];
    for method in ["gone/add", "tool/add"] {
        shown.push(call(&url, &[method]).2);
    }
    let upstreams = ["web", "gone", "tool"].map(|name| call(&admin, &["admin/restore", name]).1).concat();
    assert!(
        upstreams.contains("/?key=***") && upstreams.contains("https://***@a.example/?key=***"),
        "{upstreams}"
    );
    let explained = parts(run(&["explain", "--config", &file, "web/math/add"])).1;
    assert!(explained.contains("/?key=***"), "{explained}");
    assert!(gateway.banner.contains("/?key=***"), "{}", gateway.banner);
    let config = parts(run(&["config", "show", &file])).1;
    assert!(config.contains("/?key=***"), "{config}");
    shown.extend([upstreams, explained, config]);
    for method in ["web/math/add", "gone/add", "tool/add"] {
        shown.push(parts(run(&["explain", "--admin", &admin, method])).1);
    }
    gateway.signal("TERM");
    shown.push(gateway.wait().1);
    for text in shown {
        assert!(!text.contains(SECRET), "{text}");
    }
}
