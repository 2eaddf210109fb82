//! The text after a setup: what the host does now, and the commands to use, check and undo it.

use crate::setup::host::{Host, SetupScope};

/// What the host does after a restart.
pub(super) fn next_session_text(hosts: &[(Host, SetupScope)]) -> String {
    let asks = hosts.iter().any(|(host, scope)| host.asks_for_trust(*scope));
    let captures = hosts.iter().any(|(host, _)| host.hook_host().is_some());
    let asks = match (asks, hosts.iter().any(|(host, _)| *host == Host::Codex)) {
        (true, true) => "it asks once whether you trust the server and the hooks, and ",
        (true, false) => "it asks once whether you trust the server, and ",
        (false, true) => "it asks once whether you trust the hooks, and ",
        (false, false) => "",
    };
    match captures {
        true if asks.is_empty() => "it records your sessions from then on".to_owned(),
        true => format!("{asks}records your sessions from then on"),
        false => format!("{asks}its model can use memory_search and memory_save"),
    }
}

/// The commands to list, check and undo.
pub(super) fn command_hints(hosts: &[(Host, SetupScope)]) -> String {
    let of_user: Vec<Host> =
        hosts.iter().filter(|(_, scope)| *scope == SetupScope::User).map(|(host, _)| *host).collect();
    let is_personal = hosts.iter().all(|(host, scope)| host.is_personal(*scope));
    let (list, check) = if is_personal {
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
        let is_usual = of_user.iter().all(|host| host.default_scope() == SetupScope::User);
        let scope = if is_usual { "" } else { " --scope user" };
        let named: String = of_user.iter().map(|host| format!(" --host {}", host.name())).collect();
        undo.push(format!("`jikime-memory uninstall{scope}{named}`"));
    }
    format!("List memories with {list}, check with {check}, undo with {}.", undo.join(" and "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_fits_the_setup() {
        use Host::{ClaudeCode, ClaudeDesktop, Codex, Vscode, Windsurf};
        use SetupScope::{Project, User};
        let advice = |hosts: &[(Host, SetupScope)]| format!("{}\n{}", next_session_text(hosts), command_hints(hosts));
        insta::assert_snapshot!(advice(&[(ClaudeCode, Project)]), @r"
        it asks once whether you trust the server, and records your sessions from then on
        List memories with `jikime-memory list`, check with `jikime-memory doctor`, undo with `jikime-memory uninstall`.
        ");
        insta::assert_snapshot!(advice(&[(ClaudeCode, User)]), @r"
        it records your sessions from then on
        List memories with `jikime-memory list` in a project, check with `jikime-memory doctor`, undo with `jikime-memory uninstall --scope user --host claude-code`.
        ");
        insta::assert_snapshot!(advice(&[(ClaudeDesktop, User), (Windsurf, User)]), @r"
        it records your sessions from then on
        List memories with `jikime-memory --personal list`, check with `jikime-memory --personal doctor`, undo with `jikime-memory uninstall --host claude-desktop --host windsurf`.
        ");
        insta::assert_snapshot!(advice(&[(Codex, Project), (ClaudeDesktop, User)]), @r"
        it asks once whether you trust the hooks, and records your sessions from then on
        List memories with `jikime-memory list`, check with `jikime-memory doctor`, undo with `jikime-memory uninstall` and `jikime-memory uninstall --host claude-desktop`.
        ");
        assert!(next_session_text(&[(Vscode, Project)]).starts_with("it asks once"));
    }
}
