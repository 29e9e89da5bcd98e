import type { RunDocument } from '#domain/documents/run-document.js';
import { RunListDocument } from '#domain/documents/run-list-document.js';
import { getOwner } from '../document-id.js';
import { computeRunId } from '../run-id.js';

/** Document as read from disk. Its body is undefined if it is unreadable. */
interface Entry {
  readonly kind: string | undefined;
  readonly id: string;
  readonly body: unknown;
}

/** Check for missing runs that should be kept. It receives all documents of a snapshot. */
export interface RunsCheck {
  look(entry: Entry): void;
  /** Returns the missing runs by index or strategy, after all documents were read. */
  gaps(): readonly { readonly name: string; readonly reason: string }[];
}

export function createRunsCheck(): RunsCheck {
  const listsBySubject = new Map<string, RunListDocument | undefined>();
  /**
   * Ids of the kept runs and of the newest run, by index or strategy. The id of the newest run is undefined if it is
   * unreadable.
   */
  const keptRuns = new Map<string, Set<string>>();
  const newestBySubject = new Map<string, string | undefined>();

  function listMissing(subject: string): string[] {
    const runs = keptRuns.get(subject) ?? new Set();
    if (!listsBySubject.has(subject))
      return runs.size === 0 ? [] : [`it has ${runs.size} earlier runs, but their list is missing`];
    const list = listsBySubject.get(subject);
    if (list === undefined) return []; // the list is damaged, which another check reports
    const lostRuns = list.earlier.filter((id) => !runs.has(id)).map((id) => `its earlier run ${id} is missing`);
    const isNewestLost = newestBySubject.has(subject) && newestBySubject.get(subject) === undefined;
    const lostPublications = list.published.filter(
      (id) => !list.earlier.includes(id) && !isNewestLost && newestBySubject.get(subject) !== id,
    );
    return [...lostRuns, ...lostPublications.map((id) => `its published run ${id} is missing`)];
  }

  return {
    look({ kind, id, body }) {
      if (kind === 'run-list') listsBySubject.set(id, RunListDocument.safeParse(body).data);
      if (kind === 'kept-run')
        keptRuns.set(getOwner(id), (keptRuns.get(getOwner(id)) ?? new Set()).add(id.slice(id.lastIndexOf('/') + 1)));
      if (kind === 'run') newestBySubject.set(id, readNewestId(body));
    },
    gaps: () =>
      [...new Set([...listsBySubject.keys(), ...keptRuns.keys()])].flatMap((name) =>
        listMissing(name).map((reason) => ({ name, reason })),
      ),
  };
}

/** Returns the id of a run. Returns undefined if the run is unreadable, or was written before runs had ids. */
function readNewestId(body: unknown): string | undefined {
  const { run_id, artifacts } = (body ?? {}) as Partial<RunDocument>; // the stored shape
  return run_id === undefined || artifacts?.columns === undefined ? undefined : computeRunId({ run_id, artifacts });
}
