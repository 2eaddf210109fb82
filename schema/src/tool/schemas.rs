//! Generates the JSON Schemas of the tools from their types. The test that checks the files also writes them.

use std::fs;
use std::path::Path;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::{
    GetInput, GetOutput, LoadInput, LoadOutput, MEMORY_FIRST, ReindexInput, ReindexOutput, SaveInput, SaveOutput,
    SearchInput, SearchOutput, StatsInput, StatsOutput, Tool,
};

#[test]
fn tools_cost_a_model_at_most_a_thousand_tokens() {
    let mut characters = 0;
    for (tool, input, _) in definitions() {
        let schema = serde_json::to_string(&input).unwrap();
        characters += tool.name().len() + tool.description().chars().count();
        characters += schema.chars().count();
    }
    assert!(characters <= 4_000, "{characters} characters are {} tokens", characters / 4);
}

/// A changed type fails this test once. The test writes the new file, and the next run passes.
#[test]
fn generated_schemas_match_the_types() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("generated");
    let mut stale = Vec::new();
    for (tool, input, output) in definitions() {
        for (schema, part) in [(input, "input"), (output, "output")] {
            let path = folder.join(format!("{}.{part}.json", tool.name()));
            let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
            if fs::read_to_string(&path).ok().as_ref() != Some(&text) {
                fs::create_dir_all(&folder).unwrap();
                fs::write(&path, text).unwrap();
                stale.push(path);
            }
        }
    }
    assert!(stale.is_empty(), "rewritten, run again and commit: {stale:?}");
}

#[test]
fn tools_embed_the_generated_schemas() {
    for (tool, input, output) in definitions() {
        let read = |text| serde_json::from_str::<Map<_, _>>(text).unwrap();
        let (arguments, result) = tool.schemas();
        assert_eq!((read(arguments), read(result)), (input, output));
    }
}

#[test]
fn instructions_fit_the_limit_of_hosts() {
    assert!(MEMORY_FIRST.len() < 2_048, "{} bytes", MEMORY_FIRST.len());
}

#[test]
fn schemas_avoid_keywords_that_hosts_reject() {
    for (_, input, output) in definitions() {
        for schema in [input, output] {
            assert_eq!(schema["type"], "object");
            let text = serde_json::to_string(&schema).unwrap();
            for bad in ["$ref", "$defs", "anyOf", "oneOf", "allOf", "\"format\"", "null"] {
                assert!(!text.contains(bad), "{bad} in {text}");
            }
        }
    }
}

type SchemaFields = Map<String, Value>;

/// Generates the schemas of the arguments and of the result of each tool. [`Tool::schemas`] must return the same.
pub(super) fn definitions() -> [(Tool, SchemaFields, SchemaFields); 6] {
    Tool::ALL.map(|tool| match tool {
        Tool::Search => (tool, schema_of::<SearchInput>(), schema_of::<SearchOutput>()),
        Tool::Get => (tool, schema_of::<GetInput>(), schema_of::<GetOutput>()),
        Tool::Load => (tool, schema_of::<LoadInput>(), schema_of::<LoadOutput>()),
        Tool::Save => (tool, schema_of::<SaveInput>(), schema_of::<SaveOutput>()),
        Tool::Stats => (tool, schema_of::<StatsInput>(), schema_of::<StatsOutput>()),
        Tool::Reindex => (tool, schema_of::<ReindexInput>(), schema_of::<ReindexOutput>()),
    })
}

/// The JSON Schema of a type, without parts that only cost tokens or that validators reject: `$schema`, titles, number formats, `null` for
/// optional fields, and the doc comments of types.
fn schema_of<T: JsonSchema>() -> SchemaFields {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    let mut fields = std::mem::take(schema.ensure_object());
    slim_object(&mut fields);
    fields.remove("description");
    // Some hosts reject an object schema without `properties`.
    fields.entry("properties").or_insert_with(|| Map::new().into());
    fields
}

fn slim_schema(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(slim_schema),
        Value::Object(fields) => slim_object(fields),
        _ => {}
    }
}

fn slim_object(fields: &mut SchemaFields) {
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

/// Rewrites `anyOf: [X, null]`, an optional field, as `X`, and a choice of documented constants as a plain `enum`.
fn inline_optional_types(fields: &mut SchemaFields) {
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
