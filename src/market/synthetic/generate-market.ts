import { compareText } from '#domain/base/findings.js';
import { type Day, formatDay, toCivilDate, toDay } from '#domain/base/time.js';
import type {
  ActionType,
  CorporateAction,
  Membership,
  ReferenceRow,
  ReferenceTable,
  ReferenceValue,
} from '#domain/market/market-data.js';
import { type CounterRandom, createCounterRandom } from '#kernels/random/counter-random.js';
import { compareActions } from '../content/action-rows.js';
import type { MarketContent } from '../content/market-content.js';
import { allocateEmptyPanel } from '../panels/panels.js';
import {
  drawClusteredShocks,
  drawFactors,
  type Factors,
  SESSIONS_PER_YEAR,
  type Shocks,
  STREAMS,
  type SyntheticSpec,
} from './factors.js';
import { drawCompanyName, findCountry, formatTicker, type Sector, SECTORS, TICKERS_MAX } from './names.js';

/**
 * Published report of a fiscal year, in currency, rounded to thousands. Contains the flows of the year and the book
 * value at its end.
 */
interface Report {
  readonly periodEnd: Day;
  /** Day from which the report is known. */
  readonly published: Day;
  readonly sales: number;
  readonly earnings: number;
  /** Cash dividends with an ex-date in the year, including special dividends. */
  readonly dividends: number;
  readonly book: number;
  /** Market capitalisation at the end of the year, or at a later listing. */
  readonly worth: number;
}

/** Accounts of one company during its existence. All amounts are in the market's currency. */
interface Accounts {
  /** Day after which the current fiscal year must be closed. */
  readonly periodEnd: Day;
  pay(cash: number): void;
  /** Adds cash from new shares; a negative amount is a buy-back. */
  issue(cash: number): void;
  /** Transfers a fraction of the company to a spun-off company. */
  divide(fraction: number): void;
  /** Closes the current fiscal year. @param worth market capitalisation at its last close */
  close(worth: number): void;
  readonly reports: readonly Report[];
}

export interface Opening {
  /** Day of the first session. */
  readonly listed: Day;
  /** True for a new listing. Its latest accounts are published with the listing. */
  readonly isNew: boolean;
  readonly sector: Sector;
  /** Market capitalisation, and annual dividends. */
  readonly worth: number;
  readonly dividends: number;
}

/** Weight of the year-end price in the value that earnings follow. It is below 1, because earnings lag prices. */
const SMOOTHING = 0.5;
/**
 * Standard deviation of annual earnings and of sales, as fractions of their normal values. For earnings, there is one
 * value for the most stable and one for the least stable company.
 */
const EARNINGS_NOISE_MIN = 0.1;
const EARNINGS_NOISE_MAX = 0.6;
const SALES_NOISE = 0.05;
/** Fraction of the book value that is written off in a year in which a company becomes worthless. */
const COLLAPSE_CHARGE = 0.8;
/**
 * Fraction of the excess book value that is written off. The excess is the book value above a multiple of the market
 * value.
 */
const EXCESS_CHARGE = 0.3;
const EXCESS_BOOK = 3;
/**
 * Days from the end of a fiscal year to its report. There is a minimum, a range between companies, and a range between
 * years.
 */
const LAG_DAYS = 40;
const LAG_SPREAD = 45;
const LAG_JITTER = 8;
const LAG_MAX = LAG_DAYS + LAG_SPREAD + LAG_JITTER;
/** Last months of fiscal years, repeated by their frequency among companies. */
const FISCAL_MONTHS = [12, 12, 12, 12, 12, 12, 12, 3, 6, 9] as const;
const YEAR_DAYS = 365;

/**
 * Opens accounts that are consistent with the market. Earnings follow the value of the shares at the end of the year
 * and before. Dividends equal the paid ones. The book value grows by earnings and new shares less dividends. A report
 * depends only on data up to the end of its year.
 * @source Ohlson (1995), Contemporary Accounting Research 11, 661-687: clean surplus.
 */
