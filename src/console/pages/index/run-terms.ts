import type { StoredRun } from '#clients/typescript/divisor.js';
import { createFields } from '../../components/form/schema-fields.js';
import type { Changes } from '../../components/form/schema-form.js';
import { parseReference } from '../../components/form/references.js';
import type { Schemas } from '../../state/schemas.js';
import { service } from '../../state/service.js';
import { formatReference } from '../../words/jobs.js';
import { formatFigure } from '../../words/numbers.js';
import { isObject, type Json, type JsonObject } from '../../words/paths.js';
import { OMITTED_MEMBERS } from './run-change.js';

/** Returns the latest run of an index; null if there is none. */
export const readNewestRun = async (id: string, signal?: AbortSignal): Promise<StoredRun | null> =>
  (await service.value.call('listRuns', { params: { index_id: id }, query: { limit: 1 }, signal })).runs[0] ?? null;

/** Returns the request of a run as values of the form. Members that are null are left out. */
export function getTerms({ request }: StoredRun): JsonObject {
  const all = request as Json;
  if (!isObject(all)) return {};
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) => (value === null ? [] : [[name, toReference(value)] as const])),
  );
}

/**
 * Converts a benchmark of closes to a reference: `{ kind: "index", id: "EQ" }` becomes `index:EQ`. Other values are
 * unchanged.
 */
export function toReference(value: Json | undefined): Json | undefined {
  const { kind, id, price_column: column = 'CLOSE' } = isObject(value) ? value : {};
  return typeof kind === 'string' && typeof id === 'string' && column === 'CLOSE' ? `${kind}:${id}` : value;
}

/** Name of the schema of the terms. */
export const RUN_SCHEMA = 'BacktestRequest';

/** Labels of terms and of their values, which replace those of the schema. */
export const TERM_CHANGES: Changes = {
  transaction_cost_bps: { help: 'Of the traded value.' },
  start: { help: 'Default: the base date.' },
  end: { help: 'Default: the last date.' },
  as_known_on: { label: 'Data version', otherwise: 'latest' },
  as_known: {
    label: 'Data of each rebalance',
    words: { decision: 'as known on its decision date' },
    otherwise: 'version of the run',
  },
};

/**
 * Formats the terms of a run that are zero or differ from their defaults, for example `Transaction cost 5 bp ·
 * Benchmark EQ`.
 */
export function formatTerms(request: Json, schema: string, schemas: Schemas | undefined): string {
  if (schemas === undefined || !isObject(request)) return 'Terms of the run';
  const parts = createFields(schemas, schema).flatMap((field) => {
    const { name, label, unit, otherwise, words } = { ...field, ...TERM_CHANGES[field.name] };
    const value = request[name];
    if (value === undefined || value === null || OMITTED_MEMBERS.includes(name)) return [];
    if (value === 0) return [`No ${label.toLowerCase()}`];
    if (value === otherwise) return [];
    const text = typeof value === 'number' ? formatFigure(value) : (words?.[String(value)] ?? formatText(value));
    return [`${label} ${text}${unit === null ? '' : ` ${unit}`}`];
  });
  return parts.join(' · ');
}

/** Formats a benchmark as its id, and other terms as text. */
function formatText(value: Json): string {
  const reference = typeof value === 'string' ? (parseReference(value) ?? value) : value;
  return isObject(reference) ? formatReference(reference) : String(reference);
}
