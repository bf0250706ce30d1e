//! `kubetoll audit-policy`: what kube-apiserver should log for kubetoll.

use super::DONE;
use super::args::AuditPolicyArgs;
use super::output::Output;

/// The policy, with a reason for each of its lines.
const POLICY: &str = include_str!("audit-policy.yaml");

pub(super) fn run(args: &AuditPolicyArgs) -> anyhow::Result<u8> {
    Output::prepare(args.output.as_deref())?.write_with(|out| out.write_all(POLICY.as_bytes()))?;
    Ok(DONE)
}
