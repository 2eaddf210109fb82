//! Where hosts keep what their user decides on this machine, as the environment tells it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use schema::project::{home, personal};
use tools::error::ToolError;

/// The directories that settings lie in. Every one may be unknown.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places {
    pub(crate) home: Option<PathBuf>,
    /// `CLAUDE_CONFIG_DIR`, which moves everything of Claude Code.
    claude: Option<PathBuf>,
    /// `CODEX_HOME`.
    codex: Option<PathBuf>,
    /// Where programs with windows keep their settings.
    desktop: Option<PathBuf>,
    /// Where Zed keeps them.
    zed: Option<PathBuf>,
    /// Where we keep what is our user's.
    own: Option<PathBuf>,
    pub(crate) path: Option<OsString>,
}

impl Places {
    pub(crate) fn from_environment() -> Self {
        let variable = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = home();
        let below = |folder: &str| home.as_ref().map(|home| home.join(folder));
        let xdg = variable("XDG_CONFIG_HOME").or_else(|| below(".config"));
        let desktop = if cfg!(windows) {
            variable("APPDATA").or_else(|| below("AppData/Roaming"))
        } else if cfg!(target_os = "macos") {
            below("Library/Application Support")
        } else {
            xdg.clone()
        };
        let zed = match &desktop {
            Some(desktop) if cfg!(windows) => Some(desktop.join("Zed")),
            _ if cfg!(target_os = "macos") => below(".config/zed"),
            _ => xdg.map(|config| config.join("zed")),
        };
        Self {
            claude: variable("CLAUDE_CONFIG_DIR"),
            codex: variable("CODEX_HOME").or_else(|| below(".codex")),
            desktop,
            zed,
            own: personal().ok().and_then(|project| Some(project.root.parent()?.to_owned())),
            path: std::env::var_os("PATH"),
            home,
        }
    }

    /// The folder of Claude Code's settings and instructions.
    pub(crate) fn claude(&self) -> Option<PathBuf> {
        self.claude.clone().or_else(|| self.in_home(".claude"))
    }

    /// The file in which Claude Code lists servers.
    pub(crate) fn claude_json(&self) -> Option<PathBuf> {
        self.claude.as_ref().map(|claude| claude.join(".claude.json")).or_else(|| self.in_home(".claude.json"))
    }

    pub(super) fn claude_desktop(&self) -> Option<PathBuf> {
        self.desktop.as_ref().map(|desktop| desktop.join("Claude"))
    }

    pub(super) fn codex(&self) -> Option<PathBuf> {
        self.codex.clone()
    }

    pub(super) fn cursor(&self) -> Option<PathBuf> {
        self.in_home(".cursor")
    }

    pub(super) fn vscode(&self) -> Option<PathBuf> {
        self.desktop.as_ref().map(|desktop| desktop.join("Code").join("User"))
    }

    pub(super) fn gemini(&self) -> Option<PathBuf> {
        self.in_home(".gemini")
    }

    pub(super) fn zed(&self) -> Option<PathBuf> {
        self.zed.clone()
    }

    /// Newer builds leave the inner folder out.
    pub(super) fn windsurf(&self) -> Option<PathBuf> {
        let folder = self.in_home(".codeium")?;
        let inner = folder.join("windsurf");
        Some(if folder.join("mcp_config.json").exists() && !inner.join("mcp_config.json").exists() {
            folder
        } else {
            inner
        })
    }

    /// Where it is written down what was changed for all projects.
    pub(super) fn record(&self) -> Option<PathBuf> {
        self.own.as_ref().map(|own| own.join("setup.json"))
    }

    fn in_home(&self, name: &str) -> Option<PathBuf> {
        self.home.as_ref().map(|home| home.join(name))
    }

    /// Refuses a home directory that is not there: what was written for it, nobody would read.
    pub(crate) fn check_home(&self) -> Result<(), ToolError> {
        match &self.home {
            Some(home) if home.is_dir() => Ok(()),
            Some(home) => {
                Err(ToolError::NotFound(format!("the home directory {} does not exist; check HOME", home.display())))
            }
            None => Err(ToolError::NotFound("no home directory is known; set HOME".to_owned())),
        }
    }

    /// A path as people write it.
    pub(crate) fn shown(&self, path: &Path) -> String {
        match self.home.as_ref().and_then(|home| path.strip_prefix(home).ok()) {
            Some(rest) if !rest.as_os_str().is_empty() => Path::new("~").join(rest).display().to_string(),
            _ => path.display().to_string(),
        }
    }
}
