import { suggestName } from '#base/nearest-name.js';
import { compareText } from '#domain/base/findings.js';
import { type Day, formatDay } from '#domain/base/time.js';
import {
  ACTION_KINDS,
  type ActionStatus,
  type ActionType,
  type CorporateAction,
  type ElectionDefault,
  ELECTIONS,
} from '#domain/market/market-data.js';
import { raiseToPower } from '#kernels/power.js';
import { type Cell, explainNotANumber, formatWrittenCell, readNumber, readText } from '../formats/cells.js';
import { formatCellPath, type Problems, quoteValue } from '../tables/problems.js';
import { nameFileColumns } from '../tables/table-kinds.js';
import { type CellLocation, type CheckedRows, createNeededReader, readDate, readIdentifier } from './table-rows.js';

/** Terms of an action in which its holder chooses between cash and shares. */
type ElectionTerms = Pick<CorporateAction, 'scripRatio' | 'electionDay' | 'electionDefault'>;

interface ElectionCell {
  readonly cell: Cell | undefined;
  readonly path: CellLocation;
}

interface ElectionCells {
  readonly ratio: ElectionCell;
  readonly date: ElectionCell;
  readonly byDefault: ElectionCell;
}

const DIVIDENDS: ReadonlySet<ActionType> = new Set(['DIVIDEND', 'SPECIAL_DIVIDEND']);

/**
 * Returns the election terms of an action. They are empty if the action has no election, and undefined if one of their
 * cells is invalid.
 */
function readElection(
  type: ActionType,
  { ratio, date, byDefault }: ElectionCells,
  problems: Problems,
): ElectionTerms | undefined {
  const scripRatio = readRatio(ratio, problems);
  const electionDay = readDate(date.cell, date.path, problems);
  const electionDefault = readDefault(type, byDefault, problems);
  if (scripRatio === undefined || electionDay === undefined || electionDefault === undefined) return undefined;
  const isDividend = DIVIDENDS.has(type);
  const refuse = (path: CellLocation, message: string): undefined => {
    problems.error({ code: 'NOT_IN_CHOICES', path: path(), message });
    return undefined;
  };
  if (scripRatio !== null && !isDividend)
    return refuse(ratio.path, `A ${type} has a scrip_ratio; only a DIVIDEND or SPECIAL_DIVIDEND can have one.`);
  for (const [value, { path }] of [
    [electionDay, date],
    [electionDefault, byDefault],
  ] as const) {
    if (value === null) continue;
    if (!ELECTIONS.has(type)) return refuse(path, formatElectionError(type));
    if (isDividend && scripRatio === null)
      return refuse(
        path,
        `A ${type} has an election but no scrip_ratio; scrip_ratio must be the number of new shares per share held.`,
      );
  }
  return {
    ...(scripRatio === null ? {} : { scripRatio }),
    ...(electionDay === null ? {} : { electionDay }),
    ...(electionDefault === null ? {} : { electionDefault }),
  };
}

const formatElectionError = (type: ActionType): string =>
  `A ${type} has an election; only ${[...ELECTIONS.keys()].join(', ')} can have one.`;

function readRatio({ cell, path }: ElectionCell, problems: Problems): number | null | undefined {
  const value = readNumber(cell);
  if (value !== undefined && Number.isNaN(value)) return null;
  if (value !== undefined && value > 0) return value;
  problems.error({
    code: value === undefined ? 'NOT_A_NUMBER' : 'BAD_RATIO',
    path: path(),
    message: `The scrip_ratio is ${JSON.stringify(formatWrittenCell(cell))}; it must be the number of new shares per share held, greater than 0.`,
    value: formatWrittenCell(cell),
  });
  return undefined;
}

