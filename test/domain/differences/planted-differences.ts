import { roundHalfAwayFromZero } from '#domain/base/numbers.js';
import { formatDay, parseValidDay, toWeekday } from '#domain/base/time.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import type { ActionType, CorporateAction, MarketData, ReturnVariant } from '#domain/market/market-data.js';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import {
  type Edit,
  evaluateTerms,
  type PatchOperation,
  type CandidateTerms,
} from '#domain/studies/difference-terms.js';
import type { Cause, Difference } from '#domain/studies/difference-result.js';
import { explainDifference } from '#domain/studies/differences.js';
import { seeded } from '../../seeded.js';
import { type ActionSketch, buildMarket, createWeekdayCalendars } from '../backtest/market-builder.js';

export const CALENDARS = createWeekdayCalendars({ MAIN: { from: '2019-12-02', to: '2023-12-29' } });

const NAMES = ['AA', 'BB', 'CC', 'DD', 'EE', 'FF', 'GG', 'HH', 'II', 'JJ', 'KK', 'LL'];
const RESERVE = ['XX', 'YY', 'ZZ'];
const FOREIGN = new Set(['EE', 'GG', 'LL']);

/** Cause that was put into an outside level. */
export interface Plant {
  readonly subject: string;
  readonly manner: string;
  readonly identifier: string | null;
  readonly date: string | null;
}

export interface PlantedCase {
  readonly terms: CandidateTerms;
  readonly outside: { readonly days: Int32Array; readonly values: Float64Array };
  readonly decimals: number | null;
  readonly plants: readonly Plant[];
}

export interface Draw {
  readonly next: () => number;
  readonly int: (from: number, to: number) => number;
  readonly pick: <T>(list: readonly T[]) => T;
}

export function createDraw(seed: number): Draw {
  const next = seeded(seed);
  const int = (from: number, to: number): number => from + Math.floor(next() * (to - from + 1));
  return { next, int, pick: (list) => list[int(0, list.length - 1)]! };
}

export const gauss = ({ next }: Draw): number => next() + next() + next() + next() + next() + next() - 3;

