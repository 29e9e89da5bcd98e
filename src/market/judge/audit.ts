import { allocateRetainedFloats } from '#base/memory.js';
import { compareText } from '#domain/base/findings.js';
import { findFirstAtLeast, findLastAtMost, formatPrices } from '#domain/base/numbers.js';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import { ACTION_KINDS, type Adjustment, type CorporateAction } from '#domain/market/market-data.js';
import { compareActions } from '../content/action-rows.js';
import { findRatesNotAboveZero, type MarketContent } from '../content/market-content.js';
import { removeEmptyLines } from '../panels/panels.js';
import { findActionWarnings } from './content-warnings.js';
import { createActionRow, findDoubtfulDividends, MISTAKEN_FACTORS, scaleAmount } from './doubtful-dividends.js';
import { type ActionStep, findUnknownCurrencies, listActionSteps, listRenamedSteps } from './market-warnings.js';
import {
  type ActionRow,
  type AuditPanels,
  type DataWarning,
  EX_DATE_BARS,
  explainGrowths,
  formatBarDay,
  listSecurityHistories,
  listStructuralBars,
  readAsSplit,
  type Repair,
  type SecurityHistory,
  type SplitReading,
} from './security-histories.js';
import { describeJump } from '#domain/market/growth.js';

/** Returns the content with repairs applied in the given order. The content itself is not changed. */
export function applyRepairs(content: MarketContent, repairs: readonly Repair[]): MarketContent {
  const repairedColumns = new Set(repairs.flatMap(listColumns));
  const fields = new Map(
    [...content.fields].map(([name, panel]) => [name, repairedColumns.has(name) ? copyValues(panel) : panel]),
  );
  for (const repair of repairs) {
    switch (repair.kind) {
      case 'scale':
        forEachCell(
          content,
          repair,
          repair.columns,
          (panel, cell) => (panel[cell] = roundTo(panel[cell]! * repair.factor)),
          fields,
        );
        forEachCell(
          content,
          repair,
          repair.inverse_columns ?? [],
          (panel, cell) => (panel[cell] = roundTo(panel[cell]! / repair.factor)),
          fields,
        );
        break;
      case 'remove_values':
        forEachCell(content, repair, repair.columns, (panel, cell) => (panel[cell] = Number.NaN), fields);
        break;
    }
  }
  return {
    ...content,
    ...removeEmptyLines({ identifiers: content.identifiers, dates: content.dates, fields }),
    actions: repairActions(content.actions, repairs).toSorted(compareActions),
  };
}

function repairActions(stored: readonly CorporateAction[], repairs: readonly Repair[]): CorporateAction[] {
  let actions = [...stored];
  for (const repair of repairs) {
    switch (repair.kind) {
      case 'insert_action':
        actions.push(createAction(repair.action));
        break;
      case 'remove_action':
        actions = actions.filter((action) => !isSameAction(action, repair.action));
        break;
      case 'replace_action':
        actions = actions.map((action) =>
          isSameAction(action, repair.action)
            ? { ...action, value: repair.value, exDay: parseValidDay(repair.ex_date ?? repair.action.ex_date) }
            : action,
        );
        break;
    }
  }
  return actions;
}

/**
 * Returns true if a repair changes the results computed from a content. A repair that adds a split changes nothing if
 * prices are already adjusted for splits.
 */
export function changesContent(content: MarketContent, adjustment: Adjustment, repair: Repair): boolean {
  const hasAction = (row: ActionRow) => content.actions.some((action) => isSameAction(action, row));
  switch (repair.kind) {
    case 'scale':
      return repair.factor !== 1 && holdsValues(content, repair);
    case 'remove_values':
      return holdsValues(content, repair);
    case 'insert_action':
      return !hasAction(repair.action) && (adjustment === 'none' || ACTION_KINDS[repair.action.type] !== 'ratio');
    case 'remove_action':
      return hasAction(repair.action);
    case 'replace_action':
      return (
        hasAction(repair.action) &&
        (repair.value !== repair.action.value || (repair.ex_date ?? repair.action.ex_date) !== repair.action.ex_date)
      );
  }
}

type CellRepair = Extract<Repair, { columns: unknown }>;

const listColumns = (repair: Repair) =>
  'columns' in repair
    ? [...repair.columns, ...('inverse_columns' in repair ? (repair.inverse_columns ?? []) : [])]
    : [];

function holdsValues(content: MarketContent, repair: CellRepair): boolean {
  let values = 0;
  forEachCell(content, repair, listColumns(repair), () => (values += 1), content.fields);
  return values > 0;
}

function copyValues(panel: Float64Array): Float64Array {
  const copy = allocateRetainedFloats(panel.length);
  copy.set(panel);
  return copy;
}

