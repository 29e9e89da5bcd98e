import type { BenchmarkStatement, MethodologyChange } from '#contract/governance.js';
import { listReferences } from '#domain/checks/validate-reference.js';
import { readIndex } from '#domain/checks/validate-index.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import {
  isDerivedDocument,
  isOverlayDocument,
  isRuleDocument,
  type IndexDocument,
} from '#domain/documents/index-document.js';
import type { Subject } from '#domain/documents/version-document.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { createMethodology } from '#domain/rules/methodology.js';
import { describeMissingPrices } from '#domain/rules/treatment-sentences.js';
import { selectScheduleAround } from '#domain/schedule/schedule-view.js';
import type { IndexSchedule } from '#domain/schedule/index-schedule.js';
import { parseValidDay, formatDay } from '#domain/time/days.js';
import type { Markets } from '#market/serving/markets.js';
import { readLastVersion } from '#store/history/history.js';
import { readLogHead } from '#store/publication/log.js';
import type { DocumentStore } from '#store/port.js';
import type { ApprovalGate } from '../approvals/approvals.js';
import type { CheckInputDependencies } from '../daily-plans/check-input.js';
import type { Versions } from '../history/versions.js';
import type { Publications } from '../publication/publications.js';
import { readAdjustment } from '../stored/declared-adjustment.js';
import { requireIndex } from '../stored/stored-indices.js';
import { listActiveOverrides } from './active-overrides.js';
import { listDecisions } from './listed-decisions.js';
import type { Procedures } from './procedures.js';

/** Statements about indices, generated from their documents and registers. */
export interface Statements {
  /** Returns the benchmark statement of an index. @throws Refusal INDEX_NOT_FOUND, DOCUMENT_UNREADABLE */
  statement(indexId: string, signal: AbortSignal): Promise<BenchmarkStatement>;
  /**
   * Lists the versions of a definition, newest first. Each contains the methodology sentences that the version changed.
   * @throws Refusal INDEX_NOT_FOUND
   */
  changes(indexId: string, limit: number): Promise<readonly MethodologyChange[]>;
}

export interface StatementsDependencies {
  readonly documents: DocumentStore;
  readonly versions: Pick<Versions, 'list' | 'read' | 'difference'>;
  readonly publications: Pick<Publications, 'entries' | 'errors'>;
  readonly exports: CheckInputDependencies['exports'];
  readonly procedures: Pick<Procedures, 'of'>;
  readonly markets: Pick<Markets, 'served'>;
  readonly calendars: Calendars;
  readonly approvals: Pick<ApprovalGate, 'getRule'>;
  readonly computeSchedule: (document: IndexDocument) => Promise<IndexSchedule & { readonly frequency: string }>;
  readonly timestamp: () => string;
}

/** Maximum number of register entries in a statement. Other routes return the complete registers. */
const LISTED_MAX = 50;
const REVIEWS_LISTED = 4;

