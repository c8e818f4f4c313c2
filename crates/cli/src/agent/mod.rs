//! `switchboard agent`: talks to an agent over Agent2Agent (A2A).

mod card;

use clap::{Args, Subcommand};
use futures_util::StreamExt as _;
use serde::Serialize;
use switchboard::a2a::model::{Artifact, ListTasks, Message, SendMessage, StreamEvent, Task, TaskState};
use switchboard::a2a::{Client, ClientError, ClientOptions, Events};
use switchboard::http::HttpClientOptions;
use switchboard::{CallError, Json, Limits};

use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::output;
use crate::target::Target;
use crate::visible::visible;

const EXAMPLES: &str = "\
Examples:
  switchboard agent http://127.0.0.1:8000                       # its card
  switchboard agent http://127.0.0.1:8000 send 'What is 2 + 3?'
  switchboard agent http://127.0.0.1:8000 stream 'count to 3'
  switchboard agent http://127.0.0.1:8000 send 'count to 60' --no-wait
  switchboard agent http://127.0.0.1:8000 send 'Paris' --task ID   # the answer to a question
  switchboard agent http://127.0.0.1:8000 tasks
  switchboard agent http://127.0.0.1:8000 follow ID
  switchboard agent http://127.0.0.1:8000 cancel ID
  switchboard agent https://agent.example.com/agent-card.json --token \"$TOKEN\" | jq .skills";

const LONG: &str = "\
The URL is that of the card, or of the server that has it at /.well-known/agent-card.json. Of the interfaces in the card, the first \
one for JSON-RPC in version 1.0 or 0.3 is used. A token is sent only to the server that the card is from.

On a terminal, artifacts are printed as they arrive, and what happens to the task goes to stderr. In a pipe, every answer and event is one line \
of JSON, in the shapes of 1.0.";

/// Shows an agent's card, sends it messages and follows its tasks, over Agent2Agent (A2A).
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP),
    mut_args(described),
    subcommand_help_heading = "Actions",
    subcommand_value_name = "ACTION",
)]
pub(crate) struct Agent {
    #[command(flatten)]
    target: Target,
    #[command(subcommand)]
    action: Option<Action>,
}

/// What to do. Without an action, the card is shown.
#[derive(Debug, Subcommand)]
enum Action {
    /// Send a message, and wait until the agent has answered or asks something.
    Send(Words),
    /// Send a message, and show what happens as it happens.
    Stream(Words),
    /// List your tasks, the latest first.
    Tasks {
        /// Show the tasks of this conversation only.
        #[arg(long, value_name = "ID")]
        context: Option<String>,
    },
    /// Show a task.
    Get {
        /// Identifier of the task.
        id: String,
    },
    /// Show what happens to a task until it ends.
    Follow {
        /// Identifier of the task.
        id: String,
    },
    /// Cancel a task.
    Cancel {
        /// Identifier of the task.
        id: String,
    },
}

/// A message.
#[derive(Debug, Args)]
struct Words {
    /// What to say.
    text: String,
    /// Answer the question of this task.
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// Go on with this conversation.
    #[arg(long, value_name = "ID")]
    context: Option<String>,
    /// Do not wait for the end of the task.
    #[arg(long)]
    no_wait: bool,
}

/// The options of a server to call, where they do not apply to agents.
fn described(argument: clap::Arg) -> clap::Arg {
    match argument.get_id().as_str() {
        "url" => argument.help("URL of the agent's card or server, with the scheme http or https"),
        "timeout" => argument.help("How long to wait for an answer, or for a stream to begin"),
        "retry" | "repeatable" | "v1" | "extensions" => argument.hide(true),
        _ => argument,
    }
}

impl Words {
    fn request(&self) -> SendMessage {
        let mut message = Message::user(self.text.as_str());
        message.task_id = self.task.clone();
        message.context_id = self.context.clone();
        let request = SendMessage::new(message);
        if self.no_wait { request.immediately() } else { request }
    }
}

