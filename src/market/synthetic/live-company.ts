import type { CorporateAction } from '#domain/market/market-data.js';
import { createCounterRandom, type CounterRandom } from '#kernels/random/counter-random.js';
import { openAccounts, type Accounts } from './accounts.js';
import type { Bars, Birth, Company } from './company.js';
import { DIVIDEND_SMOOTHING, drawDividendPolicy, createDividend, type DividendPolicy } from './dividend-policy.js';
import { drawBar, createEmptyBars, toTick } from './draw-bar.js';
import { chooseEnding, endCompany, LOSS_MAX, computeEndingGrowth, type CompanyEnding } from './endings.js';
import type { Factors } from './factors.js';
import { drawEvent, listHazards, drawSplit, type Hazard } from './hazards.js';
import { SECTORS } from './names.js';
import { drawClusteredShocks, type Shocks } from './shocks.js';
import { SESSIONS_PER_YEAR, type SyntheticSpec } from './spec.js';
import { createSpinOff, SPIN_OFFS_MAX } from './spin-off.js';

export interface Surroundings {
  readonly spec: SyntheticSpec;
  readonly factors: Factors;
  /** Companies generated earlier, which can acquire this company. */
  readonly elders: readonly Company[];
}

/**
 * Simulates one security from its listing to its ending or the last session. All decisions are made in session order
 * from random streams of the security. A longer window therefore only adds to a shorter one.
 */
export function simulateCompany(birth: Birth, surroundings: Surroundings): Company {
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
