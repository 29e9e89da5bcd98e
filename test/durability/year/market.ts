import { formatDay, parseValidDay } from '#domain/base/time.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { IS_SOAK } from '../../soak.js';
import { seeded } from '../../seeded.js';

export const SESSION_COUNT = Number(process.env['SOAK_SESSIONS'] ?? (IS_SOAK ? 252 : 11));
const RULES = IS_SOAK ? 40 : 2;
const OVERLAYS = IS_SOAK ? 10 : 1;
export const SEED = Number(process.env['SOAK_SEED'] ?? 20_261_125);
export const HISTORY = 5;
export const SECURITIES = Array.from({ length: 12 }, (_, i) => `S${String(i).padStart(2, '0')}`);
const random = seeded(SEED);
export const drawSecurity = (): string => SECURITIES[Math.floor(random() * SECURITIES.length)]!;

export type Fault = 'late' | 'wrong' | 'repeated' | 'closed' | 'target' | 'kill';
/**
 * Faults of the short test by session. In the test of a year, every third session has a fault, and each kind occurs
 * equally often.
 */
const WEEKS: Readonly<Record<number, Fault>> = {
  1: 'late',
  2: 'wrong',
  3: 'repeated',
  4: 'kill',
  7: 'target',
  8: 'closed',
  9: 'kill',
};
const KINDS: readonly Fault[] = ['late', 'wrong', 'repeated', 'closed', 'target', 'kill'];
/** Kinds of faults that have not yet occurred in the current cycle. */
let remainingFaults: readonly Fault[] = [];
export function getFault(k: number): Fault | undefined {
  if (!IS_SOAK) return WEEKS[k];
  if (k % 3 !== 2) return undefined;
  if (remainingFaults.length === 0) remainingFaults = KINDS;
  const fault = remainingFaults[Math.floor(random() * remainingFaults.length)]!;
  remainingFaults = remainingFaults.filter((kind) => kind !== fault);
  return fault;
}

/** Sessions of the simulation, including the end of a month. */
export const SESSIONS = [...openCalendars().get('XNYS')!.sessions]
  .filter((day) => day >= parseValidDay('2023-06-14'))
  .slice(0, HISTORY + SESSION_COUNT)
  .map(formatDay);

/** Prices before splits, by session and security. */
export const PRICES = SESSIONS.reduce<number[][]>((rows) => {
  const before = rows.at(-1) ?? SECURITIES.map((_, i) => 20 + 10 * i);
  return [...rows, before.map((price) => price * (1 + (random() - 0.5) * 0.03))];
}, []);

/** Indices with equal weights. Every second index is rebalanced at the last close of each month. */
export const RULE_INDICES = Array.from({ length: RULES }, (_, r) => ({
  id: `RULE-${r}`,
  members: SECURITIES.filter((_, i) => (i + r) % 3 !== 0),
  frequency: r % 2 === 0 ? 'none' : 'monthly',
}));
export const DECREMENT_PERCENT = 5;
export const OVERLAY_INDICES = Array.from({ length: OVERLAYS }, (_, o) => ({ id: `FEE-${o}`, parent: `RULE-${o}` }));
export const FAMILY = [...RULE_INDICES, ...OVERLAY_INDICES].map(({ id }) => id);

/**
 * Returns the levels of an index of the family by date. They are computed from averages of price relatives since the
 * last rebalance.
 * @param dates sessions that took place
 */
export function computeLevels(id: string, dates: readonly string[]): ReadonlyMap<string, number> {
  const parent = OVERLAY_INDICES.find((overlaid) => overlaid.id === id)?.parent;
  const { members, frequency } = RULE_INDICES.find((rule) => rule.id === (parent ?? id))!;
  const listPricesOn = (date: string): readonly number[] =>
    members.map((name) => PRICES[SESSIONS.indexOf(date)]![SECURITIES.indexOf(name)]!);
  const levels = new Map<string, number>();
  let lastReview = { prices: listPricesOn(dates[0]!), level: 1000 };
  let isDue = false;
  for (const [t, date] of SESSIONS.entries()) {
    // A rebalance on a closed day moves to the next session.
    isDue ||= frequency === 'monthly' && SESSIONS[t + 1]?.slice(0, 7) !== date.slice(0, 7);
    if (!dates.includes(date)) continue;
    const prices = listPricesOn(date);
    const relatives = prices.map((price, i) => price / lastReview.prices[i]!);
    const level = (lastReview.level * relatives.reduce((sum, each) => sum + each, 0)) / relatives.length;
    const years = parent === undefined ? 0 : (parseValidDay(date) - parseValidDay(dates[0]!)) / 365;
    levels.set(date, level * (1 - DECREMENT_PERCENT / 100) ** years);
    if (isDue) lastReview = { prices, level };
    isDue = false;
  }
  return levels;
}
