import type { RunHeader } from '../backtest/run-file/header.js';
import type { Day } from '../days.js';
import type { Finding } from '../findings.js';
import { growthOf } from '../market/growth.js';
import { groupSpells } from '../market/market-groups.js';
import type { SessionMarket } from '../market/session-market.js';
import type { HeldName, ScenarioMarket, ScenarioResult } from './holdings.js';
import { REGRESSION_SESSIONS, type Scenario } from './scenario-request.js';
import { shockScenario, strikesDirectly } from './shock-scenario.js';
import { windowScenario } from './window-scenario.js';

/** What a run holds on a date. */
export interface HeldOnDate {
  readonly day: Day;
  /** Names of the run and their weights, 0 of those not held. */
  readonly names: readonly string[];
  readonly held: Float64Array;
}

/** The market that scenarios of a composition are computed from. @param by reference column of the groups */
export function scenarioMarket(
  sm: SessionMarket,
  { header, weights, by }: { readonly header: RunHeader; readonly weights: HeldOnDate; readonly by: string },
): ScenarioMarket {
  const { special_dividends: specialDividends, splits } = header.treatment;
  const terms = { variant: 'total', withholdingTax: 0, specialDividends, splits, currency: header.currency } as const;
  const groupOf = groupSpells(sm.market, by);
  const held = weights.names.flatMap((identifier, i): HeldName[] =>
    weights.held[i] === 0
      ? []
      : [
          {
            identifier,
            weight: weights.held[i]!,
            column: sm.columnOf(identifier),
            group: groupOf(identifier, weights.day).group,
          },
        ],
  );
  const priced = held.flatMap(({ column }) => (column < 0 ? [] : [column]));
  return {
    sm,
    growth: growthOf(sm, terms, priced),
    session: sm.sessionAt(weights.day),
    held,
    groups: sm.identifiers.map((identifier) => groupOf(identifier, weights.day).group),
  };
}

interface Place {
  readonly by: string;
  readonly path: string;
}

/** One scenario by its kind. @throws Refusal NO_DATA_IN_RANGE, VALIDATION_FAILED at its path */
export function scenarioOf(market: ScenarioMarket, scenario: Scenario, place: Place): ScenarioResult {
  return 'window' in scenario ? windowScenario(market, scenario) : shockScenario(market, { ...scenario, ...place });
}

/** Settings of a scenario that nothing reads. */
export function scenarioFindings(market: ScenarioMarket, scenario: Scenario, place: Place): Finding[] {
  if ('window' in scenario || scenario.regression_sessions === REGRESSION_SESSIONS) return [];
  if (!strikesDirectly(market, { ...scenario, ...place })) return [];
  const path = `${place.path}.regression_sessions`;
  const message = `${path} has no effect: every shock is of names held or of groups, which apply as they are.`;
  return [{ severity: 'warning', code: 'NO_EFFECT', path, message, value: scenario.regression_sessions }];
}
