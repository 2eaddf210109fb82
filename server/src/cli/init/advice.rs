//! What people are told after a set-up: what their host does now, and the commands that look, check and undo, as they work for what was
//! set up and from where they were called.

use crate::setup::host::{Host, Scope};

/// What happens when a host starts anew.
pub(super) fn what_comes(hosts: &[(Host, Scope)]) -> String {
    let asks = hosts.iter().any(|(host, scope)| host.asks_for_trust(*scope));
    let captures = hosts.iter().any(|(host, _)| *host == Host::ClaudeCode);
    let asks = if asks { "it asks once whether you trust the server, and " } else { "" };
    match captures {
        true if asks.is_empty() => "it remembers what you do from then on".to_owned(),
        true => format!("{asks}remembers what you do from then on"),
        false => format!("{asks}its model finds memory_search and memory_save among its tools"),
    }
}

/// How to look, to check and to undo.
pub(super) fn commands(hosts: &[(Host, Scope)]) -> String {
    let of_user: Vec<Host> = hosts.iter().filter(|(_, scope)| *scope == Scope::User).map(|(host, _)| *host).collect();
    let is_personal = hosts.iter().all(|(host, scope)| host.is_personal(*scope));
    let (look, check) = if is_personal {
        ("`jikime-memory --personal list`", "`jikime-memory --personal doctor`")
    } else if of_user.len() == hosts.len() {
        ("`jikime-memory list` in a project", "`jikime-memory doctor`")
    } else {
        ("`jikime-memory list`", "`jikime-memory doctor`")
    };
    let mut undo = Vec::new();
    if of_user.len() < hosts.len() {
        undo.push("`jikime-memory uninstall`".to_owned());
    }
    if !of_user.is_empty() {
        let is_usual = of_user.iter().all(|host| host.usual_scope() == Scope::User);
        let scope = if is_usual { "" } else { " --scope user" };
        let named: String = of_user.iter().map(|host| format!(" --host {}", host.name())).collect();
        undo.push(format!("`jikime-memory uninstall{scope}{named}`"));
    }
    format!("Look with {look}, check with {check}, undo with {}.", undo.join(" and "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_advised_fits_what_was_set_up() {
        use Host::{ClaudeCode, ClaudeDesktop, Codex, Vscode, Windsurf};
        use Scope::{Project, User};
        let told = |hosts: &[(Host, Scope)]| format!("{}\n{}", what_comes(hosts), commands(hosts));
        insta::assert_snapshot!(told(&[(ClaudeCode, Project)]), @r"
        it asks once whether you trust the server, and remembers what you do from then on
        Look with `jikime-memory list`, check with `jikime-memory doctor`, undo with `jikime-memory uninstall`.
        ");
        insta::assert_snapshot!(told(&[(ClaudeCode, User)]), @r"
        it remembers what you do from then on
        Look with `jikime-memory list` in a project, check with `jikime-memory doctor`, undo with `jikime-memory uninstall --scope user --host claude-code`.
        ");
        insta::assert_snapshot!(told(&[(ClaudeDesktop, User), (Windsurf, User)]), @r"
        its model finds memory_search and memory_save among its tools
        Look with `jikime-memory --personal list`, check with `jikime-memory --personal doctor`, undo with `jikime-memory uninstall --host claude-desktop --host windsurf`.
        ");
        insta::assert_snapshot!(told(&[(Codex, Project), (ClaudeDesktop, User)]), @r"
        its model finds memory_search and memory_save among its tools
        Look with `jikime-memory list`, check with `jikime-memory doctor`, undo with `jikime-memory uninstall` and `jikime-memory uninstall --host claude-desktop`.
        ");
        assert!(what_comes(&[(Vscode, Project)]).starts_with("it asks once"));
    }
}
