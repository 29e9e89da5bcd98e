import { roundHalfAwayFromZero } from '#domain/base/numbers.js';
import { type Day, formatDay, parseValidDay, toWeekday } from '#domain/base/time.js';
import { computeYearFractions } from '#domain/definition/overlay-type.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { type CorporateAction, RETURN_VARIANTS, type ReturnVariant } from '#domain/market/market-data.js';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import { type Edit, evaluateTerms, type CandidateTerms } from '#domain/studies/difference-terms.js';
import { type ActionSketch, buildMarket } from '../backtest/market-builder.js';
import {
  CALENDARS,
  createDraw,
  type Draw,
  gauss,
  isNear,
  type Plant,
  type PlantedCase,
  type Planting,
  round,
  SUBJECTS,
  withActions,
  withBars,
  withDocument,
  withTreatment,
} from './planted-differences.js';

/** Market with the names of its securities by their part in the index. */
interface WideMarket {
  readonly market: CandidateTerms['market'];
  readonly names: readonly string[];
  readonly reserve: readonly string[];
}

const toName = (k: number): string => `N${String(k).padStart(2, '0')}`;

/** Returns a market with securities of two currencies and every kind of event. */
function createMarket(draw: Draw): WideMarket {
  const sessions = draw.int(150, 420);
  const dates: string[] = [];
  for (let day = parseValidDay('2020-01-02'); dates.length < sessions; day++)
    if (toWeekday(day) < 5) dates.push(formatDay(day));
  const names = Array.from({ length: draw.int(8, 32) }, (_, k) => toName(k));
  const reserve = Array.from({ length: 4 }, (_, k) => toName(50 + k));
  const volatility = 0.008 + 0.02 * draw.next();
  const foreign = draw.next() < 0.6 ? 3 : 99;
  const actions: ActionSketch[] = [];
  const close: Record<string, (number | null)[]> = {};
  const shares: Record<string, number[]> = {};
  const float: Record<string, number[]> = {};
  const cents = (value: number): number => Math.max(0.01, Math.round(value * 100) / 100);
  for (const name of [...names, ...reserve]) {
    let price = 4 + 300 * draw.next() ** 2;
    let count = Math.round((1e6 * (1 + 40 * draw.next())) / price) * 100;
    let freeFloat = draw.int(8, 20) / 20;
    const [paysAt, every] = [draw.int(5, 60), draw.pick([21, 63, 126])];
    const at = (within: number): number => draw.int(6, within * sessions);
    const [splitAt, specialAt, rightsAt, gapAt, printAt, bonusAt] = [3, 3, 8, 4, 4, 10].map(at);
    const values: (number | null)[] = [];
    shares[name] = [];
    float[name] = [];
    for (let t = 0; t < sessions; t++) {
      price *= Math.exp(volatility * gauss(draw));
      const act = (type: ActionSketch['type'], value: number, more: Partial<ActionSketch> = {}): void =>
        void actions.push({ name, type, value, ex: dates[t]!, ...more });
      if (t > 0 && t % every === paysAt % every) {
        const value = cents(price * (0.002 + 0.012 * draw.next()));
        const cancelled = draw.next() < 0.1;
        if (!cancelled) price -= value;
        act('DIVIDEND', value, cancelled ? { cancelled } : {});
      }
      if (t === specialAt) {
        const value = cents(price * (0.02 + 0.06 * draw.next()));
        price -= value;
        act(draw.pick(['SPECIAL_DIVIDEND', 'RETURN_OF_CAPITAL']), value);
      }
      if (t === splitAt || t === bonusAt) {
        const value = t === bonusAt ? 1.1 : draw.pick([2, 3, 5, 1.25, 0.1, 0.5]);
        price /= value;
        count = Math.round(count * value);
        act(t === bonusAt ? draw.pick(['BONUS_ISSUE', 'STOCK_DIVIDEND']) : 'SPLIT', value);
      }
      if (t === rightsAt) {
        const subscription = cents(price * 0.75);
        act('RIGHTS_ISSUE', 0.25, { subscription });
        price = (price + 0.25 * subscription) / 1.25;
      }
      if (draw.next() < 0.006) count = Math.round(count * (0.92 + 0.2 * draw.next()));
      if (draw.next() < 0.004) freeFloat = draw.int(8, 20) / 20;
      shares[name].push(count);
      float[name].push(freeFloat);
      values.push(t === gapAt ? null : cents(t === printAt ? price * draw.pick([1.1, 0.9, 1.3]) : price));
    }
    close[name] = values;
  }
  addSpinOff({ draw, names, dates, close, actions, cents });
  addRemoval({ draw, names, dates, close, actions, cents });
  let rate = 0.8 + 0.6 * draw.next();
  close['EURUSD'] = dates.map(() => Math.round((rate *= Math.exp(0.005 * gauss(draw))) * 1e5) / 1e5);
  const middle = dates[Math.floor(sessions / 2)]!;
  const market = buildMarket({
    dates,
    close,
    universes: names.map((identifier, k) => ({
      universe: 'YEARLY',
      identifier,
      start: k % 7 === 4 ? parseValidDay(middle) : null,
      end: k % 7 === 5 ? parseValidDay(middle) : null,
    })),
    fields: { SHARES_OUTSTANDING: shares, FREE_FLOAT: float },
    actions,
    reference: Object.fromEntries(
      [...names, ...reserve, 'SPUN'].map((name, k) => [
        name,
        { CURRENCY: k % foreign === 2 ? 'EUR' : 'USD', COUNTRY: ['US', 'DE', 'FR'][k % 3]!, SECTOR: `S${k % 4}` },
      ]),
    ),
  });
  const sofr = {
    identifier: 'SOFR',
    name: null,
    currency: null,
    days: market.dates,
    closes: Float64Array.from(market.dates, (_, t) => 3 + Math.round(100 * Math.sin(t / 25)) / 100),
  };
  return { market: { ...market, series: new Map([['SOFR', sofr]]) }, names, reserve };
}

