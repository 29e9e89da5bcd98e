import type { Finding } from '../refusals/findings.js';
import { refuseWithFindings } from '../refusals/refusal.js';
import { findRunUse, type ReportBlock } from './block-kinds.js';
import type { ReportTemplateDocument } from './template-document.js';

/** Indices requested for a report. */
export interface RequestedIndices {
  readonly index_id: string | null;
  readonly index_ids: readonly string[] | null;
}

/**
 * Returns the template with an index for every block. A block without an index uses the indices of the request.
 * @throws Refusal VALIDATION_FAILED, INDEX_REQUIRED
 */
export function bindTemplate(
  template: ReportTemplateDocument,
  requestedIndices: RequestedIndices,
): ReportTemplateDocument {
  const findings = reportBothIndexFields(requestedIndices);
  if (findings.length > 0) throw refuseWithFindings('request', findings);
  const ids = requestedIndices.index_ids ?? (requestedIndices.index_id === null ? [] : [requestedIndices.index_id]);
  if (ids.length > 0 && requestsIndices(template)) return repeatTemplate(template, ids);
  // The requested index_id is ignored if every block has an index.
  if (requestedIndices.index_ids !== null) throw refuseWithFindings('request', [refuseNothingToBind(template)]);
  const unbound = template.blocks.flatMap((block, i) => (needsIndex(block) ? [reportUnboundBlock(block, i)] : []));
  if (unbound.length > 0) throw refuseWithFindings('report template', unbound, 'INDEX_REQUIRED');
  return template;
}

/**
 * Repeats the template for several indices, each on a new page. Blocks without an index are repeated for each index.
 * Blocks with an index occur once. If they follow the last repeated block, they are placed at the end.
 */
export function repeatTemplate(
  template: ReportTemplateDocument,
  indexIds: readonly (string | null)[],
): ReportTemplateDocument {
  const { blocks } = template;
  const end = blocks.findLastIndex(acceptsIndex) + 1;
  const boundBlocks = indexIds.flatMap((indexId, k) =>
    blocks.slice(0, end).flatMap((block): ReportBlock[] => {
      if (!acceptsIndex(block)) return k === 0 ? [block] : [];
      return [{ ...block, index_id: indexId, ...(block.kind === 'header' && k > 0 ? { new_page: true } : {}) }];
    }),
  );
  return { ...template, blocks: [...boundBlocks, ...blocks.slice(end)] };
}

function acceptsIndex(block: ReportBlock): boolean {
  return block.index_id === null && findRunUse(block) !== 'never';
}

function needsIndex(block: ReportBlock): boolean {
  return block.index_id === null && findRunUse(block) === 'always';
}

function reportUnboundBlock({ kind }: ReportBlock, position: number): Finding {
  const path = `blocks[${position}].index_id`;
  const message = `${path} is required, or index_id or index_ids of the request, because a ${kind} block shows the run of an index.`;
  return { severity: 'error', code: 'REQUIRED', path, message };
}

/** Returns true if a block of the template uses an index of the request. */
export const requestsIndices = ({ blocks }: ReportTemplateDocument): boolean => blocks.some(acceptsIndex);

function refuseNothingToBind({ template_id: id }: ReportTemplateDocument): Finding {
  const path = 'index_ids';
  const message = `${path} is present, but no block of the template ${id} uses it. All blocks that show a run have an index.`;
  return { severity: 'error', code: 'OUT_OF_RANGE', path, message };
}

function reportBothIndexFields({ index_id: id, index_ids: ids }: RequestedIndices): Finding[] {
  if (ids === null) return [];
  if (id !== null) {
    const message = 'Only one of index_id and index_ids can be present.';
    return [{ severity: 'error', code: 'OUT_OF_RANGE', path: 'index_ids', message }];
  }
  return ids.flatMap((indexId, i): Finding[] => {
    const first = ids.indexOf(indexId);
    if (first === i) return [];
    const message = `index_ids[${i}] is ${indexId}, the same index as index_ids[${first}].`;
    return [{ severity: 'error', code: 'DUPLICATE_ID', path: `index_ids[${i}]`, message, value: indexId }];
  });
}
