import type { Calendar, Calendars } from '#domain/calendars/calendar.js';
import { parseValidDay, toWeekday } from '#domain/base/time.js';
import { IndexDocument, type RuleDocument } from '#domain/definition/index-document.js';
import type {
  CorporateAction,
  MarketData,
  Membership,
  ReferenceRow,
  ReferenceValue,
} from '#domain/market/market-data.js';
import { createExchangeRates } from '#domain/market/rates.js';
import { alignMarket, type SessionMarket } from '#domain/market/session-market.js';
import { createDecider, type RuleDecider } from '#domain/decide/rule-decider.js';

/** Calendar of every weekday of ten years, without holidays, so that tests can count sessions by hand. */
export const WEEKDAYS: Calendar = createWeekdayCalendar();
export const CALENDARS: Calendars = { list: () => [WEEKDAYS], get: (code) => (code === 'TEST' ? WEEKDAYS : undefined) };

function createWeekdayCalendar(): Calendar {
  const from = parseValidDay('2015-01-01');
  const to = parseValidDay('2024-12-31');
  const days = Array.from({ length: to - from + 1 }, (_, i) => from + i).filter((day) => toWeekday(day) < 5);
  const daySet = new Set(days);
  return {
    code: 'TEST',
    name: 'Test',
    region: 'UTC',
    tz: 'UTC',
    coverage: { from, publishedTo: to, to },
    sessions: Int32Array.from(days),
    isSession: (day) => daySet.has(day),
  };
}

export interface TableMarket {
  readonly identifiers: readonly string[];
  /** Rows of values by field and session, null where missing. The sessions are consecutive from `start` on. */
  readonly fields: Readonly<Record<string, readonly (readonly (number | null)[])[]>>;
  /**
   * Reference values by column and identifier. A value is always valid, or it is a list of rows that each have a first
   * day.
   */
  readonly reference?: Readonly<Record<string, readonly ReferenceValue[]>>;
  readonly actions?: readonly Partial<CorporateAction>[];
  readonly universes?: readonly Membership[];
  readonly adjustment?: MarketData['adjustment'];
  readonly start?: string;
}

/** Returns a market of a few securities whose values are given as tables. */
export function createTableMarket({
  identifiers,
  fields,
  reference = {},
  actions = [],
  universes = [],
  adjustment = 'none',
  start = '2020-01-01',
}: TableMarket): MarketData {
  const rows = Object.values(fields)[0]!.length;
  const first = WEEKDAYS.sessions.findIndex((day) => day >= parseValidDay(start));
  const columns = Object.keys(reference);
  const referenceRows = identifiers.flatMap((identifier, i): [string, ReferenceRow[]][] => {
    const values = columns.map((column) => reference[column]![i] ?? null);
    return values.every((value) => value === null) ? [] : [[identifier, [{ validFrom: null, values }]]];
  });
  return {
    datasetId: 'test',
    contentHash: 'test',
    adjustment,
    identifiers,
    dates: WEEKDAYS.sessions.slice(first, first + rows),
    fields: new Map(
      Object.entries(fields).map(([name, table]) => [name, Float64Array.from(table.flat(), (value) => value ?? NaN)]),
    ),
    reference: { columns, rows: new Map(referenceRows) },
    actions: actions.map((action) => ({
      identifier: '',
      type: 'DIVIDEND',
      value: 0,
      exDay: 0,
      payDay: null,
      status: null,
      announcedDay: null,
      related: null,
      subscriptionPrice: null,
      ...action,
    })),
    universes,
  };
}

export const alignDays = (market: MarketData): SessionMarket =>
  alignMarket({ market, calendar: WEEKDAYS, calendars: CALENDARS });

/** Returns an index document with a pipeline, parsed by the schema. */
export function createRuleDocument(pipeline: unknown, rest: Record<string, unknown> = {}): RuleDocument {
  return IndexDocument.parse({
    id: 'TEST',
    name: 'Test',
    calendar: 'TEST',
    base_date: '2020-01-01',
    pipeline,
    ...rest,
  }) as RuleDocument;
}

/** Returns the securities that have a price on a session, without exchange rates. */
export function listPriceable(sm: SessionMarket, session: number): Int32Array {
  const { pairColumns } = createExchangeRates(sm, 'USD');
  const columns = Array.from({ length: sm.securityCount }, (_, column) => column);
  return Int32Array.from(columns.filter((column) => sm.isPriceable(session, column, 5) && !pairColumns.has(column)));
}

/** Returns the composition of another index, whatever its id. It selects every third security with equal weights. */
function selectEveryThird({ securityCount: names }: SessionMarket): {
  readonly columns: number[];
  readonly weights: number[];
} {
  const columns = Array.from({ length: Math.ceil(names / 3) }, (_, i) => 3 * i);
  return { columns, weights: columns.map(() => 1 / columns.length) };
}

export function createDeciderOf(sm: SessionMarket, pipeline: unknown, rest: Record<string, unknown> = {}): RuleDecider {
  return createDecider({
    document: createRuleDocument(pipeline, rest),
    market: sm,
    universe: (session) => listPriceable(sm, session),
    indexWeights: () => selectEveryThird(sm),
  });
}

