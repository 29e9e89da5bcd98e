import { suggestName } from '#base/nearest-name.js';
import type { Scope } from '#contract/route.js';
import type { Finding } from '#domain/base/findings.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { formatDay, isTimeZone, parseValidDay, toLocalDay } from '#domain/base/time.js';
import { findCheckKind } from '#domain/definition/daily-plan-checks.js';
import { createFileName } from '#domain/definition/target-addresses.js';
import { isIdWithin } from '#domain/definition/reach.js';
import { type Authorship, LOCAL_AUTHOR } from '#domain/definition/versions.js';
import { findStepKind, readPattern, type ScheduleBody, ScheduleDocument } from '#domain/outputs/daily-plans.js';
import { isBuiltIn } from '#domain/outputs/report-templates.js';
import type { ServedMarket } from '#market/serve/served-markets.js';
import { loadVersion, readLastVersion } from '#store/history/history.js';
import { parseStored } from '#store/port.js';
import { findCurrentReach } from '#store/reach.js';
import { findIndex } from '../indices/documents.js';
import { outside } from '../keys/access.js';
import type { Context } from '../shared/context.js';
import {
  openStoredFamily,
  type PageQuery,
  type Precondition,
  type StoredEntry,
  type StoredPage,
} from '../shared/documents.js';
import type { AuthoredPlan, StoredDays } from './stored-days.js';

/** Returns steps and checks that need an earlier step, with their paths. */
function listMisplacedSteps({ steps }: ScheduleBody): readonly (readonly [string, string])[] {
  const firstRun = steps.findIndex(({ type }) => type === 'run');
  const firstFile = steps.findIndex(({ type }) => type === 'export' || type === 'render');
  return steps.flatMap((step, k) => {
    if (step.type === 'deliver' && (firstFile === -1 || k < firstFile))
      return [[`steps[${k}]`, 'deliver sends files of earlier steps, so it must come after an export or render step.']];
    if (step.type === 'compare' && k < firstRun)
      return [[`steps[${k}]`, 'compare reads runs, so it must come after the run step.']];
    if (step.type !== 'checks' || k > firstRun) return [];
    return (step.checks ?? []).flatMap(({ check }, c): (readonly [string, string])[] =>
      findCheckKind(check).needsRun
        ? [[`steps[${k}].checks[${c}]`, `${check} reads runs, so its step must come after the run step.`]]
        : [],
    );
  });
}

function listNamedIndices({ steps }: ScheduleBody): readonly (readonly [string, string])[] {
  const list = (ids: readonly string[] | null, path: string): [string, string][] =>
    (ids ?? []).map((id, i) => [`${path}.indices[${i}]`, id]);
  return steps.flatMap((step, k) => {
    if (step.type === 'render') return list(step.indices, `steps[${k}]`);
    if (step.type !== 'export') return [];
    return step.files.flatMap(({ indices }, f) => list(indices, `steps[${k}].files[${f}]`));
  });
}

/** Series with which the levels of an index are compared. */
interface SecondSource {
  readonly path: string;
  readonly index: string;
  readonly series: string;
  /** True if an earlier step refreshes the data, which may add the series. */
  readonly isRefreshed: boolean;
}

/** Returns the series with which steps and checks compare the levels of indices. */
function listSecondSources({ steps }: ScheduleBody): readonly SecondSource[] {
  const firstRefresh = steps.findIndex(({ type }) => type === 'refresh');
  return steps.flatMap((step, k) => {
    const isRefreshed = firstRefresh >= 0 && firstRefresh < k;
    const list = (seriesByIndex: Readonly<Record<string, string>>, path: string): SecondSource[] =>
      Object.entries(seriesByIndex).map(([index, series]) => ({
        path: `steps[${k}].${path}.${index}`,
        index,
        series,
        isRefreshed,
      }));
    if (step.type === 'compare') return list(step.second_source, 'second_source');
    if (step.type !== 'checks') return [];
    return (step.checks ?? []).flatMap((check, c) =>
      check.check === 'second_source' ? list(check.series, `checks[${c}].series`) : [],
    );
  });
}

interface NamedDocument {
  readonly path: string;
  readonly kind: 'template' | 'store' | 'client';
  readonly word: string;
  readonly name: string;
}

/** Returns the stored documents that steps name, except indices. */
function listNamedDocuments({ steps }: ScheduleBody): readonly NamedDocument[] {
  return steps.flatMap((step, k): readonly NamedDocument[] => {
    const path = `steps[${k}]`;
    if (step.type === 'render' && !isBuiltIn(step.template_id))
      return [{ path: `${path}.template_id`, kind: 'template', word: 'report template', name: step.template_id }];
    if (step.type === 'refresh' && step.store_id != null)
      return [{ path: `${path}.store_id`, kind: 'store', word: 'data store', name: step.store_id }];
    if (step.type !== 'deliver') return [];
    return (step.clients ?? []).map((name, c) => ({
      path: `${path}.clients[${c}]`,
      kind: 'client',
      word: 'client',
      name,
    }));
  });
}

