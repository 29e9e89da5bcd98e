import type { Day } from '#domain/days.js';
import type { ActionType, CorporateAction } from '#domain/market/market-data.js';
import { counterRandom, type CounterRandom } from '#kernels/random/counter-random.js';
import { openAccounts } from './accounts.js';
import type { Bars, Birth, Company } from './company.js';
import type { Factors } from './factors.js';
import { companyName, SECTORS } from './names.js';
import { clusteredShocks } from './shocks.js';
import { SESSIONS_PER_YEAR, type SyntheticSpec } from './spec.js';

/** Share of names that pay dividends, so that the mean over all is the yield that was asked for. */
const PAYERS = 0.7;
/** Weight of the price in next quarter's dividend: dividends follow prices over years. */
const DIVIDEND_SMOOTHING = 0.1;
/** Special dividends a year of a name that pays at all. */
const SPECIALS_PER_YEAR = 0.01;
/** Share of new listings that are spun off from a living name. */
export const SPIN_OFF_SHARE = 0.1;
const SPIN_OFFS_MAX = 6;
/** Sessions from the announcement of an ending to the last bar, at least and on top. */
const CLOSING_SESSIONS = 20;
const CLOSING_SPREAD = 40;
/** Above this price a split is so many times more likely on top: few companies let their shares become dearer. */
const DEAR = 250;
const DEAR_SPLITS = 9;
/** No session loses more than this. */
const LOSS_MAX = 0.6;
const CENT = 100;

/** How a name leaves: by cash, by shares of another, by a delisting at its price, by bankruptcy. */
type Ending = { readonly session: number; readonly offer: number } & (
  | { readonly way: 'acquired' | 'delisted' | 'bankrupt' }
  | { readonly way: 'merged'; readonly into: Company; readonly ratio: number }
);

/**
 * Lives one name from its listing to its ending or the last session. Everything is decided in the order of the sessions
 * from the name's own random numbers, so that a longer window only adds to a shorter one.
 * @param elders companies that were made before, of lower rank: those that can buy it.
 */
