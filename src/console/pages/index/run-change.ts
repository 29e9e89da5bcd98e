import type { StoredRun } from '#clients/typescript/divisor.js';

/** Terms that decide when a run starts. They do not affect its result. */
export const OMITTED_MEMBERS = ['if_stale'];

/** Text for a run that has the same inputs as the run before it. */
export const IDENTICAL = 'identical';

/** Inputs of a run with their names. */
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
