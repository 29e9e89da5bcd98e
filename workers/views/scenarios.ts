import { formatDay } from '#domain/time/days.js';
import { createScenarioMarket, computeScenario } from '#domain/scenarios/scenario-market.js';
import type { InputOfView } from '#jobs/tasks/views.js';
import { openMarketOn } from '#domain/books/open-market-on.js';
import type { ListedScenarios } from '#views/scenarios/scenarios-file.js';
import { readHoldings } from './holding-risk.js';
import { openCachedCalendars } from '../input/opened-calendars.js';
import { openCachedMarket } from '../input/open-markets.js';
import { useRunFile } from '../run-files/run-file.js';

/** Computes the composition of a run under scenarios. @throws Refusal NO_DATA_AT_DATE, VALIDATION_FAILED */
export function showScenarios({ columns, request, market: handle }: InputOfView<'scenarios'>): ListedScenarios {
  const { header, weights } = useRunFile(columns, (run) => readHoldings(run, request.as_of));
  const { by } = request;
  const sm = openMarketOn({
    market: openCachedMarket(handle),
    calendars: openCachedCalendars(header.closures),
    code: header.calendar,
  });
  const market = createScenarioMarket(sm, { header, weights, by });
  const scenarioOutcomes = request.scenarios.map((scenario, position) =>
    computeScenario(market, scenario, { by, path: `scenarios[${position}]` }),
  );
  return {
    index_id: header.run_id,
    as_of: formatDay(weights.day),
    by,
    scenarios: scenarioOutcomes.map(({ result }) => result),
    findings: scenarioOutcomes.flatMap(({ findings }) => findings),
  };
}