export function liveCompany(
  birth: Birth,
  {
    spec,
    factors,
    elders,
  }: { readonly spec: SyntheticSpec; readonly factors: Factors; readonly elders: readonly Company[] },
): Company {
  const { seed, sessions } = spec;
  const random = counterRandom({ seed, stream: birth.stream });
  const fate = counterRandom({ seed, stream: birth.stream + 8 });
  const gaps = counterRandom({ seed, stream: birth.stream + 9 });
  const last = sessions.length;
  const bars = emptyBars(last - birth.listed);
  const actions: CorporateAction[] = [];
  const children: Birth[] = [];

  const beta = 0.6 + 0.8 * random.uniform();
  const sectorBeta = 0.7 + 0.6 * random.uniform();
  const deviation = (spec.specific_volatility * (0.6 + 0.8 * random.uniform())) / Math.sqrt(SESSIONS_PER_YEAR);
  const own = clusteredShocks(random, { deviation, reaction: 0.06, persistence: 0.91 });
  const turnover = (0.4 + 1.6 * random.uniform()) / SESSIONS_PER_YEAR;
  const hazards = hazardsOf(spec);
  const policy = dividendPolicy(spec, fate, birth.price);
  const accounts = openAccounts(
    {
      listed: sessions[birth.listed]!,
      isNew: birth.listed > 0,
      sector: SECTORS[birth.sector]!,
      worth: birth.price * birth.shares,
      dividends: policy.isPayer ? 4 * policy.perShare * birth.shares : 0,
    },
    counterRandom({ seed, stream: birth.stream + 10 }),
  );
  let yearEnd = accounts.periodEnd;
  let freeFloat = Math.round(20 * (0.35 + 0.65 * fate.uniform())) / 20;
  let price = birth.price;
  let shares = birth.shares;
  let perShare = policy.perShare;
  let ending: Ending | undefined;
  let ended: number | null = null;
  let count = 0;

  const act: Act = (type, session, value, more = {}) => {
    actions.push({
      identifier: birth.identifier,
      type,
      value,
      exDay: sessions[session]!,
      payDay: null,
      status: 'paid',
      announcedDay: null,
      related: null,
      subscriptionPrice: null,
      ...more,
    });
  };

  for (let t = birth.listed; t < last; t++, count++) {
    const i = t - birth.listed;
    const day = sessions[t]!;
    const month = factors.month[t]!;
    const monthSession = factors.monthSession[t]!;
    if (ending !== undefined && t === ending.session) {
      endLife(ending, { t, lastClose: bars.close[i - 1]!, act });
      ended = t;
      break;
    }
    if (day > yearEnd) {
      accounts.close(price * shares);
      yearEnd = accounts.periodEnd;
    }
    const isFirst = i === 0;
    const shock = own.next();
    let growth = isFirst
      ? 1
      : 1 + Math.max(-LOSS_MAX, beta * factors.market[t]! + sectorBeta * factors.sectors[birth.sector]![t]! + shock);
    let ratio = 1;
    let cash = 0;
    // At most one of these happens on a session, each with its own probability: the first stretch of (0, 1) it falls into.
    const happens = eventOf(fate.uniform(), hazards, price);

    if (ending !== undefined) growth = nearingEnd(ending, { t, price, growth, random: fate });
    else if (!isFirst) {
      if (happens === 'split') {
        const split = splitOf(price, fate);
        ratio = split.ratio;
        act(split.type, t, ratio, { announcedDay: day - 14 });
      }
      const rank = birth.rank;
      if (happens === 'ending') {
        ending = chooseEnding({ t, price: price / ratio, rank, elders, random: fate });
        growth *=
          ending.way === 'bankrupt' ? 0.45 : ending.way === 'delisted' ? 1 : (ending.offer * 0.97 * ratio) / price;
      } else if (happens === 'spin-off' && rank !== null && children.length < SPIN_OFFS_MAX && price > 10) {
        const child = spinOff({ birth, ordinal: children.length, session: t, price, shares, random: fate });
        children.push(child.birth);
        growth -= child.fraction;
        accounts.divide(child.fraction);
        act('SPIN_OFF', t, child.ratio, { related: child.birth.identifier, announcedDay: day - 40 });
      }
      if (
        policy.isPayer &&
        (month - 1) % 3 === policy.month &&
        monthSession === policy.session &&
        ending === undefined
      ) {
        perShare = (1 - DIVIDEND_SMOOTHING) * perShare + DIVIDEND_SMOOTHING * policy.quarterlyYield * price;
        const amount = toTick(perShare / ratio);
        if (amount > 0) {
          cash += amount;
          act('DIVIDEND', t, amount, paid(day, policy.payDays, sessions));
        }
      }
      if (happens === 'special' && policy.isPayer) {
        const amount = toTick((0.03 + 0.05 * fate.uniform()) * (price / ratio));
        cash += amount;
        if (amount > 0) act('SPECIAL_DIVIDEND', t, amount, paid(day, policy.payDays, sessions));
      }
    }

    const before = Math.max(price / ratio - cash, 0.0001);
    price = Math.max((price / ratio) * growth - cash, 0.0001);
    perShare /= ratio;
    shares = Math.round(shares * ratio);
    if (cash > 0) accounts.pay(cash * shares);
    if (!isFirst && monthSession === 0 && month % 3 === 1) {
      const before = shares;
      shares = Math.round(shares * (1 + 0.01 * (random.uniform() - 0.55)));
      accounts.issue((shares - before) * price);
      if (month === 1 && random.uniform() < 0.2)
        freeFloat = Math.min(1, Math.max(0.15, Math.round(20 * (freeFloat + 0.2 * (random.uniform() - 0.5))) / 20));
    }
    drawBar(bars, i, {
      price,
      before,
      volatility: own.volatility() + deviation,
      activity: turnover * shares * freeFloat,
      shock: shock / deviation,
      random,
    });
    bars.shares[i] = shares;
    bars.freeFloat[i] = freeFloat;
    if (spec.missing_rate > 0 && gaps.uniform() < spec.missing_rate) bars.missing[i] = 1;
  }
  return { birth, bars, count, ended, actions, reports: accounts.reports, children };
}