/** Calls `visit` for each value of the columns in the days of a repair. */
function forEachCell(
  { identifiers, dates }: MarketContent,
  { identifier, from, to }: CellRepair,
  columns: readonly string[],
  visit: (panel: Float64Array, cell: number) => void,
  fields: ReadonlyMap<string, Float64Array>,
): void {
  const position = identifiers.indexOf(identifier);
  const last = findLastAtMost(dates, parseValidDay(to));
  for (const name of columns) {
    const panel = fields.get(name);
    if (panel === undefined || position < 0) continue;
    for (let t = findFirstAtLeast(dates, parseValidDay(from)); t <= last; t++) {
      const cell = t * identifiers.length + position;
      if (!Number.isNaN(panel[cell])) visit(panel, cell);
    }
  }
}

/** Rounds to twelve digits, which removes the noise of a factor of ten and keeps every digit of a price. */
const roundTo = (value: number) => Number(value.toPrecision(12));

function isSameAction({ identifier, type, value, exDay }: CorporateAction, row: ActionRow): boolean {
  return (
    identifier === row.identifier && type === row.type && value === row.value && exDay === parseValidDay(row.ex_date)
  );
}

function createAction({ identifier, type, value, ex_date }: ActionRow): CorporateAction {
  return {
    identifier,
    type,
    value,
    exDay: parseValidDay(ex_date),
    payDay: null,
    status: null,
    announcedDay: null,
    related: null,
    subscriptionPrice: null,
  };
}

/** Number of equal closes at the end of a history from which the price is considered stale. */
const STALE_BARS = 10;

/** Finds bars that are repeated, are constant at the end of a history, or have volume but no price. */
function* findDoubtfulBars(history: SecurityHistory, content: MarketContent): Generator<DataWarning> {
  yield* listRepeatedBars(history, content);
  yield* findStaleTail(history, content);
  yield* findVolumeWithoutTrade(history, content);
}

function* listRepeatedBars(
  { identifier, position, rows, days }: SecurityHistory,
  { fields, identifiers }: MarketContent,
): Generator<DataWarning> {
  const width = identifiers.length;
  const volume = fields.get('VOLUME');
  const comparedPanels = ['OPEN', 'HIGH', 'LOW', 'CLOSE', 'VOLUME'].flatMap((name) => fields.get(name) ?? []);
  if (volume === undefined || comparedPanels.length < 3) return;
  for (let b = 1; b < rows.length; b++) {
    const cell = rows[b]! * width + position;
    const previousCell = rows[b - 1]! * width + position;
    if (!(volume[cell]! > 0) || comparedPanels.some((panel) => panel[cell] !== panel[previousCell])) continue;
    const date = formatDay(days[b]!);
    yield {
      id: `duplicate_bar ${identifier} ${date}`,
      kind: 'duplicate_bar',
      identifier,
      date,
      confidence: 0.9,
      message: `The bar repeats that of ${formatDay(days[b - 1]!)}, including its volume of ${volume[cell]}.`,
      evidence: { volume: volume[cell]!, same_as: formatDay(days[b - 1]!) },
      repair: { kind: 'remove_values', identifier, from: date, to: date, columns: [...fields.keys()] },
    };
  }
}

function* findStaleTail(history: SecurityHistory, { fields, identifiers }: MarketContent): Generator<DataWarning> {
  const { identifier, position, rows, close } = history;
  let first = close.length - 1;
  while (first > 0 && close[first - 1] === close[first]) first -= 1;
  const count = close.length - first;
  if (count < STALE_BARS) return;
  const volume = fields.get('VOLUME');
  const tradedBars =
    volume === undefined
      ? 0
      : [...rows.subarray(first + 1)].filter((t) => volume[t * identifiers.length + position]! > 0).length;
  if (tradedBars > count / 2) return;
  const date = formatBarDay(history, first);
  yield {
    id: `stale_tail ${identifier} ${date}`,
    kind: 'stale_tail',
    identifier,
    date,
    confidence: 0.8,
    message: `The last ${count} bars all close at ${close[first]}: the security has probably left the market.`,
    evidence: { bars: count, close: close[first]! },
    repair:
      first + 1 < close.length
        ? {
            kind: 'remove_values',
            identifier,
            from: formatBarDay(history, first + 1),
            to: formatBarDay(history, close.length - 1),
            columns: [...fields.keys()],
          }
        : null,
  };
}

function* findVolumeWithoutTrade(
  { identifier, position }: SecurityHistory,
  { fields, identifiers, dates }: MarketContent,
): Generator<DataWarning> {
  const volume = fields.get('VOLUME');
  const close = fields.get('CLOSE')!;
  if (volume === undefined) return;
  for (let t = 0, cell = position; t < dates.length; t++, cell += identifiers.length) {
    if (!(volume[cell]! > 0) || !Number.isNaN(close[cell])) continue;
    const date = formatDay(dates[t]!);
    yield {
      id: `volume_without_trade ${identifier} ${date}`,
      kind: 'volume_without_trade',
      identifier,
      date,
      confidence: 0.6,
      message: `${volume[cell]} shares were traded but there is no close.`,
      evidence: { volume: volume[cell]! },
      repair: null,
    };
  }
}

