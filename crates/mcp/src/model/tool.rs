//! Tools.

use switchboard_core::Json;

use super::meta::Meta;
use super::wire::{tokens, wire};
use super::{Icon, Revision, lower};

wire! {
    /// A tool, as listed by `tools/list` (MCP-T-02).
    pub struct Tool {
        required {
            /// The name.
            name: String = "name",
            /// The schema of the arguments. Its root must have the type `object`. It is written unchanged.
            input_schema: Json = "inputSchema",
        }
        optional {
            /// The display name.
            title: Option<String> = "title" since V2025_06_18,
            /// A description for the model.
            description: Option<String> = "description",
            /// The schema of the structured result. Before 2026-07-28 the root must be an object, so
            /// [`lower::output_schema`] wraps other schemas.
            output_schema: Option<Json> = "outputSchema" since V2025_06_18 via output_schema_at,
            /// Hints about the behaviour.
            annotations: Option<ToolAnnotations> = "annotations" since V2025_03_26,
            /// Icons for user interfaces.
            icons: Vec<Icon> = "icons" since V2025_11_25,
            /// Settings for the execution.
            execution: Option<ToolExecution> = "execution" since V2025_11_25 until V2025_11_25,
            /// Metadata.
            meta: Meta = "_meta" since V2025_06_18,
        }
    }
}

impl Tool {
    /// A tool with this name and input schema.
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

    /// The display name: the title, the title of the annotations or the name, whichever is found first (MCP-B-09).
    #[must_use]
    pub fn display_name(&self) -> &str {
        let hinted = || self.annotations.as_ref().and_then(|hints| hints.title.as_deref());
        self.title.as_deref().or_else(hinted).unwrap_or(&self.name)
    }

    /// Whether calls run as tasks (2025-11-25).
    #[must_use]
    pub fn task_support(&self) -> TaskSupport {
        self.execution.as_ref().and_then(|execution| execution.task_support).unwrap_or_default()
    }
}

fn output_schema_at(schema: &Option<Json>, revision: Revision) -> Option<Json> {
    schema.as_ref().map(|schema| lower::output_schema(schema, revision))
}

wire! {
    /// Hints about the behaviour of a tool. Do not rely on hints from servers that you do not trust (MCP-T-04).
    #[derive(Default)]
    pub struct ToolAnnotations {
        required {}
        optional {
            /// The display name, if the tool has no title.
            title: Option<String> = "title",
            /// The tool modifies nothing. False if absent.
            read_only: Option<bool> = "readOnlyHint",
            /// The tool may delete or overwrite data. True if absent. Applies only if the tool is not read-only.
            destructive: Option<bool> = "destructiveHint",
            /// Repeated calls with the same arguments have no additional effect. False if absent.
            idempotent: Option<bool> = "idempotentHint",
            /// The tool interacts with external entities, such as the web. True if absent.
            open_world: Option<bool> = "openWorldHint",
        }
    }
}

wire! {
    /// Settings for the execution of a tool.
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
        /// Calls cannot run as tasks.
        #[default]
        Forbidden = "forbidden",
        /// Calls run as tasks if the client requests it.
        Optional = "optional",
        /// Calls must run as tasks.
        Required = "required",
    }
}