interface Sketch {
  readonly draw: Draw;
  readonly names: readonly string[];
  readonly dates: readonly string[];
  readonly close: Record<string, (number | null)[]>;
  readonly actions: ActionSketch[];
  readonly cents: (value: number) => number;
}

function addSpinOff({ draw, names, dates, close, actions, cents }: Sketch): void {
  const parent = draw.pick(names.slice(0, 4));
  const at = draw.int(20, dates.length - 30);
  const ratio = draw.pick([0.2, 0.5, 1]);
  const base = close[parent]![at] ?? close[parent]![at - 1]!;
  let price = base * 0.3;
  close['SPUN'] = dates.map((_, t) => (t < at ? null : cents((price *= Math.exp(0.015 * gauss(draw))))));
  close[parent] = close[parent]!.map((own, t) => (t < at || own === null ? own : cents(own * (1 - 0.3 * ratio))));
  actions.push({ name: parent, type: 'SPIN_OFF', value: ratio, ex: dates[at]!, related: 'SPUN' });
}

function addRemoval({ draw, names, dates, close, actions, cents }: Sketch): void {
  if (draw.next() < 0.4) return;
  const name = names[6]!;
  const at = draw.int(25, dates.length - 20);
  const last = close[name]![at - 1] ?? close[name]![at - 2]!;
  close[name] = close[name]!.map((own, t) => (t < at ? own : null));
  for (const action of actions.filter((one) => one.name === name && one.ex >= dates[at]!))
    actions.splice(actions.indexOf(action), 1);
  actions.push({ name, type: draw.pick(['ACQUISITION', 'DELISTING']), value: cents(last * 1.08), ex: dates[at]! });
}

function createDocuments(draw: Draw, { names }: WideMarket): Record<string, IndexDocument> {
  const cap = Math.max(2.2 / names.length, draw.pick([0.08, 0.1, 0.15, 0.2]));
  const weighting = draw.pick<object>([
    { type: 'EqualWeight' },
    { type: 'MarketCapWeight' },
    { type: 'MarketCapWeight', cap: roundHalfAwayFromZero(cap, 2) },
    { type: 'MarketCapWeight', params: { free_float: true } },
    { type: 'MarketCapWeight', params: { free_float: true }, cap: roundHalfAwayFromZero(cap, 2) },
    { type: 'PriceWeight' },
    { type: 'FixedWeight', params: { weights: Object.fromEntries(names.map((name, k) => [name, 1 + (k % 5)])) } },
    { type: 'EqualWeight' },
  ]);
  const isPrice = (weighting as { type: string }).type === 'PriceWeight';
  const isFixed = (weighting as { type: string }).type === 'FixedWeight';
  const isYearly = draw.next() < 0.25;
  const isSelected = !isYearly && !isFixed && draw.next() < 0.2;
  const hasShares = draw.next() < 0.3;
  const X = IndexDocument.parse({
    id: 'X',
    name: 'X',
    calendar: 'MAIN',
    base_date: '2020-01-03',
    base_value: draw.pick([100, 1000, 250]),
    ...(hasShares ? { base_market_value: 1e9 } : {}),
    universe: isYearly ? { kind: 'named', id: 'YEARLY' } : { kind: 'list', identifiers: [...names] },
    rebalance: {
      frequency: draw.pick(['monthly', 'quarterly', 'quarterly', 'semi_annual', 'annual']),
      anchor: draw.pick(['last_session', 'third_friday', 'first_session']),
      effective_lag: draw.pick([0, 1, 2, 3, 5]),
    },
    pipeline: {
      selection: isSelected ? [{ id: 'largest', type: 'TopN', params: { count: names.length - 3 } }] : [],
      treatment: {
        dividends: draw.pick(['price', 'total', 'net']),
        withholding_tax: draw.pick<unknown>([
          0.15,
          { field: 'COUNTRY', rates: { US: 0.3, DE: 0.264, FR: 0.25 } },
          { field: 'COUNTRY', rates: { US: 0.15 }, default: 0.2 },
        ]),
        reinvestment: isPrice ? 'index' : draw.pick(['index', 'constituent']),
        ...(draw.next() < 0.3 ? { reinvestment_at: 'previous_close' } : {}),
        spin_offs: draw.pick(['zero_price', 'zero_price', 'drop_after_first_session']),
      },
      weighting,
    },
  });
  const overlay = draw.pick<object | null>([
    null,
    null,
    null,
    null,
    { type: 'fee', percent: 0.45 },
    { type: 'decrement', percent: 5 },
    { type: 'decrement', percent: 4, method: 'arithmetic' },
    { type: 'decrement', points: 50 },
    { type: 'leverage', factor: 2, financing: 'SOFR', spread_bps: 40 },
    { type: 'leverage', factor: -1, financing: 'SOFR', spread_bps: 0 },
  ]);
  if (overlay === null) return { X };
  const Y = IndexDocument.parse({
    id: 'Y',
    name: 'Y',
    calendar: 'MAIN',
    base_date: '2020-01-03',
    base_value: draw.pick([100, 1000]),
    kind: 'overlay',
    source_index_id: 'X',
    overlay,
  });
  return { X, Y };
}