/** Returns the identifiers that one rule keeps on a session. The default is the last session. */
export function selectByRule(
  sm: SessionMarket,
  rule: { readonly type: string; readonly params: unknown },
  options: { readonly session?: number; readonly incumbents?: readonly string[] | null } = {},
): string[] {
  const session = options.session ?? sm.sessions.length - 1;
  const decider = createDeciderOf(sm, { selection: [{ id: 'rule', ...rule }], weighting: { type: 'EqualWeight' } });
  const incumbents =
    options.incumbents === undefined || options.incumbents === null
      ? null
      : options.incumbents.map((name) => sm.columnOf(name));
  const decision = decider.decide(session, incumbents);
  return decision.kind === 'decided' ? Array.from(decision.columns, (column) => sm.identifiers[column]!) : [];
}

/**
 * Returns the applied weights by identifier on a session, or the reason why there are no weights. The default is the
 * last session.
 */
export function weightBy(
  sm: SessionMarket,
  weighting: unknown,
  options: { readonly session?: number } = {},
): Record<string, number> | string {
  const decision = createDeciderOf(sm, { weighting }).decide(options.session ?? sm.sessions.length - 1, null);
  if (decision.kind !== 'decided') return decision.finding.message;
  return Object.fromEntries(
    Array.from(decision.columns, (column, i) => [sm.identifiers[column]!, decision.weights[i]!]),
  );
}

export function createGenerator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

export interface GeneratedOptions {
  readonly names: number;
  readonly sessions: number;
  readonly seed: number;
}

/**
 * Creates a market that is difficult for selection. It has late listings, early ends, missing prices, equal and missing
 * values, missing groups, splits, and ordinary, special and cancelled dividends.
 */
export function createGeneratedMarket({ names, sessions, seed }: GeneratedOptions): MarketData {
  const random = createGenerator(seed);
  const drawNormal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!;
  const identifiers = Array.from({ length: names }, (_, i) => `N${String(i).padStart(4, '0')}`);
  const findTable = (): (number | null)[][] =>
    Array.from({ length: sessions }, () => Array.from({ length: names }, () => null));
  const fields = {
    CLOSE: findTable(),
    VOLUME: findTable(),
    SHARES_OUTSTANDING: findTable(),
    FREE_FLOAT: findTable(),
    SCORE: findTable(),
  };
  const first = WEEKDAYS.sessions.findIndex((day) => day >= parseValidDay('2020-01-01'));
  const actions: Partial<CorporateAction>[] = [];
  identifiers.forEach((identifier, i) => {
    const lists = random() < 0.3 ? Math.floor(random() * sessions * 0.8) : 0;
    const stops = random() < 0.1 ? lists + Math.floor(random() * (sessions - lists)) : sessions;
    let price = 5 + 200 * random();
    let shares = Math.round(1e6 * (1 + 50 * random()));
    const volatility = 0.005 + 0.03 * random();
    const pays = random() < 0.6;
    const hasFloat = random() < 0.8;
    for (let t = lists; t < stops; t++) {
      price *= Math.exp(volatility * drawNormal());
      const exDay = WEEKDAYS.sessions[first + t]!;
      if (t > lists && random() < 0.002) {
        price /= 2;
        shares *= 2;
        actions.push({ identifier, type: 'SPLIT', value: 2, exDay });
      }
      if (pays && t > lists && t % 63 === i % 63)
        actions.push({
          identifier,
          type: 'DIVIDEND',
          value: price * 0.01 * random(),
          exDay,
          status: random() < 0.1 ? 'cancelled' : 'paid',
        });
      if (random() < 0.03) continue;
      fields.CLOSE[t]![i] = Math.round(price * 100) / 100;
      fields.VOLUME[t]![i] = Math.round(1e4 * (1 + 100 * random()));
      fields.SHARES_OUTSTANDING[t]![i] = shares;
      if (hasFloat && random() < 0.9) fields.FREE_FLOAT[t]![i] = 0.2 + 0.1 * (i % 8);
      if (random() < 0.8) fields.SCORE[t]![i] = Math.round(drawNormal() * 4) / 2; // many ties
    }
  });
  const reference = {
    SECTOR: identifiers.map(() => (random() < 0.1 ? null : pick(['Energy', 'Health', 'Industry', 'Technology']))),
    ISSUER: identifiers.map((_, i) => (random() < 0.3 ? null : `I${Math.floor(i / 2)}`)),
    RATING: identifiers.map(() => (random() < 0.2 ? null : Math.floor(random() * 5))),
    ACTIVE: identifiers.map(() => (random() < 0.1 ? null : random() < 0.7)),
  };
  return createTableMarket({
    identifiers,
    fields,
    reference,
    actions: actions.toSorted((a, b) =>
      a.identifier! < b.identifier! ? -1 : a.identifier! > b.identifier! ? 1 : a.exDay! - b.exDay!,
    ),
  });
}

/** Computes the cumulative normal probability by its power series. */
export function computeNormalCdf(z: number): number {
  let term = z;
  let total = z;
  for (let k = 1; k < 200; k++) total += term *= (z * z) / (2 * k + 1);
  return 0.5 + (total * Math.exp((-z * z) / 2)) / Math.sqrt(2 * Math.PI);
}
