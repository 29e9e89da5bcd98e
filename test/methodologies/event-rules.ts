import { rebalanceSessions, runIndex, type SharesAfterClose, type Members, type Shares } from './index-run.js';
import type { Market } from './market.js';
import { EVERY_QUARTER, findMonthBefore, THIRD_FRIDAY, type Rulebook } from './parents.js';
import {
  selectBuffered,
  capWeights,
  computeProportional,
  rankSecurities,
  sum,
  type Weights,
} from './plain-functions.js';

const EVERY_MONTH = Array.from({ length: 12 }, (_, k) => k + 1);

/** State of an index by market capitalisation. Its constituents change between its reviews. */
interface ChangingIndex {
  readonly market: Market;
  /** Free-float market value for a weight of one, among securities below the cap. */
  unit: number;
}

/** Returns capped weights. The weights below the cap determine how much market value a unit of weight stands for. */
function computeCappedWeights(
  changing: ChangingIndex,
  t: number,
  { securities, cap }: { securities: readonly number[]; cap: number },
): Weights {
  const { market } = changing;
  const weights = capWeights(
    computeProportional(securities, (i) => market.floatCap(i, t)),
    cap,
  );
  const smallest = securities.toSorted((a, b) => weights.get(a)! - weights.get(b)!)[0]!;
  changing.unit = market.floatCap(smallest, t) / weights.get(smallest)!;
  return weights;
}

/** Replaces a security in the index shares by another security, at the market value of the other security. */
function replaceSecurity(
  { market, unit }: ChangingIndex,
  shares: Shares,
  { t, enters, leaves }: { readonly t: number; readonly enters: number; readonly leaves: number | null },
): Shares {
  const stayingShares = [...shares].filter(([i]) => i !== leaves);
  return new Map([...stayingShares, [enters, market.floatCap(enters, t) / unit / market.price(enters, t)]]);
}

interface VacancyTerms {
  readonly t: number;
  readonly heldAfter: SharesAfterClose;
  /** Securities that the last review did not select, best first. */
  readonly order: readonly number[];
  passes(security: number): boolean;
}

/** Replaces the securities that left at a close. The first securities that qualify replace them. */
function replaceLeavers(
  changing: ChangingIndex,
  shares: Shares,
  { t, heldAfter, order, passes }: VacancyTerms,
): Shares {
  const leavers = [...heldAfter(t - 1)!.keys()].filter((i) => !shares.has(i));
  return leavers.reduce((next) => {
    const enters = order.find((i) => !next.has(i) && passes(i));
    return enters === undefined ? next : replaceSecurity(changing, next, { t, enters, leaves: null });
  }, shares);
}

/**
 * Holds the hundred largest securities. When a security leaves, the largest security that the last review did not
 * select replaces it.
 */
export const runLargest100: Rulebook = (market, baseDate) => {
  const changingIndex: ChangingIndex = { market, unit: NaN };
  let leftOut: readonly number[] = [];
  const run = runIndex(market, baseDate, {
    ...EVERY_QUARTER,
    lag: 13,
    decide(t, members) {
      const order = rankSecurities(market.listed(t), (i) => market.cap(i, t));
      const securities = selectBuffered(order, members, { count: 100, enter: 90, exit: 110 });
      leftOut = order.filter((i) => !securities.includes(i));
      return computeCappedWeights(changingIndex, t, { securities, cap: 1 });
    },
    between(t, shares, heldAfter) {
      const list = new Set(market.listed(t));
      const isListed = (i: number) => list.has(i);
      const next = replaceLeavers(changingIndex, shares, { t, heldAfter, order: leftOut, passes: isListed });
      return next === shares ? undefined : next;
    },
  });
  return { '': run };
};

interface Leaders {
  readonly coverage: number;
  /** Lowest rank with which a constituent stays between reviews. */
  readonly exit: number;
}

const EURO = new Set(['AT', 'BE', 'DE', 'ES', 'FI', 'FR', 'IE', 'IT', 'LU', 'NL', 'PT']);

/**
 * Returns the constituents and the largest securities of each sector, the largest first. The largest securities of
 * a sector are those whose joint share of it is nearest to the coverage.
 */