interface Site {
  readonly terms: CandidateTerms;
  readonly draw: Draw;
  readonly wide: WideMarket;
}

/** Plants by their kind. Each returns null where it is not possible. */
const KINDS: Readonly<Record<string, (site: Site) => Planting>> = {
  ...Object.fromEntries(
    (
      [
        ['dividend', ['DIVIDEND'], ['ignored', 'early', 'late', 'doubled', 'inverted', 'value', 'special', 'added']],
        [
          'special_dividend',
          ['SPECIAL_DIVIDEND', 'RETURN_OF_CAPITAL'],
          ['ignored', 'early', 'late', 'doubled', 'value', 'ordinary'],
        ],
        ['split', ['SPLIT'], ['ignored', 'early', 'late', 'doubled', 'inverted', 'value']],
        ['bonus', ['BONUS_ISSUE', 'STOCK_DIVIDEND'], ['ignored', 'early', 'late', 'value']],
        ['spin_off', ['SPIN_OFF'], ['ignored', 'early', 'late', 'doubled', 'value']],
        ['rights', ['RIGHTS_ISSUE'], ['ignored', 'early', 'late', 'price', 'value']],
        ['removal', ['ACQUISITION', 'DELISTING'], ['early', 'late', 'value']],
      ] as const
    ).flatMap(([name, types, manners]) =>
      manners.map((manner) => [`${name} ${manner}`, (site: Site) => plantAction(site, types, manner)] as const),
    ),
  ),
  'price carried': (site) => plantPrice(site, 'carried'),
  'price hundredfold': (site) => plantPrice(site, 'hundredfold'),
  'price adjusted': plantAdjusted,
  'price without the print': plantPrint,
  'price in a gap': plantGap,
  'rebalance ignored': (site) => plantRebalance(site, 'ignored'),
  'rebalance early': (site) => plantRebalance(site, 'early'),
  'rebalance late': (site) => plantRebalance(site, 'late'),
  'constituent ignored once': (site) => plantConstituent(site, 'ignored', 'once'),
  'constituent ignored since': (site) => plantConstituent(site, 'ignored', 'since'),
  'constituent ignored always': (site) => plantConstituent(site, 'ignored', 'always'),
  'constituent added once': (site) => plantConstituent(site, 'added', 'once'),
  'constituent added since': (site) => plantConstituent(site, 'added', 'since'),
  'constituent added always': (site) => plantConstituent(site, 'added', 'always'),
  'shares ignored': (site) => plantShares(site, 'ignored'),
  'shares early': (site) => plantShares(site, 'early'),
  'scale value': ({ terms, draw }) => {
    const day = draw.pick([...terms.market.dates.subarray(20, terms.market.dates.length - 20)]);
    const factor = draw.pick([10, 0.1, 2, 0.5]);
    return ofLevels(terms, ['scale', 'value', null, formatDay(day)], (levels, days) =>
      levels.map((level, t) => (days[t]! >= day ? level * factor : level)),
    );
  },
  'calendar late': ({ terms }) =>
    ofLevels(terms, ['calendar', 'late', null, null], (levels) => levels.map((own, t) => levels[t - 1] ?? own)),
  'calendar early': ({ terms }) =>
    ofLevels(terms, ['calendar', 'early', null, null], (levels) => levels.map((own, t) => levels[t + 1] ?? own)),
  'rounding level': ({ terms, draw }) => {
    const decimals = draw.pick([2, 3]);
    return ofLevels(terms, ['rounding', 'value', null, null], (levels) => {
      const chained = levels.slice();
      for (let t = 1; t < levels.length; t++)
        chained[t] = roundHalfAwayFromZero((chained[t - 1]! * levels[t]!) / levels[t - 1]!, decimals);
      return chained;
    });
  },
  'rounding divisor': ({ terms, draw }) =>
    changeX(terms, ['rounding', 'value', null, null], (own) => ({
      ...own,
      rounding: { divisor: own.base_market_value === undefined ? draw.pick([2, 3, 4]) : draw.pick([-1, 0]) + 1 },
    })),
  'rounding shares': ({ terms, draw }) =>
    terms.documents['X']!.base_market_value === undefined
      ? null
      : changeX(terms, ['rounding', 'value', null, null], (own) => ({
          ...own,
          rounding: { shares: draw.pick([0, 1]) },
        })),
  'pricing lag': ({ terms, draw }) =>
    changeX(terms, ['pricing', 'value', null, null], (own) => ({
      ...own,
      rebalance: { ...own.rebalance, effective_lag: draw.int(0, 6) },
    })),
  'pricing date': ({ terms, draw }) =>
    changeX(terms, ['pricing', 'value', null, null], (own) => ({
      ...own,
      rebalance: { ...own.rebalance, pricing_date: { rule: 'sessions_before', sessions: draw.int(0, 6) } },
    })),
  'pricing weights': ({ terms }) =>
    changeX(terms, ['pricing', 'value', null, null], (own) => ({
      ...own,
      rebalance: { ...own.rebalance, weights_as: own.rebalance.weights_as === 'shares' ? 'weights' : 'shares' },
    })),
  'cap ignored': ({ terms }) =>
    terms.documents['X']!.pipeline!.weighting.cap === null ? null : changeCap(terms, 'ignored', null),
  'cap value': ({ terms, draw, wide: { names } }) =>
    terms.documents['X']!.pipeline!.weighting.cap === null
      ? null
      : changeCap(terms, 'value', drawCap(draw, names.length)),
  'cap added': ({ terms, draw, wide: { names } }) =>
    terms.documents['X']!.pipeline!.weighting.cap === null
      ? changeCap(terms, 'added', drawCap(draw, names.length))
      : null,
  'variant value': ({ terms, draw }) => {
    const variant = draw.pick(RETURN_VARIANTS.filter((one) => one !== terms.variant));
    return { terms: { ...terms, variant }, plant: toPlant(['variant', 'value', null, null]) };
  },
  'tax value': ({ terms, draw }) => plantTax(terms, draw.pick([0, 0.1, 0.125, 0.35])),
  ...Object.fromEntries(
    (
      [
        ['special_dividend', 'ignored', { special_dividends: 'ignore' }],
        ['reinvestment', 'value', { special_dividends: 'constituent' }],
        ['split', 'ignored', { splits: 'ignore' }],
        ['spin_off', 'ignored', { spin_offs: 'ignore' }],
        ['spin_off', 'value', { spin_offs: 'drop_after_first_session' }],
        ['rights', 'value', { rights: 'subscribe' }],
        ['rights', 'value', { rights: 'price_only' }],
        ['removal', 'value', { delisting: 'last_price' }],
        ['removal', 'value', { delisting: 'zero' }],
        ['reinvestment', 'value', { reinvestment: 'constituent' }],
        ['reinvestment', 'value', { reinvestment: 'index' }],
        ['reinvestment', 'value', { reinvestment_at: 'close' }],
        ['reinvestment', 'value', { reinvestment_at: 'previous_close' }],
      ] as const
    ).map(([subject, manner, changes]) => [
      `treatment ${JSON.stringify(changes)}`,
      ({ terms }: Site): Planting => ({
        terms: withTreatment(terms, changes),
        plant: toPlant([subject, manner, null, null]),
      }),
    ]),
  ),
  'currency late': ({ terms }) => changeRates(terms, 'late', (read, row) => read(row - 1)),
  'currency early': ({ terms }) => changeRates(terms, 'early', (read, row) => read(row + 1)),
  'currency ignored': ({ terms }) => changeRates(terms, 'ignored', () => 1),
  'currency inverted': ({ terms }) => changeRates(terms, 'inverted', (read, row) => 1 / read(row)),
  'currency carried': ({ terms, draw }) => {
    const at = draw.int(10, terms.market.dates.length - 10);
    return changeRates(
      terms,
      'carried',
      (read, row) => read(row === at ? row - 1 : row),
      formatDay(terms.market.dates[at]!),
    );
  },
  'currency value': ({ terms }) =>
    terms.documents['Y'] === undefined
      ? changeX(terms, ['currency', 'value', 'EUR', null], (own) => ({ ...own, currency: 'EUR' }))
      : null,
  'fee value': (site) =>
    plantOverlay(
      site,
      ['fee', 'value', null, null],
      ({ percent }) =>
        percent !== null && percent !== undefined && { percent: Number(percent) + site.draw.pick([0.05, 0.3, -0.2]) },
    ),
  'fee points': (site) =>
    plantOverlay(
      site,
      ['fee', 'value', null, null],
      ({ points }) => typeof points === 'number' && { points: points + site.draw.pick([5, -10]) },
    ),
  'fee ignored': (site) =>
    plantOverlay(
      site,
      ['fee', 'ignored', null, null],
      ({ percent }) => percent !== null && percent !== undefined && { percent: 0 },
    ),
  'fee method': (site) =>
    plantOverlay(
      site,
      ['fee', 'value', null, null],
      ({ type, percent, method }) =>
        type === 'decrement' &&
        typeof percent === 'number' && { method: method === 'arithmetic' ? 'geometric' : 'arithmetic' },
    ),
  'fee added': ({ terms, draw }) => {
    if (terms.documents['Y'] !== undefined) return null;
    const percent = draw.pick([0.2, 0.65, 1]);
    return ofLevels(terms, ['fee', 'added', null, null], (levels, days) => {
      const fractions = computeYearFractions(days, 365);
      let factor = 1;
      return levels.map((own, t) => own * (t === 0 ? 1 : (factor *= (1 - percent / 100) ** fractions[t]!)));
    });
  },
  'financing value': (site) =>
    plantOverlay(
      site,
      ['financing', 'value', null, null],
      ({ type, spread_bps }) => type === 'leverage' && { spread_bps: Number(spread_bps) + site.draw.pick([10, 25]) },
    ),
  'financing ignored': (site) =>
    plantOverlay(
      site,
      ['financing', 'ignored', null, null],
      ({ type }) => type === 'leverage' && { financing: null, spread_bps: 0 },
    ),
  'day_count value': (site) =>
    plantOverlay(
      site,
      ['day_count', 'value', null, null],
      ({ basis }) => typeof basis === 'number' && { basis: 725 - basis },
    ),
};

