//! The report as JUnit's XML, which CI systems read.

use std::fmt::Write;

use super::{Finding, Report};
use crate::check::profile::Verdict;

/// The report.
pub(crate) fn junit(report: &Report) -> String {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // A String takes all that is written to it.
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
    let mut rest = report.findings.as_slice();
    while let Some(first) = rest.first() {
        let length = rest.iter().take_while(|finding| finding.area == first.area).count();
        let (area, after) = rest.split_at(length);
        let count = |verdict| area.iter().filter(|finding| finding.verdict == verdict).count();
        writeln!(
            text,
            "  <testsuite name=\"{}\" tests=\"{length}\" failures=\"{}\" skipped=\"{}\">",
            first.area,
            count(Verdict::Fail),
            count(Verdict::Skip)
        )?;
        area.iter().try_for_each(|finding| write_case(text, finding))?;
        writeln!(text, "  </testsuite>")?;
        rest = after;
    }
    writeln!(text, "</testsuites>")
}

fn write_case(text: &mut String, finding: &Finding) -> std::fmt::Result {
    let details = format!(
        "rules: {}\nsent: {}\nexpected: {}\ncame: {}\nnote: {}",
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

/// A text as XML can hold it: some characters cannot be there at all.
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
    fn what_xml_cannot_hold_is_replaced() {
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
            time: Duration::from_millis(5),
        };
        let findings = vec![
            finding("ids", Verdict::Pass),
            finding("ids", Verdict::Fail),
            finding("http", Verdict::Skip),
        ];
        let report =
            Report { url: String::new(), profile: Profile::Spec, findings, time: Duration::from_secs(1) };
        let text = junit(&report);
        assert!(text.contains(
            "<testsuites name=\"switchboard check\" tests=\"3\" failures=\"1\" skipped=\"1\" time=\"1.000\">"
        ));
        assert_eq!(text.matches("<testsuite ").count(), 2);
        assert!(text.contains("<failure message=\"why\" type=\"must\">"), "{text}");
        assert!(text.contains("sent: &lt;x&gt;") && text.contains("<skipped message=\"why\"/>"));
    }
}