interface Hazard {
  readonly event: 'split' | 'ending' | 'spin-off' | 'special';
  /** End of its stretch of (0, 1). */
  readonly below: number;
}

function hazardsOf({ splits_per_year, delistings_per_year, listings_per_year }: SyntheticSpec): Hazard[] {
  const perYear = [
    ['split', splits_per_year],
    ['ending', delistings_per_year],
    ['spin-off', SPIN_OFF_SHARE * listings_per_year],
    ['special', SPECIALS_PER_YEAR],
  ] as const;
  let below = 0;
  return perYear.map(([event, rate]) => {
    below += rate / SESSIONS_PER_YEAR;
    return { event, below };
  });
}

function eventOf(uniform: number, hazards: readonly Hazard[], price: number): Hazard['event'] | undefined {
  const last = hazards.at(-1)!.below;
  if (uniform < last) return hazards.find(({ below }) => uniform < below)!.event;
  return price > DEAR && uniform < last + DEAR_SPLITS * hazards[0]!.below ? 'split' : undefined;
}

function emptyBars(length: number): Bars {
  const column = () => new Float64Array(length);
  return {
    open: column(),
    high: column(),
    low: column(),
    close: column(),
    volume: column(),
    shares: column(),
    freeFloat: column(),
    missing: new Uint8Array(length),
  };
}

interface Move {
  readonly price: number;
  /** Yesterday's close on today's basis: after splits and without the cash of today. */
  readonly before: number;
  readonly volatility: number;
  readonly activity: number;
  /** The name's own shock in deviations. */
  readonly shock: number;
  readonly random: CounterRandom;
}

/** One session's bar around its close: high at least open and close, low at most, all on the price grid. */
function drawBar(bars: Bars, i: number, { price, before, volatility, activity, shock, random }: Move): void {
  const first = random.uniform();
  const second = random.uniform();
  const overnight = before + (price - before) * upperHalf(first);
  const top = Math.max(overnight, price) * (1 + 0.6 * volatility * lowerHalf(first));
  const bottom = Math.min(overnight, price) * (1 - Math.min(0.6 * volatility, 0.9) * upperHalf(second));
  bars.open[i] = toTick(overnight);
  bars.high[i] = toTick(top);
  bars.low[i] = toTick(bottom);
  bars.close[i] = toTick(price);
  const bustle = 0.5 + lowerHalf(second) + 0.35 * Math.min(Math.abs(shock), 6);
  bars.volume[i] = Math.round(activity * bustle);
}

/** A uniform number of 52 bits is two of 26, which is more than a price has. */
const HALF = 2 ** 26;
const upperHalf = (uniform: number) => Math.floor(uniform * HALF) / HALF;
const lowerHalf = (uniform: number) => uniform * HALF - Math.floor(uniform * HALF);

/** The nearest price of the grid: cents from one unit of currency on, hundredths of cents below. Never zero. */
function toTick(price: number): number {
  const grid = price >= 1 ? CENT : CENT * CENT;
  return Math.max(Math.round(price * grid), 1) / grid;
}

interface DividendPolicy {
  readonly isPayer: boolean;
  readonly quarterlyYield: number;
  readonly perShare: number;
  /** Month of the quarter, 0 to 2, and session of the month on which it trades ex. */
  readonly month: number;
  readonly session: number;
  readonly payDays: number;
}

function dividendPolicy({ dividend_yield }: SyntheticSpec, random: CounterRandom, price: number): DividendPolicy {
  const isPayer = random.uniform() < PAYERS && dividend_yield > 0;
  const quarterlyYield = ((dividend_yield / PAYERS) * (0.5 + random.uniform())) / 4;
  return {
    isPayer,
    quarterlyYield,
    perShare: quarterlyYield * price,
    month: random.integer(3),
    session: 3 + random.integer(12),
    payDays: 14 + random.integer(15),
  };
}