function readDefault(
  type: ActionType,
  { cell, path }: ElectionCell,
  problems: Problems,
): ElectionDefault | null | undefined {
  const text = readText(cell);
  if (text === null) return null;
  const acceptedDefaults = ELECTIONS.get(type);
  const acceptedName = acceptedDefaults?.find((name) => name === text);
  if (acceptedName !== undefined) return acceptedName;
  const message =
    acceptedDefaults === undefined
      ? formatElectionError(type)
      : `The election_default of a ${type} is ${quoteValue(text)}; the accepted set is ${acceptedDefaults.join(', ')}.${suggestName(text, acceptedDefaults)}`;
  problems.error({
    code: 'NOT_IN_CHOICES',
    path: path(),
    message,
    value: text,
    ...(acceptedDefaults === undefined ? {} : { accepted: [...acceptedDefaults] }),
  });
  return undefined;
}

const ACTION_TYPES = Object.keys(ACTION_KINDS);
const STATUSES = ['announced', 'paid', 'cancelled'];

/** Types of structural actions that need a value, which is a ratio of shares. */
const SHARE_RATIOS: ReadonlySet<string> = new Set(['RIGHTS_ISSUE', 'SPIN_OFF', 'MERGER']);

/**
 * Creates the reader of corporate actions. @param isOwn true if the service wrote the rows itself. Rows that an earlier
 * version accepted then give warnings and no errors
 */
export function createActionRows(problems: Problems, isOwn = false): CheckedRows<readonly CorporateAction[]> {
  const actions: CorporateAction[] = [];
  const seenKeys = new Set<string>();
  let rows = 0;

  function beginFile(label: string, written: readonly string[]) {
    const names = nameFileColumns('corporate_actions', label, written, problems);
    if (names === undefined) return undefined;
    let fileRow = 0;
    /**
     * Returns the position of a column in the file and the location of its cell in the current row. The position is -1
     * if the column is absent.
     */
    const locateColumn = (name: string) => {
      const column = names.indexOf(name);
      return { column, path: () => formatCellPath(label, fileRow, written[column] ?? name) };
    };
    const [identifierAt, typeAt, exAt, valueAt, payAt] = [
      locateColumn('identifier'),
      locateColumn('type'),
      locateColumn('ex_date'),
      locateColumn('value'),
      locateColumn('pay_date'),
    ];
    const [announcedAt, statusAt, relatedAt, subscriptionAt, cashAt] = [
      locateColumn('announced'),
      locateColumn('status'),
      locateColumn('related'),
      locateColumn('subscription_price'),
      locateColumn('cash'),
    ];
    const readElectionCells = createElectionReader(locateColumn, problems);

    return (cells: readonly (Cell | undefined)[] | null) => {
      rows += 1;
      fileRow += 1;
      if (cells === null) return;
      const readNeeded = createNeededReader(cells, problems);
      const identifier = readNeeded(identifierAt, readIdentifier);
      const type = readNeeded(typeAt, readType);
      const exDay = readNeeded(exAt, readExDay);
      const value =
        type === undefined ? undefined : readNeeded(valueAt, (cell, path) => readValue(type, cell, path, problems));
      const isUnpriced =
        type !== undefined && PAID_ENDINGS.has(type) && Number.isNaN(readNumber(cells[valueAt.column]));
      const payDay = readDate(cells[payAt.column], payAt.path, problems);
      const announcedDay = readDate(cells[announcedAt.column], announcedAt.path, problems);
      const status = readStatus(cells[statusAt.column], statusAt.path, problems);
      const relatedSecurity =
        readText(cells[relatedAt.column]) === null
          ? null
          : readIdentifier(cells[relatedAt.column], relatedAt.path, problems);
      const isApplicable =
        isOwn ||
        hasRelatedSecurity({ identifier, type, exDay, value, related: relatedSecurity }, relatedAt.path, problems);
      const subscriptionPrice = readSubscription(cells[subscriptionAt.column], subscriptionAt.path, problems);
      const cash = readCash(type, cells[cashAt.column], cashAt.path, problems);
      if (
        identifier === undefined ||
        type === undefined ||
        exDay === undefined ||
        value === undefined ||
        status === undefined ||
        relatedSecurity === undefined ||
        cash === undefined ||
        !isApplicable
      )
        return;
      const key = JSON.stringify([identifier, type, exDay, isUnpriced ? null : value, status, relatedSecurity, cash]);
      if (seenKeys.has(key)) {
        problems.error({
          code: 'DUPLICATE_KEY',
          path: formatCellPath(label, fileRow, ''),
          message: `An earlier row already contains the ${type} of ${identifier} on ${formatDay(exDay)} with value ${value}.`,
        });
        return;
      }
      seenKeys.add(key);
      const election = readElectionCells(type, cells);
      if (payDay === undefined || announcedDay === undefined || subscriptionPrice === undefined || !election) return;
      const terms = {
        type,
        value,
        exDay,
        payDay,
        status,
        announcedDay,
        related: relatedSecurity,
        subscriptionPrice,
        ...election,
      };
      actions.push({ identifier, ...terms, ...selectRareTerms(cash, isUnpriced) });
    };
  }

  return {
    beginFile,
    toTable: () => actions.toSorted(compareActions),
    get rows() {
      return rows;
    },
  };
}

