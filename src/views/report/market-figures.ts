import { readRunGrowthTerms, restoreTreatment } from '#domain/backtest/run-file/settings.js';
import type { DividendPointsView } from '#contract/analytics/dividend-points.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { formatDay } from '#domain/time/days.js';
import { listPaidDividends, listAnnouncedDividends } from '#domain/dividends/dividend-fractions.js';
import type { Finding } from '#domain/refusals/findings.js';
import { createExchangeRates } from '#domain/market/exchange-rates.js';
import type { SessionMarket } from '#domain/market/session-market.js';
import { readSecurityAsKnown } from '#domain/rebalance-pack/known-security.js';
import { createPack, type KnownSecurity, type Pack, type PackAccount } from '#domain/rebalance-pack/pack.js';
import { RebalancePackRequest } from '#domain/rebalance-pack/pack-request.js';
import { createDividendPointsView, type DividendPointsInput } from '../dividends/dividend-points-view.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { ScenarioOutcome } from '#domain/scenarios/holdings.js';
import { createScenarioMarket, computeScenario } from '#domain/scenarios/scenario-market.js';
import type { Scenario } from '#domain/scenarios/scenario-request.js';
import { readPositiveWeights } from '../weights-view.js';
import type { Missing } from './missing.js';

/** Returns the ordinary dividends of a run in points of its level. */
export function computeRunDividends(columns: RunColumns, sm: SessionMarket): DividendPointsView | Missing {
  if (sm.market.adjustment === 'total')
    return { missing: 'The prices of the store include dividends, so paid dividends cannot be derived from them.' };
  return createDividendPointsView(columns, { window: { start: null, end: null }, ...computeRunFractions(columns, sm) });
}

/** Returns the dividends of a run, from its market and with the terms of the run. */
export function computeRunFractions(
  columns: RunColumns,
  sm: SessionMarket,
): Pick<DividendPointsInput, 'paid' | 'toCome'> {
  const { treatment, variant } = columns.header;
  const { withholding_tax: withholding } = restoreTreatment(treatment);
  const terms = { growth: readRunGrowthTerms(columns.header, variant), splits: treatment.splits, withholding };
  const last = sm.sessionAt(columns.i32('days').at(-1)!);
  return { paid: listPaidDividends(sm, terms), toCome: listAnnouncedDividends(sm, last, terms) };
}

/** Orders of a rebalance for one portfolio. */
export interface RebalanceOrders extends Pick<Pack, 'capacity'> {
  /** Fraction of the portfolio before the orders that can be sold within each number of days. */
  readonly liquidation: Pack['liquidation'];
  readonly date: string;
  /** Fraction of the daily volume that may be traded. */
  readonly participation: number;
  readonly account: PackAccount;
  readonly days: Pack['days_to_trade'];
}

/**
 * Returns the orders of the latest rebalance in whole shares, for a portfolio that held the index before it. Returns
 * null for an overlay. Also returns null if the only rebalance of the run is the first purchase.
 */
export function computeRebalanceOrders(
  columns: RunColumns,
  sm: SessionMarket,
  aum: number,
): RebalanceOrders | Missing | null {
  const { header } = columns;
  const position = header.rebalances.at(-1)!.at;
  if (header.parts !== undefined || position < 1) return null;
  const H = header.names.length;
  const event = columns.i32('eventAt').indexOf(position);
  const weightsBefore =
    event < 0
      ? columns.f64('weights', position * H, (position + 1) * H)
      : columns.f64('before', event * H, (event + 1) * H);
  const target = columns.f64('targets', (header.rebalances.length - 1) * H, header.rebalances.length * H);
  const session = sm.sessionAt(columns.i32('days', position, position + 1)[0]!);
  const request = RebalancePackRequest.parse({ aum });
  const growth = readRunGrowthTerms(header, header.variant);
  const rates = createExchangeRates(sm, growth.currency);
  const names = header.names.flatMap((identifier, i): (KnownSecurity & { readonly shares: number })[] => {
    const column = sm.columnOf(identifier);
    if (column < 0 || (weightsBefore[i] === 0 && target[i] === 0)) return [];
    const name = readSecurityAsKnown(
      { sm, rates, growth, session, sessions: request.adv_sessions },
      column,
      target[i]!,
    );
    return Number.isFinite(name.price) ? [{ ...name, shares: Math.floor((weightsBefore[i]! * aum) / name.price) }] : [];
  });
  const cash = names.reduce((uninvested, { shares, price }) => uninvested - shares * price, aum);
  const holdings = names
    .filter(({ shares }) => shares !== 0)
    .map(({ identifier, shares }) => ({ identifier, shares, value: null }));
  const accounts = [{ name: 'Portfolio', cash: Math.max(0, cash), holdings }];
  const pack = createPack(names, { ...request, aum: null, accounts });
  return {
    date: formatDay(sm.sessions[session]!),
    participation: request.participation,
    account: pack.accounts[0]!,
    days: pack.days_to_trade,
    capacity: pack.capacity,
    liquidation: pack.liquidation,
  };
}

/** Result of a scenario in a report, or the reason why there is none. */
export interface ScenarioResult {
  readonly name: string;
  readonly outcome: ScenarioOutcome | Missing;
}

/**
 * Reference column that groups securities. If a return of a security is missing, the mean return of its group replaces
 * it.
 */
const DEFAULT_PROXIES = 'SECTOR';

/** Applies scenarios to the holdings on the last date of a run. */
export function computeRunScenarios(
  columns: RunColumns,
  sm: SessionMarket,
  requestedScenarios: readonly Scenario[],
): ScenarioResult[] {
  const { header } = columns;
  const market = createScenarioMarket(sm, { header, weights: readPositiveWeights(columns, null), by: DEFAULT_PROXIES });
  return requestedScenarios.map((scenario): ScenarioResult => {
    const { name } = scenario;
    try {
      return { name, outcome: computeScenario(market, scenario, { by: DEFAULT_PROXIES, path: name }) };
    } catch (failure) {
      if (failure instanceof Refusal) return { name, outcome: { missing: formatReason(failure) } };
      throw failure;
    }
  });
}

/** Returns the messages of the findings of a refusal, or the message of the refusal if it has no findings. */
function formatReason({ message, detail }: Refusal): string {
  const findings = (detail?.['findings'] ?? []) as readonly Finding[]; // refusals have findings under this member
  return findings.length === 0 ? message : findings.map((finding) => finding.message).join(' ');
}
