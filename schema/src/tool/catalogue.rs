//! The list of tools: what a model reads before it calls one, and what a host needs to know about each.

/// The server's instructions and the snippet for `CLAUDE.md` both use this text.
pub const MEMORY_FIRST: &str = include_str!("memory_first.md");

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tool {
    Search,
    Get,
    Load,
    Save,
    Stats,
    Reindex,
}

impl Tool {
    /// The order in which hosts list the tools.
    pub const ALL: [Self; 6] = [Self::Search, Self::Get, Self::Load, Self::Save, Self::Stats, Self::Reindex];

    pub fn name(self) -> &'static str {
        match self {
            Self::Search => "memory_search",
            Self::Get => "memory_get",
            Self::Load => "memory_load",
            Self::Save => "memory_save",
            Self::Stats => "memory_stats",
            Self::Reindex => "memory_reindex",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// The name that a host shows to people.
    pub fn title(self) -> &'static str {
        match self {
            Self::Search => "Search memory",
            Self::Get => "Open a memory",
            Self::Load => "Load memory",
            Self::Save => "Save a memory",
            Self::Stats => "Memory statistics",
            Self::Reindex => "Rebuild the index",
        }
    }

    /// The first sentence says when to use the tool.
    pub fn description(self) -> &'static str {
        match self {
            Self::Search => {
                "Use whenever this session may not hold what was decided, learned, asked or done before. Searches \
                 earlier sessions and project notes by words in any language; hits open with memory_get. \
                 If wording or language may differ, also give synonyms, a translation and the likely answer in `also`."
            }
            Self::Get => "Use to read a search hit whole, by id, or lines of a memory file, by path.",
            Self::Load => {
                "Returns long-term memory. Call it at the first message, unless the session began with a brief. `source: full` adds today's log."
            }
            Self::Save => {
                "Use as soon as something is decided, learned or preferred, one self-contained fact per call. Saving \
                 the same text again confirms that it still holds. Types: decision (choice and reason), learning (finding), error_fix (error \
                 and remedy), preference (of the user), convention (how it is done here), task (open step)."
            }
            Self::Stats => "Use to see what memory holds and whether something is wrong with it.",
            Self::Reindex => "Use when search misses what a memory file says.",
        }
    }

    /// The JSON Schemas of the arguments and of the result, generated from the types.
    pub fn schemas(self) -> (&'static str, &'static str) {
        macro_rules! made {
            ($name:literal) => {
                (
                    include_str!(concat!("../../generated/", $name, ".input.json")),
                    include_str!(concat!("../../generated/", $name, ".output.json")),
                )
            };
        }
        match self {
            Self::Search => made!("memory_search"),
            Self::Get => made!("memory_get"),
            Self::Load => made!("memory_load"),
            Self::Save => made!("memory_save"),
            Self::Stats => made!("memory_stats"),
            Self::Reindex => made!("memory_reindex"),
        }
    }

    /// A read-only tool changes no memory.
    pub fn is_read_only(self) -> bool {
        !matches!(self, Self::Save | Self::Reindex)
    }
}

/// A tool with its schemas.
#[cfg(feature = "schemars")]
#[derive(Debug, Clone)]
pub struct ToolDefinition {
    pub tool: Tool,
    pub input_schema: serde_json::Map<String, serde_json::Value>,
    pub output_schema: serde_json::Map<String, serde_json::Value>,
}

/// Generates the schemas from the types. [`Tool::schemas`] must return the same.
#[cfg(feature = "schemars")]
pub fn definitions() -> [ToolDefinition; 6] {
    use super::{
        GetInput, GetOutput, LoadInput, LoadOutput, ReindexInput, ReindexOutput, SaveInput, SaveOutput, SearchInput,
        SearchOutput, StatsInput, StatsOutput,
    };
    Tool::ALL.map(|tool| {
        let (input_schema, output_schema) = match tool {
            Tool::Search => (schema_of::<SearchInput>(), schema_of::<SearchOutput>()),
            Tool::Get => (schema_of::<GetInput>(), schema_of::<GetOutput>()),
            Tool::Load => (schema_of::<LoadInput>(), schema_of::<LoadOutput>()),
            Tool::Save => (schema_of::<SaveInput>(), schema_of::<SaveOutput>()),
            Tool::Stats => (schema_of::<StatsInput>(), schema_of::<StatsOutput>()),
            Tool::Reindex => (schema_of::<ReindexInput>(), schema_of::<ReindexOutput>()),
        };
        ToolDefinition { tool, input_schema, output_schema }
    })
}

/// The JSON Schema of a type, without parts that only cost tokens or that validators reject: `$schema`, titles, number formats, `null` for
/// optional fields, and the doc comments of types.
#[cfg(feature = "schemars")]
fn schema_of<T: schemars::JsonSchema>() -> serde_json::Map<String, serde_json::Value> {
    let settings = schemars::generate::SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    slim_schema(&mut schema);
    match schema {
        serde_json::Value::Object(mut fields) => {
            fields.remove("description");
            // Some hosts reject an object schema without `properties`.
            fields.entry("properties").or_insert_with(|| serde_json::Map::new().into());
            fields
        }
        _ => unreachable!("the schema of a struct is an object"),
    }
}

