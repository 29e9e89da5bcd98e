import type { RequestedRun } from '#services/stored/run-documents.js';

/** Parameters that identify a run. */
export interface RunParameters {
  readonly params: { readonly index_id: string };
  readonly query: { readonly run_id?: string | undefined };
}

/** Reads the run that a request names. */
export function readRunParameters({ params, query }: RunParameters): RequestedRun {
  return { subject: params.index_id, id: query.run_id };
}