type PlantTerms = readonly [string, string, string | null, string | null];

const toPlant = ([subject, manner, identifier, date]: PlantTerms): Plant => ({ subject, manner, identifier, date });

const ofLevels = (
  terms: CandidateTerms,
  plant: PlantTerms,
  change: Extract<Edit, { kind: 'levels' }>['change'],
): Planting => ({
  terms: { ...terms, reading: [...terms.reading, { kind: 'levels', terms: {}, change }] },
  plant: toPlant(plant),
});

const changeX = (terms: CandidateTerms, plant: PlantTerms, change: (own: IndexDocument) => unknown): Planting => ({
  terms: withDocument(terms, 'X', change),
  plant: toPlant(plant),
});

/** Returns a whole percentage with which the securities can be capped. */
const drawCap = (draw: Draw, count: number): number =>
  draw.int(Math.ceil(120 / count), Math.ceil(120 / count) + 15) / 100;

const changeCap = (terms: CandidateTerms, manner: string, cap: number | null): Planting =>
  changeX(terms, ['cap', manner, null, null], ({ pipeline, ...own }) => ({
    ...own,
    pipeline: { ...pipeline, weighting: { ...pipeline!.weighting, cap } },
  }));

function plantTax(terms: CandidateTerms, rate: number): Planting {
  if (terms.variant !== 'net') return null;
  const { withholding_tax: tax } = terms.documents['X']!.pipeline!.treatment;
  const isFlat = typeof tax === 'number';
  return {
    terms: withTreatment(terms, { withholding_tax: isFlat ? rate : { ...tax, rates: { ...tax.rates, US: rate } } }),
    plant: toPlant(['tax', 'value', isFlat ? null : 'US', null]),
  };
}