/** Finds exchange rates of 0 or less. */
function findDoubtfulRates({ series }: MarketContent): DataWarning[] {
  return findRatesNotAboveZero(series ?? new Map()).map(({ identifier, first: { date, value }, count }) => ({
    id: `exchange_rate ${identifier} ${date}`,
    kind: 'exchange_rate',
    identifier,
    date,
    confidence: 1,
    message: `The exchange rate is ${value}; computations that need it are refused.`,
    evidence: { value, days: count },
    repair: null,
  }));
}

const MOVE_KINDS: ReadonlySet<string> = new Set(['cash', 'ratio']);

/** Finds implausible terms of corporate actions and unknown currencies. Only their source can correct them. */
function findDoubtfulTerms(content: MarketContent, adjustment: Adjustment): DataWarning[] {
  const actions = findActionWarnings(content, adjustment)
    // Excludes the sizes of dividends and splits, which are compared with price moves elsewhere.
    .filter(({ code, action: { type } }) => code !== 'ACTION_SIZE' || !MOVE_KINDS.has(ACTION_KINDS[type]))
    .map(({ action: { identifier, type, exDay, value }, code, message, evidence }): DataWarning => {
      const date = formatDay(exDay);
      const id = `action_terms ${identifier} ${date} ${type} ${value} ${code}`;
      return { id, kind: 'action_terms', identifier, date, confidence: 0.9, message, evidence, repair: null };
    });
  const currencies = findUnknownCurrencies(content).map(
    ({ identifier, table, currency, from, message }): DataWarning => {
      const date = from ?? formatDay(content.dates[0]!);
      const id = `unknown_currency ${table} ${identifier} ${date}`;
      const evidence = { currency };
      return { id, kind: 'unknown_currency', identifier, date, confidence: 0.9, message, evidence, repair: null };
    },
  );
  return [...actions, ...currencies];
}

/** Minimum number of securities with a growth on a day; the median of fewer does not represent the market. */
const NAMES_MIN = 10;

/**
 * Computes the cumulative log return of the market. The return of a day is the median log growth of CLOSE over
 * securities with a bar on the day and on the day before. Days with fewer than ten such securities add nothing.
 * @returns [T] @cost one pass over CLOSE and a sort a day
 */
function computeMarketLevel({ identifiers, dates, fields }: MarketContent): Float64Array {
  const close = fields.get('CLOSE')!;
  const width = identifiers.length;
  const level = new Float64Array(dates.length);
  if (width < NAMES_MIN) return level;
  const growths = new Float64Array(width);
  for (let t = 1; t < dates.length; t++) {
    let count = 0;
    for (let cell = t * width; cell < (t + 1) * width; cell++) {
      const growth = close[cell]! / close[cell - width]!;
      if (growth === growth) growths[count++] = growth;
    }
    const sortedGrowths = growths.subarray(0, count).sort();
    level[t] = level[t - 1]! + (count < NAMES_MIN ? 0 : Math.log(sortedGrowths[count >> 1]!));
  }
  return level;
}

/** Maximum number of data warnings that are listed; the others are counted. */
export const WARNINGS_MAX = 1000;

export interface MarketAudit {
  /** Warnings by date, identifier and kind; only the most certain ones if there are too many. */
  readonly doubts: readonly DataWarning[];
  readonly total: number;
}

/**
 * Searches a market for probable errors. Each data warning contains its evidence and, if the data implies the correct
 * value, a repair. A repair that would not change the store is not offered.
 * @cost about 1 µs a bar
 */
