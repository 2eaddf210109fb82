//! The page of `view` without a browser: who gets in, what it answers and what it changes. tests/page plays it in a browser.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use harness::{HttpAnswer, Sandbox, eventually_some, sandbox, send_request};
use serde_json::Value;

/// A served page, and a browser that is signed in to it.
struct OpenPage {
    child: Child,
    authority: String,
    folder: String,
    cookie: String,
    form_token: String,
}

impl OpenPage {
    fn open(sandbox: &Sandbox) -> Self {
        let mut command = sandbox.memory_command();
        command.args(["view", "--no-open"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let address = { lines }.find_map(|line| line.strip_prefix("Open http://").map(str::to_owned)).unwrap();
        let (place, token) = address.split_once("/#").unwrap();
        let (authority, folder) = place.split_once('/').unwrap();
        let mut page = Self {
            child,
            authority: authority.to_owned(),
            folder: folder.to_owned(),
            cookie: String::new(),
            form_token: String::new(),
        };
        let entered = page.enter(token);
        assert_eq!(entered.status, 204, "{}", entered.body);
        let cookie = entered.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
        page.cookie = cookie.split(';').next().unwrap().to_owned();
        assert_eq!(page.enter(token).status, 403, "the token works once");
        let html = page.get("search").body;
        let (_, rest) = html.split_once("name=\"form-token\" content=\"").unwrap();
        page.form_token = rest.split('"').next().unwrap().to_owned();
        page
    }

    fn enter(&self, token: &str) -> HttpAnswer {
        let origin = format!("http://{}", self.authority);
        let headers = [("Origin", origin.as_str()), ("Content-Type", "application/x-www-form-urlencoded")];
        self.send("POST", "enter", &headers, &format!("token={token}"))
    }

    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> HttpAnswer {
        let path = format!("/{}/{path}", self.folder);
        HttpAnswer::read_from(send_request(&self.authority, method, &path, headers, body.as_bytes()))
    }

    fn get(&self, path: &str) -> HttpAnswer {
        self.send("GET", path, &[("Cookie", &self.cookie)], "")
    }

    fn json(&self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{}", answer.body);
        serde_json::from_str(&answer.body).unwrap()
    }

    fn act(&self, form: &str) -> HttpAnswer {
        let origin = format!("http://{}", self.authority);
        let headers = [
            ("Cookie", self.cookie.as_str()),
            ("Origin", &origin),
            ("X-Jikime-Form", &self.form_token),
            ("Content-Type", "application/x-www-form-urlencoded"),
        ];
        self.send("POST", "do", &headers, form)
    }
}

impl Drop for OpenPage {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn save(sandbox: &Sandbox, text: &str) -> String {
    let saved = sandbox.run_cli(["save", "decision", text, "--json"]);
    saved.assert_code(0);
    serde_json::from_str::<Value>(&saved.stdout).unwrap()["id"].as_str().unwrap().to_owned()
}

#[test]
fn page_and_json_show_the_same_memories() {
    let sandbox = sandbox!();
    let id = save(&sandbox, "Cache <b>tokens</b> in Redis");
    let page = OpenPage::open(&sandbox);
    let hit = &page.json("api/search?q=redis")["memories"][0];
    assert_eq!((hit["id"].as_str(), hit["type"].as_str()), (Some(id.as_str()), Some("decision")));
    assert!(page.get("search?q=redis").body.contains("Cache &lt;b&gt;tokens&lt;/b&gt; in <mark>Redis</mark>"));
    assert_eq!(page.json(&format!("api/memories/{}", &id[..8]))["text"], "Cache <b>tokens</b> in Redis");
    assert!(page.json(&format!("api/citations/{id}"))["lines"].to_string().contains("Redis"));
    assert_eq!(page.json("api/stats")["stats"]["memories"], 1);
    for path in
        ["api/sessions", "api/timeline", "api/tasks", "timeline", "sessions", "tasks", "review", "briefs", "health"]
    {
        assert_eq!(page.get(path).status, 200, "{path}");
    }
    assert_eq!(page.get("api/memories/none").status, 404);
    assert_eq!(page.get("search?type=opinion").status, 422);
}

#[test]
fn nobody_else_gets_in() {
    let sandbox = sandbox!();
    save(&sandbox, "Cache tokens in Redis");
    let page = OpenPage::open(&sandbox);
    assert_eq!(page.send("GET", "search", &[], "").status, 401);
    assert_eq!(page.send("GET", "api/search", &[("Cookie", "jikime_view=1")], "").status, 401);
    assert_eq!(page.send("GET", "search", &[("Cookie", &page.cookie), ("Host", "evil.example")], "").status, 421);
    let foreign =
        [("Cookie", page.cookie.as_str()), ("Origin", "https://evil.example"), ("X-Jikime-Form", &page.form_token)];
    assert_eq!(page.send("POST", "do", &foreign, "action=pin").status, 403);
    let entry = page.send("GET", "", &[], "");
    assert_eq!(entry.status, 200);
    assert!(entry.head.contains("content-security-policy: default-src 'none'"), "{}", entry.head);
    assert!(!entry.body.contains("Redis"));
}

#[test]
fn edit_of_a_changed_text_is_refused() {
    let sandbox = sandbox!();
    let id = save(&sandbox, "Cache tokens in Redis");
    let page = OpenPage::open(&sandbox);
    let seen = page.json(&format!("api/memories/{id}"))["digest"].as_str().unwrap().to_owned();
    sandbox.run_cli(["edit", &id, "--text", "Cache tokens in Valkey"]).assert_code(0);
    let refused = page.act(&format!("action=edit&id={id}&seen={seen}&text=Cache+tokens+in+memory"));
    assert_eq!(refused.status, 422, "{}", refused.body);
    assert!(refused.body.contains("changed meanwhile"), "{}", refused.body);
    assert!(sandbox.logs().contains("Valkey"));
}

#[test]
fn deletion_can_be_undone_and_ends_with_the_server() {
    let sandbox = sandbox!();
    let ids = [save(&sandbox, "Cache tokens in Redis"), save(&sandbox, "Deploy on Fridays")];
    let mut page = OpenPage::open(&sandbox);
    for id in &ids {
        let done = page.act(&format!("action=forget&id={id}"));
        assert_eq!(done.status, 200, "{}", done.body);
    }
    assert_eq!(page.json("api/search")["memories"], serde_json::json!([]));
    assert_eq!(page.act(&format!("action=undo&id={}", ids[0])).status, 200);
    assert_eq!(page.act(&format!("action=undo&id={}", ids[0])).status, 422, "only once");
    assert!(sandbox.logs().contains("Fridays"), "nothing is deleted yet");
    #[cfg(unix)]
    {
        Command::new("kill").args(["-TERM", &page.child.id().to_string()]).status().unwrap();
        eventually_some(Duration::from_secs(30), || page.child.try_wait().unwrap());
        let logs = sandbox.logs();
        assert!(logs.contains("Redis") && !logs.contains("Fridays"), "{logs}");
    }
}