function openAccounts({ listed, isNew, sector, worth, dividends }: Opening, random: CounterRandom): Accounts {
  const drawAround = (middle: number) => middle * (0.65 + 0.7 * random.uniform());
  const multiple = drawAround(sector.priceToEarnings);
  const margin = drawAround(sector.margin);
  const earningsNoise = EARNINGS_NOISE_MIN + (EARNINGS_NOISE_MAX - EARNINGS_NOISE_MIN) * random.uniform();
  const fiscalMonth = FISCAL_MONTHS[random.integer(FISCAL_MONTHS.length)]!;
  const lag = LAG_DAYS + random.integer(LAG_SPREAD);
  const reports: Report[] = [];
  let book = worth / drawAround(sector.priceToBook);
  let trackedWorth = worth;
  let issuedShares = 0;
  let periodEnd = findYearEndBefore(listed - LAG_MAX, fiscalMonth);

  const computeNormalEarnings = () => trackedWorth / multiple;
  const drawEarnings = () => computeNormalEarnings() * (1 + earningsNoise * random.normal());
  const drawSales = () => (computeNormalEarnings() / margin) * Math.max(1 + SALES_NOISE * random.normal(), 0.5);

  function publish(
    published: Day,
    { sales, earnings, dividends, worth }: Pick<Report, 'sales' | 'earnings' | 'dividends' | 'worth'>,
  ): void {
    reports.push({
      periodEnd,
      published,
      sales: roundToThousands(sales),
      earnings: roundToThousands(earnings),
      dividends: roundToThousands(dividends),
      book: roundToThousands(book),
      worth,
    });
    periodEnd = findYearEndAfter(periodEnd);
  }

  publish(isNew ? listed : periodEnd + lag, {
    sales: drawSales(),
    earnings: drawEarnings(),
    dividends: isNew ? 0 : dividends,
    worth,
  });
  // Assumes that the part of the current year before the first session has the same dividends as earlier years.
  const yearStart = periodEnd - YEAR_DAYS;
  let paidDividends = isNew ? 0 : dividends * Math.min((listed - yearStart) / YEAR_DAYS, 1);

  return {
    get periodEnd() {
      return periodEnd;
    },
    pay(cash) {
      paidDividends += cash;
    },
    issue(cash) {
      issuedShares += cash;
    },
    divide(fraction) {
      trackedWorth *= 1 - fraction;
      book *= 1 - fraction;
    },
    close(worthNow) {
      const collapse = Math.max(0, 1 - (2 * worthNow) / trackedWorth);
      trackedWorth += SMOOTHING * (worthNow - trackedWorth);
      const charges =
        Math.max(book, 0) * COLLAPSE_CHARGE * collapse + EXCESS_CHARGE * Math.max(0, book - EXCESS_BOOK * worthNow);
      const earnings = drawEarnings() - charges;
      book += earnings - paidDividends + issuedShares;
      publish(Math.max(periodEnd + lag + random.integer(LAG_JITTER), reports.at(-1)!.published + 1), {
        sales: drawSales(),
        earnings,
        dividends: paidDividends,
        worth: worthNow,
      });
      paidDividends = 0;
      issuedShares = 0;
    },
    reports,
  };
}

const roundToThousands = (amount: number) => Math.round(amount / 1000) * 1000 + 0;

function findYearEndBefore(day: Day, month: number): Day {
  const { year } = toCivilDate(day);
  const end = computeMonthEnd(year, month);
  return end <= day ? end : computeMonthEnd(year - 1, month);
}

function findYearEndAfter(day: Day): Day {
  const { year, month } = toCivilDate(day);
  return computeMonthEnd(year + 1, month);
}

const computeMonthEnd = (year: number, month: number): Day =>
  toDay({ year: month === 12 ? year + 1 : year, month: (month % 12) + 1, day: 1 }) - 1;

/** Properties of a security at its listing. */
interface Birth {
  readonly identifier: string;
  readonly name: string;
  /** First random stream of the security. */
  readonly stream: number;
  /**
   * Position among the securities that may acquire others. Securities with lower positions are generated first. Null
   * for spun-off securities.
   */
  readonly rank: number | null;
  readonly sector: number;
  readonly industry: string;
  /** Position of the first session among the sessions of the market. */
  readonly listed: number;
  readonly price: number;
  /** Shares outstanding at the first session. */
  readonly shares: number;
}

/** Bars of a security from its first session on. */
interface Bars {
  readonly open: Float64Array;
  readonly high: Float64Array;
  readonly low: Float64Array;
  readonly close: Float64Array;
  readonly volume: Float64Array;
  readonly shares: Float64Array;
  readonly freeFloat: Float64Array;
  /** 1 for a bar that is not published. */
  readonly missing: Uint8Array;
}

/** History of a security within the window. */
interface Company {
  readonly birth: Birth;
  readonly bars: Bars;
  readonly count: number;
  /** Session of the ending. It is null while the security is listed. */
  readonly ended: number | null;
  readonly actions: readonly CorporateAction[];
  /** Published reports in order of days, including reports published after the last session. */
  readonly reports: readonly Report[];
  /** Spun-off securities. */
  readonly children: readonly Birth[];
}

/**
 * Fraction of securities that pay dividends. Their yields are chosen so that the mean yield of all securities is the
 * requested yield.
 */
const PAYER_PROBABILITY = 0.7;
/** Weight of the current price in the next quarterly dividend. With this weight, dividends follow prices over years. */
const DIVIDEND_SMOOTHING = 0.1;

interface DividendPolicy {
  readonly isPayer: boolean;
  readonly quarterlyYield: number;
  readonly perShare: number;
  /** Position of the ex-date: the month within the quarter, 0 to 2, and the session of that month. */
  readonly month: number;
  readonly session: number;
  readonly payDays: number;
}