impl Agent {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        self.target.run(async |_| self.act().await)
    }

    async fn act(&self) -> Result<(), Failure> {
        let client = self.client().await?;
        let fault = |error| self.explain(error);
        match &self.action {
            None if self.target.format.is_for_people() => {
                output::page(&card::shown(client.card(), client.remote())).map(drop)
            }
            None => self.print(client.card()),
            Some(Action::Send(words)) => self.answer(&client.send(words.request()).await.map_err(fault)?),
            Some(Action::Stream(words)) => {
                self.follow(client.stream(words.request()).await.map_err(fault)?).await
            }
            Some(Action::Follow { id }) => self.follow(client.subscribe(id).await.map_err(fault)?).await,
            Some(Action::Get { id }) => self.print(&client.get(id).await.map_err(fault)?),
            Some(Action::Cancel { id }) => self.print(&client.cancel(id).await.map_err(fault)?),
            Some(Action::Tasks { context }) => self.list(&client, context.as_ref()).await,
        }
    }

    async fn client(&self) -> Result<Client, Failure> {
        let target = &self.target;
        let limits = Limits::default().with_reply(target.max_answer).with_members(usize::MAX);
        let mut http = HttpClientOptions::default()
            .with_headers(target.headers()?)
            .with_connect_time(target.timeout)
            .with_call_time(target.timeout)
            .with_limits(limits)
            .with_tap(target.tap());
        if target.url.starts_with("https:") {
            http.tls = Some(target.tls()?);
        }
        let options = ClientOptions::default().with_http(http).with_time(target.timeout);
        Client::with_options(&target.url, options).await.map_err(|error| match error {
            ClientError::Url(error) => Failure::usage(error.to_string()).advise("use an http or https URL"),
            ClientError::Unreachable(error) => target.explain(error),
            error @ ClientError::NoCard { .. } => Failure::new(Exit::Rejected, error.to_string())
                .advise("give the URL of the card itself, or of another server"),
            error => Failure::new(Exit::Protocol, visible(&error.to_string())),
        })
    }

    /// A failed call. The codes of A2A mean something else elsewhere, so the usual advice does not apply.
    fn explain(&self, error: CallError) -> Failure {
        match error {
            CallError::Rejected(error) => Failure::Rejected(error, None),
            error => self.target.explain(error),
        }
    }

    fn print(&self, value: &impl Serialize) -> Result<(), Failure> {
        self.write(value).map(drop)
    }

    /// Writes a value as JSON. False if stdout is not read any more.
    fn write(&self, value: &impl Serialize) -> Result<bool, Failure> {
        let json =
            Json::encode_ref(value).map_err(|error| Failure::new(Exit::Protocol, error.to_string()))?;
        output::result(&json, self.target.format)
    }

    /// Shows the answer to a message.
    fn answer(&self, event: &StreamEvent) -> Result<(), Failure> {
        if !self.target.format.is_for_people() {
            return self.print(event);
        }
        match event {
            StreamEvent::Message(message) => output::page(&line(&message.text())).map(drop),
            StreamEvent::Task(task) => {
                let artifacts: String =
                    task.artifacts.iter().map(Artifact::as_text).map(|text| line(&text)).collect();
                output::page(&artifacts)?;
                note(event);
                Ok(())
            }
            event => self.print(event),
        }
    }

    /// Shows events as they arrive.
    async fn follow(&self, mut events: Events) -> Result<(), Failure> {
        let mut is_midline = false;
        while let Some(event) = events.next().await {
            let event = event.map_err(|error| self.explain(error))?;
            let is_read = match &event {
                event if !self.target.format.is_for_people() => self.write(event)?,
                StreamEvent::ArtifactUpdate(update) => {
                    is_midline = !update.last_chunk;
                    let text = update.artifact.as_text();
                    output::page(&if update.last_chunk { line(&text) } else { text })?
                }
                StreamEvent::Message(message) => output::page(&line(&message.text()))?,
                event => {
                    if std::mem::take(&mut is_midline) {
                        output::page("\n")?;
                    }
                    note(event);
                    true
                }
            };
            if !is_read {
                break;
            }
        }
        Ok(())
    }

    async fn list(&self, client: &Client, context: Option<&String>) -> Result<(), Failure> {
        let mut request = ListTasks::default();
        request.context_id = context.cloned();
        let mut tasks: Vec<Task> = Vec::new();
        loop {
            let page = client.list(&request).await.map_err(|error| self.explain(error))?;
            for task in &page.tasks {
                if !self.target.format.is_for_people() && !self.write(task)? {
                    return Ok(());
                }
            }
            // A person does not read more.
            tasks.extend(page.tasks);
            let is_enough = self.target.format.is_for_people() && tasks.len() >= 200;
            if page.next_page_token.is_empty() || is_enough {
                break;
            }
            if !self.target.format.is_for_people() {
                tasks.clear();
            }
            request.page_token = Some(page.next_page_token);
        }
        match self.target.format.is_for_people() {
            true => output::page(&card::tasks(&tasks)).map(drop),
            false => Ok(()),
        }
    }
}

/// A text as a line.
fn line(text: &str) -> String {
    format!("{}\n", visible(text).trim_end())
}

/// Says what has become of a task.
fn note(event: &StreamEvent) {
    let (id, status) = match event {
        StreamEvent::Task(task) => (&task.id, &task.status),
        StreamEvent::StatusUpdate(update) => (&update.task_id, &update.status),
        _ => return,
    };
    let text = status.message.as_ref().map(Message::text).unwrap_or_default();
    let colon = if text.is_empty() { "" } else { ": " };
    output::note(&format!("task {} {}{colon}{}\n", visible(id), state(status.state), visible(&text)));
}

/// A state as people read it.
fn state(state: TaskState) -> &'static str {
    match state {
        TaskState::Submitted => "submitted",
        TaskState::Working => "working",
        TaskState::Completed => "completed",
        TaskState::Failed => "failed",
        TaskState::Canceled => "cancelled",
        TaskState::InputRequired => "asks",
        TaskState::Rejected => "rejected",
        TaskState::AuthRequired => "needs credentials",
        _ => "unknown",
    }
}
