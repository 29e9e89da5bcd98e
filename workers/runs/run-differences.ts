import { listClosures } from '#domain/calendars/closures.js';
import { computeRun } from '#domain/backtest/compute-run.js';
import { findLevelsDifference } from '#domain/backtest/levels-difference.js';
import { createIndexDeciders } from '#domain/backtest/index-decider.js';
import type { Task } from '#jobs/tasks.js';
import { runOnEngine } from '../input/numerics.js';
import { openEarlierContents } from '../input/known-contents.js';
import { openCachedMarket } from '../input/open-markets.js';
import { openCachedCalendars } from '../input/opened-calendars.js';
import { openModels } from '../input/opened-models.js';
import { useRunFile } from '../run-files/run-file.js';

/** Compares the levels of two stored runs. */
export const compareLevels: Task<'compare-levels'> = ({ from, to }) => {
  const getLevels = (columns: string) =>
    useRunFile(columns, (run) => ({ days: run.i32('days').slice(), level: run.f64('level').slice() }));
  const [before, after] = [getLevels(from), getLevels(to)];
  const getTotalReturn = ({ level }: { readonly level: Float64Array }): number => level.at(-1)! / level[0]! - 1;
  return { ...findLevelsDifference(before, after), totalReturns: [getTotalReturn(before), getTotalReturn(after)] };
};

/** Computes the total return of a run that is not stored. */
export const computeTotalReturn: Task<'total-return'> = ({ market: handle, plan, models, known }, control) =>
  runOnEngine((engine) => {
    const market = openCachedMarket(handle);
    const { level } = computeRun({
      market,
      calendars: openCachedCalendars(listClosures(plan.documents)),
      plan,
      ...(models === undefined ? {} : { models: openModels(models) }),
      ...openEarlierContents(market, known),
      createDecider: createIndexDeciders(engine),
      engine,
      report: (fraction) => control.report(fraction, 'running again'),
    });
    return { totalReturn: level.at(-1)! / level[0]! - 1 };
  });
