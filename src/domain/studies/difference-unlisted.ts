import { findUpperMedian } from '../base/numbers.js';
import type { Day } from '../base/time.js';
import type { CorporateAction } from '../market/market-data.js';
import type { SessionMarket } from '../market/session-market.js';

/** Event that the store lacks although its prices, or its other events, show it. */
export interface UnlistedEvent {
  readonly action: CorporateAction;
  /** Null for a value that the outside level reveals: the amount or ratio of `action` is then a first guess. */
  readonly accepts: ((value: number) => boolean) | null;
  readonly decimals: number;
}

interface UnlistedInput {
  readonly sm: SessionMarket;
  /** Session of the difference. */
  readonly session: number;
  /** Columns that the index holds. */
  readonly held: ReadonlySet<number>;
}

/** Ratios of splits that are in use; reverse splits have their inverses. */
const RATIOS = [2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40, 50, 100, 1.5, 2.5];

/** Smallest logarithm of the move of a price that a split makes, and largest one of what is left after it. */
const SPLIT_MOVE = 0.3;
const SPLIT_REST = 0.15;

/**
 * Returns events of held securities on a session that only the outside level has, where the store gives a reason: a price
 * that moves by the ratio of a split, a fall far beyond the usual moves of a security, and a dividend that the others of
 * the security repeat.
 * @cost O(securities x `USUAL_SESSIONS`), and the events of the securities
 */
export function listUnlistedEvents({ sm, session, held }: UnlistedInput): UnlistedEvent[] {
  if (session < 1 || session >= sm.sessions.length) return [];
  const day = sm.sessions[session]!;
  const listed = new Set(
    sm.actions.all.slice(sm.actions.starts[session], sm.actions.starts[session + 1]).map(({ column }) => column),
  );
  const columns = [...held].filter((column) => !listed.has(column) && sm.closeAt(session, column) > 0);
  return [
    ...columns.flatMap((column) => listSplits(sm, session, column)),
    ...listFalls({ sm, session, held: new Set(columns) }),
    ...columns.flatMap((column) => listMissingDividends(sm, day, column)),
  ];
}

const createAction = (
  identifier: string,
  exDay: Day,
  terms: Pick<CorporateAction, 'type' | 'value'> & Partial<CorporateAction>,
): CorporateAction => ({
  identifier,
  exDay,
  payDay: null,
  status: null,
  announcedDay: null,
  related: null,
  subscriptionPrice: null,
  ...terms,
});

/** Returns the logarithm of the move of a price on a session; NaN without a price. */
const measureMove = (sm: SessionMarket, session: number, column: number): number =>
  Math.log(sm.closeAt(session, column) / sm.carriedClose(session - 1, column));

function listSplits(sm: SessionMarket, session: number, column: number): UnlistedEvent[] {
  const move = measureMove(sm, session, column);
  if (!(Math.abs(move) > SPLIT_MOVE)) return [];
  return RATIOS.flatMap((ratio) => [ratio, 1 / ratio])
    .filter((ratio) => Math.abs(move + Math.log(ratio)) < SPLIT_REST)
    .map((value) => ({
      action: createAction(sm.identifiers[column]!, sm.sessions[session]!, { type: 'SPLIT', value }),
      accepts: null,
      decimals: 0,
    }));
}

/** Sessions from which the usual moves of a security are measured, and fewest of them. */
const USUAL_SESSIONS = 60;
const USUAL_LEAST = 20;

/** Standard deviations of a fall that needs a reason, and those of a usual move. */
const UNUSUAL = 4;
const USUAL = 3;

/** Standard deviation of a normal distribution over its median absolute deviation. */
const MAD_FACTOR = 1.4826;

/** Sessions from the first price of a security to the session on which it is spun off. */
const NEW_SESSIONS = 10;

/**
 * Returns payments and spin-offs of securities that fall far more than they usually do, relative to the others: with the
 * payment the move is a usual one.
 */