function drawDividendPolicy({ dividend_yield }: SyntheticSpec, random: CounterRandom, price: number): DividendPolicy {
  const isPayer = random.uniform() < PAYER_PROBABILITY && dividend_yield > 0;
  const quarterlyYield = ((dividend_yield / PAYER_PROBABILITY) * (0.5 + random.uniform())) / 4;
  return {
    isPayer,
    quarterlyYield,
    perShare: quarterlyYield * price,
    month: random.integer(3),
    session: 3 + random.integer(12),
    payDays: 14 + random.integer(15),
  };
}

/**
 * Returns the dates and status of a dividend. It is announced three weeks before the ex-date. It is paid if the payment
 * date is within the window.
 */
function createDividend(exDay: Day, payDays: number, sessions: Int32Array): Partial<CorporateAction> {
  const payDay = exDay + payDays;
  return { payDay, announcedDay: exDay - 21, status: payDay <= sessions.at(-1)! ? 'paid' : 'announced' };
}

const CENT = 100;

function createEmptyBars(length: number): Bars {
  const allocateColumn = () => new Float64Array(length);
  return {
    open: allocateColumn(),
    high: allocateColumn(),
    low: allocateColumn(),
    close: allocateColumn(),
    volume: allocateColumn(),
    shares: allocateColumn(),
    freeFloat: allocateColumn(),
    missing: new Uint8Array(length),
  };
}

interface Move {
  readonly price: number;
  /** Previous close on the basis of the current session: after splits and without the cash paid on it. */
  readonly before: number;
  readonly volatility: number;
  readonly activity: number;
  /** Security-specific shock, in standard deviations. */
  readonly shock: number;
  readonly random: CounterRandom;
}

/**
 * Sets the bar of one session around its close. The high is at least open and close, and the low is at most open and
 * close. All prices are on the price grid.
 */
function drawBar(bars: Bars, i: number, { price, before, volatility, activity, shock, random }: Move): void {
  const first = random.uniform();
  const second = random.uniform();
  const openPrice = before + (price - before) * takeUpperHalf(first);
  const highPrice = Math.max(openPrice, price) * (1 + 0.6 * volatility * takeLowerHalf(first));
  const lowPrice = Math.min(openPrice, price) * (1 - Math.min(0.6 * volatility, 0.9) * takeUpperHalf(second));
  bars.open[i] = toTick(openPrice);
  bars.high[i] = toTick(highPrice);
  bars.low[i] = toTick(lowPrice);
  bars.close[i] = toTick(price);
  const turnoverScale = 0.5 + takeLowerHalf(second) + 0.35 * Math.min(Math.abs(shock), 6);
  bars.volume[i] = Math.round(activity * turnoverScale);
}

/** Splits a uniform number of 52 bits into two of 26 bits, which exceeds the precision of a price. */
const HALF = 2 ** 26;
const takeUpperHalf = (uniform: number) => Math.floor(uniform * HALF) / HALF;
const takeLowerHalf = (uniform: number) => uniform * HALF - Math.floor(uniform * HALF);

/**
 * Returns the nearest price of the grid. The grid has cents for prices of at least one unit of currency, and hundredths
 * of cents below. The result is never zero.
 */
function toTick(price: number): number {
  const ticksPerUnit = price >= 1 ? CENT : CENT * CENT;
  return Math.max(Math.round(price * ticksPerUnit), 1) / ticksPerUnit;
}

/**
 * Minimum number of sessions from the announcement of an ending to its session. The second value is the range of
 * additional sessions.
 */
const CLOSING_SESSIONS = 20;
const CLOSING_SPREAD = 40;

/** Maximum loss in one session, without the fall on the announcement of a bankruptcy. */
const LOSS_MAX = 0.6;

/**
 * Ending of a security. It is an acquisition for cash, a merger for shares of another security, a delisting at its
 * price, or a bankruptcy.
 */
type CompanyEnding = { readonly session: number; readonly offer: number } & (
  | { readonly way: 'acquired' | 'delisted' | 'bankrupt' }
  | { readonly way: 'merged'; readonly into: Company; readonly ratio: number }
);

interface EndingChoice {
  readonly t: number;
  readonly price: number;
  readonly rank: number | null;
  readonly elders: readonly Company[];
  readonly random: CounterRandom;
}

function chooseEnding({ t, price, rank, elders, random }: EndingChoice): CompanyEnding {
  const session = t + CLOSING_SESSIONS + random.integer(CLOSING_SPREAD);
  const premium = 1.15 + 0.25 * random.uniform();
  const endingDraw = random.uniform();
  const partner = random.uniform();
  if (endingDraw < 0.12) return { way: 'bankrupt', session, offer: 0 };
  if (endingDraw < 0.4) return { way: 'delisted', session, offer: price };
  const offer = toTick(price * premium);
  if (endingDraw < 0.65 && rank !== null && rank > 0) {
    const acquirer = elders[Math.floor(partner * Math.min(rank, elders.length))];
    const acquirerPrice = acquirer === undefined ? undefined : findPrice(acquirer, t);
    if (acquirer !== undefined && acquirerPrice !== undefined)
      return {
        way: 'merged',
        session,
        offer,
        into: acquirer,
        ratio: Math.max(Math.round((offer / acquirerPrice) * 1e4), 1) / 1e4,
      };
  }
  return { way: 'acquired', session, offer };
}

