import { callOnce } from '#base/once.js';
import { findLastAtMost, formatCount } from '#domain/base/numbers.js';
import { Refusal } from '#domain/base/refusals.js';
import { type Day, formatDay, parseValidDay } from '#domain/base/time.js';
import type { DeskState } from '#domain/definition/action-desk.js';
import { findTextInEffect } from '#domain/definition/amendments.js';
import type { Approval } from '#domain/definition/approvals.js';
import {
  type PlanCheck,
  type CheckedComposition,
  type CheckedLevels,
  type CheckFinding,
  type CheckInput,
  type CheckMeasure,
  findCheckKind,
  formatPercentText,
  LEVEL_VARIANTS,
  listStandardChecks,
  type MoveEvidence,
} from '#domain/definition/daily-plan-checks.js';
import { type IndexDocument, isRuleDocument } from '#domain/definition/index-document.js';
import type { RunDocument } from '#domain/definition/runs.js';
import { closeOn, type CorporateAction, type MarketData, readReference } from '#domain/market/market-data.js';
import type { StoredItem, Waiver } from '#domain/outputs/daily-plans.js';
import { isCashName } from '#domain/outputs/exports.js';
import { getLookup } from '#market/serve/served-markets.js';
import { computeRunId } from '#store/port.js';
import { requireIndex } from '../indices/documents.js';
import type { Publications } from '../publication/publications.js';
import { type Exports, collectBytes } from '../runs/exports.js';
import { findRun } from '../shared/run-documents.js';
import { readDeskState } from '../stores/action-desk.js';
import {
  findIndexMarket,
  type ItemResult,
  listRejected,
  performEachIndex,
  type Performer,
  type StepContext,
  type StepOutcome,
  type StepServices,
} from './steps.js';

export interface CheckSubject {
  readonly index: IndexDocument;
  /** Newest run; undefined for an index that was never run. */
  readonly run: RunDocument | undefined;
  readonly market: MarketData;
  readonly storeId: string;
  readonly date: string;
  readonly reads: ReadonlySet<string>;
  readonly restated: ReadonlySet<string> | null;
}

/** Number of sessions for which published levels are compared with the run: about one year. */
const COMPARED_SESSIONS = 260;

/** Error codes for a table that this kind of index does not have. For example, an overlay has no constituents. */
const CHECKS_WITHOUT_TABLE: ReadonlySet<string> = new Set([
  'VALIDATION_FAILED',
  'NO_DATA_AT_DATE',
  'NO_DATA_IN_RANGE',
  'INVALID_RANGE',
]);

type TableRows = readonly Readonly<Record<string, string | number | null>>[];

/**
 * Reads the rows of one table of a run. Returns null if this kind of index has no such table, or if the table has no
 * rows on the date.
 */
export async function readTable(
  exports: Pick<Exports, 'export'>,
  run: RunDocument,
  terms: { readonly table: 'closing' | 'opening' | 'levels'; readonly start?: string; readonly end: string },
  signal: AbortSignal,
): Promise<TableRows | null> {
  try {
    const runExport = await exports.export(
      { subject: run.index_id, id: computeRunId(run) },
      { ...terms, format: 'json' },
    );
    const body = JSON.parse(Buffer.from(await collectBytes(await runExport.open(signal))).toString()) as {
      readonly columns: readonly string[];
      readonly data: readonly (readonly (string | number | null)[])[];
    }; // the engine wrote the file with these columns
    return body.data.map((row) => Object.fromEntries(body.columns.map((column, k) => [column, row[k] ?? null])));
  } catch (failure) {
    if (failure instanceof Refusal && CHECKS_WITHOUT_TABLE.has(failure.code)) return null;
    throw failure;
  }
}

