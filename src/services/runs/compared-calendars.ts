import type { BacktestPlan } from '#domain/documents/backtest-plan.js';
import { listClosures, type RecordedClosures } from '#domain/calendars/closures.js';
import { correctCalendars } from '#domain/calendars/correct-calendars.js';
import type { ExchangeCalendars } from '#domain/calendars/calendars.js';
import { toCanonicalJson } from '#domain/json/canonical-json.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import { listRebalanceDates } from '#domain/schedule/schedule.js';
import { parseValidDay } from '#domain/time/days.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { createIndexSchedules } from '../indices/index-schedules.js';

/**
 * Number of days before the end of a run in which a later change of sessions can still move a rebalance. This is more
 * than one anchor period.
 */
const MOVED_WITHIN_DAYS = 366;

/**
 * Maximum number of calendars with changes that are cached: those of runs that are made one after another, and the
 * current calendars.
 */
const CORRECTED_MAX = 4;

/**
 * Creates a function that compares the sessions that two plans of a run use. These are sessions up to the end of the
 * run, and rebalances that are decided by then. A later closure matters only if it moves such a rebalance.
 * @param calendars calendars without recorded changes
 */
export function createComparedCalendars(calendars: ExchangeCalendars) {
  const correctedCalendars = new Map<string, ExchangeCalendars>();

  function getCalendars(closures: RecordedClosures): ExchangeCalendars {
    const key = toCanonicalJson(closures);
    const exchangeCalendars = correctedCalendars.get(key) ?? correctCalendars(calendars, closures);
    correctedCalendars.delete(key);
    correctedCalendars.set(key, exchangeCalendars);
    if (correctedCalendars.size > CORRECTED_MAX) correctedCalendars.delete(correctedCalendars.keys().next().value!);
    return exchangeCalendars;
  }

  /** Returns the rebalances of all indices of a plan that are decided by a day, as text. */
  async function readDecidedBy({ documents }: BacktestPlan, end: number): Promise<string> {
    const computeSchedule = createIndexSchedules({
      calendars: getCalendars(listClosures(documents)),
      readIndex: async (id) => documents[id]!, // a plan has all documents that it refers to
      findIndexRun: async () => undefined,
    });
    const dates: object[] = [];
    // the documents of a stored plan may be in another order
    for (const [, document] of Object.entries(documents).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
      const { cadences, baseDay } = await computeSchedule(document);
      for (const { rebalance, calendar, from = -Infinity, until = Infinity } of cadences) {
        const span = { from: end - MOVED_WITHIN_DAYS, to: calendar.coverage.to };
        for (const rebalanceDate of listRebalanceDates({ rebalance, calendar, baseDay, ...span }))
          if (rebalanceDate.decision <= end && rebalanceDate.date >= from && rebalanceDate.date < until)
            dates.push(rebalanceDate);
      }
    }
    return JSON.stringify(dates);
  }

  /** Removes from both plans the session changes that the run does not use. */
  return async function limitToUsedSessions(
    previousPlan: BacktestPlan,
    currentPlan: BacktestPlan,
    run: Pick<RunDocument, 'end' | 'called'>,
  ): Promise<readonly [BacktestPlan, BacktestPlan]> {
    // A rebalance that a breach triggered can become effective on a session after the end of the data.
    const last = (run.called ?? []).reduce((day, { effective }) => (effective > day ? effective : day), run.end);
    const truncatedPlans = [removeLater(previousPlan, last), removeLater(currentPlan, last)] as const;
    const isLaterSame = truncatedPlans.every((plan, k) => plan === [previousPlan, currentPlan][k]);
    if (isLaterSame) return truncatedPlans;
    try {
      const end = parseValidDay(run.end);
      return (await readDecidedBy(previousPlan, end)) === (await readDecidedBy(currentPlan, end))
        ? truncatedPlans
        : [previousPlan, currentPlan];
    } catch (failure) {
      if (failure instanceof Refusal) return [previousPlan, currentPlan];
      throw failure;
    }
  };
}

/** Removes the session changes after a date from a plan. Returns the same plan if there are none. */
function removeLater(plan: BacktestPlan, last: string): BacktestPlan {
  const isLater = Object.values(listClosures(plan.documents)).some(({ changes }) =>
    changes.some(({ date }) => date > last),
  );
  if (!isLater) return plan;
  const documents = Object.entries(plan.documents).map(([id, { closures = {}, ...document }]) => {
    const keptClosures = Object.entries(closures).flatMap(([code, { version, changes }]) => {
      const earlierChanges = changes.filter(({ date }) => date <= last);
      return earlierChanges.length === 0 ? [] : [[code, { version, changes: earlierChanges }] as const];
    });
    return [
      id,
      keptClosures.length === 0 ? document : { ...document, closures: Object.fromEntries(keptClosures) },
    ] as const;
  });
  return { ...plan, documents: Object.fromEntries(documents) };
}