function findPrice({ birth, bars, count }: Company, session: number): number | undefined {
  const i = session - birth.listed;
  return i >= 0 && i < count ? bars.close[i] : undefined;
}

function computeEndingGrowth(
  ending: CompanyEnding,
  {
    t,
    price,
    growth,
    random,
  }: { readonly t: number; readonly price: number; readonly growth: number; readonly random: CounterRandom },
): number {
  switch (ending.way) {
    case 'bankrupt':
      return Math.max(0.9 * growth - 0.02, 1 - LOSS_MAX);
    case 'delisted':
      return growth;
    case 'acquired':
      return (ending.offer * (0.97 + 0.03 * random.uniform())) / price;
    case 'merged': {
      const acquirerPrice = findPrice(ending.into, t);
      return acquirerPrice === undefined
        ? 1
        : (ending.ratio * acquirerPrice * (0.97 + 0.02 * random.uniform())) / price;
    }
  }
}

type EndingAction = (type: ActionType, session: number, value: number, more?: Partial<CorporateAction>) => void;

function endCompany(
  ending: CompanyEnding,
  { t, lastClose, act }: { readonly t: number; readonly lastClose: number; readonly act: EndingAction },
): void {
  switch (ending.way) {
    case 'bankrupt':
      return act('DELISTING', t, 0);
    case 'delisted':
      return act('DELISTING', t, lastClose);
    case 'acquired':
      return act('ACQUISITION', t, ending.offer);
    case 'merged': {
      // Pays the last price of the security in cash if the acquirer is no longer listed.
      if (findPrice(ending.into, t) === undefined) return act('ACQUISITION', t, lastClose);
      return act('MERGER', t, ending.ratio, { related: ending.into.birth.identifier });
    }
  }
}

/** Fraction of new listings that are spun off from a listed security. */
const SPIN_OFF_SHARE = 0.1;
const SPIN_OFFS_MAX = 6;

interface Parent {
  readonly birth: Birth;
  readonly ordinal: number;
  readonly session: number;
  readonly price: number;
  readonly shares: number;
  readonly random: CounterRandom;
}

const SPIN_OFF_LETTERS = 'NRSTWX';

/**
 * Creates a security that trades separately from a session on. The price of its parent falls by the distributed value.
 */
function createSpinOff({ birth, ordinal, session, price, shares, random }: Parent): {
  readonly birth: Birth;
  readonly ratio: number;
  readonly fraction: number;
} {
  const fraction = 0.08 + 0.17 * random.uniform();
  const ratio = [0.25, 0.5, 1][random.integer(3)]!;
  const identifier = birth.identifier + SPIN_OFF_LETTERS[ordinal]!;
  return {
    ratio,
    fraction,
    birth: {
      identifier,
      name: drawCompanyName(identifier, random),
      stream: birth.stream + 16 * (ordinal + 1),
      rank: null,
      sector: birth.sector,
      industry: birth.industry,
      listed: session,
      price: toTick((price * fraction) / ratio),
      shares: Math.max(Math.round(shares * ratio), 1),
    },
  };
}

/** Annual number of special dividends of a security that pays dividends. */
const SPECIALS_PER_YEAR = 0.01;

/** Price above which a split becomes more probable. Few companies let their share price rise further. */
const HIGH_PRICE = 250;
const HIGH_PRICE_SPLITS = 9;

/** Event with its probability per session. The probability is an interval of (0, 1). */
interface Hazard {
  readonly event: 'split' | 'ending' | 'spin-off' | 'special';
  /** End of the interval. */
  readonly below: number;
}

function listHazards({ splits_per_year, delistings_per_year, listings_per_year }: SyntheticSpec): Hazard[] {
  const perYear = [
    ['split', splits_per_year],
    ['ending', delistings_per_year],
    ['spin-off', SPIN_OFF_SHARE * listings_per_year],
    ['special', SPECIALS_PER_YEAR],
  ] as const;
  let cumulativeRate = 0;
  return perYear.map(([event, rate]) => {
    cumulativeRate += rate / SESSIONS_PER_YEAR;
    return { event, below: cumulativeRate };
  });
}

function drawEvent(uniform: number, hazards: readonly Hazard[], price: number): Hazard['event'] | undefined {
  const last = hazards.at(-1)!.below;
  if (uniform < last) return hazards.find(({ below }) => uniform < below)!.event;
  return price > HIGH_PRICE && uniform < last + HIGH_PRICE_SPLITS * hazards[0]!.below ? 'split' : undefined;
}

