//! All end-to-end tests in one program, so that they link once. `cargo test -p jikime-memory-tests --test e2e queue::` runs
//! one module.

#![cfg(test)]

#[cfg(unix)]
mod asked;
mod backfill;
mod bad_input;
mod bad_lines;
#[cfg(unix)]
mod browse;
mod canary;
mod canary_elsewhere;
mod code_anchors;
mod coding;
mod command_line;
mod contract;
#[cfg(unix)]
mod crash;
mod damage;
mod disk;
#[cfg(unix)]
mod documents;
mod embedding;
mod evaluation;
#[cfg(target_os = "linux")]
mod file_systems;
mod forget;
#[cfg(target_os = "linux")]
mod full_disk;
mod hook_in_trouble;
mod hosts;
mod http;
mod import;
mod import_others;
#[cfg(target_os = "linux")]
mod leaks;
#[cfg(unix)]
mod links;
mod logs;
mod main_job;
mod markdown_is_the_truth;
mod optional_hooks;
mod other_projects;
mod packages;
mod page;
mod peers;
mod prompts;
mod proofs;
mod queue;
mod readers;
mod reading;
mod remote_embedding;
#[cfg(unix)]
mod repairs;
mod resources;
mod retrieval;
mod review;
mod rust_client;
mod searching;
mod server;
mod servers;
mod setup;
#[cfg(unix)]
mod setup_in_git;
#[cfg(unix)]
mod setup_trouble;
mod stories;
#[cfg(unix)]
mod strangers;
mod supply;
mod team;
#[cfg(unix)]
mod team_server;
#[cfg(unix)]
mod trust;
mod turns;
mod upgrades;
