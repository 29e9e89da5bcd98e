import type { Finding } from '../refusals/findings.js';
import { refuseWithFindings, type Refusal } from '../refusals/refusal.js';
import { computeQuantile } from '../numbers/order-statistics.js';
import { computeCapacity, computeDaysToTrade, computeLiquidation } from './liquidity.js';
import { computeOrderCost, type Order, type PackSecurity } from './order.js';
import { createOrders } from './orders.js';
import { AUM, type RebalancePackRequest } from './pack-request.js';

/** Data of a security on the date of a pack. */
export interface KnownSecurity {
  readonly identifier: string;
  readonly weight: number;
  /** Price in the currency of the index. */
  readonly price: number;
  readonly adv: number | null;
}

export interface PackTrade {
  readonly identifier: string;
  readonly side: 'buy' | 'sell';
  readonly shares: number;
  readonly price: number;
  readonly value: number;
  readonly weight_before: number;
  readonly weight_target: number;
  readonly weight_after: number;
  readonly adv_shares: number | null;
  /** Order size as a fraction of a day's volume. */
  readonly adv_share: number | null;
  readonly days_to_trade: number | null;
  readonly cost: number;
  readonly reason: 'add' | 'delete' | 'reweight';
}

export interface PackAccount {
  readonly name: string;
  readonly value: number;
  readonly cash_after: number;
  readonly turnover: number;
  readonly cost: number;
  /** Half the sum of absolute differences between resulting and target weights. */
  readonly drift_after: number;
  readonly trades: readonly PackTrade[];
}

export interface Pack {
  readonly accounts: readonly PackAccount[];
  readonly days_to_trade: { readonly p50: number | null; readonly p90: number | null; readonly max: number | null };
  readonly liquidation: readonly { readonly days: number; readonly share: number }[];
  readonly capacity: readonly { readonly days: number; readonly aum: number | null }[];
  readonly findings: readonly Finding[];
}

/**
 * Creates the orders and figures of a pack.
 * @param names securities of the composition and of the holdings, by identifier; each with a price
 * @param leftOut findings about holdings that are neither sold nor counted
 * @throws Refusal VALIDATION_FAILED for an account without value
 */
export function createPack(
  names: readonly KnownSecurity[],
  request: RebalancePackRequest,
  leftOut: readonly Finding[] = [],
): Pack {
  const { participation, cost } = request;
  const lots = new Map(Object.entries(request.lot_sizes));
  const positions = new Map(names.map(({ identifier }, i) => [identifier, i]));
  const packSecurities = names.map((name): PackSecurity => ({
    ...name,
    lot: lots.get(name.identifier) ?? 1,
    spreadBps: cost.spread_bps,
    impactBps: cost.impact_bps,
  }));
  const findings: Finding[] = [];
  const aumAccount = request.aum === null ? [] : [{ name: AUM, cash: request.aum, holdings: [] }];
  const tradedShares = new Float64Array(names.length);
  const totalShares = new Float64Array(names.length);
  const accounts = [...request.accounts, ...aumAccount].map(({ name, cash, holdings }, position): PackAccount => {
    const shares = new Float64Array(names.length);
    for (const { identifier, shares: heldShares, value } of holdings) {
      const i = positions.get(identifier)!;
      shares[i]! += heldShares ?? value! / names[i]!.price;
    }
    const filledAccount = createOrders(packSecurities, shares, cash);
    if (!(filledAccount.value > 0)) throw refuseWithoutValue(name, filledAccount.value, { at: position, leftOut });
    if (filledAccount.isShort) findings.push(reportCashShortage(name, filledAccount.cash, position));
    shares.forEach((own, i) => (totalShares[i]! += Math.abs(own)));
    for (const { name: ownPackSecurity, before, after } of filledAccount.orders)
      tradedShares[positions.get(ownPackSecurity.identifier)!]! += Math.abs(after - before);
    const valueAfter = filledAccount.value - filledAccount.cost;
    const after = Float64Array.from(shares);
    for (const order of filledAccount.orders) after[positions.get(order.name.identifier)!] = order.after;
    const reachedWeights = packSecurities.map(({ price }, i) => (after[i]! * price) / valueAfter);
    const { value, turnover } = filledAccount;
    return {
      name,
      value,
      cash_after: filledAccount.cash,
      turnover,
      cost: filledAccount.cost,
      drift_after: packSecurities.reduce((sum, { weight }, i) => sum + Math.abs(reachedWeights[i]! - weight), 0) / 2,
      trades: filledAccount.orders.map((order) => createTrade(order, { value, valueAfter, participation })),
    };
  });
  const days = names.flatMap((name, i) =>
    tradedShares[i] === 0 ? [] : [computeDaysToTrade({ shares: tradedShares[i]!, adv: name.adv }, participation)],
  );
  const sortedDays = days.filter((value) => value !== null).sort((a, b) => a - b);
  const findQuantile = (share: number): number | null =>
    sortedDays.length === 0 ? null : computeQuantile(sortedDays, share);
  return {
    accounts,
    days_to_trade: { p50: findQuantile(0.5), p90: findQuantile(0.9), max: findQuantile(1) },
    liquidation: computeLiquidation(
      names.map(({ price, adv }, i) => ({ shares: totalShares[i]!, price, adv })),
      participation,
    ),
    capacity: computeCapacity(names, participation),
    findings: [...findings, ...reportMissingVolume(names)],
  };
}

