import type { ActionType, CorporateAction } from '#domain/market/market-data.js';
import type { CounterRandom } from '#kernels/random/counter-random.js';
import type { Company } from './company.js';
import { toTick } from './draw-bar.js';

/**
 * Minimum number of sessions from the announcement of an ending to its session. The second value is the range of
 * additional sessions.
 */
const CLOSING_SESSIONS = 20;
const CLOSING_SPREAD = 40;

/** Maximum loss in one session, without the fall on the announcement of a bankruptcy. */
export const LOSS_MAX = 0.6;

/**
 * Ending of a security. It is an acquisition for cash, a merger for shares of another security, a delisting at its
 * price, or a bankruptcy.
 */
export type CompanyEnding = { readonly session: number; readonly offer: number } & (
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

export function chooseEnding({ t, price, rank, elders, random }: EndingChoice): CompanyEnding {
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

/** Returns the growth of a session between the announcement of an ending and the ending. */
export function computeEndingGrowth(
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

export type EndingAction = (type: ActionType, session: number, value: number, more?: Partial<CorporateAction>) => void;

export function endCompany(
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