/** Returns a market of two currencies with every kind of action, missing bars and one bad print. */
function createMarket(draw: Draw, sessions: number): { readonly market: MarketData; readonly dates: string[] } {
  const dates: string[] = [];
  for (let day = parseValidDay('2020-01-02'); dates.length < sessions; day++)
    if (toWeekday(day) < 5) dates.push(formatDay(day));
  const actions: ActionSketch[] = [];
  const close: Record<string, (number | null)[]> = {};
  const shares: Record<string, number[]> = {};
  const float: Record<string, number[]> = {};
  const round = (value: number): number => Math.max(0.01, Math.round(value * 100) / 100);
  for (const name of [...NAMES, ...RESERVE]) {
    let price = 20 + 180 * draw.next();
    const values: (number | null)[] = [];
    const dividendAt = draw.int(5, 60);
    const [splitAt, specialAt, rightsAt, gapAt, printAt] = [0, 0, 0, 0, 0].map(() => draw.int(10, 4 * sessions));
    let count = Math.round(1e6 * (0.5 + draw.next()) * (price > 100 ? 3 : 8));
    let freeFloat = 0.5 + draw.int(0, 10) / 20;
    shares[name] = [];
    float[name] = [];
    for (let t = 0; t < sessions; t++) {
      price *= Math.exp(0.017 * gauss(draw));
      const ex = dates[t]!;
      if (t > 0 && t % 62 === dividendAt && draw.next() < 0.8) {
        const value = round(price * (0.003 + 0.01 * draw.next()));
        price -= value;
        actions.push({ name, type: 'DIVIDEND', value, ex });
      }
      if (t === specialAt) {
        const value = round(price * (0.02 + 0.05 * draw.next()));
        price -= value;
        actions.push({ name, type: 'SPECIAL_DIVIDEND', value, ex });
      }
      if (t === splitAt) {
        const value = draw.pick([2, 3, 4, 1.5, 0.5, 1.1]);
        price /= value;
        count = Math.round(count * value);
        actions.push({ name, type: 'SPLIT', value, ex });
      }
      if (t === rightsAt) {
        const subscription = round(price * 0.7);
        actions.push({ name, type: 'RIGHTS_ISSUE', value: 0.2, ex, subscription });
        price = (price + 0.2 * subscription) / 1.2;
      }
      if (draw.next() < 0.006) count = Math.round(count * (0.9 + 0.3 * draw.next()));
      if (draw.next() < 0.003) freeFloat = 0.4 + draw.int(0, 12) / 20;
      shares[name].push(count);
      float[name].push(freeFloat);
      const printed = t === printAt ? price * 1.12 : price;
      values.push(t === gapAt ? null : round(printed));
    }
    close[name] = values;
  }
  const parent = draw.pick(NAMES.slice(0, 6));
  const spunAt = draw.int(30, sessions - 40);
  close['SPUN'] = dates.map((_, t) =>
    t < spunAt ? null : round(close[parent]![spunAt]! * 0.4 * Math.exp(0.1 * Math.sin(t))),
  );
  close[parent] = close[parent]!.map((price, t) => (t < spunAt || price === null ? price : round(price * 0.9)));
  actions.push({ name: parent, type: 'SPIN_OFF', value: 0.25, ex: dates[spunAt]!, related: 'SPUN' });
  if (draw.next() < 0.5) {
    const name = 'KK';
    const at = draw.int(40, sessions - 30);
    const last = close[name]![at - 1] ?? close[name]![at - 2]!;
    close[name] = close[name]!.map((price, t) => (t < at ? price : null));
    for (const action of actions.filter((one) => one.name === name && one.ex >= dates[at]!))
      actions.splice(actions.indexOf(action), 1);
    actions.push({ name, type: draw.pick(['ACQUISITION', 'DELISTING']), value: round(last * 1.05), ex: dates[at]! });
  }
  let rate = 1.1;
  close['EURUSD'] = dates.map(() => Math.round((rate *= Math.exp(0.004 * gauss(draw))) * 1e5) / 1e5);
  // Members by half-years: a third of the securities joins or leaves.
  const middle = dates[Math.floor(sessions / 2)]!;
  const market = buildMarket({
    dates,
    close,
    universes: NAMES.map((identifier, k) => ({
      universe: 'YEARLY',
      identifier,
      start: k % 6 === 4 ? parseValidDay(middle) : null,
      end: k % 6 === 5 ? parseValidDay(middle) : null,
    })),
    fields: { SHARES_OUTSTANDING: shares, FREE_FLOAT: float },
    actions,
    reference: Object.fromEntries(
      [...NAMES, ...RESERVE, 'SPUN'].map((name, k) => [
        name,
        { CURRENCY: FOREIGN.has(name) ? 'EUR' : 'USD', COUNTRY: ['US', 'DE', 'FR'][k % 3]!, SECTOR: `S${k % 4}` },
      ]),
    ),
  });
  const rateDays = market.dates;
  const series = {
    identifier: 'SOFR',
    name: null,
    currency: null,
    days: rateDays,
    closes: Float64Array.from(rateDays, (_, t) => 2 + Math.round(100 * Math.sin(t / 40)) / 100),
  };
  return { market: { ...market, series: new Map([['SOFR', series]]) }, dates };
}

function createDocuments(draw: Draw, isDated: boolean): Record<string, IndexDocument> {
  const weighting = draw.pick<object>([
    { type: 'EqualWeight' },
    { type: 'MarketCapWeight' },
    { type: 'MarketCapWeight', cap: 0.15 },
    { type: 'MarketCapWeight', params: { free_float: true }, cap: 0.2 },
    { type: 'FieldWeight', params: { field: 'FREE_FLOAT' } },
    { type: 'PriceWeight' },
    { type: 'FixedWeight', params: { weights: Object.fromEntries(NAMES.map((name, k) => [name, k + 3])) } },
  ]);
  const isPrice = (weighting as { type: string }).type === 'PriceWeight';
  const X = IndexDocument.parse({
    id: 'X',
    name: 'X',
    calendar: 'MAIN',
    base_date: '2020-01-03',
    base_value: draw.pick([100, 1000, 1000]),
    universe: isDated ? { kind: 'named', id: 'YEARLY' } : { kind: 'list', identifiers: [...NAMES] },
    rebalance: {
      frequency: draw.pick(['monthly', 'quarterly', 'semi_annual', 'annual']),
      anchor: draw.pick(['last_session', 'third_friday', 'first_session']),
      effective_lag: draw.pick([0, 2, 5]),
    },
    pipeline: {
      treatment: {
        dividends: draw.pick(['price', 'total', 'total', 'net']),
        withholding_tax: draw.pick<unknown>([0.15, { field: 'COUNTRY', rates: { US: 0.3, DE: 0.264, FR: 0.25 } }]),
        reinvestment: isPrice ? 'index' : draw.pick(['index', 'index', 'constituent']),
        ...(isDated && !isPrice ? { reinvestment_at: 'previous_close' } : {}),
      },
      weighting,
    },
  });
  const overlay = draw.pick<object | null>([
    null,
    null,
    null,
    { type: 'fee', percent: 0.75 },
    { type: 'decrement', percent: 3.5 },
    { type: 'decrement', points: 40 },
    { type: 'leverage', factor: 2, financing: 'SOFR', spread_bps: 50 },
  ]);
  if (overlay === null) return { X };
  const Y = IndexDocument.parse({
    id: 'Y',
    name: 'Y',
    calendar: 'MAIN',
    base_date: '2020-01-03',
    base_value: 1000,
    kind: 'overlay',
    source_index_id: 'X',
    overlay,
  });
  return { X, Y };
}

