import { NO_HASH, type PublicationEntry, type PublicationHead } from '#domain/documents/publication-document.js';
import type { ApprovalFacts } from '#domain/approvals/approval-facts.js';
import type { ApprovalRules } from '#domain/approvals/approval-document.js';
import type { ApprovalGate, ProposedChange } from '../approvals/approvals.js';
import { measureDisagreements, type Closes, type Disagreement } from './disagreements.js';

/** Closes to publish, before they are signed. */
type UnsignedClose = Pick<
  PublicationEntry,
  'date' | 'kind' | 'price' | 'total' | 'net' | 'divisor' | 'composition_hash' | 'reason'
>;

interface ClosesTerms {
  readonly indexId: string;
  readonly runId: string;
  readonly head: PublicationHead | undefined;
  readonly entriesInForce: ReadonlyMap<string, PublicationEntry>;
  readonly disagreements: readonly Disagreement[];
  readonly closes: Closes;
  readonly day: ProposedChange['day'];
}

/**
 * Returns the approval request for a publication. The approval covers these figures after the current end of the log,
 * whichever run produced them.
 */
export function createPublicationRequest(
  statements: readonly UnsignedClose[],
  approvalGate: Pick<ApprovalGate, 'getRule'>,
  { indexId, runId, head, entriesInForce, disagreements, closes, day }: ClosesTerms,
): ProposedChange {
  const newCloses = statements.filter(({ kind }) => kind === 'close');
  const restatedCount = statements.length - newCloses.length;
  const counts = { published: newCloses.length, restated: restatedCount };
  const last = statements.at(-1)!; // an empty publication needs no approval
  const previousEntry = [...entriesInForce.values()].findLast(({ date }) => date < last.date);
  const figures = {
    index_id: indexId,
    run_id: runId,
    ...counts,
    first: statements[0]!.date,
    last: last.date,
    close: createLevels(last),
    previous: previousEntry === undefined ? null : { date: previousEntry.date, ...createLevels(previousEntry) },
  };
  const lastRestatement = statements.findLast(({ kind }) => kind !== 'close');
  const facts: ApprovalFacts =
    lastRestatement === undefined
      ? { kind: 'publish', ...figures }
      : {
          kind: 'restate',
          ...figures,
          ...measureDisagreements(disagreements, closes, entriesInForce),
          latest: {
            date: lastRestatement.date,
            before: createLevels(entriesInForce.get(lastRestatement.date)!),
            after: createLevels(lastRestatement),
          }, // the date is published again
          reason: lastRestatement.reason,
        };
  return {
    action: selectAction(counts, approvalGate),
    day: day ?? null,
    subject: indexId,
    content: { head: head?.hash ?? NO_HASH, entries: statements.map(createFigures) },
    summary: formatSummary(indexId, { fresh: newCloses, restated: restatedCount, last }),
    facts,
  };
}

/**
 * Returns the action that selects the approval rule. If a request both publishes and restates closes, the rule that
 * requires more persons applies.
 */
function selectAction(
  { published, restated }: { readonly published: number; readonly restated: number },
  { getRule }: Pick<ApprovalGate, 'getRule'>,
): 'publish' | 'restate' {
  if (restated === 0) return 'publish';
  const countPersons = (rule: ApprovalRules['publish']): number => rule?.persons ?? 1;
  return published > 0 && countPersons(getRule('publish')) > countPersons(getRule('restate')) ? 'publish' : 'restate';
}

const createFigures = ({ date, kind, price, total, net, divisor, composition_hash, reason }: UnsignedClose) => ({
  date,
  kind,
  price,
  total,
  net,
  divisor,
  composition_hash,
  reason,
});

const createLevels = ({ price, total, net }: Pick<UnsignedClose, 'price' | 'total' | 'net'>) => ({ price, total, net });

function formatSummary(
  indexId: string,
  {
    fresh,
    restated,
    last,
  }: { readonly fresh: readonly UnsignedClose[]; readonly restated: number; readonly last: UnsignedClose },
): string {
  const closesText = fresh.length === 1 ? `the close of ${last.date}` : `${fresh.length} closes through ${last.date}`;
  const restatedCloses = restated === 1 ? 'one close again' : `${restated} closes again`;
  if (restated === 0) return `Publish ${closesText} of ${indexId}.`;
  return fresh.length === 0
    ? `Publish ${restatedCloses} of ${indexId}.`
    : `Publish ${restatedCloses} and ${closesText} of ${indexId}.`;
}
