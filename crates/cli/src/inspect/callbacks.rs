//! What the server asks: the user of the page answers.

use serde::Serialize;
use switchboard::mcp::ClientBuilder;
use switchboard::mcp::auth::{AuthError, Browser, UserAgent, UserFuture, Visit};
use switchboard::mcp::model::{
    ElicitForm, ElicitUrl, Elicitation, Elicited, LogParams, Revision, Sampled, Sampling, Wire,
};
use switchboard::{CallError, ErrorObject, Json};

use super::page::Page;
use super::sandbox::MEDIA_TYPE;

/// The extension for views of tools.
const UI: &str = "io.modelcontextprotocol/ui";

#[derive(Serialize)]
struct Views {
    #[serde(rename = "mimeTypes")]
    mime_types: [&'static str; 1],
}

/// The code of an error that says that the user refused.
const REFUSED: i64 = -1;

/// Answers all that a server may ask.
pub(super) fn answering(builder: ClientBuilder, page: &Page) -> ClientBuilder {
    let (forms, urls, models, logs) = (page.clone(), page.clone(), page.clone(), page.clone());
    builder
        .extension(UI, &Views { mime_types: [MEDIA_TYPE] })
        .on_elicit(move |form: ElicitForm| elicit(forms.clone(), Elicitation::Form(form)))
        .on_open_url(move |url: ElicitUrl| elicit(urls.clone(), Elicitation::Url(url)))
        .on_sample(move |question| sample(models.clone(), question))
        .sampling_tools()
        .roots([])
        .on_log(move |message: LogParams| logs.tell("inspect/log", &message.at(Revision::LATEST_STATEFUL)))
}

async fn elicit(page: Page, question: Elicitation) -> Elicited {
    let question = question.to_json(Revision::LATEST_STATEFUL);
    page.ask("inspect/elicit", &question).await.unwrap_or_else(|error| {
        tracing::info!(%error, "a question of the server was not answered");
        Elicited::cancel()
    })
}

async fn sample(page: Page, question: Sampling) -> Result<Sampled, ErrorObject> {
    let question = question.to_json(Revision::LATEST_STATEFUL);
    let refused = |error| match error {
        CallError::Rejected(error) => ErrorObject::new(error.code, error.message.clone()),
        other => {
            tracing::info!(error = %other, "a question of the server was not answered");
            ErrorObject::new(REFUSED, "the user did not answer")
        }
    };
    page.ask("inspect/sample", &question).await.map_err(refused)
}

/// Shows the URL of a login in the page, which opens nothing by itself.
#[derive(Debug)]
pub(super) struct LoginInPage(pub(super) Page);

struct Visiting {
    page: Page,
    visit: Box<dyn Visit>,
}

#[derive(Serialize)]
struct Place<'a> {
    url: &'a str,
}

impl UserAgent for LoginInPage {
    fn begin<'a>(&'a self, known: Option<&'a str>) -> UserFuture<'a, Box<dyn Visit>> {
        let page = self.0.clone();
        Box::pin(async move {
            let visit = Browser::default().without_opening().begin(known).await?;
            Ok(Box::new(Visiting { page, visit }) as Box<dyn Visit>)
        })
    }
}

impl Visit for Visiting {
    fn redirect_uri(&self) -> &str {
        self.visit.redirect_uri()
    }

    fn visit(self: Box<Self>, url: String, state: String) -> UserFuture<'static, String> {
        Box::pin(async move {
            let Visiting { page, visit } = *self;
            let place = Place { url: &url };
            tokio::select! {
                // Dropping the question closes it in the page.
                answer = visit.visit(url.clone(), state) => answer,
                told = page.ask::<Json>("inspect/login", &place) => Err(AuthError::Unfinished(match told {
                    Ok(_) => "the login was cancelled".to_owned(),
                    Err(error) => format!("the page cannot show the login: {error}"),
                })),
            }
        })
    }
}
