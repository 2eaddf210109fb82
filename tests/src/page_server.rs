//! The page of `view` under test, and requests of a browser that is signed in to it.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::http_server::{HttpAnswer, send_request};
use crate::program_output::end;

/// A served page, and a browser that is signed in to it.
#[derive(Debug)]
pub struct PageServer {
    child: Child,
    authority: String,
    folder: String,
    cookie: String,
    form_token: String,
}

impl PageServer {
    pub fn cookie(&self) -> &str {
        &self.cookie
    }

    pub fn form_token(&self) -> &str {
        &self.form_token
    }

    /// Sends SIGTERM and waits for the end.
    #[cfg(unix)]
    #[track_caller]
    pub fn terminate(mut self) {
        let process = self.child.id().to_string();
        Command::new("kill").args(["-TERM", &process]).status().expect("a shell utility");
        self.child.wait().expect("a child of this process can be waited for");
    }

    /// Starts `view` with a command for the program, and signs in.
    #[track_caller]
    pub fn start(mut command: Command) -> Self {
        command.args(["view", "--no-open"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let lines = BufReader::new(child.stderr.take().expect("standard error is piped")).lines().map_while(Result::ok);
        let address = { lines }
            .find_map(|line| line.strip_prefix("Open http://").map(str::to_owned))
            .expect("the page tells its address");
        let (place, token) = address.split_once("/#").expect("a token");
        let (authority, folder) = place.split_once('/').expect("a folder");
        let mut page = Self {
            child,
            authority: authority.to_owned(),
            folder: folder.to_owned(),
            cookie: String::new(),
            form_token: String::new(),
        };
        let entered = page.enter(token);
        assert_eq!(entered.status, 204, "{}", entered.body);
        let cookie = entered.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
        page.cookie = cookie.split(';').next().unwrap_or_default().to_owned();
        assert_eq!(page.enter(token).status, 403, "the token works once");
        let html = page.get("search").body;
        let (_, rest) = html.split_once("name=\"form-token\" content=\"").expect("a token of forms");
        page.form_token = rest.split('"').next().unwrap_or_default().to_owned();
        page
    }

    /// Exchanges a token for a cookie.
    #[track_caller]
    pub fn enter(&self, token: &str) -> HttpAnswer {
        let origin = format!("http://{}", self.authority);
        let headers = [("Origin", origin.as_str()), ("Content-Type", "application/x-www-form-urlencoded")];
        self.send("POST", "enter", &headers, &format!("token={token}"))
    }

    /// Sends a request to a path in the folder of the page.
    #[track_caller]
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> HttpAnswer {
        let path = format!("/{}/{path}", self.folder);
        HttpAnswer::read_from(send_request(&self.authority, method, &path, headers, body.as_bytes()))
    }

    /// Gets a path as the browser.
    #[track_caller]
    pub fn get(&self, path: &str) -> HttpAnswer {
        self.send("GET", path, &[("Cookie", &self.cookie)], "")
    }

    /// Gets JSON as the browser.
    #[track_caller]
    pub fn json(&self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{}", answer.body);
        serde_json::from_str(&answer.body).expect("JSON")
    }

    /// Sends a form as the browser.
    #[track_caller]
    pub fn act(&self, form: &str) -> HttpAnswer {
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

impl Drop for PageServer {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}
