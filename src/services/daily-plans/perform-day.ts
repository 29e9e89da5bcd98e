import type { DayDocument, HeldIndex, StoredItem, StoredStep } from '#domain/daily-plans/day-document.js';
import { findStepKind, type Step } from '#domain/daily-plans/step-catalogue.js';
import type { FamilyOrder } from '#domain/daily-plans/family-order.js';
import type { Authorship } from '#domain/documents/version-document.js';
import { isUnavailable, Refusal } from '#domain/refusals/refusal.js';
import type { Origin } from '#jobs/origin.js';
import type { DayKeeper } from './day-keeper.js';
import { describeReason } from './finding-reasons.js';
import type { ItemResult, Performer, StepContext, StepOutcome } from './performer.js';
import type { Performers } from './performers.js';

export interface PerformTerms {
  readonly keeper: DayKeeper;
  readonly performers: Performers;
  readonly order: FamilyOrder;
  /** Indices that earlier days hold back. */
  readonly carriedIndices: readonly HeldIndex[];
  /** Time of records, ISO-8601. */
  readonly timestamp: () => string;
  readonly monotonicMs: () => number;
  readonly signal: AbortSignal;
}

/** End of a round of a day. */
export interface RoundEnd {
  readonly state: 'done' | 'waiting' | 'blocked';
  readonly reason: string | null;
  readonly held: readonly HeldIndex[];
}

/** Maximum number of reasons that a sentence names. */
const NAMED_INDICES_MAX = 3;

/** Runs one round of a day: every step in order, for all indices that are not blocked. */
export async function performRound(terms: PerformTerms): Promise<RoundEnd> {
  const { keeper, carriedIndices, order } = terms;
  const { plan, date } = keeper.day();
  for (const [position, spec] of plan.steps.entries()) {
    const step = keeper.step(position);
    if (step.state === 'done' && !findStepKind(spec.type).repeats) continue;
    const outcome = await performStep(position, spec, terms);
    const heldIndices = listBlockedIndices(keeper.day().steps.slice(0, position + 1), { carriedIndices, order, date });
    if (outcome.state === 'failed')
      return { state: 'blocked', reason: `${spec.type}: ${outcome.message}`, held: heldIndices };
    if (outcome.state === 'waiting') return { state: 'waiting', reason: outcome.message, held: heldIndices };
    if (plan.on_failure === 'stop' && heldIndices.length > 0) return determineRoundEnd(heldIndices, keeper.day());
  }
  return determineRoundEnd(listBlockedIndices(keeper.day().steps, { carriedIndices, order, date }), keeper.day());
}

async function performStep(position: number, spec: Step, terms: PerformTerms): Promise<StepOutcome> {
  const { keeper, performers, timestamp, monotonicMs } = terms;
  const previousStep = keeper.step(position);
  const beginMs = monotonicMs();
  await keeper.changeStep(position, {
    state: 'running',
    attempts: previousStep.attempts + 1,
    started_at: previousStep.started_at ?? timestamp(),
    code: null,
  });
  // `performers[spec.type]` accepts this spec, but TypeScript cannot infer this from the union.
  const performSpec = performers[spec.type] as Performer<never>;
  const outcome = await performSpec(createContext(position, spec, terms) as never).catch((failure: unknown) =>
    createRefusedStep(failure, terms.signal),
  );
  await keeper.changeStep(position, {
    state: outcome.state,
    finished_at: timestamp(),
    duration_ms: previousStep.duration_ms + Math.max(0, Math.round(monotonicMs() - beginMs)),
    message: outcome.message,
    code: outcome.code ?? null,
  });
  await keeper.log(position, timestamp(), outcome.message);
  return outcome;
}

/**
 * Returns the result of a step that was refused as a whole, for example because no store is served.
 * @throws the failure itself if it is not a refusal, the store is unavailable, or the round was aborted
 */
function createRefusedStep(failure: unknown, signal: AbortSignal): StepOutcome {
  const isOutage: boolean = isUnavailable(failure);
  if (isOutage || signal.aborted || !(failure instanceof Refusal)) throw failure;
  return { state: 'failed', code: failure.code, message: failure.message };
}