export function auditMarket(
  content: MarketContent,
  adjustment: Adjustment,
  onProgress: (fraction: number) => void,
): MarketAudit {
  const fieldNames = [...content.fields.keys()];
  const { fields } = content;
  const panels: AuditPanels = {
    adjustment,
    width: content.identifiers.length,
    level: computeMarketLevel(content),
    volume: fields.get('VOLUME'),
    shares: fields.get('SHARES_OUTSTANDING'),
    steps: createSteps(content, adjustment),
  };
  const warnings: DataWarning[] = [];
  for (const history of listSecurityHistories(content, adjustment)) {
    // Dividends are not checked against prices that include reinvested dividends. Such prices do not fall on ex-dates
    // and do not show the size of dividends.
    const dividendWarnings = adjustment === 'total' ? [] : [...findDoubtfulDividends(history, content)];
    const steps = createCorrectedSteps(content, history, { dividendWarnings, panels });
    warnings.push(
      ...findDoubtfulPrices(history, fieldNames, { ...panels, steps }),
      ...findDoubtfulBars(history, content),
      ...dividendWarnings,
    );
    if (history.position % 32 === 0) onProgress(history.position / content.identifiers.length);
  }
  for (const step of listRenamedSteps(content, adjustment))
    if (step.isJump && step.isMoved) warnings.push(createRenamedWarning(content, step));
  warnings.push(...findDoubtfulRates(content), ...findDoubtfulTerms(content, adjustment));
  const strongestWarnings =
    warnings.length <= WARNINGS_MAX
      ? warnings
      : warnings.toSorted((a, b) => b.confidence - a.confidence).slice(0, WARNINGS_MAX);
  const listedWarnings = strongestWarnings.map((doubt) =>
    doubt.repair === null || changesContent(content, adjustment, doubt.repair) ? doubt : { ...doubt, repair: null },
  );
  return {
    doubts: listedWarnings.toSorted(
      (a, b) => compareText(a.date, b.date) || compareText(a.identifier, b.identifier) || compareText(a.id, b.id),
    ),
    total: warnings.length,
  };
}

const createSteps = (content: MarketContent, adjustment: Adjustment): AuditPanels['steps'] =>
  new Map(listActionSteps(content, adjustment).map((step) => [step.to * content.identifiers.length + step.n, step]));

/**
 * Returns the steps of a security with its dividends as repaired, so that a wrong dividend causes no second repair. A
 * dividend of the wrong size without a repair explains no move.
 */
function createCorrectedSteps(
  content: MarketContent,
  { actions }: SecurityHistory,
  { dividendWarnings, panels }: { readonly dividendWarnings: readonly DataWarning[]; readonly panels: AuditPanels },
): AuditPanels['steps'] {
  const repairs = dividendWarnings.flatMap(({ repair }) => (repair !== null && 'action' in repair ? [repair] : []));
  const unrepaired = new Set(
    dividendWarnings.flatMap(({ kind, repair, date, evidence }) =>
      kind === 'dividend_size' && repair === null ? [`${date} ${evidence['amount']}`] : [],
    ),
  );
  if (repairs.length === 0 && unrepaired.size === 0) return panels.steps;
  const kept = actions
    .map(({ action }) => action)
    .filter(
      ({ type, exDay, value }) => ACTION_KINDS[type] !== 'cash' || !unrepaired.has(`${formatDay(exDay)} ${value}`),
    );
  return createSteps({ ...content, actions: repairActions(kept, repairs) }, panels.adjustment);
}

/** Bar from which the closes are in another unit: `10 ** exponent` times those in the unit before. */
interface UnitChange {
  readonly bar: number;
  readonly exponent: number;
  /** True if the price step equals the power of ten within the usual moves of the security. */
  readonly isExact: boolean;
}

/** Consecutive bars in one unit, `from` inclusive and `to` exclusive. */
interface Segment {
  readonly from: number;
  readonly to: number;
  /** Power of ten of the unit, relative to the first bar. */
  readonly unit: number;
  /** True if the changes at both ends are exact. */
  readonly isExact: boolean;
}

/** Maximum relative distance of a step from its power of ten, in addition to the usual move of the day. */
const FACTOR_TOLERANCE = 0.06;
/** Maximum of this distance for volatile securities. */
const FACTOR_TOLERANCE_MAX = 0.5;
/** Maximum distance (log 10) of a step that counts as inexact, because the price itself also moved by up to 2. */
const LOOSE_DISTANCE = Math.log10(2);
/** Maximum power of ten between two blocks, one 1,000 times too large and the next 1,000 times too small. */
const EXPONENT_MAX = 6;
/** Maximum number of bars in a unit that differs by 10 only. The steps of a longer block may be two splits. */
const TENFOLD_BARS = 20;
/** Maximum number of bars of a block whose repair is nearly certain. */
const SHORT_BARS = 5;
/** Share of bars in the prevailing unit from which a block at either end of a history counts as wrong. */
const PREVAILING_SHARE = 2 / 3;

/**
 * Returns the bars on which the unit of the closes changes by 100 or 1,000, or by 10 for a few bars.
 * @param growths growth of each bar after its actions; NaN for a bar that is ignored
 */
function listUnitChanges({ sigma }: SecurityHistory, growths: Float64Array): UnitChange[] {
  const changes: UnitChange[] = [];
  for (let bar = 1; bar < growths.length; bar++) {
    const growth = growths[bar]!;
    if (!(growth > 0)) continue;
    const exponent = Math.round(Math.log10(growth));
    if (exponent === 0 || Math.abs(exponent) > EXPONENT_MAX) continue;
    const tolerance = Math.min(FACTOR_TOLERANCE_MAX, FACTOR_TOLERANCE + 3 * sigma[bar]!);
    const isExact = Math.abs(growth / Number(`1e${exponent}`) - 1) < tolerance;
    if (isExact || (Math.abs(exponent) > 1 && Math.abs(Math.log10(growth) - exponent) < LOOSE_DISTANCE))
      changes.push({ bar, exponent, isExact });
  }
  return selectCredible(selectCredible(changes));
}

