//! The report as JUnit's XML, which CI systems read.

use std::fmt::Write;

use super::{Finding, First, Report, count, first};
use crate::check::profile::Verdict;

/// The report.
pub(crate) fn junit(report: &Report) -> String {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Writing to a String does not fail.
    let _ = write_suites(&mut text, report);
    text
}

fn write_suites(text: &mut String, report: &Report) -> std::fmt::Result {
    let (failed, skipped) = (report.count(Verdict::Fail), report.count(Verdict::Skip));
    writeln!(
        text,
        "<testsuites name=\"switchboard check\" tests=\"{}\" failures=\"{failed}\" skipped=\"{skipped}\" time=\"{:.3}\">",
        report.findings.len(),
        report.time.as_secs_f64()
    )?;
    let first = first(report);
    for (area, findings) in report.areas() {
        writeln!(
            text,
            "  <testsuite name=\"{area}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\">",
            findings.len(),
            count(findings, Verdict::Fail),
            count(findings, Verdict::Skip)
        )?;
        write_first(text, first.iter().filter(|it| it.finding.area == area))?;
        findings.iter().try_for_each(|finding| write_case(text, finding))?;
        writeln!(text, "  </testsuite>")?;
    }
    writeln!(text, "</testsuites>")
}

/// The failures of an area that are to be fixed first, as properties of its suite.
fn write_first<'a>(text: &mut String, first: impl Iterator<Item = &'a First<'a>>) -> std::fmt::Result {
    let properties: Vec<String> = first
        .map(|first| {
            let value = format!("{}: {}", first.finding.name, first.gain());
            let value = escaped(value.trim_end_matches(": "));
            format!("<property name=\"fix first\" value=\"{value}\"/>")
        })
        .collect();
    if properties.is_empty() {
        return Ok(());
    }
    writeln!(text, "    <properties>{}</properties>", properties.concat())
}

fn write_case(text: &mut String, finding: &Finding) -> std::fmt::Result {
    let details = format!(
        "rules: {}\nsent: {}\nexpected: {}\ngot: {}\nnote: {}",
        finding.rules.join(" "),
        finding.sent,
        finding.expected,
        finding.came,
        finding.note
    );
    write!(
        text,
        "    <testcase classname=\"{}\" name=\"{}: {}\" time=\"{:.3}\">",
        finding.area,
        finding.name,
        escaped(finding.claim),
        finding.time.as_secs_f64()
    )?;
    match finding.verdict {
        Verdict::Pass => {}
        Verdict::Fail => write!(
            text,
            "<failure message=\"{}\" type=\"{}\">{}</failure>",
            escaped(if finding.note.is_empty() { &finding.came } else { &finding.note }),
            finding.severity.name(),
            escaped(&details)
        )?,
        Verdict::Skip => write!(text, "<skipped message=\"{}\"/>", escaped(&finding.note))?,
        Verdict::Warn => write!(text, "<system-out>warning\n{}</system-out>", escaped(&details))?,
    }
    writeln!(text, "</testcase>")
}

/// A text as XML can hold it; characters that it cannot hold are replaced.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            c if c < ' ' || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::check::case::Severity;
    use crate::check::profile::Profile;

    #[test]
    fn characters_that_xml_cannot_hold_are_replaced() {
        assert_eq!(escaped("a<b>&\"\u{1}\n"), "a&lt;b&gt;&amp;&quot;\u{fffd}\n");
    }

    #[test]
    fn an_area_is_a_suite_and_a_failure_says_what_came() {
        let finding = |area, verdict| Finding {
            name: "n",
            area,
            claim: "c",
            rules: &["J2-01"],
            severity: Severity::Must,
            verdict,
            sent: "<x>".to_owned(),
            expected: String::new(),
            came: "y".to_owned(),
            note: "why".to_owned(),
            because: None,
            time: Duration::from_millis(5),
        };
        let findings = vec![
            finding("ids", Verdict::Pass),
            finding("ids", Verdict::Fail),
            Finding { because: Some("n"), ..finding("http", Verdict::Skip) },
        ];
        let report =
            Report { url: String::new(), profile: Profile::Spec, findings, time: Duration::from_secs(1) };
        let text = junit(&report);
        assert!(text.contains(
            "<testsuites name=\"switchboard check\" tests=\"3\" failures=\"1\" skipped=\"1\" time=\"1.000\">"
        ));
        assert_eq!(text.matches("<testsuite ").count(), 2);
        let first = "<property name=\"fix first\" value=\"n: 1 case skipped because of it\"/>";
        assert_eq!(text.matches(first).count(), 1, "{text}");
        assert!(text.contains("<failure message=\"why\" type=\"must\">"), "{text}");
        assert!(text.contains("sent: &lt;x&gt;") && text.contains("<skipped message=\"why\"/>"));
    }
}
