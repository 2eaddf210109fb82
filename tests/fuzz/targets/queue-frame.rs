#![no_main]

use jikime_memory_fuzz::readers::frame;

libfuzzer_sys::fuzz_target!(|input: &[u8]| jikime_memory_fuzz::must_bear(|_| frame(input)));