/**
 * Returns the changes that are evidence of a unit. An inexact step, and one by 10, must be next to the opposite step.
 * Otherwise it is a fall or a split. Two inexact steps within a few bars are a wrong price, not a unit.
 */
const selectCredible = (changes: readonly UnitChange[]): UnitChange[] =>
  changes.filter((change, i) => {
    const isTenfold = Math.abs(change.exponent) === 1;
    if (change.isExact && !isTenfold) return true;
    return [changes[i - 1], changes[i + 1]].some((other) => {
      if (other?.exponent !== -change.exponent) return false;
      const bars = Math.abs(other.bar - change.bar);
      return isTenfold ? bars <= TENFOLD_BARS : other.isExact || bars > SHORT_BARS;
    });
  });

/**
 * Yields one warning for each block of closes in a unit other than that of most closes. A block ends where the unit
 * changes back, so that one change never causes two repairs.
 */
function* findUnitBlocks(
  history: SecurityHistory,
  changes: readonly UnitChange[],
  columns: readonly string[],
): Generator<DataWarning> {
  if (changes.length === 0) return;
  const segments = listSegments(changes, history.close.length);
  const barsByUnit = new Map<number, number>();
  for (const { unit, from, to } of segments) barsByUnit.set(unit, (barsByUnit.get(unit) ?? 0) + to - from);
  const [prevailingUnit, bars] = [...barsByUnit].reduce((most, each) => (each[1] > most[1] ? each : most));
  const isPrevailing = bars / history.close.length >= PREVAILING_SHARE;
  for (const [i, segment] of segments.entries()) {
    if (segment.unit === prevailingUnit) continue;
    const isEnclosed = segments[i - 1]?.unit === prevailingUnit && segments[i + 1]?.unit === prevailingUnit;
    const confidence =
      !segment.isExact || !(isEnclosed || isPrevailing)
        ? 0.6
        : isEnclosed && segment.to - segment.from <= SHORT_BARS
          ? 0.95
          : 0.9;
    yield createBlockWarning(history, segment, { exponent: prevailingUnit - segment.unit, columns, confidence });
  }
}

function listSegments(changes: readonly UnitChange[], end: number): Segment[] {
  let unit = 0;
  return [undefined, ...changes].map((change, i) => {
    const next = changes[i];
    unit += change?.exponent ?? 0;
    return {
      from: change?.bar ?? 0,
      to: next?.bar ?? end,
      unit,
      isExact: (change?.isExact ?? true) && (next?.isExact ?? true),
    };
  });
}

interface BlockTerms {
  /** Power of ten by which the closes of the block must be multiplied. */
  readonly exponent: number;
  readonly columns: readonly string[];
  readonly confidence: number;
}

function createBlockWarning(
  history: SecurityHistory,
  { from, to }: Segment,
  { exponent, columns, confidence }: BlockTerms,
): DataWarning {
  const { identifier, close, returns, sigma } = history;
  const isTenfold = Math.abs(exponent) === 1;
  const kind = isTenfold ? 'unexplained_jump' : 'currency_flip';
  const step = from === 0 ? to : from;
  const hasReturn = from > 0 && to < close.length;
  const date = formatBarDay(history, step);
  const closes = [close[step - 1]!, close[step]!, ...(hasReturn ? [close[to]!] : [])];
  const [before, after, back] = formatPrices(closes);
  const days = `${formatBarDay(history, from)} to ${formatBarDay(history, to - 1)}`;
  const unitText = isTenfold ? 'seem to be misplaced by one decimal' : 'are in another unit of the currency';
  return {
    id: `${kind} ${identifier} ${date}`,
    kind,
    identifier,
    date,
    confidence,
    message: `The close goes from ${before} to ${after}${hasReturn ? ` and returns to ${back} on ${formatBarDay(history, to)}` : ''}: the closes from ${days} ${unitText}.`,
    evidence: {
      before: close[step - 1]!,
      close: close[step]!,
      move: returns[step]!,
      usual_move: sigma[step]!,
      ...(hasReturn ? { back_at: close[to]!, back_on: formatBarDay(history, to) } : {}),
    },
    repair: {
      kind: 'scale',
      identifier,
      from: formatBarDay(history, from),
      to: formatBarDay(history, to - 1),
      columns,
      factor: Number(`1e${exponent}`),
    },
  };
}

/** Returns the growth of each bar without those of some bars, which are NaN. */
function ignoreBars(growths: Float64Array, ignored: ReadonlySet<number>): Float64Array {
  return growths.map((growth, bar) => (ignored.has(bar) ? Number.NaN : growth));
}