function changeRates(
  terms: CandidateTerms,
  manner: string,
  change: (read: (row: number) => number, row: number) => number,
  date: string | null = null,
): Planting {
  const column = terms.market.identifiers.indexOf('EURUSD');
  return {
    terms: withBars(terms, 'CLOSE', (panel, width) => {
      const own = panel.slice();
      const rows = panel.length / width;
      const read = (row: number): number => own[Math.max(0, Math.min(rows - 1, row)) * width + column]!;
      for (let row = 0; row < rows; row++) panel[row * width + column] = change(read, row);
    }),
    plant: toPlant(['currency', manner, 'EURUSD', date]),
  };
}

function plantOverlay(
  { terms }: Site,
  plant: PlantTerms,
  change: (overlay: Readonly<Record<string, unknown>>) => object | false,
): Planting {
  const overlay = terms.documents['Y']?.overlay;
  const changes = overlay === undefined ? false : change(overlay);
  return changes === false
    ? null
    : {
        terms: withDocument(terms, 'Y', (own) => ({ ...own, overlay: { ...own.overlay, ...changes } })),
        plant: toPlant(plant),
      };
}

function plantAction({ terms, draw }: Site, types: readonly CorporateAction['type'][], manner: string): Planting {
  const { market } = terms;
  const list = market.actions.filter(
    ({ type, exDay, status }) =>
      types.includes(type) &&
      (status === 'cancelled') === (manner === 'added') &&
      exDay > market.dates[4]! &&
      exDay < market.dates.at(-6)!,
  );
  if (list.length === 0) return null;
  const action = draw.pick(list);
  const row = market.dates.indexOf(action.exDay);
  const isRatio = ['SPLIT', 'BONUS_ISSUE', 'STOCK_DIVIDEND'].includes(action.type);
  const cents = (value: number): number => Math.round(value * 100) / 100;
  const CHANGES: Readonly<Record<string, Partial<CorporateAction> | null>> = {
    ignored: null,
    early: { exDay: market.dates[row - 1]! },
    late: { exDay: market.dates[row + 1]! },
    doubled: { value: isRatio ? action.value ** 2 : 2 * action.value },
    inverted: { value: isRatio ? 1 / action.value : -action.value },
    value: { value: cents(action.value * (isRatio ? draw.pick([1.2, 1.5, 0.8]) : draw.pick([1.3, 0.6, 0.85]))) },
    price: { subscriptionPrice: cents((action.subscriptionPrice ?? 0) * 0.9) },
    special: { type: 'SPECIAL_DIVIDEND' },
    ordinary: { type: 'DIVIDEND' },
    added: { status: 'paid' },
  };
  const changes = CHANGES[manner] as Partial<CorporateAction> | null;
  if (changes?.value !== undefined && (changes.value === action.value || changes.value === 0)) return null;
  const stated = manner === 'special' || manner === 'ordinary' ? 'ignored' : manner === 'price' ? 'value' : manner;
  return {
    terms: withActions(terms, (actions) => [
      ...actions.filter((one) => one !== action),
      ...(changes === null ? [] : [{ ...action, ...changes }]),
    ]),
    plant: toPlant([SUBJECTS[action.type] ?? TYPES[action.type]!, stated, action.identifier, formatDay(action.exDay)]),
  };
}