function listSelection(market: Market, t: number, { coverage, members }: { coverage: number; members: Members }) {
  const computeFloatSize = (i: number) => market.floatCap(i, t);
  const all = market.listed(t).filter((i) => EURO.has(market.text(i, t, 'COUNTRY')));
  const list = new Set(all.filter((i) => members?.has(i)));
  for (const sector of new Set(all.map((i) => market.text(i, t, 'SECTOR')))) {
    const order = rankSecurities(
      all.filter((i) => market.text(i, t, 'SECTOR') === sector),
      computeFloatSize,
    );
    const total = sum(order.map(computeFloatSize));
    let coveredCount = 0;
    for (const i of order) {
      const next = coveredCount + computeFloatSize(i) / total;
      if (next >= coverage) {
        if (Math.abs(next - coverage) < Math.abs(coveredCount - coverage)) list.add(i);
        break;
      }
      list.add(i);
      coveredCount = next;
    }
  }
  return rankSecurities([...list], computeFloatSize);
}

export const createLeadersOfGroups =
  ({ coverage, exit }: Leaders): Rulebook =>
  (market, baseDate) => {
    const { dates, close } = market.store;
    const changingIndex: ChangingIndex = { market, unit: NaN };
    const cap = 0.1;
    const listOn = (t: number, members: Members) => listSelection(market, t, { coverage, members });
    const exits = new Set(rebalanceSessions(dates, { months: EVERY_MONTH, anchor: { day: 'date', date: 7 } }));
    const firstBar = close.map((row) => row.findIndex((value) => !Number.isNaN(value)));
    let leftOut: readonly number[] = [];

    function addExits(t: number, shares: Shares, heldAfter: SharesAfterClose): Shares {
      const decision = findMonthBefore(dates, t);
      const members = exits.has(t) ? heldAfter(decision) : undefined;
      if (members === undefined) return shares;
      const otherMembers = new Set(listOn(decision, null));
      const order = listOn(decision, new Set(members.keys()));
      const low = order.slice(exit).filter((i) => shares.has(i));
      const better = order.filter((i) => !shares.has(i) && otherMembers.has(i));
      return low.toReversed().reduce((next, leaves, k) => {
        const enters = better[k];
        const pays = enters !== undefined && order.indexOf(enters) < order.indexOf(leaves);
        return pays ? replaceSecurity(changingIndex, next, { t, enters, leaves }) : next;
      }, shares);
    }

    function addEntries(t: number, shares: Shares): Shares {
      const newListings = firstBar.flatMap((first, i) => (first + 20 === t && !shares.has(i) ? [i] : []));
      if (newListings.length === 0) return shares;
      const order = listOn(t, new Set(shares.keys()));
      const freshSecurities = order.slice(0, 25).filter((i) => newListings.includes(i));
      const worst = rankSecurities([...shares.keys()], (i) => order.indexOf(i));
      return freshSecurities.reduce(
        (next, enters, k) => replaceSecurity(changingIndex, next, { t, enters, leaves: worst[k]! }),
        shares,
      );
    }

    const run = runIndex(market, baseDate, {
      months: [9],
      anchor: THIRD_FRIDAY,
      reference: findMonthBefore,
      decide(t, members) {
        const list = listOn(t, members);
        const securities = selectBuffered(list, members, { count: 50, enter: 40, exit: 60 });
        leftOut = list.filter((i) => !securities.includes(i));
        return computeCappedWeights(changingIndex, t, { securities, cap });
      },
      reviews: [
        {
          months: [3, 6, 12],
          anchor: THIRD_FRIDAY,
          decide: (t, members) => computeCappedWeights(changingIndex, t, { securities: [...members!], cap }),
        },
      ],
      between(t, shares, heldAfter) {
        const isListed = (i: number) => listOn(t, null).includes(i);
        const filledShares = replaceLeavers(changingIndex, shares, { t, heldAfter, order: leftOut, passes: isListed });
        const next = addEntries(t, addExits(t, filledShares, heldAfter));
        return next === shares ? undefined : next;
      },
    });
    return { '': run };
  };
