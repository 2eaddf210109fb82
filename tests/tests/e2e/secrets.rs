//! Recall and precision of redaction. The unit tests have the tables of secrets.

use harness::proof::secrets::run;

#[test]
fn secrets_are_redacted_with_few_false_positives() {
    let tally = run();
    let told = format!("{}\n{}", tally.measured, tally.findings.join("\n"));
    let count = |what: &str| tally.findings.iter().filter(|finding| finding.starts_with(what)).count();
    let (left, changed) = (count("left as it is"), count("no secret in"));
    assert_eq!(tally.findings.len(), left + changed, "something is cleaned again or grows: {told}");
    assert!(tally.rounds > 20_000, "too little was looked at: {told}");
    assert!(left <= 3 && changed <= tally.rounds / 2_000, "{told}");
}
