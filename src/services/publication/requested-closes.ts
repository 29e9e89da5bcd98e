import { NO_HASH, type PublicationEntry, type PublicationHead } from '#domain/documents/publication-document.js';
import type { ApprovalGate, Requested } from '../approvals/approvals.js';
import { sizesOf, type Closes, type Disagreement } from './disagreements.js';

/** Closes to be published, before they are signed. */
type Stated = Pick<
  PublicationEntry,
  'date' | 'kind' | 'price' | 'total' | 'net' | 'divisor' | 'composition_hash' | 'reason'
>;

interface ClosesTerms {
  readonly indexId: string;
  readonly runId: string;
  readonly head: PublicationHead | undefined;
  readonly standing: ReadonlyMap<string, PublicationEntry>;
  readonly disagreements: readonly Disagreement[];
  readonly closes: Closes;
}

/**
 * Returns the request of a publication. The approval applies to figures after the current end of the log, regardless of
 * the run that gives them.
 */
export function createPublicationRequest(
  statements: readonly Stated[],
  gate: Pick<ApprovalGate, 'ruleOf'>,
  { indexId, runId, head, standing, disagreements, closes }: ClosesTerms,
): Requested {
  const fresh = statements.filter(({ kind }) => kind === 'close');
  const restated = statements.length - fresh.length;
  const action = restated > 0 && gate.ruleOf('restate') !== undefined ? 'restate' : 'publish';
  const last = statements.at(-1)!; // Nothing to publish needs no approval.
  const before = [...standing.values()].findLast(({ date }) => date < last.date);
  const sizes = sizesOf(disagreements, closes, standing);
  return {
    action,
    subject: indexId,
    content: { head: head?.hash ?? NO_HASH, entries: statements.map(figuresOf) },
    summary: summaryOf(indexId, { fresh, restated, last }),
    detail: {
      run_id: runId,
      published: fresh.length,
      restated,
      first: statements[0]!.date,
      last: last.date,
      close: levelsOf(last),
      previous: before === undefined ? null : { date: before.date, ...levelsOf(before) },
      ...(restated > 0 && { ...sizes, reason: last.reason ?? statements[0]!.reason }),
    },
  };
}

const figuresOf = ({ date, kind, price, total, net, divisor, composition_hash, reason }: Stated) => ({
  date,
  kind,
  price,
  total,
  net,
  divisor,
  composition_hash,
  reason,
});

const levelsOf = ({ price, total, net }: Pick<Stated, 'price' | 'total' | 'net'>) => ({ price, total, net });

function summaryOf(
  indexId: string,
  { fresh, restated, last }: { readonly fresh: readonly Stated[]; readonly restated: number; readonly last: Stated },
): string {
  const closes = fresh.length === 1 ? `the close of ${last.date}` : `${fresh.length} closes through ${last.date}`;
  const again = restated === 1 ? 'one close again' : `${restated} closes again`;
  if (restated === 0) return `Publish ${closes} of ${indexId}.`;
  return fresh.length === 0 ? `Publish ${again} of ${indexId}.` : `Publish ${again} and ${closes} of ${indexId}.`;
}