const TYPES: Partial<Record<CorporateAction['type'], string>> = {
  BONUS_ISSUE: 'split',
  STOCK_DIVIDEND: 'split',
  RETURN_OF_CAPITAL: 'special_dividend',
};

/** Returns the closes of a security around a row. */
const readCloses = ({ market }: CandidateTerms, column: number, rows: readonly number[]): number[] =>
  rows.map((row) => market.fields.get('CLOSE')![row * market.identifiers.length + column]!);

const setPrices = (
  terms: CandidateTerms,
  column: number,
  prices: readonly (readonly [number, number])[],
): CandidateTerms =>
  withBars(terms, 'CLOSE', (panel, width) => {
    for (const [row, price] of prices) panel[row * width + column] = price;
  });

const plantPriceAt = (terms: CandidateTerms, column: number, row: number, manner: string): Plant =>
  toPlant(['price', manner, terms.market.identifiers[column]!, formatDay(terms.market.dates[row]!)]);

function plantPrice({ terms, draw, wide: { names } }: Site, manner: 'carried' | 'hundredfold'): Planting {
  const { market } = terms;
  const column = market.identifiers.indexOf(draw.pick(names));
  const row = draw.int(5, market.dates.length - 8);
  const closes = readCloses(terms, column, [row - 1, row, row + 1, row + 2, row + 3]);
  if (!closes.every((price) => price > 0) || closes[0] === closes[1]) return null;
  const count = draw.pick([1, 1, 2, 3]);
  const prices =
    manner === 'carried'
      ? Array.from({ length: count }, (_, k) => [row + k, closes[0]!] as const)
      : [[row, closes[1]! * draw.pick([100, 0.01])] as const];
  return {
    terms: setPrices(terms, column, prices),
    plant: plantPriceAt(terms, column, row, manner === 'carried' ? 'carried' : 'value'),
  };
}

/** Plants a price that is already adjusted on the session before a split. */
function plantAdjusted({ terms, draw }: Site): Planting {
  const { market } = terms;
  const splits = market.actions.filter(
    ({ type, exDay }) => type === 'SPLIT' && exDay > market.dates[6]! && exDay < market.dates.at(-6)!,
  );
  if (splits.length === 0) return null;
  const { identifier, exDay, value } = draw.pick(splits);
  const column = market.identifiers.indexOf(identifier);
  const row = market.dates.indexOf(exDay) - 1;
  const [price] = readCloses(terms, column, [row]);
  return price! > 0
    ? {
        terms: setPrices(terms, column, [[row, price! / value]]),
        plant: plantPriceAt(terms, column, row, 'value'),
      }
    : null;
}

