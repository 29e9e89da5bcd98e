import { isOverlayDocument, type IndexDocument } from '#domain/documents/index-document.js';

/**
 * A document with the schedule that it is rebalanced by: that of an overlay is the one of the index beneath it, on the
 * calendar of that one, that of a blend its own.
 *
 * @param indexOf gives an index by its id, or throws
 */
export async function scheduledDocument(
  document: IndexDocument,
  indexOf: (indexId: string) => Promise<IndexDocument>,
): Promise<IndexDocument> {
  const passed = new Set<string>();
  let beneath = document;
  while (isOverlayDocument(beneath) && !passed.has(beneath.id)) {
    passed.add(beneath.id);
    const { overlay, source_index_id: source } = beneath;
    if (overlay.type === 'blend') return { ...document, calendar: beneath.calendar, rebalance: overlay.rebalance };
    if (source === undefined) break;
    beneath = await indexOf(source);
  }
  return { ...document, calendar: beneath.calendar, rebalance: beneath.rebalance };
}
