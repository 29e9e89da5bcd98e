import { callOnce } from '#base/once.js';
import { findCheckKind, listStandardChecks, type Check } from '#domain/daily-plans/check-catalogue.js';
import type { Approval } from '#domain/approvals/approval-document.js';
import type { CheckFinding, CheckMeasure, MoveEvidence } from '#domain/daily-plans/checks/check-kind.js';
import { formatCount } from '#domain/catalogue/sentence-numbers.js';
import type { Waiver } from '#domain/daily-plans/day-document.js';
import type { Markets } from '#market/serving/markets.js';
import type { DocumentReader } from '#store/port.js';
import type { Approvals } from '../../approvals/approvals.js';
import type { StoreMarkets } from '../../datasets/store-markets.js';
import { findRun } from '../../stored/run-documents.js';
import { requireIndex } from '../../stored/stored-indices.js';
import { checkInput, type CheckInputDependencies } from '../check-input.js';
import { performEachIndex, type ItemResult, type Performer, type StepContext, type StepOutcome } from '../performer.js';
import { findIndexMarket } from '../plan-markets.js';
import { listRejected } from './refresh.js';

export interface ChecksDependencies extends CheckInputDependencies {
  readonly documents: Pick<DocumentReader, 'get'>;
  readonly markets: Pick<Markets, 'settled' | 'require'>;
  readonly stores: Pick<StoreMarkets, 'of'>;
  readonly approvals: Pick<Approvals, 'list'>;
}

/** Maximum number of listed findings per check and index. */
export const LISTED_MAX = 50;

export function createChecksPerformer(dependencies: ChecksDependencies): Performer<'checks'> {
  return (context) => {
    const { type } = context.spec;
    const { steps, plan } = context.day();
    const hasPolicy = plan.steps.some((step) => step.type === 'publish' && step.errors !== null);
    const ownPosition = steps.findIndex((step) => step.type === type && step.state === 'running');
    const hasRun = steps.slice(0, ownPosition).some((step) => step.type === 'run');
    return performChecks(dependencies, context, context.spec.checks ?? listStandardChecks(hasRun, hasPolicy));
  };
}

/** Creates the step that compares the data with a second source. */
export function createComparePerformer(dependencies: ChecksDependencies): Performer<'compare'> {
  return (context) => {
    const { second_source: series, tolerance_bps, variant } = context.spec;
    return performChecks(dependencies, context, [
      { check: 'second_source', severity: 'block', series, tolerance_bps, variant },
    ]);
  };
}

async function performChecks(
  dependencies: ChecksDependencies,
  context: StepContext<unknown>,
  checks: readonly Check[],
): Promise<StepOutcome> {
  const { documents, markets } = dependencies;
  const { day, put, clear, getAncestors, signal } = context;
  await markets.settled();
  const reads = new Set(checks.flatMap(({ check }) => findCheckKind(check).reads));
  let findingsCount = 0;
  await clear(); // the step keeps only findings of this round
  await performEachIndex(context, async (indexId) => {
    const { document: index } = await requireIndex(documents, indexId);
    const run = await findRun(documents, indexId);
    const { market, identity } = await findIndexMarket(dependencies, indexId);
    const subject = {
      index,
      run,
      market,
      storeId: identity.datasetId,
      date: day().date,
      reads,
      restated: listRejected(day()),
    };
    const input = await checkInput(dependencies, subject, signal);
    // The overrides are read only if there are findings; most indices have none.
    const readOverrides = callOnce(() => createRequestedOverrides(dependencies, identity.datasetId, day().date));
    const ancestors = getAncestors(indexId);
    const waivers = day().waivers.filter(({ index_id: id }) => id === null || id === indexId || ancestors.has(id));
    let count = 0;
    for (const check of checks) {
      const findings = findCheckKind(check.check).judge(input, check as never); // `findCheckKind` pairs the check with its parameters
      count += findings.length;
      for (const finding of list(findings))
        await put(
          `${indexId} ${check.check} ${finding.identifier ?? ''}`.trim(),
          indexId,
          createResult(check, finding, { waivers, overrides: await readOverrides() }),
        );
    }
    findingsCount += count;
    return { state: 'done', message: `${formatCount(checks.length, 'check')}, ${formatCount(count, 'finding')}.` };
  });
  await logWaivers(context, checks);
  return {
    state: 'done',
    message: `${formatCount(checks.length, 'check')} of each index, ${formatCount(findingsCount, 'finding')}.`,
  };
}