#[cfg(feature = "schemars")]
fn slim_schema(schema: &mut serde_json::Value) {
    use serde_json::Value;
    match schema {
        Value::Array(items) => items.iter_mut().for_each(slim_schema),
        Value::Object(fields) => {
            fields.retain(|key, value| {
                // A property can have one of these names. Then the value is a schema, not text.
                let says_nothing = matches!(key.as_str(), "title" | "format" | "$schema") && value.is_string();
                let is_obvious = key == "default" && matches!(value, Value::Null | Value::Bool(false));
                !says_nothing && !is_obvious
            });
            if let Some(Value::Array(types)) = fields.get_mut("type") {
                types.retain(|kind| kind != "null");
                if let [single] = types.as_slice() {
                    let single = single.clone();
                    fields.insert("type".to_owned(), single);
                }
            }
            if let Some(Value::Array(variants)) = fields.get_mut("enum") {
                variants.retain(|variant| !variant.is_null());
            }
            inline_optional_types(fields);
            fields.values_mut().for_each(slim_schema);
        }
        _ => {}
    }
}

/// Rewrites `anyOf: [X, null]`, an optional field, as `X`, and a choice of documented constants as a plain `enum`.
#[cfg(feature = "schemars")]
fn inline_optional_types(fields: &mut serde_json::Map<String, serde_json::Value>) {
    use serde_json::Value;
    if let Some(Value::Array(choices)) = fields.get("anyOf") {
        let mut real = choices.iter().filter(|choice| choice.get("type") != Some(&"null".into()));
        if let (Some(Value::Object(only)), None) = (real.next().cloned(), real.next()) {
            fields.remove("anyOf");
            for (key, value) in only {
                fields.entry(key).or_insert(value);
            }
        }
    }
    if let Some(Value::Array(choices)) = fields.get("oneOf") {
        let constants: Option<Vec<Value>> = choices.iter().map(|choice| choice.get("const").cloned()).collect();
        if let Some(constants) = constants {
            fields.remove("oneOf");
            fields.insert("type".to_owned(), "string".into());
            fields.insert("enum".to_owned(), constants.into());
        }
    }
    // Doc comments of enums are for readers of the code.
    if fields.contains_key("enum") {
        fields.remove("description");
    }
}

#[cfg(all(test, feature = "schemars"))]
mod tests {
    use super::*;

    #[test]
    fn tools_cost_a_model_at_most_a_thousand_tokens() {
        let mut characters = 0;
        for definition in definitions() {
            let schema = serde_json::to_string(&definition.input_schema).unwrap();
            characters += definition.tool.name().len() + definition.tool.description().chars().count();
            characters += schema.chars().count();
        }
        assert!(characters <= 4_000, "{characters} characters are {} tokens", characters / 4);
    }

    /// A changed type fails this test once. The test writes the new file, and the next run passes.
    #[test]
    fn generated_schemas_match_the_types() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("generated");
        let mut stale = Vec::new();
        for definition in definitions() {
            for (schema, part) in [(&definition.input_schema, "input"), (&definition.output_schema, "output")] {
                let path = folder.join(format!("{}.{part}.json", definition.tool.name()));
                let text = serde_json::to_string_pretty(schema).unwrap() + "\n";
                if std::fs::read_to_string(&path).ok().as_ref() != Some(&text) {
                    std::fs::create_dir_all(&folder).unwrap();
                    std::fs::write(&path, text).unwrap();
                    stale.push(path);
                }
            }
        }
        assert!(stale.is_empty(), "rewritten, run again and commit: {stale:?}");
    }

    #[test]
    fn tools_embed_the_generated_schemas() {
        for definition in definitions() {
            let read = |text| serde_json::from_str::<serde_json::Map<_, _>>(text).unwrap();
            let (arguments, result) = definition.tool.schemas();
            assert_eq!((read(arguments), read(result)), (definition.input_schema, definition.output_schema));
        }
    }

    #[test]
    fn instructions_fit_the_limit_of_hosts() {
        assert!(MEMORY_FIRST.len() < 2_048, "{} bytes", MEMORY_FIRST.len());
    }

    #[test]
    fn schemas_avoid_keywords_that_hosts_reject() {
        for definition in definitions() {
            for schema in [definition.input_schema, definition.output_schema] {
                assert_eq!(schema["type"], "object");
                let text = serde_json::to_string(&schema).unwrap();
                for bad in ["$ref", "$defs", "anyOf", "oneOf", "allOf", "\"format\"", "null"] {
                    assert!(!text.contains(bad), "{bad} in {text}");
                }
            }
        }
    }
}
