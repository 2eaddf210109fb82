//! The MCP registry's metadata, checked by its published rules for `server.json` (2025-12-11).

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

/// The rules for the fields that we use; other fields are forbidden.
fn rules() -> Value {
    let text = |most: u64| json!({ "type": "string", "minLength": 1, "maxLength": most });
    let package = json!({
        "type": "object",
        "required": ["registryType", "identifier", "transport", "fileSha256"],
        "additionalProperties": false,
        "properties": {
            "registryType": { "const": "mcpb" },
            "identifier": { "type": "string", "pattern": "^https://.+/[^/]+\\.mcpb$" },
            "fileSha256": { "type": "string", "pattern": "^[a-f0-9]{64}$" },
            "transport": { "const": { "type": "stdio" } },
        },
    });
    let repository =
        json!({ "type": "object", "required": ["url", "source"], "properties": { "source": { "const": "github" } } });
    json!({
        "type": "object",
        "required": ["$schema", "name", "description", "version"],
        "additionalProperties": false,
        "properties": {
            "$schema": { "const": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json" },
            "name": { "type": "string", "minLength": 3, "maxLength": 200, "pattern": "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$" },
            "title": text(100),
            "description": text(100),
            "version": { "type": "string", "pattern": "^[0-9]+\\.[0-9]+\\.[0-9]+(-[0-9A-Za-z.-]+)?$", "maxLength": 255 },
            "repository": repository,
            "packages": { "type": "array", "items": package },
        },
    })
}

#[test]
fn registry_accepts_server_and_release_metadata() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut server: Value = serde_json::from_slice(&fs::read(root.join("server/server.json")).unwrap()).unwrap();
    let check = |server: &Value| jsonschema::validate(&rules(), server).map_err(|error| error.to_string());
    check(&server).unwrap();
    // The release script adds these fields, which it contains literally.
    let script = fs::read_to_string(root.join("server/bundle/registry")).unwrap();
    for field in
        ["registryType\": \"mcpb\"", "\"identifier\"", "\"fileSha256\"", "\"transport\": {\"type\": \"stdio\"}"]
    {
        assert!(script.contains(field), "{field}");
    }
    server["packages"] = json!([{
        "registryType": "mcpb", "identifier": "https://example.com/v1/jikime-memory.mcpb",
        "fileSha256": "0".repeat(64), "transport": { "type": "stdio" },
    }]);
    check(&server).unwrap();
    server["description"] = "x".repeat(101).into();
    assert!(check(&server).is_err());
}