/** Writes each decision to accept findings to the log of the step. Writes each decision only once. */
async function logWaivers({ day, log }: StepContext<unknown>, checks: readonly Check[]): Promise<void> {
  const { steps, waivers } = day();
  const ownLog = steps.find(({ state }) => state === 'running')?.log ?? [];
  for (const { check, index_id: index, identifier, author, reason } of waivers) {
    if (!checks.some((performedCheck) => performedCheck.check === check)) continue;
    const subject = [identifier, index ?? 'every index'].filter((name) => name !== null).join(' in ');
    const message = `${author} accepted ${check} of ${subject}: ${reason}`;
    if (!ownLog.some((line) => line.message === message)) await log(message);
  }
}

/** Returns the first findings. If more findings exist, the last entry reports how many. */
function list(findings: readonly CheckFinding[]): readonly CheckFinding[] {
  if (findings.length <= LISTED_MAX) return findings;
  const othersCount = findings.length - LISTED_MAX;
  return [
    ...findings.slice(0, LISTED_MAX),
    { identifier: null, message: `And ${formatCount(othersCount, 'more finding')}.` },
  ];
}

interface AcceptedFindings {
  readonly waivers: readonly Waiver[];
  /** Open requests to override a price of the session, by security. */
  readonly overrides: ReadonlyMap<string, Approval>;
}

/** Maximum number of open requests that are read for a store. */
const OVERRIDES_READ_MAX = 500;

/** Returns the open requests to override prices of a session of a store, by security. */
async function createRequestedOverrides(
  { approvals }: Pick<ChecksDependencies, 'approvals'>,
  storeId: string,
  date: string,
): Promise<ReadonlyMap<string, Approval>> {
  const query = { action: 'override', subject: storeId, limit: OVERRIDES_READ_MAX } as const;
  const openApprovals = [
    ...(await approvals.list({ ...query, state: 'pending' })),
    ...(await approvals.list({ ...query, state: 'approved' })),
  ];
  return new Map(
    openApprovals.flatMap((approval) => {
      const { facts } = approval;
      return facts?.kind === 'override' && facts.date === date ? [[facts.identifier, approval] as const] : [];
    }),
  );
}

/** Detail of the item of a finding. */
export interface FindingDetail {
  readonly check: Check['check'];
  /** Security or series; null for the index as a whole. */
  readonly identifier: string | null;
  readonly severity: Check['severity'];
  readonly measure: CheckMeasure | null;
  /** Prices and weight of a price move; absent for other findings. */
  readonly evidence?: MoveEvidence;
}

function createResult(
  { check, severity }: Check,
  { identifier, message, measure, evidence }: CheckFinding,
  { waivers, overrides }: AcceptedFindings,
): ItemResult {
  const waiver = waivers.find(
    (storedWaiver) =>
      storedWaiver.check === check && (storedWaiver.identifier === null || storedWaiver.identifier === identifier),
  );
  const findingDetail: FindingDetail = {
    check,
    identifier,
    severity,
    measure: measure ?? null,
    ...(evidence && { evidence }),
  };
  const detail = { ...findingDetail, ...(waiver && { waived_by: waiver.author, reason: waiver.reason }) };
  if (waiver !== undefined)
    return { state: 'done', message: `${message} Waived by ${waiver.author}: ${waiver.reason}`, detail };
  const override = identifier === null || severity !== 'block' ? undefined : overrides.get(identifier);
  if (override !== undefined) {
    const { approval_id: id, state } = override;
    const stateText = state === 'approved' ? 'is approved and can be applied' : 'waits for approval';
    return {
      state: 'waiting',
      message: `${message} The override ${id} of its price ${stateText}.`,
      code: 'APPROVAL_REQUIRED',
      detail: { ...findingDetail, approval_id: id },
    };
  }
  return {
    state: severity === 'block' ? 'blocked' : 'done',
    message,
    detail,
    ...(severity === 'block' && { code: 'CHECK_FAILED' }),
  };
}
