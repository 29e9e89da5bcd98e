import type { AskedRun } from '#services/stored/run-documents.js';

/** The run that a request is about. */
export function askedRun({
  params,
  query,
}: {
  readonly params: { readonly index_id: string };
  readonly query: { readonly run_id?: string | undefined };
}): AskedRun {
  return { subject: params.index_id, id: query.run_id };
}
