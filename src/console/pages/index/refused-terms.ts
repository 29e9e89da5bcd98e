import type { DivisorError, Finding } from '#clients/typescript/divisor.js';
import { formatLabel } from '../../words/labels.js';
import { isObject, type Json, type JsonObject } from '../../words/paths.js';

/** Part of a refusal that decides where it is shown. */
type Refusal = Pick<DivisorError, 'message' | 'findings' | 'detail'> & { readonly code: string | null };

/**
 * Returns the findings of a refused run. If the refusal has none, returns a finding for the term that caused the
 * refusal, so that it appears at the field. The finding names the field.
 * @param terms requested terms; a term that was not requested is not the cause
 */
export function listTermFindings({ code, message, findings, detail }: Refusal, terms: JsonObject): readonly Finding[] {
  if (findings.length > 0) return findings;
  const path = findPath(detail) ?? (TERMS_BY_CODE[code ?? ''] ?? []).find((term) => terms[term] != null);
  if (path === undefined) return [];
  return [{ severity: 'error', code: FINDING_CODES[path] ?? 'OUT_OF_RANGE', path, message: nameField(message, path) }];
}

/** Terms that can cause a refusal without findings, by the code of the refusal. The first requested term is the cause. */
const TERMS_BY_CODE: Readonly<Record<string, readonly string[]>> = {
  BENCHMARK_NOT_FOUND: ['benchmark'],
  STORE_NOT_FOUND: ['store_id'],
  CALENDAR_NOT_COVERED: ['start', 'end'],
  RANGE_TOO_SHORT: ['end', 'start'],
};

const FINDING_CODES: Readonly<Record<string, Finding['code']>> = {
  benchmark: 'UNKNOWN_IDENTIFIER',
  store_id: 'NOT_IN_CHOICES',
};

function findPath(detail: unknown): string | undefined {
  if (!isObject(detail as Json)) return undefined;
  const { path } = detail as JsonObject;
  return typeof path === 'string' ? path : undefined;
}

/** Adds the label of the field to a message that does not contain it. */
function nameField(message: string, path: string): string {
  const label = formatLabel(path);
  return spreadWords(message).includes(spreadWords(label)) ? message : `${label}: ${message}`;
}

/** Returns the words of a text in lower case, each between spaces. */
const spreadWords = (text: string): string => ` ${text.toLowerCase().split(/\W+/).join(' ')} `;