/** Plants a price between its neighbours in place of a print that the store has. */
function plantPrint({ terms, draw, wide: { names } }: Site): Planting {
  const { market } = terms;
  const prints: (readonly [number, number])[] = [];
  for (const column of names.map((name) => market.identifiers.indexOf(name)))
    for (let row = 4; row < market.dates.length - 4; row++) {
      const [a, b, c] = readCloses(terms, column, [row - 1, row, row + 1]) as [number, number, number];
      if (Math.abs(b / a - 1) > 0.08 && Math.abs(b / c - 1) > 0.08 && Math.abs(c / a - 1) < 0.03)
        prints.push([row, column]);
    }
  if (prints.length === 0) return null;
  const [row, column] = draw.pick(prints);
  const [a, c] = readCloses(terms, column, [row - 1, row + 1]) as [number, number];
  return {
    terms: setPrices(terms, column, [[row, Math.round(50 * (a + c)) / 100]]),
    plant: plantPriceAt(terms, column, row, 'value'),
  };
}

/** Plants a price on a session on which the store has none. */
function plantGap({ terms, draw, wide: { names } }: Site): Planting {
  const { market } = terms;
  const gaps: (readonly [number, number])[] = [];
  for (const column of names.map((name) => market.identifiers.indexOf(name)))
    for (let row = 4; row < market.dates.length - 4; row++) {
      const [a, b, c] = readCloses(terms, column, [row - 1, row, row + 1]) as [number, number, number];
      if (Number.isNaN(b) && a > 0 && c > 0) gaps.push([row, column]);
    }
  if (gaps.length === 0) return null;
  const [row, column] = draw.pick(gaps);
  const [a] = readCloses(terms, column, [row - 1]) as [number];
  return {
    terms: setPrices(terms, column, [[row, Math.round(100 * a * draw.pick([1.02, 0.97, 1.05])) / 100]]),
    plant: plantPriceAt(terms, column, row, 'value'),
  };
}

const listReviews = (terms: CandidateTerms) => evaluateTerms(terms).composer.compositions('X');

function plantRebalance({ terms, draw }: Site, manner: 'ignored' | 'early' | 'late'): Planting {
  const { list, sm } = listReviews(terms);
  if (list.length < 3) return null;
  const review = list[draw.int(1, list.length - 2)]!;
  const move = manner === 'early' ? -1 : 1;
  const dates = list.slice(1).flatMap((one) => {
    if (one !== review) return [formatDay(one.date)];
    return manner === 'ignored' ? [] : [formatDay(sm.sessions[one.session + move]!)];
  });
  return changeX(terms, ['rebalance', manner, null, formatDay(sm.sessions[review.session]!)], (own) => ({
    ...own,
    rebalance: { ...own.rebalance, frequency: 'custom', dates },
  }));
}

function plantConstituent(
  { terms, draw, wide }: Site,
  manner: 'ignored' | 'added',
  duration: 'once' | 'since' | 'always',
): Planting {
  const { list, sm } = listReviews(terms);
  const document = terms.documents['X']!;
  if (list.length < 3 || document.amendments !== undefined) return null;
  if (document.universe!.kind !== 'list') return manner === 'ignored' ? plantMember({ terms, draw, wide }) : null;
  if (document.pipeline!.weighting.type === 'FixedWeight' && manner === 'added') return null;
  const own = document.universe!.identifiers!;
  const k = draw.int(1, list.length - 2);
  const members = list[duration === 'always' ? 0 : k]!.columns;
  const name = manner === 'ignored' ? terms.market.identifiers[draw.pick([...members])]! : draw.pick(wide.reserve);
  if (name === 'SPUN') return null;
  const identifiers = manner === 'ignored' ? own.filter((one) => one !== name) : [...own, name];
  if (duration === 'always')
    return changeX(terms, ['constituent', manner, name, null], (one) => ({
      ...one,
      universe: { ...one.universe, identifiers },
    }));
  const amend = (day: Day, some: readonly string[]) => ({
    effective_from: formatDay(day),
    changes: { universe: { identifiers: some } },
  });
  return changeX(terms, ['constituent', manner, name, formatDay(sm.sessions[list[k]!.session]!)], (one) => ({
    ...one,
    amendments: [amend(list[k]!.date, identifiers), ...(duration === 'once' ? [amend(list[k + 1]!.date, own)] : [])],
  }));
}