export type Planting = { readonly terms: CandidateTerms; readonly plant: Plant } | null;

export const withActions = (
  terms: CandidateTerms,
  change: (actions: readonly CorporateAction[]) => CorporateAction[],
): CandidateTerms => ({
  ...terms,
  market: {
    ...terms.market,
    actions: change(terms.market.actions).toSorted((a, b) =>
      a.identifier < b.identifier ? -1 : a.identifier > b.identifier ? 1 : a.exDay - b.exDay,
    ),
  },
});

export const withBars = (
  terms: CandidateTerms,
  field: string,
  change: (panel: Float64Array, width: number) => void,
): CandidateTerms => {
  const panel = terms.market.fields.get(field)!.slice();
  change(panel, terms.market.identifiers.length);
  return { ...terms, market: { ...terms.market, fields: new Map([...terms.market.fields, [field, panel]]) } };
};

export const withDocument = (
  terms: CandidateTerms,
  id: string,
  change: (document: IndexDocument) => unknown,
): CandidateTerms => ({
  ...terms,
  documents: { ...terms.documents, [id]: IndexDocument.parse(change(terms.documents[id]!)) },
});

export const SUBJECTS: Partial<Record<ActionType, string>> = {
  DIVIDEND: 'dividend',
  SPECIAL_DIVIDEND: 'special_dividend',
  SPLIT: 'split',
  SPIN_OFF: 'spin_off',
  RIGHTS_ISSUE: 'rights',
  ACQUISITION: 'removal',
  DELISTING: 'removal',
};

function plantAction(terms: CandidateTerms, draw: Draw, types: readonly ActionType[]): Planting {
  const { market } = terms;
  const list = market.actions.filter(
    ({ type, exDay }) => types.includes(type) && exDay > market.dates[4]! && exDay < market.dates.at(-6)!,
  );
  if (list.length === 0) return null;
  const action = draw.pick(list);
  const row = market.dates.indexOf(action.exDay);
  const isRatio = action.type === 'SPLIT';
  const isEnd = action.type === 'ACQUISITION' || action.type === 'DELISTING';
  const manners = [
    'ignored',
    'early',
    'late',
    ...(isEnd || action.type === 'RIGHTS_ISSUE' ? ['value'] : ['doubled', 'value']),
    ...(isRatio || action.type === 'DIVIDEND' ? ['inverted'] : []),
  ];
  const manner = draw.pick(action.type === 'SPIN_OFF' ? ['ignored', 'early', 'late', 'doubled'] : manners);
  const changed: CorporateAction | null =
    manner === 'ignored'
      ? null
      : manner === 'early'
        ? { ...action, exDay: market.dates[row - 1]! }
        : manner === 'late'
          ? { ...action, exDay: market.dates[row + 1]! }
          : manner === 'doubled'
            ? { ...action, value: isRatio ? action.value ** 2 : 2 * action.value }
            : manner === 'inverted'
              ? { ...action, value: isRatio ? 1 / action.value : -action.value }
              : action.type === 'RIGHTS_ISSUE'
                ? { ...action, subscriptionPrice: Math.round(action.subscriptionPrice! * 80) / 100 }
                : { ...action, value: Math.round(action.value * (isRatio ? 120 : 135)) / 100 };
  return {
    terms: withActions(terms, (actions) => [
      ...actions.filter((one) => one !== action),
      ...(changed === null ? [] : [changed]),
    ]),
    plant: { subject: SUBJECTS[action.type]!, manner, identifier: action.identifier, date: formatDay(action.exDay) },
  };
}

