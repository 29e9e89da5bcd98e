import { computeRun } from '#domain/backtest/compute-run.js';
import { levelsDifference } from '#domain/backtest/compare-levels.js';
import { indexDeciders } from '#domain/backtest/simulate/index-decider.js';
import type { Task } from '#jobs/tasks.js';
import { onEngine } from './numerics.js';
import { openedMarket } from './open-markets.js';
import { openedCalendars } from './opened-calendars.js';
import { openedModels } from './opened-models.js';
import { withRunFile } from './run-file.js';

/** The levels of two stored runs beside each other. */
export const compareLevels: Task<'compare-levels'> = ({ from, to }) => {
  const levelsOf = (columns: string) =>
    withRunFile(columns, (run) => ({ days: run.i32('days').slice(), level: run.f64('level').slice() }));
  const [before, after] = [levelsOf(from), levelsOf(to)];
  const totalReturn = ({ level }: { readonly level: Float64Array }): number => level.at(-1)! / level[0]! - 1;
  return { ...levelsDifference(before, after), totalReturns: [totalReturn(before), totalReturn(after)] };
};

/** The total return of a run that is not stored. */
export const totalReturn: Task<'total-return'> = ({ market, plan, models }, control) =>
  onEngine((engine) => {
    const { level } = computeRun({
      market: openedMarket(market),
      calendars: openedCalendars(),
      plan,
      ...(models === undefined ? {} : { models: openedModels(models) }),
      createDecider: indexDeciders(engine),
      engine,
      report: (fraction) => control.report(fraction, 'running again'),
    });
    return { totalReturn: level.at(-1)! / level[0]! - 1 };
  });
