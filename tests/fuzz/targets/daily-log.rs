#![no_main]

use jikime_memory_fuzz::readers::log;

libfuzzer_sys::fuzz_target!(|input: &[u8]| jikime_memory_fuzz::must_bear(|_| log(input)));