function plantPrice(terms: CandidateTerms, draw: Draw): Planting {
  const { market } = terms;
  const name = draw.pick(NAMES.slice(0, 10));
  const column = market.identifiers.indexOf(name);
  const row = draw.int(5, market.dates.length - 8);
  const count = draw.pick([1, 1, 2, 3]);
  const closes = market.fields.get('CLOSE')!;
  if (draw.next() < 0.2) {
    const factor = draw.pick([100, 0.01]);
    return {
      terms: withBars(terms, 'CLOSE', (panel, width) => {
        panel[row * width + column]! *= factor;
      }),
      plant: { subject: 'price', manner: 'value', identifier: name, date: formatDay(market.dates[row]!) },
    };
  }
  const isSame =
    closes[row * market.identifiers.length + column] === closes[(row - 1) * market.identifiers.length + column];
  const hasBars = [-1, 0, 1, 2].every((by) => closes[(row + by) * market.identifiers.length + column]! > 0);
  if (isSame || !hasBars) return null; // the price is carried from a later session on
  return {
    terms: withBars(terms, 'CLOSE', (panel, width) => {
      for (let k = 0; k < count; k++) panel[(row + k) * width + column] = panel[(row - 1) * width + column]!;
    }),
    plant: { subject: 'price', manner: 'carried', identifier: name, date: formatDay(market.dates[row]!) },
  };
}

/** Replaces the bad print of the store by a price between its neighbours. */
function plantPrint(terms: CandidateTerms, draw: Draw): Planting {
  const { market } = terms;
  const width = market.identifiers.length;
  const panel = market.fields.get('CLOSE')!;
  const prints: (readonly [number, number])[] = [];
  for (let column = 0; column < width; column++)
    for (let row = 3; row < market.dates.length - 3; row++) {
      const [a, b, c] = [-1, 0, 1].map((by) => panel[(row + by) * width + column]!);
      if (NAMES.includes(market.identifiers[column]!) && b! / a! > 1.07 && b! / c! > 1.07) prints.push([row, column]);
    }
  if (prints.length === 0) return null;
  const [row, column] = draw.pick(prints);
  return {
    terms: withBars(terms, 'CLOSE', (changed) => {
      const [a, c] = [changed[(row - 1) * width + column]!, changed[(row + 1) * width + column]!];
      changed[row * width + column] = Math.round(((a + c) / 2) * 100) / 100;
    }),
    plant: {
      subject: 'price',
      manner: 'value',
      identifier: market.identifiers[column]!,
      date: formatDay(market.dates[row]!),
    },
  };
}

function plantRebalance(terms: CandidateTerms, draw: Draw): Planting {
  const { compositions, composer } = evaluateTerms(terms);
  const list = compositions.overlay === undefined ? compositions.list : composer.compositions('X').list;
  if (list.length < 3) return null;
  const { sm } = composer.compositions('X');
  const composition = list[draw.int(1, list.length - 2)]!;
  const manner = draw.pick(['ignored', 'early', 'late']);
  const move = manner === 'early' ? -1 : 1;
  const dates = list.slice(1).flatMap((one) => {
    if (one !== composition) return [formatDay(one.date)];
    return manner === 'ignored' ? [] : [formatDay(sm.sessions[one.session + move]!)];
  });
  return {
    terms: withDocument(terms, 'X', (own) => ({ ...own, rebalance: { ...own.rebalance, frequency: 'custom', dates } })),
    plant: { subject: 'rebalance', manner, identifier: null, date: formatDay(sm.sessions[composition.session]!) },
  };
}

function plantConstituent(terms: CandidateTerms, draw: Draw): Planting {
  const { composer } = evaluateTerms(terms);
  const { list, sm } = composer.compositions('X');
  if (list.length < 3) return null;
  const document = terms.documents['X']!;
  const isFixed = document.pipeline!.weighting.type === 'FixedWeight';
  if (document.amendments !== undefined) return null;
  if (document.universe!.kind !== 'list') return plantMember(terms, draw);
  const manner = isFixed ? 'ignored' : draw.pick(['ignored', 'added']);
  const name = draw.pick(manner === 'ignored' ? NAMES.slice(0, 10) : RESERVE);
  const k = draw.int(1, list.length - 2);
  const own = document.universe!.identifiers!;
  const identifiers = manner === 'ignored' ? own.filter((one) => one !== name) : [...own, name];
  const amendments = [
    { effective_from: formatDay(list[k]!.date), changes: { universe: { identifiers } } },
    { effective_from: formatDay(list[k + 1]!.date), changes: { universe: { identifiers: own } } },
  ];
  return {
    terms: withDocument(terms, 'X', (document_) => ({ ...document_, amendments })),
    plant: { subject: 'constituent', manner, identifier: name, date: formatDay(sm.sessions[list[k]!.session]!) },
  };
}

