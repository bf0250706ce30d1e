//! Reading logs: every input format, whole and damaged, gives the same report however it is read.

#[allow(dead_code, reason = "other binaries use the rest")]
mod support;

mod reading {
    mod allocations;
    mod any_damage;
    mod begun;
    mod conservation;
    mod damage;
    mod decoder;
    mod envelopes;
    mod etcd_log;
    mod etcd_matching;
    mod flood;
    mod fuzz_corpus;
    mod fuzz_smoke;
    mod inputs;
    mod joined;
    mod json_records;
    mod over_time;
    mod patterns;
    mod properties;
    mod samples;
    mod server_log;
    mod strange;
}
