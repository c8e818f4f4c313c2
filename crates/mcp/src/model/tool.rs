//! Tools, as lists show them.

use switchboard_core::Json;

use super::meta::Meta;
use super::wire::{tokens, wire};
use super::{Icon, Revision, lower};

wire! {
    /// A tool that a model can call (MCP-T-02).
    pub struct Tool {
        required {
            /// The name.
            name: String = "name",
            /// The schema of the arguments, whose root has the type `object`. It is written as it is.
            input_schema: Json = "inputSchema",
        }
        optional {
            /// The name to show to people.
            title: Option<String> = "title" since V2025_06_18,
            /// What the tool does, for the model.
            description: Option<String> = "description",
            /// The schema of the structured result. Revisions before 2026-07-28 get one whose root is an object, see
            /// [`lower::output_schema`].
            output_schema: Option<Json> = "outputSchema" since V2025_06_18 via output_schema_at,
            /// Hints on what the tool does.
            annotations: Option<ToolAnnotations> = "annotations" since V2025_03_26,
            /// Icons to show with the name.
            icons: Vec<Icon> = "icons" since V2025_11_25,
            /// How the tool runs.
            execution: Option<ToolExecution> = "execution" since V2025_11_25 until V2025_11_25,
            /// Metadata.
            meta: Meta = "_meta" since V2025_06_18,
        }
    }
}

impl Tool {
    /// A tool with this name that takes arguments of this schema.
    #[must_use]
    pub fn new(name: impl Into<String>, input_schema: Json) -> Tool {
        Tool {
            name: name.into(),
            input_schema,
            title: None,
            description: None,
            output_schema: None,
            annotations: None,
            icons: Vec::new(),
            execution: None,
            meta: Meta::new(),
        }
    }

    /// The name to show to people: the title, or else the title among the annotations, or else the name (MCP-B-09).
    #[must_use]
    pub fn display_name(&self) -> &str {
        let hinted = || self.annotations.as_ref().and_then(|hints| hints.title.as_deref());
        self.title.as_deref().or_else(hinted).unwrap_or(&self.name)
    }

    /// Whether calls of the tool may or must run as tasks, in 2025-11-25.
    #[must_use]
    pub fn task_support(&self) -> TaskSupport {
        self.execution.as_ref().and_then(|execution| execution.task_support).unwrap_or_default()
    }
}

fn output_schema_at(schema: &Option<Json>, revision: Revision) -> Option<Json> {
    schema.as_ref().map(|schema| lower::output_schema(schema, revision))
}

wire! {
    /// Hints on what a tool does. They come from the server: do not base decisions on those of a server that you do not
    /// trust (MCP-T-04).
    #[derive(Default)]
    pub struct ToolAnnotations {
        required {}
        optional {
            /// The name to show to people, if the tool has no title.
            title: Option<String> = "title",
            /// The tool changes nothing. False if absent.
            read_only: Option<bool> = "readOnlyHint",
            /// The tool may delete or overwrite. True if absent; it has a meaning only if the tool is not read-only.
            destructive: Option<bool> = "destructiveHint",
            /// Calling the tool twice changes no more than calling it once. False if absent.
            idempotent: Option<bool> = "idempotentHint",
            /// The tool deals with things outside, such as the web. True if absent.
            open_world: Option<bool> = "openWorldHint",
        }
    }
}

wire! {
    /// How a tool runs.
    #[derive(Default)]
    pub struct ToolExecution {
        required {}
        optional {
            /// Whether calls run as tasks.
            task_support: Option<TaskSupport> = "taskSupport",
        }
    }
}

tokens! {
    /// Whether calls of a tool run as tasks (MCP-TK-01).
    #[derive(Default)]
    pub enum TaskSupport {
        /// They do not.
        #[default]
        Forbidden = "forbidden",
        /// They do if the client asks for it.
        Optional = "optional",
        /// They must.
        Required = "required",
    }
}
