import { closuresOf } from '#domain/calendars/closures.js';
import { computeRun } from '#domain/backtest/compute-run.js';
import { levelsDifference } from '#domain/backtest/compare-levels.js';
import { indexDeciders } from '#domain/backtest/index-decider.js';
import type { Task } from '#jobs/tasks.js';
import { onEngine } from '../input/numerics.js';
import { openedKnown } from '../input/known-contents.js';
import { openedMarket } from '../input/open-markets.js';
import { openedCalendars } from '../input/opened-calendars.js';
import { openedModels } from '../input/opened-models.js';
import { withRunFile } from '../run-files/run-file.js';

/** Compares the levels of two stored runs. */
export const compareLevels: Task<'compare-levels'> = ({ from, to }) => {
  const levelsOf = (columns: string) =>
    withRunFile(columns, (run) => ({ days: run.i32('days').slice(), level: run.f64('level').slice() }));
  const [before, after] = [levelsOf(from), levelsOf(to)];
  const totalReturn = ({ level }: { readonly level: Float64Array }): number => level.at(-1)! / level[0]! - 1;
  return { ...levelsDifference(before, after), totalReturns: [totalReturn(before), totalReturn(after)] };
};

/** Computes the total return of a run that is not stored. */
export const totalReturn: Task<'total-return'> = ({ market: handle, plan, models, known }, control) =>
  onEngine((engine) => {
    const market = openedMarket(handle);
    const { level } = computeRun({
      market,
      calendars: openedCalendars(closuresOf(plan.documents)),
      plan,
      ...(models === undefined ? {} : { models: openedModels(models) }),
      ...openedKnown(market, known),
      createDecider: indexDeciders(engine),
      engine,
      report: (fraction) => control.report(fraction, 'running again'),
    });
    return { totalReturn: level.at(-1)! / level[0]! - 1 };
  });