/** Minimum suspicious move; smaller moves are assumed to be real. */
const MOVE_MIN = 0.25;
/** Minimum suspicious move in standard deviations. Smaller moves are assumed to be ordinary. */
const SIGMAS_MIN = 8;
/** Minimum size of a move that is reported even if no cause is found. */
const JUMP_MIN = 0.5;
/** Maximum number of bars with a wrong price before the correct price returns. */
const RETURN_BARS = 5;
/** Fraction of a move (in logs) that reverses in one bar after a wrong price. A real fall recovers gradually. */
const RETURN_STEP = 0.6;
/** Minimum growth of a split in either direction. */
const SPLIT_MIN = 1.2;
/** Number of bars after a split within which the price must not jump back by its ratio. */
const REVERSAL_BARS = 20;
/**
 * Maximum log distance between a price step and a split ratio. Beyond it, the confidence is at most `CONFIDENCE_AWAY`.
 */
const RATIO_TOLERANCE = 0.01;
const CONFIDENCE_AWAY = 0.8;
/** Confidence of a split if another amount of a payment of the day explains the move as well. */
const CONFIDENCE_AMBIGUOUS = 0.6;
/** Log growth by which an action other than a split may widen the move of its day. Beyond it, its terms are suspect. */
const WIDENED_MAX = 0.1;
const PRICE_FIELDS = ['OPEN', 'HIGH', 'LOW', 'CLOSE'];
/** Fields that belong to a price: volume without a price is a separate data warning. */
const BAR_FIELDS = [...PRICE_FIELDS, 'VOLUME'];

/** Finds price jumps that no action explains: wrong prices that reverse, blocks in another unit, and missing splits. */
function* findDoubtfulPrices(
  history: SecurityHistory,
  fieldNames: readonly string[],
  panels: AuditPanels,
): Generator<DataWarning> {
  const { close, sigma } = history;
  const columns = PRICE_FIELDS.filter((name) => fieldNames.includes(name));
  const growths = explainGrowths(history, panels);
  const knownGrowths = ignoreBars(growths, listStructuralBars(history, panels));
  const unitChanges = listUnitChanges(history, knownGrowths);
  const unitBars = new Set(unitChanges.map(({ bar }) => bar));
  yield* findUnitBlocks(history, unitChanges, columns);
  for (let b = 1; b < close.length; b++) {
    const move = growths[b]! - 1;
    if (Number.isNaN(knownGrowths[b]) || unitBars.has(b)) continue;
    const isUnusual = Math.abs(move) >= Math.max(MOVE_MIN, SIGMAS_MIN * sigma[b]!);
    const returnBar = isUnusual ? findReturnBar(history, b) : undefined;
    if (returnBar !== undefined) {
      yield createPrintWarning(history, b, returnBar, fieldNames);
      b = returnBar;
      continue;
    }
    const split = findMissedSplit(history, b, growths, panels);
    if (split !== undefined) yield createSplitWarning(history, b, split, { growth: growths[b]!, fieldNames, panels });
    else if (isUnusual && Math.abs(move) > JUMP_MIN) yield createJumpWarning(history, b, growths[b]!);
  }
}

/**
 * Returns the first bar at which the price suddenly returns to its value before bar `b`, on the share basis of its day.
 * Returns undefined if the price does not return or recovers slowly.
 */
function findReturnBar({ returns, sigma, days }: SecurityHistory, b: number): number | undefined {
  let level = 1 + returns[b]!;
  const excursion = Math.abs(level - 1);
  const step = Math.abs(Math.log(level));
  for (let back = b + 1; back < returns.length && back <= b + RETURN_BARS; back++) {
    if (days[back]! - days[b]! > 30) return undefined;
    level *= 1 + returns[back]!;
    const distance = Math.abs(level - 1);
    if (distance >= Math.min(0.05 + 3 * sigma[b]! * Math.sqrt(back - b + 1), excursion / 3)) continue;
    return Math.abs(Math.log(1 + returns[back]!)) >= RETURN_STEP * step ? back : undefined;
  }
  return undefined;
}

/** Describes a price that is wrong for some bars and then correct again. */
function createPrintWarning(
  history: SecurityHistory,
  b: number,
  back: number,
  fieldNames: readonly string[],
): DataWarning {
  const { identifier, close, returns, sigma } = history;
  const [date, to] = [formatBarDay(history, b), formatBarDay(history, back - 1)];
  return {
    id: `unexplained_jump ${identifier} ${date}`,
    kind: 'unexplained_jump',
    identifier,
    date,
    confidence: 0.7,
    message: `The close ${describeMove([close[b - 1]!, close[b]!, close[back]!])} on ${formatBarDay(history, back)}.`,
    evidence: {
      before: close[b - 1]!,
      close: close[b]!,
      move: returns[b]!,
      usual_move: sigma[b]!,
      back_at: close[back]!,
      back_on: formatBarDay(history, back),
    },
    repair: {
      kind: 'remove_values',
      identifier,
      from: date,
      to,
      columns: BAR_FIELDS.filter((name) => fieldNames.includes(name)),
    },
  };
}

