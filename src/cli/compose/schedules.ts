import type { Removals } from '#http/removals.js';
import { createApprovalHandlers } from '#http/routes/approvals.js';
import { createScheduleHandlers } from '#http/routes/schedules.js';
import { findAuthorFault } from '#services/daily-plans/author-fault.js';
import { isWithoutSession, resumeDays, waitsForApproval } from '#services/daily-plans/resumed-days.js';
import { followDayChanges } from '#services/daily-plans/day-changes.js';
import { createDays } from '#services/daily-plans/days.js';
import { createPerformers, type PerformerDependencies } from '#services/daily-plans/performers.js';
import { createDayRunner } from '#services/daily-plans/runner.js';
import { findIndexMarket } from '#services/daily-plans/plan-markets.js';
import { createSchedules } from '#services/daily-plans/schedules.js';
import { createStoredDays } from '#services/daily-plans/stored-days.js';
import type { Keys } from '#services/operations/keys.js';
import type { ViewMaker } from '#services/runs/view-maker.js';
import { systemClock } from '#jobs/clock.js';
import { composeDelivery } from './delivery.js';
import { composeGovernance, type GovernanceInput } from './governance.js';
import { composePublication } from './publication.js';
import type { Closable, Core } from './core.js';
import type { Role } from './service-store.js';

export interface SchedulesInput {
  readonly role: Role;
  readonly removals: Removals;
  readonly resources: Closable[];
  readonly keys: Pick<Keys, 'findScopes'>;
  readonly runs: Pick<PerformerDependencies, 'analytics' | 'exports'> & { readonly maker: ViewMaker };
  readonly reports: Pick<PerformerDependencies, 'reports'>;
  readonly indices: Pick<GovernanceInput, 'indices' | 'computeSchedule' | 'schedulesOn'>;
}

/** Composes publication, the daily schedules of index families, and the runner of schedules. */
export function composeSchedules(core: Core, { role, removals, resources, keys, ...parts }: SchedulesInput) {
  const { runs, reports, indices } = parts;
  const publication = composePublication(core, runs);
  const { documents, settings, calendars, now, log } = core;
  const isShared = settings.artifacts !== undefined;
  const schedules = createSchedules({
    documents,
    calendars,
    now,
    findMarket: (index) => findIndexMarket(core, index),
  });
  const storedDays = createStoredDays({ documents, now, isShared });
  const delivery = composeDelivery(core, removals);
  const performers = createPerformers({
    ...core,
    ...delivery,
    ...runs,
    ...reports,
    publications: publication.publications,
    follow: () => followActive(core, isShared),
  });
  const runner = createDayRunner({
    documents,
    schedules,
    days: storedDays,
    performers,
    authorFault: (day) => findAuthorFault(keys, day),
    calendars,
    clock: { ...systemClock, now },
    log,
  });
  const changes = followDayChanges(documents);
  const days = createDays({ ...core, schedules, days: storedDays, changes, wake: runner.wake });
  const resumedDays = { documents, schedules, days: storedDays, now };
  const wakeWhenDue = (isDue: boolean): void => void (isDue && runner.wake());
  const onApproval = documents.subscribe('approval-given', ({ approval_id: id }) => {
    if (role === 'worker') return;
    resumeDays(resumedDays, waitsForApproval(id))
      .then(wakeWhenDue)
      .catch((cause: unknown) => log.warn({ err: cause }, 'a day that waits for approval resumes at its next attempt'));
  });
  /** Makes the open days of a closed exchange due. Each of them then ends with the reason for the closure. */
  const endClosedDays = async (code: string): Promise<void> => {
    if (role === 'worker') return;
    await resumeDays(resumedDays, isWithoutSession(code, calendars))
      .then(wakeWhenDue)
      .catch((cause: unknown) => log.warn({ err: cause }, 'days of a closed exchange end at their next attempt'));
  };
  const governance = composeGovernance(core, {
    ...indices,
    ...publication,
    exports: runs.exports,
    removals,
    endClosedDays,
  });
  const onClosures = calendars.onFollowed((code) => void endClosedDays(code));
  const closeFunctions = [onApproval, onClosures, changes.close];
  resources.push({ close: runner.close }, { close: async () => closeFunctions.forEach((close) => close()) });
  return {
    schedules,
    procedures: governance.procedures,
    closures: governance.closures,
    clients: delivery.clients,
    handlers: {
      ...publication.handlers,
      ...governance.handlers,
      ...delivery.handlers,
      ...createScheduleHandlers(schedules, days, delivery.records, removals),
      ...createApprovalHandlers(core.approvals),
    },
    /** Starts to run scheduled days. Must be called after jobs have started. */
    start: (): void => {
      if (role !== 'worker') runner.start();
    },
  };
}

/** Switches to the market that another process has activated. */
async function followActive({ activations }: Core, isShared: boolean): Promise<void> {
  if (isShared) await activations.follow();
}