export function createStatements(dependencies: StatementsDependencies): Statements {
  const { documents, versions, publications, procedures, markets, calendars, approvals, computeSchedule, timestamp } =
    dependencies;

  /** @param before number after the last listed version; undefined for all versions */
  async function listChanges(indexId: string, limit: number, before?: number): Promise<readonly MethodologyChange[]> {
    const subject: Subject = { kind: 'index', id: indexId };
    const { versions: storedVersions } = await versions.list(subject, { limit, before });
    const methodologyChanges: MethodologyChange[] = [];
    for (const { version, at, author, note, action } of storedVersions) {
      const sentences = await compareSentences(subject, version, action);
      methodologyChanges.push({ version, at, author, note, action, ...sentences });
    }
    return methodologyChanges;
  }

  /**
   * Compares the sentences of a version with the previous version: those that it removed and those that it added.
   * Returns no sentences for the first version, for a deletion, or if the previous version was purged.
   */
  async function compareSentences(subject: Subject, version: number, action: string) {
    const emptyDifference = { removed: [], added: [] };
    if (version === 1 || action === 'deleted') return emptyDifference;
    try {
      return (await versions.difference(subject, { from: version - 1, to: version })).sentences;
    } catch (failure) {
      if (failure instanceof Refusal && UNREADABLE.has(failure.code)) return emptyDifference;
      throw failure;
    }
  }

  async function describePublication(indexId: string): Promise<BenchmarkStatement['publication']> {
    if ((await readLogHead(documents, indexId)) === undefined) return null;
    let [first, through, closes, restatements]: [string, string, number, number] = ['', '', 0, 0];
    let indexVersion: number | null = null;
    for await (const batch of await publications.entries(indexId, {}))
      for (const { date, kind, index_version: version } of batch) {
        if (first === '' || date < first) first = date;
        if (date >= through) [through, indexVersion] = [date, version];
        if (kind === 'close') closes++;
        else restatements++;
      }
    return { first, through, closes, restatements, index_version: indexVersion };
  }

  /**
   * Returns the definition that the last published close follows. Default: the newest definition, also if the earlier
   * version was purged.
   */
  async function readDescribed(indexId: string, published: number | null) {
    const subject: Subject = { kind: 'index', id: indexId };
    const { document } = await requireIndex(documents, indexId);
    const latest = (await readLastVersion(documents, subject)) || null;
    const current = { document, version: latest, latest };
    if (published === null || published === latest) return current;
    try {
      const publishedDocument = readIndex((await versions.read(subject, published)).body);
      return publishedDocument === undefined ? current : { document: publishedDocument, version: published, latest };
    } catch (failure) {
      if (failure instanceof Refusal && UNREADABLE.has(failure.code)) return current;
      throw failure;
    }
  }

  async function describeReview(document: IndexDocument, today: string): Promise<BenchmarkStatement['review']> {
    const schedule = await computeSchedule(document);
    const { upcoming } = selectScheduleAround({ schedule, asOf: parseValidDay(today), limit: REVIEWS_LISTED });
    return { frequency: schedule.frequency, upcoming: upcoming.map(({ date }) => formatDay(date)) };
  }

  return {
    changes: (indexId, limit) => listChanges(indexId, limit),
    async statement(indexId, signal) {
      const publication = await describePublication(indexId);
      const { document, version, latest } = await readDescribed(indexId, publication?.index_version ?? null);
      const currentTimestamp = timestamp();
      const adjustment = await readAdjustment({ documents, markets }, document);
      const calendar = calendars.get(document.calendar);
      return {
        index_id: indexId,
        name: document.name,
        generated_at: currentTimestamp,
        version,
        latest_version: latest,
        purpose: document.description || null,
        methodology: createMethodology(document, adjustment),
        calendar: { code: document.calendar, covered_to: calendar ? formatDay(calendar.coverage.publishedTo) : null },
        inputs: {
          indices: [...listReferences(document)],
          adjustment,
          hierarchy: listHierarchy(document),
        },
        discretion: {
          approvals: ACTIONS.flatMap((action) => {
            const rule = approvals.getRule(action);
            return rule === undefined ? [] : [{ action, persons: rule.persons }];
          }),
          judgements: [...(await listDecisions(documents, document, LISTED_MAX))],
          overrides: await listActiveOverrides(dependencies, document, { limit: LISTED_MAX, signal }),
        },
        limitations: listLimitations(document, { covered: calendar && formatDay(calendar.coverage.publishedTo) }),
        changes: [...(await listChanges(indexId, LISTED_MAX, version === null ? undefined : version + 1))],
        amendments: [...(document.amendments ?? [])],
        review: await describeReview(document, currentTimestamp.slice(0, 10)),
        publication,
        errors: [...(await publications.errors(indexId, LISTED_MAX))],
        procedures: [...(await procedures.of(indexId))],
      };
    },
  };
}

const UNREADABLE: ReadonlySet<string> = new Set(['VERSION_NOT_FOUND', 'DOCUMENT_UNREADABLE']);
const ACTIONS = ['publish', 'restate', 'amend', 'action', 'override', 'waive'] as const;

/** Returns the data sources of a close, most preferred first. */
function listHierarchy(document: IndexDocument): string[] {
  if (isOverlayDocument(document)) return ['Closing levels of its underlying indices.'];
  return [
    ...(isDerivedDocument(document) ? ['Compositions of its parent index, at the decision date.'] : []),
    'Closing price of the session in the data store.',
    // The methodology has the same sentence. A derived index treats missing prices as its parent does.
    isRuleDocument(document)
      ? describeMissingPrices(document.pipeline.treatment)
      : 'Missing prices are treated as in the parent index.',
    'Exchange rates of the session in the data store, otherwise the last ones before it.',
  ];
}

/** Returns the situations in which the index may not serve its purpose. */
function listLimitations(document: IndexDocument, { covered }: { readonly covered: string | undefined }): string[] {
  const { calendar } = document;
  return [
    'The index depends on one data store. Wrong or late data delays a close or makes it wrong; published closes that are wrong are treated by the error policy.',
    ...(isOverlayDocument(document)
      ? ['It has the limitations of all its underlying indices.']
      : isRuleDocument(document) && document.pipeline.treatment.missing_prices !== 'carry'
        ? []
        : ['Between a suspension and the next price, a constituent counts at its last price.']),
    ...(isDerivedDocument(document)
      ? ['Its weights come from an optimisation on estimated risk; realised tracking error can exceed the estimate.']
      : []),
    ...(covered === undefined
      ? []
      : [`Sessions of ${calendar} after ${covered} follow rules of its holidays; exchanges may announce others.`]),
    'Before its first published close the index is a backtest, with knowledge of the rules that were chosen later.',
  ];
}
