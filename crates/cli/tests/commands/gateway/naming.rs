//! Names of methods: prefixes, separators, new names.

use super::discovery::methods;
use super::{call, gateway};
use crate::program::{Serving, parts, run};

#[test]
fn methods_have_the_separator_and_the_new_names_of_the_command_line() {
    let server = Serving::start(&[]);
    let web = format!("web={}", server.url());
    let other = format!("other={}", server.url());
    let gateway = gateway(&[
        &web,
        &other,
        "--separator=.",
        "--rename=web.math/add=sum",
        "--set=upstream.other.prefix=else:",
    ]);
    let url = gateway.url();
    assert_eq!(call(&url, &["web.math/multiply", "2", "3"]).1, "6\n");
    assert_eq!(call(&url, &["sum", "2", "3"]).1, "5\n");
    assert_eq!(call(&url, &["else:math/add", "2", "3"]).1, "5\n", "--set wins");
    for gone in ["web.math/add", "web/math/multiply", "other.math/add"] {
        assert!(call(&url, &[gone, "2", "3"]).2.contains("-32601"), "{gone}");
    }
    let described = methods(&url);
    for (name, is_there) in
        [("sum", true), ("web.math/multiply", true), ("else:math/add", true), ("web.math/add", false)]
    {
        assert_eq!(described.contains(&name.to_owned()), is_there, "{name} in {described:?}");
    }
    // By name, so the description is that of the method behind it.
    assert_eq!(call(&url, &["sum", "a=2", "b=3"]).1, "5\n");
}

#[test]
fn a_method_of_the_only_server_is_renamed_and_the_command_line_can_become_a_file() {
    let server = Serving::start(&[]);
    let gateway = gateway(&[&server.url(), "--rename", "math/add=sum", "--rename", "math/multiply=times"]);
    let url = gateway.url();
    assert_eq!(call(&url, &["sum", "2", "3"]).1, "5\n");
    assert_eq!(call(&url, &["times", "2", "3"]).1, "6\n");
    assert!(call(&url, &["math/add", "2", "3"]).2.contains("-32601"));
    let (code, stdout, stderr) = parts(run(&[
        "gateway",
        "math=http://127.0.0.1:1",
        "--separator=.",
        "--rename=math.add=sum",
        "--print-config",
    ]));
    assert_eq!(code, Some(0), "{stderr}");
    for text in ["math.", "sum", "rename"] {
        assert!(stdout.contains(text), "no {text} in {stdout}");
    }
}

#[test]
fn a_name_that_fits_no_server_is_refused() {
    let check = |arguments: &[&str], text: &str| {
        let (code, stdout, stderr) = parts(run(&[&["gateway", "--check"], arguments].concat()));
        assert_eq!(code, Some(2), "{arguments:?}: {stdout}");
        assert!(stderr.contains(text), "{arguments:?}: {stderr}");
    };
    check(&["math=http://127.0.0.1:1", "--rename=maths/add=sum"], "no upstream on the command line");
    check(&["math=http://127.0.0.1:1", "--rename=math/add"], "METHOD=NAME");
    check(&["--rename=math/add=sum"], "there are none");
    check(&["--separator=."], "there are none");
}