function selectRareTerms(cash: number | null, isUnpriced: boolean): Pick<CorporateAction, 'cash' | 'isUnpriced'> {
  return { ...(cash === null ? {} : { cash }), ...(isUnpriced ? { isUnpriced: true as const } : {}) };
}

interface ColumnLocation {
  readonly column: number;
  readonly path: CellLocation;
}

function createElectionReader(locateColumn: (name: string) => ColumnLocation, problems: Problems) {
  const [ratioAt, dateAt, defaultAt] = [
    locateColumn('scrip_ratio'),
    locateColumn('election_date'),
    locateColumn('election_default'),
  ];
  return (type: ActionType, cells: readonly (Cell | undefined)[]): ElectionTerms | undefined => {
    const findCell = ({ column, path }: ColumnLocation) => ({ cell: cells[column], path });
    const electionCells = { ratio: findCell(ratioAt), date: findCell(dateAt), byDefault: findCell(defaultAt) };
    return readElection(type, electionCells, problems);
  };
}

export function groupBySecurity(actions: readonly CorporateAction[]): Map<string, CorporateAction[]> {
  const lists = new Map<string, CorporateAction[]>();
  for (const action of actions) {
    const securityActions = lists.get(action.identifier);
    if (securityActions === undefined) lists.set(action.identifier, [action]);
    else securityActions.push(action);
  }
  return lists;
}

/** Compares actions in their canonical order: identifier, ex-date, type, value, status, related security, cash. */
export function compareActions(a: CorporateAction, b: CorporateAction): number {
  return (
    compareText(a.identifier, b.identifier) ||
    a.exDay - b.exDay ||
    compareText(a.type, b.type) ||
    a.value - b.value ||
    Number(a.isUnpriced ?? false) - Number(b.isUnpriced ?? false) ||
    compareText(a.status ?? '', b.status ?? '') ||
    compareText(a.related ?? '', b.related ?? '') ||
    (a.cash ?? 0) - (b.cash ?? 0)
  );
}

type MergerCells = {
  readonly [K in 'identifier' | 'type' | 'exDay' | 'value' | 'related']: CorporateAction[K] | undefined;
};

/**
 * Returns false, with a finding, if a merger names no other security. The cash of a merger is optional, and its shares
 * are of a single security.
 */
function hasRelatedSecurity(
  { identifier, type, exDay, value, related }: MergerCells,
  path: CellLocation,
  problems: Problems,
): boolean {
  if (type !== 'MERGER' || related === undefined || (related !== null && related !== identifier)) return true;
  const dateText = exDay === undefined ? '' : ` on ${formatDay(exDay)}`;
  problems.error({
    code: related === null ? 'REQUIRED' : 'NOT_IN_CHOICES',
    path: path(),
    message: `The MERGER of ${identifier}${dateText} ${related === null ? 'has no related identifier' : `has the related identifier ${related}, which is its own`}; related must be the security whose shares holders receive${value === undefined ? '' : ` (${value} per share)`}. Use ACQUISITION for a payment only in cash.`,
  });
  return false;
}

