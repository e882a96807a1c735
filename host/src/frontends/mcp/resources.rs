//! What calls left, as MCP's resources: each caller sees its own.
//!
//! Keeps nothing; the engine does.

use rmcp::model::{
    ErrorData, ListResourceTemplatesResult, ListResourcesResult, ReadResourceResponse,
    ReadResourceResult, ResourceTemplate,
};

use super::answer::{contents, resource};
use super::listing::{binding, page};
use super::shared::Shared;
use crate::contract::escape::clipped_line;
use crate::contract::result::{Attachment, AttachmentKind};
use crate::frontends::access::Access;

/// Bytes of an address that are repeated.
const URI_SHOWN: usize = 200;

/// A page of what the caller's calls left, the oldest first.
pub(super) fn list(
    shared: &Shared,
    access: &Access,
    cursor: Option<&str>,
) -> Result<ListResourcesResult, ErrorData> {
    let mut all = shared.host.attachments(access.context());
    all.retain(|attachment| is_here(attachment));
    let binding = binding("resources", access);
    let max = shared.settings.bounds.page;
    let (page, next) = page(&shared.codec, &binding, &all, cursor, max, |it| &it.uri)?;
    let page = page.iter().map(|attachment| resource(attachment)).collect();
    let mut result = ListResourcesResult::with_all_items(page);
    result.next_cursor = next;
    Ok(result)
}

/// Where what calls leave stands.
pub(super) fn templates() -> ListResourceTemplatesResult {
    let template = ResourceTemplate::new("belljar://result/{call}/{n}", "what a call left")
        .with_description("An output that was too long to show whole, or another attachment.");
    ListResourceTemplatesResult::with_all_items(vec![template])
}

/// One thing that a call left.
pub(super) fn read(
    shared: &Shared,
    access: &Access,
    uri: &str,
) -> Result<ReadResourceResponse, ErrorData> {
    let found = shared.host.attachment(access.context(), uri).filter(|it| is_here(it));
    let attachment = found.ok_or_else(|| {
        let uri = clipped_line(uri, URI_SHOWN);
        let data = serde_json::json!({ "uri": uri });
        ErrorData::resource_not_found(
            format!("nothing stands under `{uri}`, or no longer"),
            Some(data),
        )
    })?;
    let result = ReadResourceResult::new(vec![contents(&attachment, uri)]);
    Ok(result.into())
}

/// A link says where something else stands; there is nothing to read here.
fn is_here(attachment: &Attachment) -> bool {
    !matches!(attachment.kind, AttachmentKind::ResourceLink { .. })
}
