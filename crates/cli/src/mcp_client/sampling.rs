//! Answers for a server that asks for a language model: none, those of the user, or those of a program.

use std::io::Write as _;
use std::pin::Pin;
use std::process::{Command, Stdio};
use std::str::FromStr;

use switchboard::mcp::model::{Revision, Sampled, Sampling, Wire as _};
use switchboard::{Code, ErrorObject, Json};
use tokio::sync::oneshot;

use super::terminal::{self, HEAD};
use crate::output;
use crate::visible::visible;
use crate::words;

/// Who answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sample {
    Refuse,
    Ask,
    /// The program and its arguments.
    Program(Vec<String>),
}

impl FromStr for Sample {
    type Err = String;

    fn from_str(text: &str) -> Result<Sample, String> {
        match (text, text.strip_prefix("exec:")) {
            ("refuse", _) => Ok(Sample::Refuse),
            ("ask", _) => Ok(Sample::Ask),
            (_, Some(command)) => match words::split(command) {
                Ok(words) if !words.is_empty() => Ok(Sample::Program(words)),
                _ => Err("the command is empty or has an open quote".to_owned()),
            },
            _ => Err("use refuse, ask or exec:COMMAND".to_owned()),
        }
    }
}

type Answer = Pin<Box<dyn Future<Output = Result<Sampled, ErrorObject>> + Send>>;

/// The callback that answers, unless all requests are refused.
pub(super) fn callback(sample: &Sample) -> Option<Box<dyn Fn(Sampling) -> Answer + Send + Sync>> {
    match sample {
        Sample::Refuse => None,
        Sample::Ask => Some(Box::new(|request| Box::pin(by_hand(request)))),
        Sample::Program(words) => {
            let words = words.clone();
            Some(Box::new(move |request| Box::pin(by_program(words.clone(), request))))
        }
    }
}

fn refused(why: impl Into<String>) -> ErrorObject {
    // The code that MCP gives for a user who refuses.
    ErrorObject::new(Code(-1), why.into())
}

/// The user reads the conversation, and writes what a model would answer.
async fn by_hand(request: Sampling) -> Result<Sampled, ErrorObject> {
    if !terminal::is_there() {
        output::note("refused, since there is no terminal: the server asks for a language model\n");
        return Err(refused("the user cannot be asked"));
    }
    let _alone = terminal::alone().await;
    output::note(&format!("{HEAD}The server asks for an answer of a language model:{HEAD:#}\n"));
    if let Some(prompt) = &request.system_prompt {
        output::note(&format!("system: {}\n", visible(prompt)));
    }
    for message in &request.messages {
        for content in &message.content {
            let text = content.as_text().map_or_else(|| "(not text)".to_owned(), visible);
            output::note(&format!("{}: {text}\n", message.role.as_str()));
        }
    }
    match terminal::line("answer (empty to refuse): ").await {
        Some(answer) if !answer.trim().is_empty() => Ok(Sampled::new("human", answer)),
        _ => Err(refused("the user refused")),
    }
}

/// A program gets the request as JSON, and writes the answer.
async fn by_program(words: Vec<String>, request: Sampling) -> Result<Sampled, ErrorObject> {
    let program = words.first().cloned().unwrap_or_default();
    let (answer, answered) = oneshot::channel();
    // Not a thread of the runtime, which would wait for it when the program is interrupted.
    std::thread::spawn(move || {
        let _ = answer.send(ask(&words, &request.to_json(Revision::LATEST)));
    });
    let told = answered.await.unwrap_or_else(|_| Err("it was not asked".to_owned()));
    match told {
        Ok(text) => Ok(Sampled::new(program, text)),
        Err(why) => {
            output::note(&format!("warning: the command {program} for `--sample` failed: {why}\n"));
            Err(refused("the model cannot be reached"))
        }
    }
}

fn ask(words: &[String], request: &Json) -> Result<String, String> {
    let (program, arguments) = words.split_first().ok_or("it is empty")?;
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    if let Some(mut stdin) = child.stdin.take() {
        let text = request.to_string();
        // It may end before it has read all. A long answer may come before it has.
        std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    }
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned()),
        false => Err(output.status.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_answers_is_one_of_three() {
        let check = |text: &str, expected: Sample| assert_eq!(text.parse(), Ok(expected));
        check("refuse", Sample::Refuse);
        check("ask", Sample::Ask);
        check("exec:model 'a b'", Sample::Program(vec!["model".to_owned(), "a b".to_owned()]));
        for wrong in ["", "yes", "exec:", "exec:'"] {
            assert!(wrong.parse::<Sample>().is_err(), "{wrong}");
        }
    }
}
