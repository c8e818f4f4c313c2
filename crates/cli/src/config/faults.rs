//! What is wrong with a configuration, shown with the line it is about.

use std::io::IsTerminal;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use super::tree::{Place, Source};
use crate::exit::Exit;
use crate::failure::Failure;

/// One thing that is wrong.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) place: Place,
    /// What is wrong.
    pub(crate) title: String,
    /// What to do about it.
    pub(crate) advice: String,
    /// Whether the configuration can be used all the same.
    pub(crate) is_warning: bool,
}

impl Fault {
    pub(crate) fn new(place: Place, title: impl Into<String>, advice: impl Into<String>) -> Fault {
        Fault { place, title: title.into(), advice: advice.into(), is_warning: false }
    }

    pub(crate) fn warning(place: Place, title: impl Into<String>, advice: impl Into<String>) -> Fault {
        Fault { is_warning: true, ..Fault::new(place, title, advice) }
    }

    /// The place in short: `switchboard.toml:14`, or the option.
    pub(crate) fn origin(place: &Place, source: &Source) -> String {
        match place {
            Place::File(span) => format!("{}:{}", source.path.display(), source.line(span.start)),
            Place::Flag(flag) => flag.clone(),
            Place::Environment(name) => name.clone(),
            Place::Default => "default".to_owned(),
        }
    }

    fn render(&self, source: &Source, renderer: &Renderer) -> String {
        let level = if self.is_warning { Level::WARNING } else { Level::ERROR };
        match &self.place {
            Place::File(span) => {
                let annotation =
                    AnnotationKind::Primary.span(whole_characters(&source.text, span)).label(&*self.advice);
                let path = source.path.display().to_string();
                let snippet = Snippet::source(&*source.text).path(path).annotation(annotation);
                renderer.render(&[level.primary_title(&*self.title).element(snippet)])
            }
            place => {
                let title = match place {
                    Place::Default => self.title.clone(),
                    place => format!("{}: {}", Fault::origin(place, source), self.title),
                };
                let group = annotate_snippets::Group::with_title(level.primary_title(title));
                let group = match self.advice.is_empty() {
                    true => group,
                    false => group.element(Level::HELP.message(&*self.advice)),
                };
                renderer.render(&[group])
            }
        }
    }
}

/// The same bytes, or one byte where the file is empty there.
fn whole_characters(text: &str, span: &std::ops::Range<usize>) -> std::ops::Range<usize> {
    let end = span.end.clamp(span.start, text.len());
    span.start.min(end)..end
}

/// All of them as one text, for a person.
pub(crate) fn render(faults: &[Fault], source: &Source) -> String {
    let renderer = match std::io::stderr().is_terminal() {
        true => Renderer::styled(),
        false => Renderer::plain(),
    };
    let shown: Vec<String> = faults.iter().map(|fault| fault.render(source, &renderer)).collect();
    shown.join("\n\n") + "\n"
}

/// Why a configuration cannot be used.
pub(crate) fn failure(faults: &[Fault], source: &Source) -> Failure {
    let is_in_file = |fault: &Fault| !fault.is_warning && !matches!(fault.place, Place::Flag(_));
    let exit = if faults.iter().any(is_in_file) { Exit::Configuration } else { Exit::Usage };
    Failure::Shown(exit, render(faults, source))
}