interface TradeContext {
  readonly value: number;
  readonly valueAfter: number;
  readonly participation: number;
}

function createTrade(order: Order, { value, valueAfter, participation }: TradeContext): PackTrade {
  const { name, before, after } = order;
  const shares = Math.abs(after - before);
  return {
    identifier: name.identifier,
    side: after > before ? 'buy' : 'sell',
    shares,
    price: name.price,
    value: shares * name.price,
    weight_before: (before * name.price) / value,
    weight_target: name.weight,
    weight_after: (after * name.price) / valueAfter,
    adv_shares: name.adv,
    adv_share: computeDaysToTrade({ shares, adv: name.adv }, 1),
    days_to_trade: computeDaysToTrade({ shares, adv: name.adv }, participation),
    cost: computeOrderCost(order),
    reason: before === 0 ? 'add' : name.weight === 0 ? 'delete' : 'reweight',
  };
}

interface AccountWithoutValue {
  /** Index of the account. */
  readonly at: number;
  readonly leftOut: readonly Finding[];
}

/** Returns the refusal of an account without value, with the findings about excluded holdings. */
function refuseWithoutValue(account: string, value: number, { at, leftOut }: AccountWithoutValue): Refusal {
  const path = `accounts[${at}]`;
  const accountFindings = leftOut.filter((finding) => finding.path.startsWith(`${path}.`));
  const why =
    accountFindings.length === 0 ? '' : `, without ${accountFindings.length} of its holdings, which cannot be traded`;
  const message = `The account ${account} has the value ${value} at the closes${why}; it must be greater than 0.`;
  return refuseWithFindings('body', [{ severity: 'error', code: 'OUT_OF_RANGE', message, path }, ...accountFindings]);
}

function reportCashShortage(account: string, cash: number, position: number): Finding {
  return {
    severity: 'warning',
    code: 'OUT_OF_RANGE',
    message: `The account ${account} has negative cash of ${cash} after the trades: its sales do not cover costs and debts.`,
    path: `accounts[${position}].cash`,
  };
}

function reportMissingVolume(names: readonly KnownSecurity[]): Finding[] {
  const securitiesWithoutVolume = names
    .filter(({ adv }) => adv === null || adv === 0)
    .map(({ identifier }) => identifier);
  if (securitiesWithoutVolume.length === 0) return [];
  const [first] = securitiesWithoutVolume;
  const remainderPhrase = securitiesWithoutVolume.length === 1 ? '' : ` and ${securitiesWithoutVolume.length - 1} more`;
  return [
    {
      severity: 'warning',
      code: 'UNKNOWN_FIELD_NAME',
      message: `The data contains no volume for ${first}${remainderPhrase}. Their market impact is treated as 0, and their days to trade are unknown.`,
      path: '',
      count: securitiesWithoutVolume.length,
      places: securitiesWithoutVolume.slice(0, 5),
    },
  ];
}