/**
 * Returns the split that explains a growth. The split must be more probable than not, and the price must not jump back
 * by its ratio.
 */
function findMissedSplit(
  history: SecurityHistory,
  b: number,
  growths: Float64Array,
  panels: AuditPanels,
): SplitReading | undefined {
  const growth = growths[b]!;
  if (!(growth > 0) || Math.max(growth, 1 / growth) < SPLIT_MIN || isWidened(history, b, growth)) return undefined;
  const isRecorded = (ratio: number) =>
    panels.adjustment === 'none'
      ? findMisdatedAction(history, b, ratio) !== undefined
      : history.actions.some(({ bar, action }) => bar === b && isSplitOf(action, ratio));
  const splitReading = readAsSplit(history, b, growth, panels, isRecorded);
  if (splitReading.probability <= 0.5) return undefined;
  const size = Math.abs(Math.log(growth));
  for (let c = b + 1; c < growths.length && c <= b + REVERSAL_BARS; c++) {
    if (Math.abs(Math.log(growths[c]! * growth)) < size / 3 && Math.abs(Math.log(growths[c]!)) > size / 2)
      return undefined;
  }
  return splitReading;
}

/** Returns true if an action of the day, other than a split, widens the move that it should explain. */
const isWidened = ({ actions, returns }: SecurityHistory, b: number, growth: number): boolean =>
  actions.some(({ bar, action }) => bar === b && ACTION_KINDS[action.type] !== 'ratio') &&
  Math.abs(Math.log(growth)) - Math.abs(Math.log(1 + returns[b]!)) > WIDENED_MAX;

/** Returns a payment of the day whose amount, times a power of ten, explains a growth at least as well as a split does. */
function findLargerPayment({ actions, close, returns }: SecurityHistory, b: number, growth: number, distance: number) {
  const readings = actions
    .filter(({ bar, action }) => bar === b && ACTION_KINDS[action.type] === 'cash')
    .flatMap(({ action }) => MISTAKEN_FACTORS.map((times) => ({ action, amount: scaleAmount(action.value, times) })));
  return readings.find(({ action, amount }) => {
    const otherGrowth = growth + ((amount - action.value) * (1 + returns[b]!)) / close[b]!;
    return Math.abs(Math.log(otherGrowth)) <= Math.max(RATIO_TOLERANCE, Math.abs(distance));
  });
}

/** Returns the recorded action with the split of a jump, if its date differs from that of the jump. */
const findMisdatedAction = ({ misdated }: SecurityHistory, b: number, ratio: number) =>
  [...misdated].find(({ bar, action }) => Math.abs(bar - b) <= EX_DATE_BARS && isSplitOf(action, ratio));

const isSplitOf = ({ type, value }: SecurityHistory['actions'][number]['action'], ratio: number) =>
  ACTION_KINDS[type] === 'ratio' && Math.abs(value / ratio - 1) < 0.02;

function createSplitWarning(
  history: SecurityHistory,
  b: number,
  split: SplitReading,
  {
    growth,
    fieldNames,
    panels,
  }: { readonly growth: number; readonly fieldNames: readonly string[]; readonly panels: AuditPanels },
): DataWarning {
  const { identifier, close, returns } = history;
  const date = formatBarDay(history, b);
  const { ratio, distance, probability, marketMove, after, volumeRatio } = split;
  const misdatedAction = findMisdatedAction(history, b, ratio);
  const isAdjusted = panels.adjustment !== 'none';
  const explanation = isAdjusted
    ? 'and the prices before it are not divided by it'
    : misdatedAction !== undefined
      ? `and its action says ${formatDay(misdatedAction.action.exDay)}`
      : findRecordedAction(history, b) === undefined
        ? 'and no action explains it'
        : `in addition to the split of ${findRecordedAction(history, b)!.value} in the actions`;
  const larger = findLargerPayment(history, b, growth, distance);
  const certainty =
    larger !== undefined ? CONFIDENCE_AMBIGUOUS : Math.abs(distance) <= RATIO_TOLERANCE ? 0.99 : CONFIDENCE_AWAY;
  const alternative =
    larger === undefined
      ? ''
      : ` A ${larger.action.type} of ${larger.amount} instead of ${larger.action.value} would explain the move as well.`;
  return {
    id: `missed_split ${identifier} ${date}`,
    kind: 'missed_split',
    identifier,
    date,
    confidence: Math.floor(Math.min(probability, certainty) * 100) / 100,
    message: `The close ${describeMove([close[b - 1]!, close[b]!])}: a split of ${round(ratio)} and a return of ${formatPercent(Math.expm1(distance))} relative to the market, ${explanation}.${alternative}`,
    evidence: {
      before: close[b - 1]!,
      close: close[b]!,
      move: returns[b]!,
      ratio,
      besides_market: Math.expm1(distance),
      market_move: Math.expm1(marketMove),
      ...(after === null ? {} : { next_moves_over_usual: after }),
      ...(volumeRatio === null ? {} : { volume_over_usual: volumeRatio }),
    },
    repair: isAdjusted
      ? createRestatement(history, b, split, fieldNames)
      : misdatedAction === undefined
        ? createActionRepair(history, b, ratio)
        : {
            kind: 'replace_action',
            action: createActionRow(misdatedAction.action),
            value: misdatedAction.action.value,
            ex_date: date,
          },
  };
}