function readExDay(cell: Cell | undefined, path: CellLocation, problems: Problems): Day | undefined {
  const day = readDate(cell, path, problems);
  if (day === null)
    problems.error({ code: 'BAD_DATE', path: path(), message: 'The ex_date is empty; it must be a date, YYYY-MM-DD.' });
  return day ?? undefined;
}

function readType(cell: Cell | undefined, path: CellLocation, problems: Problems): ActionType | undefined {
  const text = readText(cell);
  if (text !== null && Object.hasOwn(ACTION_KINDS, text)) return text as ActionType; // the type was just looked up
  problems.error({
    code: 'UNKNOWN_ACTION_TYPE',
    path: path(),
    message: `${text === null ? 'null' : quoteValue(text)} is not a type of corporate action; the accepted set is ${ACTION_TYPES.join(', ')}.${text === null ? '' : suggestName(text, ACTION_TYPES)}`,
    value: text,
    accepted: ACTION_TYPES,
  });
  return undefined;
}

function readValue(
  type: ActionType,
  cell: Cell | undefined,
  path: CellLocation,
  problems: Problems,
): number | undefined {
  const value = readNumber(cell);
  const kind = ACTION_KINDS[type];
  if (value === undefined) {
    problems.error({
      code: 'NOT_A_NUMBER',
      path: path(),
      message: `The value is ${JSON.stringify(formatWrittenCell(cell).slice(0, 80))}, which ${explainNotANumber(formatWrittenCell(cell))}.`,
      value: formatWrittenCell(cell),
    });
    return undefined;
  }
  const isRatio = kind === 'ratio' || SHARE_RATIOS.has(type);
  if (isRatio && !(value > 0)) {
    problems.error({
      code: 'BAD_RATIO',
      path: path(),
      message: `The value of a ${type} is ${Number.isNaN(value) ? 'empty' : value}; it must be greater than 0.`,
      ...(Number.isNaN(value) ? {} : { value }),
    });
    return undefined;
  }
  if (Number.isNaN(value)) {
    // A ticker change has no value, and a delisting or an acquisition may omit the payment per share.
    if (kind === 'structural') return 0;
    problems.error({
      code: 'NOT_A_NUMBER',
      path: path(),
      message: `The value of a ${type} is empty; it must be an amount per share.`,
    });
    return undefined;
  }
  if (value < 0) {
    problems.error({
      code: 'OUT_OF_RANGE',
      path: path(),
      message: `The value of a ${type} is ${value}; at least 0 is needed.`,
      value,
    });
    return undefined;
  }
  return value + 0;
}

/** Types of actions that may omit the payment per share. A payment of 0 is a statement. */
const PAID_ENDINGS: ReadonlySet<string> = new Set(['DELISTING', 'ACQUISITION']);

function readStatus(cell: Cell | undefined, path: CellLocation, problems: Problems): ActionStatus | null | undefined {
  const text = readText(cell);
  if (text === null) return null;
  if (STATUSES.includes(text)) return text as ActionStatus; // just checked to be one of the three
  problems.error({
    code: 'NOT_IN_CHOICES',
    path: path(),
    message: `The status is ${quoteValue(text)}; the accepted set is ${STATUSES.join(', ')}.${suggestName(text, STATUSES)}`,
    value: text,
    accepted: STATUSES,
  });
  return undefined;
}

/**
 * Returns the cash that a merger pays in addition to shares. Returns null if there is none, undefined if the cell is
 * invalid.
 */
