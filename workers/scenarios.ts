import { formatDay } from '#domain/days.js';
import { growthOf } from '#domain/market/growth.js';
import type { HeldName, ScenarioMarket } from '#domain/scenarios/holdings.js';
import { shockScenario } from '#domain/scenarios/shock-scenario.js';
import { windowScenario } from '#domain/scenarios/window-scenario.js';
import type { ScenariosViewInput } from '#jobs/tasks/views.js';
import { marketOn } from '#domain/backtest/simulate/market-on.js';
import { groupSpells } from '#domain/market/market-groups.js';
import { readHeld, type HeldRun } from './held-risk.js';
import { openedCalendars } from './opened-calendars.js';
import { openedMarket } from './open-markets.js';
import { withRunFile } from './run-file.js';

/** The composition of a run in other circumstances, as a ScenariosView. @throws Refusal NO_DATA_AT_DATE, NO_DATA_IN_RANGE, VALIDATION_FAILED */
export function showScenarios(input: ScenariosViewInput): object {
  const { columns, request } = input;
  const held = withRunFile(columns, (run) => readHeld(run, request.as_of));
  const market = marketOf(held, input);
  const { by } = request;
  return {
    index_id: held.header.run_id,
    as_of: formatDay(held.weights.day),
    by,
    scenarios: request.scenarios.map((scenario, at) =>
      'window' in scenario
        ? windowScenario(market, scenario)
        : shockScenario(market, { ...scenario, by, path: `scenarios[${at}]` }),
    ),
    findings: [],
  };
}

function marketOf({ header, weights }: HeldRun, { market: handle, request }: ScenariosViewInput): ScenarioMarket {
  const market = openedMarket(handle);
  const sm = marketOn({ market, calendars: openedCalendars(), code: header.calendar });
  const { special_dividends: specialDividends, splits } = header.treatment;
  const terms = { variant: 'total', withholdingTax: 0, specialDividends, splits, currency: header.currency } as const;
  const groupOf = groupSpells(market, request.by);
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
