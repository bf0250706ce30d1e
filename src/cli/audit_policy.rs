//! `kubetoll audit-policy`: the audit policy that kubetoll needs from kube-apiserver.

use super::args::AuditPolicyArgs;
use super::exit_status::SUCCESS;
use super::output::TextOutput;

/// The policy, with a comment on each line.
const POLICY: &str = include_str!("audit-policy.yaml");

pub(super) fn run(args: &AuditPolicyArgs) -> anyhow::Result<u8> {
    TextOutput::prepare(args.output.as_deref())?.write_with(|out| out.write_all(POLICY.as_bytes()))?;
    Ok(SUCCESS)
}
