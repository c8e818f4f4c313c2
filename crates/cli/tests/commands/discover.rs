//! `switchboard discover`: what a far side says about itself.

use crate::describing::{DOCUMENT, Describing};
use crate::program::{Serving, answering, parts, run, run_with};

#[test]
fn in_a_pipe_the_document_is_as_it_was_received() {
    let far = Describing::start();
    for more in [&[][..], &["--openrpc"], &["--raw"]] {
        let output = parts(run(&[&["discover", &far.url], more].concat()));
        assert_eq!(output, (Some(0), format!("{DOCUMENT}\n"), String::new()), "{more:?}");
    }
}

#[test]
fn in_a_pipe_a_method_is_its_part_of_the_document() {
    let far = Describing::start();
    let (code, stdout, stderr) = parts(run(&["discover", &far.url, "math/subtract"]));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(
        stdout.starts_with(r#"{"name":"math/subtract","#) && DOCUMENT.contains(stdout.trim()),
        "{stdout}"
    );
}

#[test]
fn a_method_that_is_not_there_is_told_with_one_that_is() {
    let far = Describing::start();
    let (code, stdout, stderr) = parts(run(&["discover", &far.url, "math/ad"]));
    assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
    assert!(stderr.contains("unknown method \"math/ad\"; did you mean `math/add`"), "{stderr}");
}

#[test]
fn a_far_side_that_does_not_describe_itself_is_told_as_that() {
    let far = Describing::silent();
    let (code, stdout, stderr) = parts(run(&["discover", &far.url]));
    assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
    assert!(stderr.contains("it has no rpc.discover; look them up"), "{stderr}");
}

#[test]
fn an_answer_that_is_no_document_breaks_the_protocol() {
    let answer = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 36\r\n\r\n\
         {\"jsonrpc\":\"2.0\",\"result\":[],\"id\":1}";
    let (code, _, stderr) = parts(run(&["discover", &answering(answer), "math/add"]));
    assert_eq!(code, Some(5), "{stderr}");
    assert!(stderr.contains("not an OpenRPC document"), "{stderr}");
}

#[test]
fn a_document_in_a_file_is_shown_as_a_far_sides_is() {
    let serving = Serving::start(&[]);
    let (_, document, _) = parts(run(&["discover", &serving.url(), "--openrpc"]));
    let file = format!("{}/discover-{}.json", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    std::fs::write(&file, &document).unwrap();
    let (code, part, stderr) = parts(run(&["discover", &file, "sum"]));
    std::fs::remove_file(&file).unwrap();
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(part, parts(run(&["discover", &serving.url(), "sum"])).1);
}

#[test]
fn a_file_that_is_no_document_is_told_in_a_pipe_too() {
    for text in ["{\"a\":1}", "[1]", "5"] {
        let (code, stdout, stderr) = parts(run_with(text, &["discover", "-"]));
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{stderr}");
        assert!(stderr.contains("stdin is not an OpenRPC document: it has no list of methods"), "{stderr}");
    }
}
