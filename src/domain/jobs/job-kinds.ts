/** What every part of the service has to know of one kind of job. Its handler is registered with the job system. */
interface JobKindEntry {
  /** `light` jobs are answered while `heavy` ones run: each lane has its own queue and threads. */
  readonly lane: 'heavy' | 'light';
  /**
   * Where the job names the index or strategy it is about: the second half of its id, or `index_id` of its request.
   * Deletion of the subject cancels the job and forgets it in the same transaction. Null: the job outlives any
   * deletion.
   */
  readonly subject: 'ident' | 'request' | null;
}

/** Every kind of job, in the order of the wire. A kind without a handler does not compile (`src/cli/compose.ts`). */
export const JOB_KIND_CATALOGUE = {
  backtest: { lane: 'heavy', subject: 'ident' },
  optimise: { lane: 'heavy', subject: null },
  render: { lane: 'light', subject: null },
  risk: { lane: 'heavy', subject: null },
  sync: { lane: 'light', subject: null },
  load: { lane: 'light', subject: null },
  refresh: { lane: 'light', subject: null },
  generate: { lane: 'light', subject: null },
  sweep: { lane: 'heavy', subject: 'request' },
  simulate: { lane: 'heavy', subject: 'ident' },
  replay: { lane: 'heavy', subject: 'ident' },
} as const satisfies Readonly<Record<string, JobKindEntry>>;

export type JobKindName = keyof typeof JOB_KIND_CATALOGUE;

// Object.keys forgets that the keys are those of the catalogue.
export const JOB_KINDS = Object.keys(JOB_KIND_CATALOGUE) as [JobKindName, ...JobKindName[]];

/** Kinds whose jobs name their subject in one place. */
export function kindsWithSubject(place: 'ident' | 'request'): JobKindName[] {
  return JOB_KINDS.filter((kind) => JOB_KIND_CATALOGUE[kind].subject === place);
}
