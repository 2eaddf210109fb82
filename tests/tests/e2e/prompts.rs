//! Prompts that hosts offer as slash commands.

use harness::{Era, sandbox};
use rstest::rstest;
use serde_json::{Value, json};

#[rstest]
#[case::legacy(Era::Legacy)]
#[case::modern(Era::Modern)]
fn four_prompts_are_listed_with_their_titles_and_arguments(#[case] era: Era) {
    let sandbox = sandbox!();
    let mut client = sandbox.serve(era);
    assert!(client.greeting()["capabilities"]["prompts"].is_object(), "{}", client.greeting());
    let list = client.request("prompts/list", json!({})).unwrap();
    let seen: Vec<Value> = list["prompts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|prompt| {
            assert!(prompt["description"].as_str().is_some_and(|text| !text.is_empty()), "{prompt:#}");
            let argument = &prompt["arguments"][0];
            json!([prompt["name"], prompt["title"], argument["name"], argument["required"]])
        })
        .collect();
    assert_eq!(
        seen,
        [
            json!(["recall", "Recall a topic", "topic", true]),
            json!(["remember", "Remember this", "text", true]),
            json!(["summarize-session", "Summarize this session", null, null]),
            json!(["review-memory", "Review memory", "topic", false]),
        ]
    );
}

#[rstest]
#[case::recall("recall", json!({ "topic": " 왜 Redis? {text} " }), "\n\n왜 Redis? {text}\n\n")]
#[case::remember("remember", json!({ "text": "Deploys\nare frozen." }), "Remember this:\n\nDeploys\nare frozen.\n\n")]
#[case::summary("summarize-session", json!({}), "session_summary")]
#[case::review("review-memory", json!({}), "propose corrections.\n\n")]
#[case::review_of_a_topic("review-memory", json!({ "topic": "caching" }), "propose corrections. Review only this topic: caching\n\n")]
fn a_prompt_is_one_message_of_the_user_with_the_argument_in_it(
    #[case] name: &str,
    #[case] arguments: Value,
    #[case] says: &str,
) {
    let sandbox = sandbox!();
    let mut client = sandbox.serve(Era::Modern);
    let prompt = client.request("prompts/get", json!({ "name": name, "arguments": arguments })).unwrap();
    let messages = prompt["messages"].as_array().unwrap();
    assert_eq!((messages.len(), &messages[0]["role"]), (1, &json!("user")), "{prompt:#}");
    let text = messages[0]["content"]["text"].as_str().unwrap();
    assert!(text.contains(says), "{text}");
}

#[rstest]
#[case::unknown(json!({ "name": "forget" }), "known prompts are recall, remember, summarize-session, review-memory")]
#[case::no_argument(json!({ "name": "recall" }), "needs the argument topic")]
#[case::blank(json!({ "name": "remember", "arguments": { "text": " \n" } }), "needs the argument text")]
#[case::no_text(json!({ "name": "recall", "arguments": { "topic": 7 } }), "topic is 7, but must be text")]
fn a_prompt_that_cannot_be_given_is_refused_with_what_would_do(#[case] params: Value, #[case] says: &str) {
    let sandbox = sandbox!();
    let mut client = sandbox.serve(Era::Legacy);
    let error = client.request("prompts/get", params).unwrap_err();
    assert_eq!(error.code, -32602);
    assert!(error.message.contains(says), "{}", error.message);
}
