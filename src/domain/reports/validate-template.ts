import { sortFindings, type Finding } from '../refusals/findings.js';
import { checkFinite } from '../schema/finite.js';
import { checkShape } from '../schema/shape.js';
import { listIdleMembers, type ReportBlock } from './block-kinds.js';
import { ReportTemplateDocument } from './template-document.js';

export interface CheckedTemplate {
  /** Document with defaults, without unknown fields; undefined if a finding is an error. */
  readonly document: ReportTemplateDocument | undefined;
  readonly findings: readonly Finding[];
}

/** Checks a report template. */
export function validateTemplate(body: Readonly<Record<string, unknown>>): CheckedTemplate {
  const nonFinite = checkFinite(body);
  const { value, findings } = checkShape(ReportTemplateDocument, body, { unknownFields: 'warning' });
  const all = [
    ...nonFinite,
    ...(value?.blocks.flatMap(reportIdleMembers) ?? []),
    ...findings.filter(({ path }) => nonFinite.every((reported) => reported.path !== path)).map(toBlockFinding),
  ];
  return { document: nonFinite.length > 0 ? undefined : value, findings: sortFindings(all) };
}

/** Reports members of a block that have no effect. */
const reportIdleMembers = (block: ReportBlock, position: number): Finding[] =>
  listIdleMembers(block).map(({ member, value, readers }): Finding => {
    const path = `blocks[${position}].${member}`;
    const message = `${path} has no effect: only ${readers.member} ${readers.of.join(', ')} reads it.`;
    return { severity: 'warning', code: 'NO_EFFECT', path, message, value };
  });

/** Describes an unknown kind of block in the terms of templates. */
function toBlockFinding(finding: Finding): Finding {
  return finding.code === 'NOT_IN_CHOICES' && /^blocks\[\d+\]\.kind$/.test(finding.path)
    ? { ...finding, code: 'UNKNOWN_BLOCK_KIND' }
    : finding;
}

/** Reads a stored body as a template. Returns undefined if it does not match the schema. */
export function readTemplate(body: unknown): ReportTemplateDocument | undefined {
  const result = ReportTemplateDocument.safeParse(body);
  return result.success ? result.data : undefined;
}