/**
 * Returns a split for an expensive share and a consolidation for a cheap share. For other shares, returns a split,
 * stock dividend or bonus issue.
 */
function drawSplit(price: number, random: CounterRandom): { readonly type: ActionType; readonly ratio: number } {
  const choice = random.integer(4);
  if (price < 4) return { type: 'SPLIT', ratio: choice < 2 ? 0.1 : 0.2 };
  if (price > 40) return { type: 'SPLIT', ratio: [2, 2, 3, 4][choice]! };
  if (choice === 0) return { type: 'STOCK_DIVIDEND', ratio: 1.05 };
  return choice === 1 ? { type: 'BONUS_ISSUE', ratio: 1.1 } : { type: 'SPLIT', ratio: 1.5 };
}

interface Surroundings {
  readonly spec: SyntheticSpec;
  readonly factors: Factors;
  /** Companies generated earlier, which can acquire this company. */
  readonly elders: readonly Company[];
}

/**
 * Simulates one security from its listing to its ending or the last session. All decisions are made in session order
 * from random streams of the security. A longer window therefore only adds to a shorter one.
 */
function simulateCompany(birth: Birth, surroundings: Surroundings): Company {
  const life = createCompanyState(birth, surroundings);
  const { bars, actions, accounts, children } = life;
  const sessions = surroundings.spec.sessions.length;
  let endSession: number | null = null;
  let count = 0;
  for (let t = birth.listed; t < sessions; t++, count++) {
    if (life.ending !== undefined && t === life.ending.session) {
      const lastClose = bars.close[t - birth.listed - 1]!;
      endCompany(life.ending, { t, lastClose, act: (...action) => addAction(life, ...action) });
      endSession = t;
      break;
    }
    simulateSession(life, t);
  }
  return { birth, bars, count, ended: endSession, actions, reports: accounts.reports, children };
}

/** State of a security while it is listed: its traits, its current values, and its published data. */
interface CompanyState extends Surroundings {
  readonly birth: Birth;
  readonly traits: Traits;
  readonly policy: DividendPolicy;
  readonly accounts: Accounts;
  /** Random stream of prices. */
  readonly random: CounterRandom;
  /** Random stream of events. */
  readonly fate: CounterRandom;
  /** Random stream of unpublished bars. */
  readonly gaps: CounterRandom;

  readonly bars: Bars;
  readonly actions: CorporateAction[];
  readonly children: Birth[];

  price: number;
  shares: number;
  /** Smoothed quarterly dividend per share. */
  perShare: number;
  freeFloat: number;
  /** Announced ending that is not yet effective. */
  ending: CompanyEnding | undefined;
}

interface Traits {
  readonly beta: number;
  readonly sectorBeta: number;
  /** Standard deviation of the security-specific daily return. */
  readonly deviation: number;
  readonly shocks: Shocks;
  /** Daily turnover, as a fraction of the free float. */
  readonly turnover: number;
  readonly hazards: readonly Hazard[];
}

/**
 * Creates the state of a security at its listing. The order of draws is fixed, because another order gives another
 * market.
 */
function createCompanyState(birth: Birth, surroundings: Surroundings): CompanyState {
  const { spec } = surroundings;
  const { seed, sessions } = spec;
  const random = createCounterRandom({ seed, stream: birth.stream });
  const fateRandom = createCounterRandom({ seed, stream: birth.stream + 8 });
  const traits = drawTraits(spec, random);
  const policy = drawDividendPolicy(spec, fateRandom, birth.price);
  const accounts = openAccounts(
    {
      listed: sessions[birth.listed]!,
      isNew: birth.listed > 0,
      sector: SECTORS[birth.sector]!,
      worth: birth.price * birth.shares,
      dividends: policy.isPayer ? 4 * policy.perShare * birth.shares : 0,
    },
    createCounterRandom({ seed, stream: birth.stream + 10 }),
  );
  return {
    ...surroundings,
    birth,
    traits,
    policy,
    accounts,
    random,
    fate: fateRandom,
    gaps: createCounterRandom({ seed, stream: birth.stream + 9 }),
    bars: createEmptyBars(sessions.length - birth.listed),
    actions: [],
    children: [],
    price: birth.price,
    shares: birth.shares,
    perShare: policy.perShare,
    freeFloat: Math.round(20 * (0.35 + 0.65 * fateRandom.uniform())) / 20,
    ending: undefined,
  };
}

function drawTraits(spec: SyntheticSpec, random: CounterRandom): Traits {
  const beta = 0.6 + 0.8 * random.uniform();
  const sectorBeta = 0.7 + 0.6 * random.uniform();
  const deviation = (spec.specific_volatility * (0.6 + 0.8 * random.uniform())) / Math.sqrt(SESSIONS_PER_YEAR);
  const shocks = drawClusteredShocks(random, { deviation, reaction: 0.06, persistence: 0.91 });
  const turnover = (0.4 + 1.6 * random.uniform()) / SESSIONS_PER_YEAR;
  return { beta, sectorBeta, deviation, shocks, turnover, hazards: listHazards(spec) };
}

