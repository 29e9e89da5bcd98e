import { dayFrom, formatDay } from '#domain/time/days.js';
import { openCalendars } from '#market/serving/calendar-files.js';
import { IS_SOAK } from '../../soak.js';
import { seeded } from '../../seeded.js';

export const SESSION_COUNT = Number(process.env['SOAK_SESSIONS'] ?? (IS_SOAK ? 252 : 21));
const RULES = IS_SOAK ? 40 : 2;
const OVERLAYS = IS_SOAK ? 10 : 1;
export const SEED = Number(process.env['SOAK_SEED'] ?? 20_261_125);
export const HISTORY = 5;
export const SECURITIES = Array.from({ length: 12 }, (_, i) => `S${String(i).padStart(2, '0')}`);
const random = seeded(SEED);
/** A security, drawn. */
export const drawnSecurity = (): string => SECURITIES[Math.floor(random() * SECURITIES.length)]!;

export type Fault = 'late' | 'wrong' | 'repeated' | 'closed' | 'target' | 'kill';
/** Faults of the month by session; the year draws one for every third session. */
const MONTH: Readonly<Record<number, Fault>> = {
  2: 'late',
  4: 'wrong',
  6: 'repeated',
  8: 'kill',
  11: 'target',
  14: 'closed',
  17: 'kill',
};
const KINDS: readonly Fault[] = ['late', 'wrong', 'repeated', 'closed', 'target', 'kill'];
export const faultOf = (k: number): Fault | undefined => {
  if (!IS_SOAK) return MONTH[k];
  return k % 3 === 2 ? KINDS[Math.floor(random() * KINDS.length)] : undefined;
};

export const SESSIONS = [...openCalendars().get('XNYS')!.sessions]
  .filter((day) => day >= dayFrom('2023-06-01'))
  .slice(0, HISTORY + SESSION_COUNT)
  .map(formatDay);

/** Prices without splits, by session and security. */
export const PRICES = SESSIONS.reduce<number[][]>((rows) => {
  const before = rows.at(-1) ?? SECURITIES.map((_, i) => 20 + 10 * i);
  return [...rows, before.map((price) => price * (1 + (random() - 0.5) * 0.03))];
}, []);

export const RULED = Array.from({ length: RULES }, (_, r) => ({
  id: `RULE-${r}`,
  members: SECURITIES.filter((_, i) => (i + r) % 3 !== 0),
}));
export const OVERLAID = Array.from({ length: OVERLAYS }, (_, o) => ({ id: `FEE-${o}`, parent: `RULE-${o}` }));
export const FAMILY = [...RULED, ...OVERLAID].map(({ id }) => id);

/** Level of an index with equal weights at the first close that are never changed. */
export function levelOf(members: readonly string[], t: number): number {
  const relatives = members.map((name) => SECURITIES.indexOf(name)).map((i) => PRICES[t]![i]! / PRICES[0]![i]!);
  return (1000 * relatives.reduce((sum, each) => sum + each, 0)) / relatives.length;
}