/** Announced three weeks before; paid once the window reaches the day of payment. */
function paid(exDay: Day, payDays: number, sessions: Int32Array): Partial<CorporateAction> {
  const payDay = exDay + payDays;
  return { payDay, announcedDay: exDay - 21, status: payDay <= sessions.at(-1)! ? 'paid' : 'announced' };
}

/** Dear shares are split, cheap ones are put together, the others hand out a few more. */
function splitOf(price: number, random: CounterRandom): { readonly type: ActionType; readonly ratio: number } {
  const pick = random.integer(4);
  if (price < 4) return { type: 'SPLIT', ratio: pick < 2 ? 0.1 : 0.2 };
  if (price > 40) return { type: 'SPLIT', ratio: [2, 2, 3, 4][pick]! };
  if (pick === 0) return { type: 'STOCK_DIVIDEND', ratio: 1.05 };
  return pick === 1 ? { type: 'BONUS_ISSUE', ratio: 1.1 } : { type: 'SPLIT', ratio: 1.5 };
}

interface EndingChoice {
  readonly t: number;
  readonly price: number;
  readonly rank: number | null;
  readonly elders: readonly Company[];
  readonly random: CounterRandom;
}

function chooseEnding({ t, price, rank, elders, random }: EndingChoice): Ending {
  const session = t + CLOSING_SESSIONS + random.integer(CLOSING_SPREAD);
  const premium = 1.15 + 0.25 * random.uniform();
  const way = random.uniform();
  const partner = random.uniform();
  if (way < 0.12) return { way: 'bankrupt', session, offer: 0 };
  if (way < 0.4) return { way: 'delisted', session, offer: price };
  const offer = toTick(price * premium);
  if (way < 0.65 && rank !== null && rank > 0) {
    const into = elders[Math.floor(partner * Math.min(rank, elders.length))];
    const theirs = into === undefined ? undefined : priceOn(into, t);
    if (into !== undefined && theirs !== undefined)
      return { way: 'merged', session, offer, into, ratio: Math.max(Math.round((offer / theirs) * 1e4), 1) / 1e4 };
  }
  return { way: 'acquired', session, offer };
}

function priceOn({ birth, bars, count }: Company, session: number): number | undefined {
  const i = session - birth.listed;
  return i >= 0 && i < count ? bars.close[i] : undefined;
}

/** Growth of a session between the announcement of an ending and its day. */
function nearingEnd(
  ending: Ending,
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
      const theirs = priceOn(ending.into, t);
      return theirs === undefined ? 1 : (ending.ratio * theirs * (0.97 + 0.02 * random.uniform())) / price;
    }
  }
}

type Act = (type: ActionType, session: number, value: number, more?: Partial<CorporateAction>) => void;

function endLife(
  ending: Ending,
  { t, lastClose, act }: { readonly t: number; readonly lastClose: number; readonly act: Act },
): void {
  switch (ending.way) {
    case 'bankrupt':
      return act('DELISTING', t, 0);
    case 'delisted':
      return act('DELISTING', t, lastClose);
    case 'acquired':
      return act('ACQUISITION', t, ending.offer);
    case 'merged': {
      // A buyer that has gone itself in the meantime leaves what its shares were last worth, in cash.
      if (priceOn(ending.into, t) === undefined) return act('ACQUISITION', t, lastClose);
      return act('MERGER', t, ending.ratio, { related: ending.into.birth.identifier });
    }
  }
}

interface Parent {
  readonly birth: Birth;
  readonly ordinal: number;
  readonly session: number;
  readonly price: number;
  readonly shares: number;
  readonly random: CounterRandom;
}

const SPIN_OFF_LETTERS = 'NRSTWX';

/** A part of a name that trades by itself from a session on; the parent's price falls by what its holders get. */
function spinOff({ birth, ordinal, session, price, shares, random }: Parent): {
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
      name: companyName(identifier, random),
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