/** Plants another membership of a universe by dates: a security leaves one review early, or joins one review late. */
function plantMember(terms: CandidateTerms, draw: Draw): Planting {
  const { list, sm } = evaluateTerms(terms).composer.compositions('X');
  const { universes } = terms.market;
  const entry = draw.pick(universes.filter(({ start, end }) => start !== null || end !== null));
  const isJoining = entry.start !== null;
  const column = terms.market.identifiers.indexOf(entry.identifier);
  const k = isJoining
    ? list.findIndex(({ columns }) => columns.includes(column))
    : list.findLastIndex(({ columns }) => columns.includes(column));
  if (k < 1 || k > list.length - 2) return null;
  const day = sm.sessions[list[k]!.decision]!;
  const changed = isJoining ? { ...entry, start: day + 1 } : { ...entry, end: day - 1 };
  return {
    terms: {
      ...terms,
      market: { ...terms.market, universes: universes.map((one) => (one === entry ? changed : one)) },
    },
    plant: {
      subject: 'constituent',
      manner: 'ignored',
      identifier: entry.identifier,
      date: formatDay(sm.sessions[list[k]!.session]!),
    },
  };
}

function plantShares(terms: CandidateTerms, draw: Draw): Planting {
  const document = terms.documents['X']!;
  if (document.pipeline!.weighting.type !== 'MarketCapWeight') return null;
  const { market } = terms;
  const field =
    document.pipeline!.weighting.params['free_float'] === true
      ? draw.pick(['SHARES_OUTSTANDING', 'FREE_FLOAT'])
      : 'SHARES_OUTSTANDING';
  const panel = market.fields.get(field)!;
  const width = market.identifiers.length;
  const { list, sm } = evaluateTerms(terms).composer.compositions('X');
  const changes: (readonly [number, number, number])[] = [];
  for (let k = 1; k < list.length - 1; k++) {
    const [from, to] = [list[k - 1]!.decision, list[k]!.decision].map((session) =>
      market.dates.indexOf(sm.sessions[session]!),
    );
    for (let row = from! + 1; row < to!; row++)
      for (const name of NAMES.slice(0, 10)) {
        const column = market.identifiers.indexOf(name);
        const [before, after] = [panel[(row - 1) * width + column]!, panel[row * width + column]!];
        const hasSplit = market.actions.some((one) => one.identifier === name && one.exDay === market.dates[row]!);
        if (before !== after && !hasSplit) changes.push([row, column, to!]);
      }
  }
  if (changes.length === 0) return null;
  const [row, column, decided] = draw.pick(changes);
  return {
    terms: withBars(terms, field, (changed) => {
      for (let r = row; r <= decided; r++) changed[r * width + column] = changed[(row - 1) * width + column]!;
    }),
    plant: {
      subject: 'shares',
      manner: 'ignored',
      identifier: market.identifiers[column]!,
      date: formatDay(market.dates[row]!),
    },
  };
}

export const withTreatment = (terms: CandidateTerms, changes: object): CandidateTerms =>
  withDocument(terms, 'X', (own) => ({
    ...own,
    pipeline: { ...own.pipeline!, treatment: { ...own.pipeline!.treatment, ...changes } },
  }));