function addAction(
  life: CompanyState,
  type: CorporateAction['type'],
  session: number,
  value: number,
  more: Partial<CorporateAction> = {},
): void {
  life.actions.push({
    identifier: life.birth.identifier,
    type,
    value,
    exDay: life.spec.sessions[session]!,
    payDay: null,
    status: 'paid',
    announcedDay: null,
    related: null,
    subscriptionPrice: null,
    ...more,
  });
}

/** Changes of a share in one session. */
interface Change {
  growth: number;
  /** Number of shares after the session per share before it. */
  ratio: number;
  /** Cash paid per share after the ratio was applied. */
  cash: number;
}

function simulateSession(life: CompanyState, t: number): void {
  const { birth, spec, factors, traits, accounts, bars, random, fate, gaps } = life;
  const i = t - birth.listed;
  if (spec.sessions[t]! > accounts.periodEnd) accounts.close(life.price * life.shares);
  const shock = traits.shocks.next();
  const commonReturn = traits.beta * factors.market[t]! + traits.sectorBeta * factors.sectors[birth.sector]![t]!;
  const change: Change = { growth: i === 0 ? 1 : 1 + Math.max(-LOSS_MAX, commonReturn + shock), ratio: 1, cash: 0 };
  const event = drawEvent(fate.uniform(), traits.hazards, life.price);
  if (life.ending !== undefined)
    change.growth = computeEndingGrowth(life.ending, { t, price: life.price, growth: change.growth, random: fate });
  else if (i > 0) {
    if (event !== undefined) applyEvent(life, event, t, change);
    payDividends(life, event, t, change);
  }

  const adjustedPrice = Math.max(life.price / change.ratio - change.cash, 0.0001);
  life.price = Math.max((life.price / change.ratio) * change.growth - change.cash, 0.0001);
  life.perShare /= change.ratio;
  life.shares = Math.round(life.shares * change.ratio);
  if (change.cash > 0) accounts.pay(change.cash * life.shares);
  if (i > 0 && factors.monthSession[t] === 0) issueShares(life, factors.month[t]!);
  drawBar(bars, i, {
    price: life.price,
    before: adjustedPrice,
    volatility: traits.shocks.volatility() + traits.deviation,
    activity: traits.turnover * life.shares * life.freeFloat,
    shock: shock / traits.deviation,
    random,
  });
  bars.shares[i] = life.shares;
  bars.freeFloat[i] = life.freeFloat;
  if (spec.missing_rate > 0 && gaps.uniform() < spec.missing_rate) bars.missing[i] = 1;
}

/** Performs a split, the announcement of an ending, or a spin-off. */
function applyEvent(life: CompanyState, event: Hazard['event'], t: number, change: Change): void {
  const { birth, spec, elders, accounts, children, fate, price } = life;
  const day = spec.sessions[t]!;
  if (event === 'split') {
    const split = drawSplit(price, fate);
    change.ratio = split.ratio;
    addAction(life, split.type, t, split.ratio, { announcedDay: day - 14 });
  } else if (event === 'ending') {
    const ending = chooseEnding({ t, price, rank: birth.rank, elders, random: fate });
    life.ending = ending;
    change.growth *= ending.way === 'bankrupt' ? 0.45 : ending.way === 'delisted' ? 1 : (ending.offer * 0.97) / price;
  } else if (event === 'spin-off' && birth.rank !== null && children.length < SPIN_OFFS_MAX && price > 10) {
    const child = createSpinOff({
      birth,
      ordinal: children.length,
      session: t,
      price,
      shares: life.shares,
      random: fate,
    });
    children.push(child.birth);
    change.growth -= child.fraction;
    accounts.divide(child.fraction);
    addAction(life, 'SPIN_OFF', t, child.ratio, { related: child.birth.identifier, announcedDay: day - 40 });
  }
}

/** Pays the quarterly dividend on its session, and special dividends. */
function payDividends(life: CompanyState, event: Hazard['event'] | undefined, t: number, change: Change): void {
  const { spec, factors, policy, fate, price } = life;
  if (!policy.isPayer) return;
  const day = spec.sessions[t]!;
  const isDue = (factors.month[t]! - 1) % 3 === policy.month && factors.monthSession[t] === policy.session;
  if (isDue && life.ending === undefined) {
    life.perShare = (1 - DIVIDEND_SMOOTHING) * life.perShare + DIVIDEND_SMOOTHING * policy.quarterlyYield * price;
    const amount = toTick(life.perShare / change.ratio);
    if (amount > 0) {
      change.cash += amount;
      addAction(life, 'DIVIDEND', t, amount, createDividend(day, policy.payDays, spec.sessions));
    }
  }
  if (event === 'special') {
    const amount = toTick((0.03 + 0.05 * fate.uniform()) * (price / change.ratio));
    change.cash += amount;
    if (amount > 0) addAction(life, 'SPECIAL_DIVIDEND', t, amount, createDividend(day, policy.payDays, spec.sessions));
  }
}