/** Plants a security that joins a universe by dates one review late, or leaves it one review early. */
function plantMember({ terms, draw }: Site): Planting {
  const { list, sm } = listReviews(terms);
  const { universes } = terms.market;
  const entry = draw.pick(universes.filter(({ start, end }) => start !== null || end !== null));
  const column = terms.market.identifiers.indexOf(entry.identifier);
  const k =
    entry.start === null
      ? list.findLastIndex(({ columns }) => columns.includes(column))
      : list.findIndex(({ columns }) => columns.includes(column));
  if (k < 1 || k > list.length - 2) return null;
  const day = sm.sessions[list[k]!.decision]!;
  const changed = entry.start === null ? { ...entry, end: day - 1 } : { ...entry, start: day + 1 };
  return {
    terms: {
      ...terms,
      market: { ...terms.market, universes: universes.map((one) => (one === entry ? changed : one)) },
    },
    plant: toPlant(['constituent', 'ignored', entry.identifier, formatDay(sm.sessions[list[k]!.session]!)]),
  };
}

function plantShares({ terms, draw, wide: { names } }: Site, manner: 'ignored' | 'early'): Planting {
  const { weighting } = terms.documents['X']!.pipeline!;
  if (weighting.type !== 'MarketCapWeight') return null;
  const { market } = terms;
  const fields =
    weighting.params['free_float'] === true ? ['SHARES_OUTSTANDING', 'FREE_FLOAT'] : ['SHARES_OUTSTANDING'];
  const field = draw.pick(fields);
  const panel = market.fields.get(field)!;
  const width = market.identifiers.length;
  const { list, sm } = listReviews(terms);
  const rowOf = (session: number): number => market.dates.indexOf(sm.sessions[session]!);
  const changes: (readonly [row: number, column: number, decided: number, before: number])[] = [];
  for (let k = 2; k < list.length - 1; k++)
    for (let row = rowOf(list[k - 1]!.decision) + 1; row < rowOf(list[k]!.decision); row++)
      for (const column of names.map((name) => market.identifiers.indexOf(name))) {
        const [before, after] = [panel[(row - 1) * width + column]!, panel[row * width + column]!];
        const hasSplit = market.actions.some(
          (one) => one.identifier === market.identifiers[column] && one.exDay === market.dates[row]!,
        );
        if (before !== after && !hasSplit)
          changes.push([row, column, rowOf(list[k]!.decision), rowOf(list[k - 1]!.decision)]);
      }
  if (changes.length === 0) return null;
  const [row, column, decided, before] = draw.pick(changes);
  const value = panel[(manner === 'ignored' ? row - 1 : row) * width + column]!;
  const [from, to] = manner === 'ignored' ? [row, decided] : [before, row - 1];
  return {
    terms: withBars(terms, field, (changed) => {
      for (let r = from; r <= to; r++) changed[r * width + column] = value;
    }),
    plant: toPlant(['shares', manner, market.identifiers[column]!, formatDay(market.dates[row]!)]),
  };
}

export const KIND_NAMES: readonly string[] = Object.keys(KINDS);

/** Size of a difference in units of the rounding that a plant must have on some session. */
const VISIBLE = 6;

export interface WideCase extends PlantedCase {
  /** Kind of each plant. */
  readonly kinds: readonly string[];
}

/** Returns a random case with 1 to 4 causes of any kind, each of which is visible in the rounded level. */
export function createWideCase(seed: number): WideCase | null {
  const draw = createDraw(7_000_000 + seed);
  const wide = createMarket(draw);
  const documents = createDocuments(draw, wide);
  const terms: CandidateTerms = {
    market: wide.market,
    documents,
    indexId: documents['Y'] === undefined ? 'X' : 'Y',
    variant: documents['X']!.pipeline!.treatment.dividends as ReturnVariant,
    calendars: CALENDARS,
    createDecider: indexDecider,
    end: wide.market.dates.at(-1)!,
    reading: [],
  };
  const decimals = draw.pick([2, 4, 8, null]);
  const unit = decimals === null ? 1e-6 : 10 ** -decimals;
  const wanted = draw.int(1, 4);
  const plants: Plant[] = [];
  const kinds: string[] = [];
  let changed = terms;
  let before = evaluateTerms(terms);
  for (let tries = 0; plants.length < wanted && tries < 60; tries++) {
    const kind = draw.pick(KIND_NAMES);
    try {
      const planting = KINDS[kind]!({ terms: changed, draw, wide });
      if (planting === null || plants.some((one) => isNear(one, planting.plant))) continue;
      const after = evaluateTerms(planting.terms);
      const size = after.levels.reduce((most, level, t) => Math.max(most, Math.abs(level - before.levels[t]!)), 0);
      if (after.levels.length !== before.levels.length || !(size >= VISIBLE * unit)) continue;
      changed = planting.terms;
      before = after;
      plants.push(planting.plant);
      kinds.push(kind);
    } catch {
      // the change is not possible in this market
    }
  }
  if (plants.length === 0) return null;
  return { terms, outside: { days: before.days, values: round(before.levels, decimals) }, decimals, plants, kinds };
}