/**
 * Date for comparing file names. Two file names that differ on this date differ on every date, unless their date
 * formats differ.
 */
const SAMPLE_DAY = parseValidDay('2001-12-31');

interface PlannedFile {
  readonly path: string;
  readonly pattern: string;
  readonly index: string;
  readonly table: string;
}

/** Reports file name patterns that give two files of one day the same name. */
function reportRepeatedNames(
  schedule: string,
  body: ScheduleBody,
): readonly { readonly path: string; readonly pattern: string; readonly message: string }[] {
  const plannedFiles = new Map<string, PlannedFile>();
  const faults = new Map<string, { path: string; pattern: string; message: string }>();
  for (const file of listPlannedFiles(body)) {
    const { path, pattern, index, table } = file;
    const name = createFileName(pattern, { schedule, index, table, day: SAMPLE_DAY });
    const otherPlannedFile = plannedFiles.get(name);
    plannedFiles.set(name, otherPlannedFile ?? file);
    if (otherPlannedFile === undefined || faults.has(path)) continue;
    const neededName =
      otherPlannedFile.index !== index
        ? 'a name with {index}'
        : otherPlannedFile.table !== table
          ? 'a name with {table}'
          : 'another name';
    const message = `${pattern} is the name of both ${otherPlannedFile.table} of ${otherPlannedFile.index} and ${table} of ${index}; use ${neededName}.`;
    faults.set(path, { path, pattern, message });
  }
  return [...faults.values()];
}

function listPlannedFiles({ indices, steps }: ScheduleBody): readonly PlannedFile[] {
  return steps.flatMap((step, k) => {
    if (step.type === 'render')
      return (step.indices ?? indices).map((index) => {
        return { path: `steps[${k}].name`, pattern: step.name, index, table: 'report' };
      });
    if (step.type !== 'export') return [];
    return step.files.flatMap((file, f) =>
      (file.indices ?? indices).map((index) => {
        return { path: `steps[${k}].files[${f}].name`, pattern: readPattern(file), index, table: file.table };
      }),
    );
  });
}

export interface StoredSchedule {
  readonly schedule: ScheduleDocument & { readonly schedule_id: string; readonly updated_at: string };
  readonly etag: string;
}

export interface ScheduleReader {
  ids(): Promise<readonly string[]>;
  /** Returns the schedule with version and author; undefined if it was deleted or is unreadable. */
  authored(id: string): Promise<AuthoredPlan | undefined>;
}

export interface ScheduledDays {
  readonly schedules: ScheduleReader;
  readonly days: StoredDays;
}

export interface Schedules extends ScheduleReader {
  page(query: PageQuery): Promise<StoredPage<StoredSchedule['schedule']>>;
  /** Returns a schedule. @throws Refusal SCHEDULE_NOT_FOUND, DOCUMENT_UNREADABLE */
  get(id: string): Promise<StoredSchedule>;
  /** Creates or replaces a schedule. @throws Refusal VALIDATION_FAILED, PRECONDITION_FAILED */
  put(id: string, body: ScheduleBody, ifMatch: Precondition | undefined, by?: Authorship): Promise<StoredSchedule>;
  /** Deletes a schedule. @throws Refusal SCHEDULE_NOT_FOUND, PRECONDITION_FAILED */
  remove(id: string, ifMatch: Precondition | undefined, by?: Authorship): Promise<void>;
}

/**
 * @param findMarket returns the market of an index; default: the series of second sources are not compared with the data
 */