/** Reads the data that the checks of an index evaluate. */
async function checkInput(
  { exports, publications, calendars, documents }: StepServices,
  subject: CheckSubject,
  signal: AbortSignal,
): Promise<CheckInput> {
  const { index, run, market, date, reads, restated } = subject;
  const calendar = calendars.get(index.calendar)!; // the calendar of a stored index is known
  const day = parseValidDay(date);
  const sessionAt = findLastAtMost(calendar.sessions, day - 1);
  const previousSession = calendar.sessions[Math.max(sessionAt, 0)]!;
  const from = calendar.sessions[Math.max(sessionAt - COMPARED_SESSIONS, 0)]!;
  const asOf = run !== undefined && run.end < date ? run.end : date;

  const loadTable = (name: 'closing' | 'opening' | 'levels', start?: string): Promise<TableRows | null> =>
    run === undefined || !reads.has(name)
      ? Promise.resolve(null)
      : readTable(exports, run, { table: name, end: asOf, ...(start !== undefined && { start }) }, signal);

  const { rounding } = findTextInEffect(index, day).document;
  const start = run !== undefined && formatDay(from) < run.start ? run.start : formatDay(from);
  const lookup = getLookup(market);
  const close = market.fields.get('CLOSE')!;
  const closingComposition = createComposition(await loadTable('closing'));
  const openingComposition = createComposition(await loadTable('opening'));
  const states = new Map<CorporateAction, DeskState>();
  if (reads.has('decisions'))
    for (const { identifier } of [...(closingComposition?.holdings ?? []), ...(openingComposition?.holdings ?? [])])
      for (const action of lookup.actionsOf(identifier))
        if (action.exDay > previousSession && action.exDay <= day && !states.has(action))
          states.set(action, await readDeskState(documents, subject.storeId, action));
  return {
    indexId: index.id,
    date: day,
    previous: previousSession,
    closing: closingComposition,
    opening: openingComposition,
    levels: createLevels((await loadTable('levels', start)) ?? []),
    published: reads.has('published') ? await listPublishedLevels(publications, index.id, formatDay(from)) : new Map(),
    decimals: {
      level: rounding?.level ?? null,
      divisor: rounding?.divisor ?? null,
      weights: rounding?.weights ?? null,
    },
    maySellShort: !isRuleDocument(index),
    closeOn(identifier, closeDay) {
      const column = lookup.positionOf(identifier);
      const row = findLastAtMost(market.dates, closeDay);
      if (column === undefined || row < 0 || market.dates[row] !== closeDay) return Number.NaN;
      return close[row * market.identifiers.length + column]!;
    },
    lastDays(count) {
      const last = findLastAtMost(market.dates, day);
      return [...market.dates.subarray(Math.max(0, last + 1 - count), last + 1)];
    },
    actionsOf: (identifier) => lookup.actionsOf(identifier),
    deskStateOf: (action) => states.get(action) ?? 'new',
    isClosed(identifier) {
      const code = readReference(market.reference, identifier, 'EXCHANGE', day);
      const exchange = typeof code === 'string' ? calendars.get(code) : undefined;
      return exchange !== undefined && !exchange.isSession(day);
    },
    isSession: (sessionDay) => calendar.isSession(sessionDay),
    issuerOf: (identifier) => String(readReference(market.reference, identifier, 'ISSUER', day) ?? identifier),
    seriesOn(identifier, seriesDay) {
      const series = market.series?.get(identifier);
      return series === undefined ? Number.NaN : closeOn(series, seriesDay);
    },
    restated,
  };
}

const NO_CASH = { marketValue: 0, weight: 0 };

/** Returns the securities and the cash in the rows of an index file; null without a file. */
export function createComposition(rows: TableRows | null): CheckedComposition | null {
  if (rows === null) return null;
  const holdings = rows.map((row) => ({
    identifier: String(row['identifier']),
    marketValue: Number(row['market_value'] ?? Number.NaN),
    weight: Number(row['weight'] ?? Number.NaN),
  }));
  const { divisor, variant } = rows[0] ?? {};
  return {
    holdings: holdings.filter(({ identifier }) => !isCashName(identifier)),
    cash: holdings.find(({ identifier }) => isCashName(identifier)) ?? NO_CASH,
    divisor: typeof divisor === 'number' ? divisor : null,
    variant: LEVEL_VARIANTS.find((name) => name === variant) ?? 'price', // only a file without rows has no variant
  };
}

function createLevels(rows: TableRows): ReadonlyMap<Day, CheckedLevels> {
  const getValue = (cell: unknown): number | null => (typeof cell === 'number' ? cell : null);
  return new Map(
    rows.map((row) => [
      parseValidDay(String(row['date'])),
      { price: getValue(row['price']), total: getValue(row['total']), net: getValue(row['net']) },
    ]),
  );
}

async function listPublishedLevels(
  publications: Pick<Publications, 'entries'>,
  indexId: string,
  start: string,
): Promise<ReadonlyMap<Day, CheckedLevels>> {
  const levels = new Map<Day, CheckedLevels>();
  try {
    for await (const batch of await publications.entries(indexId, { start }))
      for (const { date, price, total, net } of batch) levels.set(parseValidDay(date), { price, total, net });
  } catch (failure) {
    if (!(failure instanceof Refusal) || failure.code !== 'NOTHING_PUBLISHED') throw failure;
  }
  return levels;
}