function listFalls({ sm, session, held }: UnlistedInput): UnlistedEvent[] {
  const columns = [...held];
  const market = (at: number): number => findMedian(columns.map((column) => measureMove(sm, at, column)));
  const from = Math.max(1, session - USUAL_SESSIONS);
  const medians = Array.from({ length: session - from + 1 }, (_, k) => market(from + k));
  const children = sm.identifiers.flatMap((_, column) =>
    !held.has(column) &&
    sm.closeAt(session, column) > 0 &&
    !(sm.carriedClose(Math.max(0, session - NEW_SESSIONS), column) > 0)
      ? [column]
      : [],
  );
  return columns.flatMap((column) => {
    const usual = medians
      .slice(0, -1)
      .map((median, k) => measureMove(sm, from + k, column) - median)
      .filter((move) => !Number.isNaN(move));
    if (usual.length < USUAL_LEAST) return [];
    const deviation = MAD_FACTOR * findMedian(usual.map(Math.abs));
    const [close, before] = [sm.closeAt(session, column), sm.carriedClose(session - 1, column)];
    const expected = before * Math.exp(medians.at(-1)!);
    if (!(deviation > 0) || !(Math.log(close / expected) < -UNUSUAL * deviation)) return [];
    const isUsual = (payment: number): boolean =>
      payment > 0 && Math.abs(Math.log((close + payment) / expected)) < USUAL * deviation;
    const [identifier, day, fall] = [sm.identifiers[column]!, sm.sessions[session]!, expected - close];
    const payment = createAction(identifier, day, { type: 'SPECIAL_DIVIDEND', value: fall });
    return [
      { action: payment, accepts: isUsual, decimals: 2 },
      ...children.map((child) => {
        const price = sm.closeAt(session, child);
        const related = sm.identifiers[child]!;
        return {
          action: createAction(identifier, day, { type: 'SPIN_OFF', value: fall / price, related }),
          accepts: (ratio: number) => isUsual(ratio * price),
          decimals: 4,
        };
      }),
    ];
  });
}

const findMedian = (values: readonly number[]): number =>
  findUpperMedian(values.filter((value) => !Number.isNaN(value)));

/** Fewest dividends from which the time between them is known. */
const DIVIDENDS_LEAST = 3;

/** Range of the time from the dividend before to a missing one, and least time to the next one, in usual times. */
const DUE = [0.75, 1.25] as const;

/** Returns the dividend that a security pays regularly and that its table lacks near a day, with the amounts around it. */
function listMissingDividends({ market, identifiers }: SessionMarket, day: Day, column: number): UnlistedEvent[] {
  const own = market.actions.filter(
    ({ identifier, type, status }) =>
      identifier === identifiers[column] && type === 'DIVIDEND' && status !== 'cancelled',
  );
  const position = own.findIndex(({ exDay }) => exDay > day);
  const [before, after] = position < 0 ? [own.at(-1), undefined] : [own[position - 1], own[position]];
  if (before === undefined || own.length < DIVIDENDS_LEAST) return [];
  const usual = findMedian(own.slice(1).map(({ exDay }, k) => exDay - own[k]!.exDay));
  const [since, left] = [(day - before.exDay) / usual, ((after?.exDay ?? Infinity) - day) / usual];
  if (!(since > DUE[0] && since < DUE[1] && left > DUE[0])) return [];
  const create = (value: number): CorporateAction => ({ ...before, exDay: day, payDay: null, value });
  const amounts = new Set([before.value, ...(after === undefined ? [] : [after.value])]);
  return [
    ...[...amounts].map((value) => ({ action: create(value), accepts: null, decimals: 0 })),
    {
      action: create(before.value),
      accepts: (value: number) => value > 0 && value < AMOUNT_MAX * before.value,
      decimals: 2,
    },
  ];
}

/** Largest ratio of a missing dividend to the one before. */
const AMOUNT_MAX = 2;