/** Plants another convention from the start. */
function plantConvention(terms: CandidateTerms, draw: Draw): Planting {
  const create = (
    subject: string,
    manner: string,
    changed: CandidateTerms,
    identifier: string | null = null,
  ): Planting => ({
    terms: changed,
    plant: { subject, manner, identifier, date: null },
  });
  const { pipeline, rebalance } = terms.documents['X']!;
  const { treatment, weighting } = pipeline!;
  const overlay = terms.documents['Y']?.overlay as Record<string, unknown> | undefined;
  const changeOverlay = (changes: object): CandidateTerms =>
    withDocument(terms, 'Y', (own) => ({ ...own, overlay: { ...own.overlay, ...changes } }));
  const width = terms.market.identifiers.length;
  const euro = terms.market.identifiers.indexOf('EURUSD');
  const changeRates = (read: (panel: Float64Array, row: number) => number): CandidateTerms =>
    withBars(terms, 'CLOSE', (panel) => {
      const own = panel.slice();
      const rows = panel.length / width;
      for (let row = 0; row < rows; row++) panel[row * width + euro] = read(own, Math.max(0, Math.min(rows - 1, row)));
    });
  const readRate = (panel: Float64Array, row: number): number =>
    panel[Math.max(0, Math.min(panel.length / width - 1, row)) * width + euro]!;
  const ofLevels = (subject: string, manner: string, change: Extract<Edit, { kind: 'levels' }>['change']): Planting =>
    create(subject, manner, {
      ...terms,
      reading: [...terms.reading, { kind: 'levels', terms: { planted: subject }, change }],
    });
  const chain = (levels: Float64Array): Float64Array => {
    const chained = levels.slice();
    for (let t = 1; t < levels.length; t++)
      chained[t] = roundHalfAwayFromZero((chained[t - 1]! * levels[t]!) / levels[t - 1]!, 2);
    return chained;
  };
  const options: (() => Planting)[] = [
    () => ofLevels('calendar', 'late', (levels) => levels.map((own, t) => levels[t - 1] ?? own)),
    () => ofLevels('rounding', 'value', chain),
    () => create('special_dividend', 'ignored', withTreatment(terms, { special_dividends: 'ignore' })),
    () => create('split', 'ignored', withTreatment(terms, { splits: 'ignore' })),
    () => create('spin_off', 'ignored', withTreatment(terms, { spin_offs: 'ignore' })),
    () =>
      create(
        'pricing',
        'value',
        withDocument(terms, 'X', (own) => ({
          ...own,
          rebalance: { ...rebalance, effective_lag: rebalance.effective_lag === 0 ? 3 : 0 },
        })),
      ),
    () =>
      create(
        'reinvestment',
        'value',
        withTreatment(terms, { reinvestment: treatment.reinvestment === 'index' ? 'constituent' : 'index' }),
      ),
    () =>
      create(
        'reinvestment',
        'value',
        withTreatment(terms, {
          reinvestment_at: treatment.reinvestment_at === 'previous_close' ? 'close' : 'previous_close',
        }),
      ),
    () =>
      weighting.cap === null
        ? null
        : create(
            'cap',
            'ignored',
            withDocument(terms, 'X', (own) => ({
              ...own,
              pipeline: { ...pipeline, weighting: { ...weighting, cap: null } },
            })),
          ),
    () =>
      weighting.cap === null
        ? null
        : create(
            'cap',
            'value',
            withDocument(terms, 'X', (own) => ({
              ...own,
              pipeline: { ...pipeline, weighting: { ...weighting, cap: 0.12 } },
            })),
          ),
    () =>
      rebalance.effective_lag === 0
        ? null
        : create(
            'pricing',
            'value',
            withDocument(terms, 'X', (own) => ({
              ...own,
              rebalance: { ...rebalance, pricing_date: { rule: 'sessions_before', sessions: 0 } },
            })),
          ),
    () =>
      create(
        'rounding',
        'value',
        withDocument(terms, 'X', (own) => ({ ...own, rounding: { divisor: draw.pick([2, 3]) } })),
      ),
    () =>
      create(
        'currency',
        'late',
        changeRates((panel, row) => readRate(panel, row - 1)),
        'EURUSD',
      ),
    () =>
      create(
        'currency',
        'inverted',
        changeRates((panel, row) => 1 / readRate(panel, row)),
        'EURUSD',
      ),
    () => {
      if (terms.variant !== 'net') return null;
      const tax = treatment.withholding_tax;
      if (typeof tax === 'number') return create('tax', 'value', withTreatment(terms, { withholding_tax: 0.3 }));
      return create(
        'tax',
        'value',
        withTreatment(terms, { withholding_tax: { ...tax, rates: { ...tax.rates, DE: 0.15 } } }),
        'DE',
      );
    },
    () =>
      overlay === undefined
        ? null
        : overlay['basis'] === undefined
          ? null
          : create('day_count', 'value', changeOverlay({ basis: overlay['basis'] === 365 ? 360 : 365 })),
    () => (overlay?.['type'] === 'fee' ? create('fee', 'value', changeOverlay({ percent: 0.6 })) : null),
    () =>
      overlay?.['type'] === 'decrement' && overlay['percent'] !== null
        ? create('fee', 'value', changeOverlay({ percent: 4 }))
        : null,
    () => (overlay?.['type'] === 'leverage' ? create('financing', 'value', changeOverlay({ spread_bps: 80 })) : null),
    () =>
      overlay?.['type'] === 'leverage'
        ? create('financing', 'ignored', changeOverlay({ financing: null, spread_bps: 0 }))
        : null,
  ];
  return draw.pick(options)();
}

