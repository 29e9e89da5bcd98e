import type { DivisorError, Finding, StoredRun } from '#clients/typescript/divisor.js';
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

/** Terms that decide when a run starts. They do not affect its result. */
export const OMITTED_MEMBERS = ['if_stale'];

/** Text for a run that has the same inputs as the run before it. */
export const IDENTICAL = 'identical';

const INPUTS: readonly (readonly [name: string, read: (run: StoredRun) => unknown])[] = [
  ['definition', ({ index_version: version }) => version],
  ['data', ({ store_content_hash: hash }) => hash],
  ['terms', ({ request }) => listTerms(request)],
  ['dates', ({ start, end }) => [start, end]],
  ['engine', ({ engine_version: engine }) => engine],
];

/** Returns the terms of a run sorted by name. Terms that do not affect the result are left out. */
const listTerms = (request: StoredRun['request']): unknown =>
  (request === null || typeof request !== 'object' ? [] : Object.entries(request))
    .filter(([name]) => !OMITTED_MEMBERS.includes(name))
    .toSorted(([a], [b]) => (a < b ? -1 : 1));

/**
 * Names the inputs in which a run differs from the run before it, for example `definition, data`. Two runs are
 * identical if the hash of all their inputs is the same.
 */
export function formatRunChange(run: StoredRun, before: StoredRun | undefined): string | null {
  if (before === undefined) return null;
  if (run.run_hash === before.run_hash) return IDENTICAL;
  const differs = (read: (one: StoredRun) => unknown) => JSON.stringify(read(run)) !== JSON.stringify(read(before));
  const changedInputs = INPUTS.filter(([, read]) => differs(read)).map(([name]) => name);
  // The index that a strategy or an overlay follows is one of its inputs.
  return changedInputs.length === 0 ? 'underlying index' : changedInputs.join(', ');
}
