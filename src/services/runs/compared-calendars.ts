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
 * Days before the end of a run in which a later change of sessions can move a rebalance: more than an anchor period.
 */
const MOVED_WITHIN_DAYS = 366;

/** Maximum number of cached calendars with changes: those of runs made one after another, and the present calendars. */
const CORRECTED_MAX = 4;

/**
 * Creates a comparison of the sessions that two plans of a run use: sessions up to the end of the run, and the
 * rebalances decided by then. A future closure changes nothing in a run unless it moves such a rebalance.
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

  /** Returns the rebalances of all indices of a plan that are decided by a given day, as text. */
  async function readDecidedBy({ documents }: BacktestPlan, end: number): Promise<string> {
    const computeSchedule = createIndexSchedules({
      calendars: getCalendars(listClosures(documents)),
      readIndex: async (id) => documents[id]!, // a plan has all documents that it refers to
      findIndexRun: async () => undefined,
    });
    const dates: object[] = [];
    // a stored plan may have its documents in another order
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

  /** Returns both plans without the changes of sessions that the run does not use. */
  return async function limitToUsedSessions(
    previousPlan: BacktestPlan,
    currentPlan: BacktestPlan,
    run: Pick<RunDocument, 'end' | 'called'>,
  ): Promise<readonly [BacktestPlan, BacktestPlan]> {
    // A rebalance that a breach triggered takes effect on a session after the data.
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

/** Returns a plan without changes of sessions after a date; the plan itself if it has no such changes. */
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