const findRecordedAction = ({ actions }: SecurityHistory, b: number) =>
  actions.find(({ bar, action }) => bar === b && ACTION_KINDS[action.type] === 'ratio')?.action;

/**
 * Returns a repair that adds a split action with the ratio that the price implies. If there is an action on that day,
 * the repair changes it.
 */
function createActionRepair(history: SecurityHistory, b: number, ratio: number): Repair {
  const recordedAction = findRecordedAction(history, b);
  if (recordedAction === undefined)
    return {
      kind: 'insert_action',
      action: { identifier: history.identifier, type: 'SPLIT', value: ratio, ex_date: formatBarDay(history, b) },
    };
  const value = Number((recordedAction.value * ratio).toPrecision(12));
  return value === 1
    ? { kind: 'remove_action', action: createActionRow(recordedAction) }
    : { kind: 'replace_action', action: createActionRow(recordedAction), value };
}

/**
 * Returns a repair that converts the history before a split to the share basis after it. Volume and share counts are
 * converted only if they are on the basis before the split.
 */
function createRestatement(
  history: SecurityHistory,
  b: number,
  { ratio, stepsVolume, stepsShares }: SplitReading,
  fieldNames: readonly string[],
): Repair {
  const counts = [...(stepsVolume ? ['VOLUME'] : []), ...(stepsShares ? ['SHARES_OUTSTANDING'] : [])];
  return {
    kind: 'scale',
    identifier: history.identifier,
    from: formatBarDay(history, 0),
    to: formatBarDay(history, b - 1),
    columns: PRICE_FIELDS.filter((name) => fieldNames.includes(name)),
    factor: 1 / ratio,
    ...(counts.length === 0 ? {} : { inverse_columns: counts }),
  };
}

function createJumpWarning(history: SecurityHistory, b: number, growth: number): DataWarning {
  const { identifier, close, returns, sigma, actions } = history;
  const date = formatBarDay(history, b);
  const action = actions.find(({ bar }) => bar === b)?.action;
  const explanation =
    action === undefined
      ? 'with no action'
      : `and its ${action.type}${action.value > 0 ? ` of ${action.value}` : ''} leaves ${formatPercent(growth - 1)} of that`;
  return {
    id: `unexplained_jump ${identifier} ${date}`,
    kind: 'unexplained_jump',
    identifier,
    date,
    confidence: 0.4,
    message: `The close ${describeMove([close[b - 1]!, close[b]!])} ${explanation}, and does not jump back.`,
    evidence: { before: close[b - 1]!, close: close[b]!, move: returns[b]!, usual_move: sigma[b]! },
    repair: null,
  };
}

/** Describes a jump from the last close of an old code to the first close of its new code. */
function createRenamedWarning(
  { identifiers, dates }: Pick<MarketContent, 'identifiers' | 'dates'>,
  step: ActionStep,
): DataWarning {
  const { n, from, to, before, close } = step;
  const [fromDay, toDay] = [dates[from]!, dates[to]!];
  const [identifier, date] = [identifiers[n]!, formatDay(toDay)];
  return {
    id: `renamed_jump ${identifier} ${date}`,
    kind: 'unexplained_jump',
    identifier,
    date,
    confidence: 0.4,
    message: `The ${describeJump({ ...step, fromDay, toDay }, step.growth)}`,
    evidence: { before, close, before_on: formatDay(fromDay), move: close / before - 1 },
    repair: null,
  };
}

const formatPercent = (share: number) => `${Math.round(share * 1e4) / 100}%`;

/** Describes a step of the close. A third price is that to which the close returns. */
function describeMove(closes: readonly number[]): string {
  const [before, after, back] = formatPrices(closes);
  return `goes from ${before} to ${after}${back === undefined ? '' : ` and returns to ${back}`}`;
}

const round = (value: number) => Math.round(value * 1e4) / 1e4;