function createContext(position: number, spec: Step, terms: PerformTerms): StepContext<Step> {
  const { keeper, order, carriedIndices, timestamp, signal } = terms;
  const heldBefore = new Set(carriedIndices.map(({ index_id }) => index_id));
  /** Returns true if an earlier day or an earlier step blocks an index. */
  const isBlocked = (id: string): boolean =>
    heldBefore.has(id) ||
    keeper
      .day()
      .steps.slice(0, position)
      .some(({ items }) => items.some((item) => item.index_id === id && item.state !== 'done'));
  /** Returns true if this step stopped at an index. The indices that depend on it are then blocked as well. */
  const isStopped = (id: string): boolean =>
    keeper
      .step(position)
      .items.some(({ index_id, state }) => index_id === id && (state === 'blocked' || state === 'failed'));
  return {
    spec,
    day: keeper.day,
    waves: order.waves,
    isOpen: (id) =>
      !isBlocked(id) && ![...order.ancestors.get(id)!].some((ancestor) => isBlocked(ancestor) || isStopped(ancestor)),
    getAncestors: (id) => order.ancestors.get(id)!,
    item: (key) => keeper.step(position).items.find((item) => item.key === key),
    put: (key, indexId, result) => keeper.putItem(position, createItem(key, indexId, result, timestamp())),
    clear: () => keeper.dropItems(position, ({ index_id: id }) => id !== null),
    drop: (key) => keeper.dropItems(position, (item) => item.key === key),
    log: (message) => keeper.log(position, timestamp(), message),
    timestamp,
    by: createAuthorship(keeper.day()),
    origin: createOrigin(keeper.day()),
    signal,
  };
}

function createItem(key: string, indexId: string | null, result: ItemResult, timestamp: string): StoredItem {
  const { state, message, code = null, job_id = null, file = null, detail = null, artifact = null } = result;
  return { key, index_id: indexId, state, code, message, at: timestamp, job_id, file, detail, artifact };
}

interface BlockedIndicesTerms {
  readonly carriedIndices: readonly HeldIndex[];
  readonly order: FamilyOrder;
  readonly date: string;
}

/** Returns the blocked indices, each with the reason of its first step, and the indices that depend on them. */
function listBlockedIndices(
  steps: readonly StoredStep[],
  { carriedIndices, order, date }: BlockedIndicesTerms,
): readonly HeldIndex[] {
  const heldById = new Map(carriedIndices.map((index) => [index.index_id, index]));
  for (const { type, items } of steps) {
    const openItems = items.filter(({ state }) => state !== 'done');
    for (const { index_id: id, code } of openItems) {
      if (id === null || heldById.has(id)) continue;
      const reason = describeReason(openItems.filter((item) => item.index_id === id));
      heldById.set(id, { index_id: id, since: date, step: type, code, reason });
    }
  }
  const initialHolds = [...heldById.values()];
  for (const [id, ancestors] of order.ancestors) {
    const parent = initialHolds.find(({ index_id }) => ancestors.has(index_id));
    if (parent === undefined || heldById.has(id)) continue;
    heldById.set(id, {
      ...parent,
      index_id: id,
      reason: `The parent ${parent.index_id} is held back: ${parent.reason}`,
    });
  }
  return [...heldById.values()].toSorted((a, b) => (a.index_id < b.index_id ? -1 : 1));
}

/**
 * Returns true for an item that waits: for data, a target or an approval, or for a database or object store that is
 * unavailable.
 */
const isWaitingItem = ({ state, code }: Pick<StoredItem, 'state' | 'code'>): boolean =>
  state === 'waiting' || code === 'STORE_UNAVAILABLE';

/** Returns the state in which a round ends. An item without an index, such as a delivery, also blocks the day. */
function determineRoundEnd(heldIndices: readonly HeldIndex[], { steps }: DayDocument): RoundEnd {
  const items = steps.flatMap((step) => step.items.filter(({ state }) => state !== 'done'));
  if (heldIndices.length === 0 && items.length === 0) return { state: 'done', reason: null, held: heldIndices };
  const isWaiting = items.every(isWaitingItem) && items.length > 0;
  const reasons = [
    ...new Set([
      ...heldIndices.map(({ index_id, reason }) => `${index_id}: ${reason}`),
      ...items.filter(({ index_id }) => index_id === null).map(({ key, message }) => `${key}: ${message}`),
    ]),
  ];
  const omissionNote = reasons.length > NAMED_INDICES_MAX ? ` And ${reasons.length - NAMED_INDICES_MAX} more.` : '';
  return {
    state: isWaiting ? 'waiting' : 'blocked',
    reason: reasons.slice(0, NAMED_INDICES_MAX).join(' ') + omissionNote,
    held: heldIndices,
  };
}

function createAuthorship({ author, key_id: keyId, schedule_id: id, date }: DayDocument): Authorship {
  return { author, keyId, note: `Schedule ${id}, ${date}`, requestId: '' };
}

function createOrigin({ author, key_id: owner, schedule_id: id, date }: DayDocument): Origin {
  return { owner, author, note: `Schedule ${id}, ${date}`, requestId: '', traceId: null, callback: null };
}
