//! What is wrong with a configuration, shown with the line it is about.

use std::io::IsTerminal;
use std::ops::Range;

use annotate_snippets::{Annotation, AnnotationKind, Level, Renderer, Snippet};

use super::source::Source;
use super::tree::Place;
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
    /// Another place that it is about, and what is there.
    other: Option<(Place, String)>,
    /// Whether the configuration can be used all the same.
    pub(crate) is_warning: bool,
}

impl Fault {
    pub(crate) fn new(place: Place, title: impl Into<String>, advice: impl Into<String>) -> Fault {
        Fault { place, title: title.into(), advice: advice.into(), other: None, is_warning: false }
    }

    /// Shows another place, too.
    pub(crate) fn with_other(mut self, place: Place, label: &str) -> Fault {
        self.other = Some((place, label.to_owned()));
        self
    }

    pub(crate) fn warning(place: Place, title: impl Into<String>, advice: impl Into<String>) -> Fault {
        Fault { is_warning: true, ..Fault::new(place, title, advice) }
    }

    /// The place in short: `switchboard.toml:14`, or the option.
    pub(crate) fn origin(place: &Place, source: &Source) -> String {
        match place {
            Place::File(span) => source.file(span).line(span),
            Place::Flag(flag) => flag.clone(),
            Place::Environment(name) => name.clone(),
            Place::Default => "default".to_owned(),
        }
    }

    fn render(&self, source: &Source, renderer: &Renderer) -> String {
        let level = if self.is_warning { Level::WARNING } else { Level::ERROR };
        match &self.place {
            Place::File(span) => {
                let group = level.primary_title(&*self.title);
                let group = group.element(snippet(source, span, AnnotationKind::Primary, &self.advice));
                let group = match &self.other {
                    Some((Place::File(span), label)) => {
                        group.element(snippet(source, span, AnnotationKind::Context, label))
                    }
                    _ => group,
                };
                renderer.render(&[group])
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

/// The lines of a place.
fn snippet<'a>(
    source: &'a Source,
    span: &Range<usize>,
    kind: AnnotationKind,
    label: &'a str,
) -> Snippet<'a, Annotation<'a>> {
    let file = source.file(span);
    let annotation = kind.span(file.bytes(span)).label(label);
    Snippet::source(&*file.text).path(file.path.display().to_string()).annotation(annotation)
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