/** Issues or buys back shares at the beginning of a quarter; once a year, the free float may change. */
function issueShares(life: CompanyState, month: number): void {
  if (month % 3 !== 1) return;
  const { random, accounts } = life;
  const sharesBefore = life.shares;
  life.shares = Math.round(sharesBefore * (1 + 0.01 * (random.uniform() - 0.55)));
  accounts.issue((life.shares - sharesBefore) * life.price);
  if (month === 1 && random.uniform() < 0.2)
    life.freeFloat = Math.min(
      1,
      Math.max(0.15, Math.round(20 * (life.freeFloat + 0.2 * (random.uniform() - 0.5))) / 20),
    );
}

/** Universe that contains every security while the security is listed. */
const SYNTHETIC_UNIVERSE = 'SYNTH';

/** Number of random streams for one security and the securities spun off from it. */
const STREAMS_PER_SECURITY = 128;

/** Smallest and largest initial market value of a security, in the market's currency. */
const VALUE_MIN = 4e8;
const VALUE_MAX = 1.2e12;

/**
 * Generates a market from a seed. The market has a common factor and sectors, and securities with fat-tailed returns
 * and volatility clusters. It has bars, dividends, splits, listings, spin-offs, takeovers, mergers and bankruptcies.
 * Equal specs give bit-identical markets on every platform. A spec that differs only by later sessions gives the same
 * bars on the earlier sessions.
 * @cost 0.8 µs a bar.
 */
export function generateMarket(spec: SyntheticSpec, onProgress: (fraction: number) => void): MarketContent {
  const factors = drawFactors(spec);
  const births = [...drawInitialSecurities(spec), ...drawListings(spec)];
  const companies: Company[] = [];
  for (const birth of births) {
    companies.push(simulateCompany(birth, { spec, factors, elders: companies }));
    if (companies.length % 16 === 0) onProgress(companies.length / births.length);
  }
  const spinOffBirths = companies
    .flatMap(({ children }) => children)
    .map((birth) => simulateCompany(birth, { spec, factors, elders: [] }));
  return createContent(
    spec,
    [...companies, ...spinOffBirths].toSorted((a, b) => compareText(a.birth.identifier, b.birth.identifier)),
  );
}

function drawInitialSecurities(spec: SyntheticSpec): Birth[] {
  return Array.from({ length: spec.assets }, (_, rank) => drawSecurity(spec, rank, 0));
}

/** Draws later listings. The mean number per session gives the requested number per year. */
function drawListings(spec: SyntheticSpec): Birth[] {
  const random = createCounterRandom({ seed: spec.seed, stream: STREAMS.listings });
  const rate = ((1 - SPIN_OFF_SHARE) * spec.listings_per_year * spec.assets) / SESSIONS_PER_YEAR;
  const births: Birth[] = [];
  for (let t = 1; t < spec.sessions.length; t++) {
    const count = Math.floor(rate) + (random.uniform() < rate - Math.floor(rate) ? 1 : 0);
    for (let k = 0; k < count; k++) births.push(drawSecurity(spec, spec.assets + births.length, t));
  }
  return births;
}

function drawSecurity(spec: SyntheticSpec, rank: number, listed: number): Birth {
  if (rank >= TICKERS_MAX) throw new Error(`${rank} names; at most ${TICKERS_MAX} have an identifier`);
  const stream = STREAMS.names + rank * STREAMS_PER_SECURITY;
  const random = createCounterRandom({ seed: spec.seed, stream: stream + 7 });
  const identifier = formatTicker(rank);
  const name = drawCompanyName(identifier, random);
  const sector = random.integer(spec.sectors);
  const { industries } = SECTORS[sector]!;
  const price = Math.round((listed === 0 ? 8 + 140 * random.uniform() : 15 + 25 * random.uniform()) * 100) / 100;
  // Draws the size from the reciprocal of a uniform number. Sizes are then as uneven as in real markets (Zipf's law).
  // New securities are not among the largest.
  const value = Math.min(VALUE_MIN / Math.max(random.uniform(), 1e-6), listed === 0 ? VALUE_MAX : VALUE_MAX / 20);
  return {
    identifier,
    name,
    stream,
    rank,
    sector,
    industry: industries[random.integer(industries.length)]!,
    listed,
    price,
    shares: Math.round(value / price / 1000) * 1000,
  };
}

const FIELDS = ['OPEN', 'HIGH', 'LOW', 'CLOSE', 'VOLUME', 'SHARES_OUTSTANDING', 'FREE_FLOAT'] as const;

