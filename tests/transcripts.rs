//! Every transcript, over every carrier.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;

use switchboard_tests::carrier::{Carrier, Heard};
use switchboard_tests::transcript::{Section, Transcript};
use switchboard_tests::{across_a_gateway, demo, over_every_carrier};

over_every_carrier!(every_transcript_goes_as_it_is_written);
across_a_gateway!(every_transcript_goes_as_it_is_written);

async fn every_transcript_goes_as_it_is_written(carrier: &dyn Carrier) {
    let mut failures = Vec::new();
    let mut counted = 0;
    for (file, transcript) in transcripts() {
        if !transcript.is_for(carrier.kind(), carrier.inner_kind()) {
            continue;
        }
        for section in transcript.sections {
            counted += play(carrier, &file, section, &mut failures).await;
        }
    }
    assert!(failures.is_empty(), "over {}:\n{}", carrier.name(), failures.join("\n"));
    assert!(counted > 40, "{} carried {counted} steps only", carrier.name());
}

/// Plays one section and counts the steps that the carrier could do.
async fn play(carrier: &dyn Carrier, file: &str, section: Section, failures: &mut Vec<String>) -> usize {
    let mut counted = 0;
    let mut line = carrier.open(Arc::new(demo::router()), section.settings).await;
    for step in section.steps {
        let heard = line.send(step.sent.clone().into()).await;
        if matches!(heard, Heard::Unable(_)) {
            continue;
        }
        counted += 1;
        if let Err(reason) = step.check(&heard) {
            failures.push(format!("{file}:{}: {}\n  {reason}", step.line, step.sent));
        }
    }
    counted
}

fn transcripts() -> Vec<(String, Transcript)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("transcripts");
    let mut files: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let read = |path: &Path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(path).unwrap();
        let transcript = Transcript::read(&text).unwrap_or_else(|reason| panic!("{name}, {reason}"));
        (name, transcript)
    };
    files.iter().map(|path| read(path)).collect()
}