function readCash(
  type: ActionType | undefined,
  cell: Cell | undefined,
  path: CellLocation,
  problems: Problems,
): number | null | undefined {
  const value = readNumber(cell);
  if (value !== undefined && (Number.isNaN(value) || value === 0)) return null;
  if (value !== undefined && value > 0 && (type === 'MERGER' || type === undefined)) return value;
  const isElsewhere = value !== undefined && value > 0;
  const hint = isElsewhere
    ? `only a MERGER can pay cash in addition to shares. The cash of a ${type} is its value.`
    : 'it must be an amount per share of at least 0.';
  problems.error({
    code: value === undefined ? 'NOT_A_NUMBER' : isElsewhere ? 'NOT_IN_CHOICES' : 'OUT_OF_RANGE',
    path: path(),
    message: `The cash is ${JSON.stringify(formatWrittenCell(cell))}; ${hint}`,
    value: formatWrittenCell(cell),
  });
  return undefined;
}

function readSubscription(cell: Cell | undefined, path: CellLocation, problems: Problems): number | null | undefined {
  const value = readNumber(cell);
  if (value !== undefined && Number.isNaN(value)) return null;
  if (value !== undefined && value >= 0) return value + 0;
  problems.error({
    code: value === undefined ? 'NOT_A_NUMBER' : 'OUT_OF_RANGE',
    path: path(),
    message: `The subscription_price is ${JSON.stringify(formatWrittenCell(cell))}; it must be a price of at least 0.`,
    value: formatWrittenCell(cell),
  });
  return undefined;
}

/** Maximum term of a split ratio, and maximum integer ratio. */
const SPLIT_TERM_MAX = 10;
const SPLIT_INTEGER_MAX = 100;
/** Minimum ratio of a split into more shares. A smaller change is more probably a cash payment. */
export const SPLIT_RATIO_MIN = 1.2;

/** Split ratios, ordered by the sum of their terms. Ratios with a large term that is not round come last. */
export const SPLIT_RATIOS = [
  ...Array.from({ length: SPLIT_TERM_MAX ** 2 }, (_, i) => [
    1 + Math.floor(i / SPLIT_TERM_MAX),
    1 + (i % SPLIT_TERM_MAX),
  ]),
  ...Array.from({ length: SPLIT_INTEGER_MAX }, (_, i) => [i + 1, 1]),
  ...Array.from({ length: SPLIT_INTEGER_MAX }, (_, i) => [1, i + 1]),
]
  .filter(([a, b]) => a !== b)
  .toSorted((one, other) => computeRatioOrder(one) - computeRatioOrder(other))
  .map(([a, b]) => a! / b!);

/**
 * Returns the sum of the terms of a ratio. The result is larger if a large term is not round, so that the ratio comes
 * last in the order.
 */
function computeRatioOrder(terms: readonly number[]): number {
  const isOdd = terms.some((term) => term > SPLIT_TERM_MAX && term % 5 !== 0);
  return terms.reduce((sum, term) => sum + term, 0) + (isOdd ? 2 * SPLIT_INTEGER_MAX : 0);
}

/** Relative rounding error of a comparison of two values in single precision. */
export const SINGLE_PRECISION = 1.3e-7;

/**
 * Maximum number of decimals that are tried for prices of a vendor. Prices with more decimals count as exact doubles.
 */
const DECIMALS_MAX = 9;

/** Returns the unit of the last decimal of prices. Returns 0 if the prices have full double precision. */
export function computePriceUnit(prices: readonly number[]): number {
  const decimals = countCommonDecimals(prices);
  return decimals === undefined ? 0 : raiseToPower(10, -decimals);
}

/** Returns the number of decimals of prices. Returns undefined if the prices have full double precision. */
export function countCommonDecimals(prices: readonly number[]): number | undefined {
  let decimals = 0;
  for (const price of prices) {
    const text = String(price);
    const point = text.indexOf('.');
    if (point >= 0) decimals = Math.max(decimals, text.length - point - 1);
    if (decimals > DECIMALS_MAX) return undefined;
  }
  return decimals;
}