function createContent(spec: SyntheticSpec, companies: readonly Company[]): MarketContent {
  const { sessions } = spec;
  const presentCompanies = companies.filter(
    ({ bars, count }) => count > 0 && bars.missing.subarray(0, count).includes(0),
  );
  const assets = presentCompanies.length;
  const fields = new Map(
    FIELDS.map((name) => [name as string, allocateEmptyPanel(sessions.length * assets, FIELDS.length)]),
  );
  const panels = FIELDS.map((name) => fields.get(name)!);
  presentCompanies.forEach(({ birth, bars, count }, n) => {
    const columns = [bars.open, bars.high, bars.low, bars.close, bars.volume, bars.shares, bars.freeFloat];
    for (let f = 0; f < columns.length; f++)
      fillColumn(panels[f]!, columns[f]!, { bars, count, from: birth.listed * assets + n, step: assets });
  });
  return {
    identifiers: presentCompanies.map(({ birth }) => birth.identifier),
    dates: sessions,
    fields,
    reference: createReference(spec, companies),
    actions: companies.flatMap(({ actions }) => actions).toSorted(compareActions),
    universes: companies.map(({ birth, ended }): Membership => ({
      universe: SYNTHETIC_UNIVERSE,
      identifier: birth.identifier,
      start: sessions[birth.listed]!,
      end: ended === null ? null : sessions[ended]!,
    })),
  };
}

function fillColumn(
  panel: Float64Array,
  column: Float64Array,
  {
    bars,
    count,
    from,
    step,
  }: { readonly bars: Company['bars']; readonly count: number; readonly from: number; readonly step: number },
): void {
  const { missing } = bars;
  for (let i = 0, cell = from; i < count; i++, cell += step) if (missing[i] === 0) panel[cell] = column[i]!;
}

const COLUMNS = [
  'NAME',
  'CURRENCY',
  'EXCHANGE',
  'COUNTRY',
  'SECTOR',
  'INDUSTRY',
  'ISSUER',
  'LISTED',
  'DELISTED',
  'FISCAL_PERIOD_END',
  'PUBLISHED',
  'SALES',
  'EARNINGS',
  'DIVIDENDS',
  'BOOK_VALUE',
  'EARNINGS_YIELD',
  'BOOK_TO_PRICE',
  'RETURN_ON_EQUITY',
];

/**
 * Returns rows of reference data. Each security has one row without accounts, because accounts are unknown at first. It
 * then has a row from every day on which it publishes accounts. A delisted security has a last row from its delisting,
 * with its latest accounts.
 */
function createReference(spec: SyntheticSpec, companies: readonly Company[]): ReferenceTable {
  const { sessions, exchange, currency } = spec;
  const country = findCountry(exchange);
  const formatDayText = createDayFormatter();
  return {
    columns: COLUMNS,
    rows: new Map(
      companies.map(({ birth, ended, reports }): [string, ReferenceRow[]] => {
        const listedText = formatDayText(sessions[birth.listed]!);
        const { sector } = SECTORS[birth.sector]!;
        const createRow = (
          validFrom: Day | null,
          delisted: string | null,
          report: Report | undefined,
        ): ReferenceRow => ({
          validFrom,
          values: [
            birth.name,
            currency,
            exchange,
            country,
            sector,
            birth.industry,
            birth.name,
            listedText,
            delisted,
            ...(report === undefined
              ? NO_VALUES
              : [formatDayText(report.periodEnd), formatDayText(report.published), ...listFigures(report)]),
          ],
        });
        const lastSession = ended === null ? null : sessions[ended]!;
        const publishedReports = reports.filter(({ published }) =>
          lastSession === null ? published <= sessions.at(-1)! : published < lastSession,
        );
        const rows = [
          createRow(null, null, undefined),
          ...publishedReports.map((report) => createRow(report.published, null, report)),
        ];
        return [
          birth.identifier,
          lastSession === null
            ? rows
            : [...rows, createRow(lastSession, formatDayText(lastSession), publishedReports.at(-1))],
        ];
      }),
    ),
  };
}

const NO_VALUES: readonly ReferenceValue[] = Array.from({ length: 9 }, () => null);

/**
 * Returns amounts in currency, then ratios to the market capitalisation at the end of the year. The last ratio is that
 * of earnings to book value, if the book value is positive.
 */
function listFigures({ sales, earnings, dividends, book, worth }: Report): readonly ReferenceValue[] {
  return [
    sales,
    earnings,
    dividends,
    book,
    computeRatio(earnings, worth),
    computeRatio(book, worth),
    book > 0 ? computeRatio(earnings, book) : null,
  ];
}

/** Returns a ratio rounded to a millionth, which exceeds the accuracy of accounts. */
const computeRatio = (amount: number, base: number) => Math.round((1e6 * amount) / base) / 1e6 + 0;

function createDayFormatter(): (day: Day) => string {
  const textByDay = new Map<Day, string>();
  return (day) => {
    const text = textByDay.get(day) ?? formatDay(day);
    textByDay.set(day, text);
    return text;
  };
}
