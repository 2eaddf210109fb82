#![no_main]

use harness::proof::fuzz::{Target, must_bear};

libfuzzer_sys::fuzz_target!(|input: &[u8]| must_bear(Target::Query, input));