/** Size of a difference in units of the rounding that a plant must have on some session. */
const VISIBLE = 6;

export const round = (values: Float64Array, decimals: number | null): Float64Array =>
  decimals === null ? values : values.map((value) => roundHalfAwayFromZero(value, decimals));

/**
 * Returns a random case with 1 to 4 causes, each of which is visible in the rounded level.
 * @param isDated true for constituents by date and dividends that are reinvested at the previous close
 */
export function createPlantedCase(seed: number, isDated = false): PlantedCase | null {
  const draw = createDraw(seed);
  const { market } = createMarket(draw, draw.int(160, 320));
  const documents = createDocuments(draw, isDated);
  const terms: CandidateTerms = {
    market,
    documents,
    indexId: documents['Y'] === undefined ? 'X' : 'Y',
    variant: documents['X']!.pipeline!.treatment.dividends as ReturnVariant,
    calendars: CALENDARS,
    createDecider: indexDecider,
    end: market.dates.at(-1)!,
    reading: [],
  };
  const decimals = draw.pick([2, 4, 8, null]);
  const wanted = draw.int(1, 4);
  const plants: Plant[] = [];
  let changed = terms;
  let before = evaluateTerms(terms);
  for (let tries = 0; plants.length < wanted && tries < 40; tries++) {
    const planting = plantAny(changed, draw);
    if (planting === null || plants.some((one) => isNear(one, planting.plant))) continue;
    try {
      const after = evaluateTerms(planting.terms);
      const unit = decimals === null ? 1e-6 : 10 ** -decimals;
      const size = after.levels.reduce((most, level, t) => Math.max(most, Math.abs(level - before.levels[t]!)), 0);
      if (after.levels.length !== before.levels.length || size < VISIBLE * unit) continue;
      changed = planting.terms;
      before = after;
      plants.push(planting.plant);
    } catch {
      // the change is not possible in this market
    }
  }
  if (plants.length === 0) return null;
  return {
    terms,
    outside: { days: before.days, values: round(before.levels, decimals) },
    decimals,
    plants,
  };
}

/** Returns true for two plants that would change the same thing. */
export const isNear = (a: Plant, b: Plant): boolean =>
  (a.subject === b.subject && a.identifier === b.identifier && a.identifier !== null) ||
  (a.date === null && b.date === null) ||
  (a.subject === 'rebalance' && b.subject === 'rebalance') ||
  (a.subject === 'constituent' && b.subject === 'constituent');

function plantAny(terms: CandidateTerms, draw: Draw): Planting {
  const kind = draw.int(0, 13);
  if (kind <= 3) return plantAction(terms, draw, ['DIVIDEND']);
  if (kind === 4) return plantAction(terms, draw, ['SPECIAL_DIVIDEND']);
  if (kind === 5) return plantAction(terms, draw, ['SPLIT']);
  if (kind === 6) return plantAction(terms, draw, ['SPIN_OFF', 'RIGHTS_ISSUE']);
  if (kind === 7) return plantAction(terms, draw, ['ACQUISITION', 'DELISTING']);
  if (kind === 8) return plantPrice(terms, draw);
  if (kind === 9) return plantPrint(terms, draw);
  if (kind === 10) return plantRebalance(terms, draw);
  if (kind === 11) return plantConstituent(terms, draw);
  if (kind === 12) return plantShares(terms, draw);
  return plantConvention(terms, draw);
}

export function explainCase(
  { terms, outside, decimals }: PlantedCase,
  report: (fraction: number, message: string) => void = () => {},
): Difference {
  const { variant, reading: _, ...rest } = terms;
  return explainDifference({
    terms: rest,
    outside,
    decimals,
    variant,
    currency: null,
    ownVariant: variant,
    causesMax: 12,
    known: [],
    report,
  });
}

export interface Score {
  readonly planted: number;
  /** Plants that are the cause, or in its ties. */
  readonly named: number;
  readonly first: number;
  /** Causes without a plant, also in their ties. */
  readonly wrong: number;
  readonly reproduced: boolean;
}