export function createSchedules(
  { documents, calendars, now }: Context,
  findMarket?: (indexId: string) => Promise<ServedMarket>,
): Schedules {
  const family = openStoredFamily(documents, {
    kind: 'schedule',
    word: 'schedule',
    read: (body) => ScheduleDocument.safeParse(body).data,
  });

  const show = (id: string, { document, etag, updatedAt }: StoredEntry<ScheduleDocument>): StoredSchedule => ({
    schedule: { schedule_id: id, ...document, updated_at: updatedAt },
    etag,
  });
  const get = async (id: string): Promise<StoredSchedule> => show(id, await family.get(id));

  /** Returns today's date in the time zone of the exchange. A new schedule starts on this day. */
  function readToday({ calendar, time_zone: zone }: ScheduleBody): string {
    return formatDay(toLocalDay(zone ?? calendars.get(calendar)!.tz, now())); // listFindings has validated the calendar
  }

  /** Returns the series of the store of an index. Returns undefined if the store cannot be read now. */
  async function listSeries(index: string): Promise<readonly string[] | undefined> {
    try {
      const served = await findMarket?.(index);
      return served && [...(served.market.series?.keys() ?? [])];
    } catch (error) {
      if (error instanceof Refusal) return undefined;
      throw error;
    }
  }

  async function listFindings(id: string, body: ScheduleBody): Promise<Finding[]> {
    const { calendar, time_zone: zone, indices } = body;
    const findings: Finding[] = [];
    const reportError = (code: Finding['code'], path: string, message: string, value?: unknown): void =>
      void findings.push({ severity: 'error', code, path, message, ...(value !== undefined && { value }) });
    if (calendars.get(calendar) === undefined)
      reportError('UNKNOWN_CALENDAR', 'calendar', `${calendar} is not a calendar of /indices/calendars.`, calendar);
    if (zone !== null && !isTimeZone(zone))
      reportError(
        'NOT_IN_CHOICES',
        'time_zone',
        `${zone} is not a time zone of the IANA database, for example America/New_York.`,
        zone,
      );
    for (const [k, index] of indices.entries()) {
      if (indices.indexOf(index) < k) reportError('DUPLICATE_ID', `indices[${k}]`, `${index} is listed twice.`, index);
      else if ((await findIndex(documents, index)) === undefined)
        reportError('UNKNOWN_INDEX', `indices[${k}]`, `No index is stored under the id ${index}.`, index);
    }
    const secondSources = listSecondSources(body);
    const namedIndices = [...listNamedIndices(body), ...secondSources.map(({ path, index }) => [path, index] as const)];
    for (const [path, index] of namedIndices)
      if (!indices.includes(index))
        reportError('UNKNOWN_INDEX', path, `${index} is not an index of the schedule.`, index);
    if (findings.length === 0)
      for (const { path, index, series, isRefreshed } of secondSources) {
        const names = await listSeries(index);
        if (names === undefined || names.includes(series) || (isRefreshed && names.length === 0)) continue;
        const storedText = names.length === 0 ? ' The store has no series.' : suggestName(series, names);
        const message = `${series} is not a series of the data store of ${index}.${storedText}`;
        reportError('UNKNOWN_IDENTIFIER', path, message, series);
      }
    for (const [path, message] of listMisplacedSteps(body)) reportError('INVALID_RANGE', path, message);
    for (const { path, pattern, message } of reportRepeatedNames(id, body))
      reportError('DUPLICATE_ID', path, message, pattern);
    for (const { path, kind, word, name } of listNamedDocuments(body))
      if ((await documents.get(kind, name)) === undefined)
        reportError('REQUIRED', path, `No ${word} is stored under the id ${name}.`, name);
    return findings;
  }

  return {
    get,
    remove: family.remove,
    page: (query) => family.page(query, async (id, entry) => show(id, entry).schedule),
    ids: () => documents.ids('schedule'),
    async put(id, body, ifMatch, authorship) {
      assertOwnSchedule(body);
      const findings = await listFindings(id, body);
      if (findings.length > 0) throw refuseWithFindings('schedule', findings);
      // A write without `starts_on` keeps the start of the schedule.
      const starts_on = body.starts_on ?? (await findPlan(id))?.starts_on ?? readToday(body);
      await family.put(id, { ...body, starts_on }, ifMatch, authorship);
      return get(id);
    },
    async authored(id) {
      const plan = await findPlan(id);
      if (plan === undefined) return undefined;
      const subject = { kind: 'schedule', id } as const;
      const number = await readLastVersion(documents, subject);
      const version = number === 0 ? undefined : await loadVersion(documents, subject, number);
      const { author = LOCAL_AUTHOR, key_id: keyId = null } = typeof version === 'object' ? version : {};
      return { id, plan, version: number === 0 ? null : number, author, keyId };
    },
  };

  /** Returns the stored plan of a schedule; undefined if it is not stored or is unreadable. */
  async function findPlan(id: string): Promise<ScheduleDocument | undefined> {
    const storedDocument = await documents.get('schedule', id);
    return parseStored(storedDocument, ScheduleDocument);
  }
}

/** Refuses indices that a client may read but not run or publish. @throws Refusal FORBIDDEN_ID */
function assertOwnSchedule({ indices }: ScheduleBody): void {
  const reach = findCurrentReach();
  const other = reach && indices.find((id) => !isIdWithin(reach, id));
  if (other !== undefined) throw outside(reach!, 'index', other);
}

/** Returns a schedule with its author. @throws Refusal SCHEDULE_NOT_FOUND */
export async function requireSchedule(schedules: Pick<ScheduleReader, 'authored'>, id: string): Promise<AuthoredPlan> {
  const schedule = await schedules.authored(id);
  if (schedule !== undefined) return schedule;
  throw new Refusal('SCHEDULE_NOT_FOUND', `No schedule is stored under the id ${id}.`, { schedule_id: id });
}

/** Checks that a client has the scope of every step. @throws Refusal FORBIDDEN_SCOPE */
export function assertMaySchedule(scopes: ReadonlySet<Scope>, { steps }: Pick<ScheduleBody, 'steps'>): void {
  if (scopes.has('admin')) return;
  for (const { type } of steps) {
    const { scope } = findStepKind(type);
    if (scopes.has(scope)) continue;
    const message = `The key lacks the scope ${scope}, which the step ${type} requires.`;
    throw new Refusal('FORBIDDEN_SCOPE', message, { needed: scope, scopes: [...scopes] });
  }
}
