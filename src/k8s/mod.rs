//! The Kubernetes vocabulary: audit events, requests, list options, clients and versions. Nothing here judges them.

pub mod address;
pub mod built_in;
pub mod continue_token;
pub mod event;
pub mod go_duration;
pub mod go_url;
pub mod identity;
pub mod library;
pub mod list_options;
pub mod marks;
pub mod pod_name;
pub mod request_info;
pub mod secrets;
pub mod selector;
pub mod text;
pub mod timestamp;
pub mod user_agent;
pub mod verb;
pub mod version;

pub use address::AddressClass;
pub use continue_token::ContinueToken;
pub use event::{Event, Stage};
pub use identity::{Identity, Kind};
pub use library::Library;
pub use list_options::ListOptions;
pub use marks::{Mark, Marks};
pub use request_info::{RequestInfo, Scope, Verb};
pub use user_agent::AgentProduct;
pub use version::{EtcdVersion, KubeVersion};