export function scoreCase({ plants }: PlantedCase, { causes, reproduced }: Difference): Score {
  const isSame = (plant: Plant, one: { subject: string; identifier: string | null; date: string | null }): boolean =>
    plant.subject === one.subject && plant.identifier === one.identifier && plant.date === one.date;
  const isNamed = (plant: Plant): boolean =>
    causes.some((cause) => isSame(plant, cause) || cause.ties.some((tie) => isSame(plant, tie)));
  const named = plants.filter(isNamed).length;
  const isSubset = causes.every((cause) => plants.some((plant) => isSame(plant, cause)));
  return {
    // If some of the plants reproduce every level, the others have no effect: a later plant took it away.
    planted: reproduced && isSubset ? named : plants.length,
    named,
    first: plants.filter((plant) => causes.some((cause) => isSame(plant, cause))).length,
    wrong: causes.filter(
      (cause) => !plants.some((plant) => isSame(plant, cause) || cause.ties.some((tie) => isSame(plant, tie))),
    ).length,
    reproduced,
  };
}

/** Applies a JSON patch (RFC 6902) to a JSON value. */
function patch(value: unknown, operations: readonly PatchOperation[]): unknown {
  const root = { value: structuredClone(value) };
  for (const { op, path, value: next } of operations) {
    const names = ['value', ...path.split('/').slice(1)].map((name) =>
      name.replaceAll('~1', '/').replaceAll('~0', '~'),
    );
    const last = names.pop()!;
    const parent = names.reduce<unknown>((one, name) => (one as Record<string, unknown>)[name], root);
    if (Array.isArray(parent)) parent.splice(Number(last), op === 'add' ? 0 : 1, ...(op === 'remove' ? [] : [next]));
    else if (op === 'remove') delete (parent as Record<string, unknown>)[last];
    else (parent as Record<string, unknown>)[last] = next;
  }
  return root.value;
}

/** Returns the inputs of a run after the changes of causes, as the result states them. */
export function applyChanges(terms: CandidateTerms, causes: readonly Cause[]): CandidateTerms {
  return causes.reduce((before, { change }) => {
    let after = before;
    for (const id of Object.keys(before.documents)) {
      const prefix = id === before.indexId ? '' : `/${id}`;
      const others = Object.keys(before.documents).filter((other) => other !== before.indexId);
      const operations = change.document
        .filter(({ path }) =>
          prefix === '' ? !others.some((other) => path.startsWith(`/${other}/`)) : path.startsWith(`${prefix}/`),
        )
        .map((operation) => ({ ...operation, path: operation.path.slice(prefix.length) }));
      if (operations.length > 0) after = withDocument(after, id, (own) => patch(own, operations));
    }
    for (const { table, identifier, date, type, field, value, added } of change.data) {
      const day = parseValidDay(date);
      if (table === 'market') {
        after = withBars(after, field, (panel, width) => {
          const row = after.market.dates.indexOf(day);
          panel[row * width + after.market.identifiers.indexOf(identifier)] = (value as number | null) ?? Number.NaN;
        });
        continue;
      }
      const own = after.market.actions.find(
        (action) => action.identifier === identifier && action.exDay === day && action.type === type,
      );
      const template = after.market.actions[0]!;
      const row = value as Readonly<Record<string, unknown>>;
      after = withActions(after, (actions) =>
        added === true
          ? [
              ...actions,
              {
                ...template,
                identifier,
                exDay: day,
                type: row['type'],
                value: row['value'],
                related: row['related'] ?? null,
                subscriptionPrice: row['subscription_price'] ?? null,
                status: row['status'] ?? null,
              } as CorporateAction,
            ]
          : actions.flatMap((action) => {
              if (action !== own) return [action];
              if (value === null) return [];
              return [{ ...action, [field === 'value' ? 'value' : 'subscriptionPrice']: value as number }];
            }),
      );
    }
    const variant = change.rounding?.['variant'] as ReturnVariant | undefined;
    return variant === undefined ? after : { ...after, variant };
  }, terms);
}

/** Returns the largest error of levels in units of half the last digit of the outside level; 0 where both are equal. */
export function measureErrors({ outside, decimals }: PlantedCase, terms: CandidateTerms): number {
  const { days, levels } = evaluateTerms(terms);
  const half = decimals === null ? 0 : 0.5 * 10 ** -decimals;
  return outside.values.reduce((most, value, t) => {
    const own = levels[days.indexOf(outside.days[t]!)]!;
    return Math.max(most, Math.abs(own - value) / (half + 1e-10 * value));
  }, 0);
}
