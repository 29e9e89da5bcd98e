import { allocateRetainedFloats } from '#base/memory.js';
import { compareText } from '#domain/base/findings.js';
import { findFirstAtLeast, findLastAtMost } from '#domain/base/numbers.js';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import { ACTION_KINDS, type Adjustment, type CorporateAction } from '#domain/market/market-data.js';
import { compareActions } from '../content/action-rows.js';
import type { MarketContent } from '../content/market-content.js';
import { findRatesNotAboveZero } from '../content/table-rows.js';
import { removeEmptyLines } from '../panels/panels.js';
import { findActionWarnings } from './content-warnings.js';
import { findDoubtfulDividends } from './doubtful-dividends.js';
import { createRenamedWarning, findDoubtfulPrices } from './doubtful-prices.js';
import { findUnknownCurrencies, listActionSteps, listRenamedSteps } from './market-warnings.js';
import {
  type ActionRow,
  type AuditPanels,
  type DataWarning,
  formatBarDay,
  listSecurityHistories,
  type Repair,
  type SecurityHistory,
} from './security-histories.js';

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
