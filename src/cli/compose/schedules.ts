import type { Removals } from '#http/handler.js';
import {
  createApprovalHandlers,
  createClosureHandlers,
  createGovernanceHandlers,
  createPublicationHandlers,
} from '#http/routes/governance.js';
import { createClientHandlers, createScheduleHandlers } from '#http/routes/schedules.js';
import { systemClock } from '#jobs/port/clock.js';
import { createDays } from '#services/daily-plans/days.js';
import {
  createDayRunner,
  createPerformers,
  findAuthorFault,
  isWithoutSession,
  type PerformerDependencies,
  resumeDays,
  waitsForApproval,
} from '#services/daily-plans/runner.js';
import { createSchedules } from '#services/daily-plans/schedules.js';
import { findIndexMarket } from '#services/daily-plans/steps.js';
import { createStoredDays, followDayChanges } from '#services/daily-plans/stored-days.js';
import { type Clients, createClients } from '#services/delivery/clients.js';
import { createDeliverFiles, createDeliveryRecords } from '#services/delivery/deliveries.js';
import { type BucketService, createDeliveryDestinations, createSenders } from '#services/delivery/targets.js';
import {
  type ClosureEffectsDependencies,
  type ClosuresDependencies,
  createClosureEffects,
  createClosures,
} from '#services/governance/closures.js';
import {
  createProcedures,
  createStatements,
  type StatementsDependencies,
  summariseGovernance,
} from '#services/governance/statements.js';
import type { Indices } from '#services/indices/indices.js';
import type { Keys } from '#services/keys/keys.js';
import { createBundles } from '#services/publication/bundles.js';
import { createPublications, createSigningKeys } from '#services/publication/publications.js';
import type { ViewMaker } from '#services/runs/views.js';
import { createVersions } from '#services/shared/versions.js';
import { formatTimestamp } from '#store/document-identity.js';
import { chooseKeys, chooseRegion } from '#store/s3/keys.js';
import { computeTarLength, createTarParts, type TarMember } from '#views/bundle/tar.js';
import { selectAwsSettings, type Settings } from '../settings/settings.js';
import type { Closable, Core } from './core.js';
import type { Role } from './storage.js';

/** Composes clients and the delivery of files to them. */
function composeDelivery({ documents, secrets, artifacts, settings, callbacks }: Core, removals: Removals) {
  const { smtpUrl: url, smtpFrom: from } = settings;
  const mailServer = url === undefined || from === undefined ? undefined : { url, from };
  const destinations = createDeliveryDestinations({
    roots: settings.deliveryRoots,
    hosts: settings.deliveryHosts,
    buckets: settings.deliveryBuckets,
    callbacks: callbacks.destinations,
    hasMail: mailServer !== undefined,
    mailDomains: settings.mailDomains,
    bucketService: () => selectBucketService(settings),
  });
  const clients = createClients({ documents, secrets, destinations, jobSecrets: settings.callbackSecrets });
  const records = createDeliveryRecords(documents);
  const senders = createSenders({ destinations, post: callbacks.post, mailServer });
  const deliverFiles = createDeliverFiles({ senders, destinations, artifacts });
  return { clients, records, deliver: deliverFiles, handlers: createClientHandlers(clients, records, removals) };
}

function selectBucketService(settings: Settings): BucketService {
  const aws = selectAwsSettings(settings);
  return { endpoint: aws.endpoint, region: chooseRegion(aws), keys: () => chooseKeys(aws).keys };
}

/** Reports stored clients that are disabled because a target is not permitted. */
async function reportDisabledClients({ log }: Core, clients: Pick<Clients, 'listProblems'>): Promise<void> {
  try {
    for (const client of await clients.listProblems())
      log.warn(client, 'a stored client is disabled, because a target is not permitted');
  } catch (err) {
    log.warn({ err }, 'stored clients could not be checked; each delivery checks its target');
  }
}

interface GovernanceInput extends Pick<StatementsDependencies, 'publications' | 'exports' | 'computeSchedule'> {
  readonly schedulesOn: ClosureEffectsDependencies['schedulesOn'];
  readonly indices: Pick<Indices, 'get'>;
  readonly removals: Removals;
  readonly endClosedDays: ClosuresDependencies['endClosedDays'];
}

/** Composes the procedures of the administrator, the benchmark statements and the recorded changes of calendars. */
function composeGovernance(core: Core, { removals, indices, schedulesOn, endClosedDays, ...parts }: GovernanceInput) {
  const procedures = createProcedures(core);
  const readOverview = () => summariseGovernance(core);
  const getTimestamp = () => formatTimestamp(core.now());
  const statements = createStatements({
    ...core,
    ...parts,
    versions: createVersions(core),
    procedures,
    timestamp: getTimestamp,
  });
  const compare = createClosureEffects({ ...core, schedulesOn });
  const closures = createClosures({ ...core, compare, endClosedDays });
  return {
    procedures,
    closures,
    handlers: {
      ...createGovernanceHandlers({ overview: readOverview, statements, procedures, indices }, removals),
      ...createClosureHandlers(closures, removals),
    },
  };
}

/** Composes published closes and their signing keys. */
function composePublication(core: Core, { maker }: { readonly maker: ViewMaker }) {
  const terms = { ...core, maker, archive: createArchive, timestamp: () => formatTimestamp(core.now()) };
  const signingKeys = createSigningKeys(terms);
  const publications = createPublications({ ...terms, signingKeys });
  const bundles = createBundles({ ...terms, publications, signingKeys });
  return { publications, handlers: createPublicationHandlers(publications, bundles) };
}

const createArchive = (members: readonly TarMember[]) => ({
  parts: createTarParts(members),
  length: computeTarLength(members),
});

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
      if (role === 'worker') return;
      void reportDisabledClients(core, delivery.clients);
      runner.start();
    },
  };
}

/** Switches to the market that another process has activated. */
async function followActive({ activations }: Core, isShared: boolean): Promise<void> {
  if (isShared) await activations.follow();
}
