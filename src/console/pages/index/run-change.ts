import type { StoredRun } from '#clients/typescript/divisor.js';

/** Terms that control when a run starts but do not affect its result. */
export const OMITTED_MEMBERS = ['if_stale'];

/** Text for a run whose inputs equal those of the run before. */
export const IDENTICAL = 'identical';

/** Inputs of a run with their names. */
const INPUTS: readonly (readonly [name: string, read: (run: StoredRun) => unknown])[] = [
  ['definition', ({ index_version: version }) => version],
  ['data', ({ store_content_hash: hash }) => hash],
  ['terms', ({ request }) => listTerms(request)],
  ['dates', ({ start, end }) => [start, end]],
  ['engine', ({ engine_version: engine }) => engine],
];

/** Returns the terms of a run in the order of their names, without those that do not affect its result. */
const listTerms = (request: StoredRun['request']): unknown =>
  (request === null || typeof request !== 'object' ? [] : Object.entries(request))
    .filter(([name]) => !OMITTED_MEMBERS.includes(name))
    .toSorted(([a], [b]) => (a < b ? -1 : 1));

/**
 * Names the inputs of a run that differ from those of the run before it, for example `definition, data`. Runs with the
 * same hash of all inputs are identical.
 */
export function formatRunChange(run: StoredRun, before: StoredRun | undefined): string | null {
  if (before === undefined) return null;
  if (run.run_hash === before.run_hash) return IDENTICAL;
  const differs = (read: (one: StoredRun) => unknown) => JSON.stringify(read(run)) !== JSON.stringify(read(before));
  const changed = INPUTS.filter(([, read]) => differs(read)).map(([name]) => name);
  // The inputs of a strategy or an overlay include the index that it follows.
  return changed.length === 0 ? 'underlying index' : changed.join(', ');
}
