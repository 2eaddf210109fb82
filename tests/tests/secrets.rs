//! How many secrets are taken out, and how much that is none. The tables that say what is one are those of the unit tests.

use harness::proof::secrets::run;

#[test]
fn nearly_all_secrets_are_taken_out_and_hardly_anything_that_is_none() {
    let tally = run();
    let told = format!("{}\n{}", tally.measured, tally.findings.join("\n"));
    let count = |what: &str| tally.findings.iter().filter(|finding| finding.starts_with(what)).count();
    let (left, changed) = (count("left as it is"), count("no secret in"));
    assert_eq!(tally.findings.len(), left + changed, "something is cleaned again or grows: {told}");
    assert!(tally.rounds > 20_000, "too little was looked at: {told}");
    assert!(left <= 3 && changed <= tally.rounds / 2_000, "{told}");
}
