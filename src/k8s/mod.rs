//! The Kubernetes vocabulary: audit events, requests, list options, clients and versions. Nothing here judges them.

pub(crate) mod address;
pub(crate) mod built_in;
pub(crate) mod continue_token;
pub(crate) mod event;
pub(crate) mod go_duration;
pub mod go_url;
pub(crate) mod identity;
pub(crate) mod library;
pub(crate) mod list_options;
pub(crate) mod marks;
pub(crate) mod pod_name;
pub mod request_info;
pub mod secrets;
pub(crate) mod selector;
pub(crate) mod text;
pub mod timestamp;
pub mod user_agent;
pub(crate) mod verb;
pub(crate) mod version;

pub(crate) use address::AddressClass;
pub(crate) use continue_token::ContinueToken;
pub use event::{Event, Stage};
pub use identity::{Identity, Kind};
pub(crate) use library::Library;
pub use list_options::ListOptions;
pub(crate) use marks::{Mark, Marks};
pub use request_info::{RequestInfo, Scope, Verb};
pub use user_agent::AgentProduct;
pub use version::{EtcdVersion, KubeVersion};
