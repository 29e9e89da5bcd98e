import type { DatasetDocument } from '#domain/documents/dataset-document.js';
import { sortFindings, type Finding } from '#domain/refusals/findings.js';
import { Refusal } from '#domain/refusals/refusal.js';

const KEPT_TEXT = 'nothing was stored, and the earlier content is still served';
const LOST_TEXT =
  'the earlier content was no longer available, and the store has the content that its source had when it was read';

/** Maximum number of listed findings of a rejected refresh. */
const LISTED_MAX = 200;

/** Returns the data warnings that the document of a store does not contain. */
export function findNewWarnings(
  warnings: readonly Finding[],
  { findings }: Pick<DatasetDocument, 'findings'>,
): readonly Finding[] {
  const reportedKeys = new Set(findings.map(formatKey));
  return warnings.filter((warning) => !reportedKeys.has(formatKey(warning)));
}

const formatKey = ({ code, path }: Pick<Finding, 'code' | 'path'> | { readonly code: string; readonly path: string }) =>
  JSON.stringify([code, path]);

/**
 * Ensures that no finding has one of the given codes.
 * @param isLost true if the earlier content was lost, so that the source was read in its place
 * @throws Refusal REFRESH_REJECTED
 */
export function assertAccepted(findings: readonly Finding[], failOn: readonly string[], isLost = false): void {
  const rejectedFindings = findings.filter(({ code }) => failOn.includes(code));
  if (rejectedFindings.length === 0) return;
  const codes = [...new Set(rejectedFindings.map(({ code }) => code))].join(', ');
  throw new Refusal(
    'REFRESH_REJECTED',
    `The refresh was rejected for ${codes} (fail_on); ${isLost ? LOST_TEXT : KEPT_TEXT}.`,
    { findings: sortFindings(rejectedFindings).slice(0, LISTED_MAX) },
  );
}
