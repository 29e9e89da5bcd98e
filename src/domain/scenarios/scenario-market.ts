import { type RunHeader } from '../backtest/run-file/header.js';
import { readSecurityCurrency } from '../backtest/run-file/settings.js';
import type { Day } from '../time/days.js';
import type { Finding } from '../refusals/findings.js';
import { computeGrowth } from '../index-mathematics/growth.js';
import { createSecurityTerms } from '../index-mathematics/growth-terms.js';
import { listGroupSpells } from '../market/market-groups.js';
import type { SessionMarket } from '../market/session-market.js';
import type { ScenarioOutcome, HeldSecurity, ScenarioMarket } from './holdings.js';
import { REGRESSION_SESSIONS, type Scenario } from './scenario-request.js';
import { computeShockScenario, isShockedDirectly, type ShockTerms } from './shock-scenario.js';
import { computeWindowScenario } from './window-scenario.js';

/** Holdings of a run on a date. */
export interface HoldingsOnDate {
  readonly day: Day;
  /** Securities of the run with their weights, 0 if not held. */
  readonly names: readonly string[];
  readonly held: Float64Array;
}

/**
 * Returns the composition and market data for scenarios.
 * @param by reference column that defines the groups
 */
export function createScenarioMarket(
  sm: SessionMarket,
  { header, weights, by }: { readonly header: RunHeader; readonly weights: HoldingsOnDate; readonly by: string },
): ScenarioMarket {
  const { special_dividends: specialDividends, splits } = header.treatment;
  const terms = { ...createSecurityTerms('total', readSecurityCurrency(header)), specialDividends, splits };
  const findGroup = listGroupSpells(sm.market, by);
  const heldSecurities = weights.names.flatMap((identifier, i): HeldSecurity[] =>
    weights.held[i] === 0
      ? []
      : [
          {
            identifier,
            weight: weights.held[i]!,
            column: sm.columnOf(identifier),
            group: findGroup(identifier, weights.day).group,
          },
        ],
  );
  const pricedColumns = heldSecurities.flatMap(({ column }) => (column < 0 ? [] : [column]));
  return {
    sm,
    growth: computeGrowth(sm, terms, pricedColumns),
    session: sm.sessionAt(weights.day),
    held: heldSecurities,
    groups: sm.identifiers.map((identifier) => findGroup(identifier, weights.day).group),
  };
}

interface ScenarioLocation {
  readonly by: string;
  readonly path: string;
}

/**
 * Computes a scenario of either kind.
 * @throws Refusal VALIDATION_FAILED at its path
 */
export function computeScenario(market: ScenarioMarket, scenario: Scenario, place: ScenarioLocation): ScenarioOutcome {
  if ('window' in scenario) return computeWindowScenario(market, { ...scenario, path: place.path });
  const terms = { ...scenario, ...place };
  return { result: computeShockScenario(market, terms), findings: listUnreadSettings(market, terms) };
}

/** Reports settings that have no effect on a shock scenario. */
function listUnreadSettings(market: ScenarioMarket, terms: ShockTerms): Finding[] {
  if (terms.regression_sessions === REGRESSION_SESSIONS || !isShockedDirectly(market, terms)) return [];
  const path = `${terms.path}.regression_sessions`;
  const message = `${path} has no effect, because every shock applies directly to a holding or a group.`;
  return [{ severity: 'warning', code: 'NO_EFFECT', path, message, value: terms.regression_sessions }];
}
