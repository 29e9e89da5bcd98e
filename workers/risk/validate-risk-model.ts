import { openMarketOn } from '#domain/books/open-market-on.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { parseValidDay, type Day } from '#domain/time/days.js';
import { computeGrowth } from '#domain/index-mathematics/growth.js';
import { createReturnTerms } from '#domain/index-mathematics/growth-terms.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { SessionMarket } from '#domain/market/session-market.js';
import type { ReturnWindow } from '#domain/risk/return-panel.js';
import { validateRiskModel } from '#domain/risk/validation/validate-risk-model.js';
import { findFirstAtLeast, findLastAtMost } from '#domain/numbers/search.js';
import type { Task } from '#jobs/tasks.js';
import type { ValidateRiskModelInput } from '#jobs/tasks/indices.js';
import { createRiskValidationView, describeValidation } from '#views/risk-validation-view.js';
import { createDatapoints } from '#views/index-datapoints.js';
import { createSecurityDays, createPlainTerms } from '#views/risk-estimate.js';
import { runOnEngine } from '../input/numerics.js';
import { openCachedCalendars } from '../input/opened-calendars.js';
import { openCachedMarket } from '../input/open-markets.js';
import { useRunFile } from '../run-files/run-file.js';
import { copyOutput, writeOutputs } from '../output/task-outputs.js';

/**
 * Estimates models with the settings of a stored model over history and compares their forecasts with the outcomes. The
 * result is a RiskValidationView.
 */
export const validateModel: Task<'validate-risk-model'> = async (input, control) => {
  const { modelId, identifiers, settings, request, run } = input;
  const window = createWindow(openCachedMarket(input.market), input);
  const { sm } = window;
  const knownColumns = identifiers.map((identifier) => sm.columnOf(identifier)).filter((column) => column >= 0);
  const { view, message } = await runOnEngine((engine) => {
    const validate = (columns: RunColumns | null) =>
      validateRiskModel(engine, {
        window,
        asked: knownColumns,
        settings,
        terms: request,
        heldOn: columns && createIndexWeights(columns, sm),
        report: (fraction) => control.report(fraction, 'forecasting'),
      });
    const validation = run === null ? validate(null) : useRunFile(run.columns, validate);
    const validationView = createRiskValidationView(
      { modelId, settings, request, indexId: run?.indexId ?? null },
      validation,
    );
    return { view: copyOutput(JSON.stringify(validationView)), message: describeValidation(validationView) };
  });
  return { ...(await writeOutputs(input.outputs, { view })), message };
};

function createWindow(
  market: MarketData,
  { identifiers, terms, settings, request: { start, end } }: ValidateRiskModelInput,
): ReturnWindow {
  const sm =
    terms === null
      ? createSecurityDays(market, openCachedCalendars(), {
          identifiers,
          estimator: settings.estimator,
          from: null,
          to: null,
        })
      : openMarketOn({ market, calendars: openCachedCalendars(terms.closures), code: terms.calendar });
  const { returns } = settings;
  return {
    sm,
    growth: computeGrowth(
      sm,
      terms === null ? createPlainTerms(returns) : createReturnTerms(terms.treatment, terms.currency, returns),
    ),
    datapoints: createDatapoints(sm, terms),
    from: start === null ? 0 : findFirstAtLeast(sm.sessions, parseValidDay(start)),
    to: end === null ? sm.sessions.length - 1 : findLastAtMost(sm.sessions, parseValidDay(end)),
  };
}

/** Returns the weights of a stored run at the close of a day, by column of a market. */
function createIndexWeights(run: RunColumns, sm: SessionMarket): (day: Day) => ReadonlyMap<number, number> | undefined {
  const days = run.i32('days');
  const { names } = run.header;
  return (day) => {
    const position = findLastAtMost(days, day);
    if (position < 0 || days[position] !== day) return undefined;
    const weights = run.f64('weights', position * names.length, (position + 1) * names.length);
    return new Map(names.map((name, i) => [sm.columnOf(name), weights[i]!]));
  };
}
