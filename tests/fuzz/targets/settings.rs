#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| jikime_memory_fuzz::must_bear(|reader| reader.settings(input)));
