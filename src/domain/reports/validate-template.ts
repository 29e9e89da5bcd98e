import { orderFindings, type Finding } from '../findings.js';
import { nonFiniteFindings } from '../finite.js';
import { checkShape } from '../shape.js';
import { ReportTemplateDocument } from './template-document.js';

export interface CheckedTemplate {
  /** The document with its defaults, unknown fields dropped; undefined when a finding is an error. */
  readonly document: ReportTemplateDocument | undefined;
  readonly findings: readonly Finding[];
}

/** Everything there is to say about a template. */
export function validateTemplate(body: Readonly<Record<string, unknown>>): CheckedTemplate {
  const nonFinite = nonFiniteFindings(body);
  const { value, findings } = checkShape(ReportTemplateDocument, body, { unknownFields: 'warning' });
  const all = [
    ...nonFinite,
    ...findings.filter(({ path }) => nonFinite.every((reported) => reported.path !== path)).map(asBlockFinding),
  ];
  return { document: nonFinite.length > 0 ? undefined : value, findings: orderFindings(all) };
}

/** A kind that no block has, in the words of templates. */
function asBlockFinding(finding: Finding): Finding {
  return finding.code === 'NOT_IN_CHOICES' && /^blocks\[\d+\]\.kind$/.test(finding.path)
    ? { ...finding, code: 'UNKNOWN_BLOCK_KIND' }
    : finding;
}

/** A stored body as a template, undefined when it is none. */
export function readTemplate(body: unknown): ReportTemplateDocument | undefined {
  const parsed = ReportTemplateDocument.safeParse(body);
  return parsed.success ? parsed.data : undefined;
}