/** Maximum number of listed findings per check and index. */
const LISTED_MAX = 50;

export function createChecksPerformer(services: StepServices): Performer<'checks'> {
  return (context) => {
    const { type } = context.spec;
    const { steps, plan } = context.day();
    const hasPolicy = plan.steps.some((step) => step.type === 'publish' && step.errors !== null);
    const ownPosition = steps.findIndex((step) => step.type === type && step.state === 'running');
    const hasRun = steps.slice(0, ownPosition).some((step) => step.type === 'run');
    return performChecks(services, context, context.spec.checks ?? listStandardChecks(hasRun, hasPolicy));
  };
}

/** Creates the step that compares the data with a second source. */
export function createComparePerformer(services: StepServices): Performer<'compare'> {
  return (context) => {
    const { second_source: series, tolerance_bps, variant } = context.spec;
    return performChecks(services, context, [
      { check: 'second_source', severity: 'block', series, tolerance_bps, variant },
    ]);
  };
}

async function performChecks(
  services: StepServices,
  context: StepContext<unknown>,
  checks: readonly PlanCheck[],
): Promise<StepOutcome> {
  const { documents, markets } = services;
  const { day, put, clear, getAncestors, signal } = context;
  await markets.settled();
  const reads = new Set(checks.flatMap(({ check }) => findCheckKind(check).reads));
  let findingsCount = 0;
  await clear(); // the step keeps only findings of this round
  await performEachIndex(context, async (indexId) => {
    const { document: index } = await requireIndex(documents, indexId);
    const run = await findRun(documents, indexId);
    const { market, identity } = await findIndexMarket(services, indexId);
    const subject = {
      index,
      run,
      market,
      storeId: identity.datasetId,
      date: day().date,
      reads,
      restated: listRejected(day()),
    };
    const input = await checkInput(services, subject, signal);
    // The overrides are read only if there are findings; most indices have none.
    const readOverrides = callOnce(() => createRequestedOverrides(services, identity.datasetId, day().date));
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
async function logWaivers({ day, log }: StepContext<unknown>, checks: readonly PlanCheck[]): Promise<void> {
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
  { approvals }: StepServices,
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

export interface FindingDetail {
  readonly check: PlanCheck['check'];
  /** Security or series; null for the index as a whole. */
  readonly identifier: string | null;
  readonly severity: PlanCheck['severity'];
  readonly measure: CheckMeasure | null;
  /** Prices and weight of a price move; absent for other findings. */
  readonly evidence?: MoveEvidence;
}

function createResult(
  { check, severity }: PlanCheck,
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

type Item = Pick<StoredItem, 'state' | 'message' | 'detail'>;

/**
 * Returns the reason why a step holds back an index, from the items of the index. The reason states the number of
 * findings if there are several, and the largest of several price moves.
 */
export function describeReason(items: readonly Item[]): string {
  const message = items[0]?.message ?? '';
  if (items.length < 2 || items.some((item) => readFinding(item).check === undefined)) return message;
  const moves = isMove(items[0]!) ? items.filter(isMove) : [];
  const summary = summariseMoves(moves);
  if (summary === null) return `${message} And ${formatRest(items.length - 1)}.`;
  return moves.length === items.length ? summary : `${summary} And ${formatRest(items.length - moves.length)}.`;
}

const readFinding = ({ detail }: Pick<Item, 'detail'>): Partial<FindingDetail> =>
  (detail as Partial<FindingDetail> | null) ?? {}; // the step of checks wrote the detail

const isMove = (item: Item): boolean => item.state === 'blocked' && readFinding(item).check === 'moves';

/** Formats the number of further findings. A step lists only the first findings of a check. */
const formatRest = (count: number): string =>
  `${count >= LISTED_MAX ? 'at least ' : ''}${formatCount(count, 'more finding')}`;

/** Summarises price moves with a common limit; null for a single move, and if not all moves are listed. */
function summariseMoves(moves: readonly Item[]): string | null {
  const measures = moves.flatMap((item) => {
    const { identifier, measure } = readFinding(item);
    return identifier == null || measure == null ? [] : [{ identifier, ...measure }];
  });
  const [first] = measures;
  if (first === undefined || moves.length < 2 || measures.length < moves.length) return null;
  if (measures.some(({ limit }) => limit !== first.limit)) return null;
  const largest = measures.reduce((a, b) => (Math.abs(b.value) > Math.abs(a.value) ? b : a));
  return `${formatCount(moves.length, 'unexplained move')}, largest ${largest.identifier} ${formatPercentText(largest.value)}, limit ${formatPercentText(first.limit)}.`;
}
