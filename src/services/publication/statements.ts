import type { PublishRequest } from '#contract/publication.js';
import type { PublicationEntry, PublicationHead } from '#domain/documents/publication-document.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import type { Authorship } from '#domain/documents/version-document.js';
import type { Closes, Disagreement } from './disagreements.js';
import { formatPartialReason, type PartialClose } from './partial-closes.js';

export interface Log {
  readonly head: PublicationHead | undefined;
  /** Last entry of each published date. */
  readonly entriesInForce: ReadonlyMap<string, PublicationEntry>;
  /** Time of the last entry. */
  readonly lastAt: string | undefined;
}

/** Closes of a run, and those of them that are partial. */
export interface PublishableCloses extends Closes {
  readonly partial: ReadonlyMap<string, PartialClose>;
}

/** Entry before it is chained and signed. */
export type Statement = Omit<PublicationEntry, 'seq' | 'previous' | 'hash' | 'key_id' | 'signature'>;

interface StatementTerms {
  readonly run: RunDocument;
  readonly log: Log;
  readonly disagreements: readonly Disagreement[];
  readonly request: PublishRequest;
  /** Reason for the first new close if it corrects a difference from earlier closes; otherwise null. */
  readonly correction: string | null;
  readonly by: Authorship;
  readonly at: string;
}

/** Returns the entries to publish: first the restated closes, then the closes after the last published date. */
export function listStatements(closes: PublishableCloses, terms: StatementTerms): Statement[] {
  const { run, log, disagreements, request, correction, by, at } = terms;
  const last = findLastDate(log);
  const firstFresh = closes.dates.findIndex((date) => last === null || date > last);
  const findReason = (i: number, kind: Statement['kind']): string | null => {
    const partialClose = closes.partial.get(closes.dates[i]!);
    if (partialClose !== undefined) return formatPartialReason(partialClose, request.reason);
    if (kind === 'restatement') return request.reason!; // assertReasoned has ensured that the request has a reason
    return i === firstFresh ? correction : null;
  };
  const createStatement = (i: number, kind: Statement['kind']): Statement => ({
    index_id: run.index_id,
    date: closes.dates[i]!,
    kind,
    price: closes.price[i]!,
    total: closes.total[i]!,
    net: closes.net[i]!,
    divisor: closes.divisor[i]!,
    composition_hash: closes.composition_hash[i]!,
    data_hash: run.store_content_hash ?? null,
    index_version: run.index_version ?? null,
    ...(run.calendar_version === undefined ? {} : { calendar_version: run.calendar_version }),
    engine: run.engine_version ?? null,
    reason: findReason(i, kind),
    at,
    author: by.author,
  });
  const newStatements = closes.dates.flatMap((date, i) =>
    last === null || date > last ? [createStatement(i, 'close')] : [],
  );
  return [...disagreements.map(({ position }) => createStatement(position!, 'restatement')), ...newStatements];
}

/** Returns the latest published date; null if no date is published. */
export function findLastDate(
  { entriesInForce }: Pick<Log, 'entriesInForce'>,
  entries: readonly PublicationEntry[] = [],
): string | null {
  let last: string | null = null;
  for (const { date } of [...entriesInForce.values(), ...entries]) if (last === null || date > last) last = date;
  return last;
}
