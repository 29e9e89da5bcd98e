import type { Calendars } from '#domain/calendars/calendar.js';
import { findBreachRule } from '#domain/compliance/breach-watch.js';
import { parseValidDay } from '#domain/time/days.js';
import { isOverlayDocument, listSources, type IndexDocument } from '#domain/documents/index-document.js';
import { listTexts } from '#domain/documents/amended-texts.js';
import { listReviews } from '#domain/documents/reviews.js';
import { DEFAULT_REVIEW } from '#domain/schedule/review-scopes.js';
import { RebalanceSpec } from '#domain/schedule/rebalance-spec.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import type { Cadence, TriggeredRebalance, IndexSchedule } from '#domain/schedule/index-schedule.js';

export interface IndexSchedulesDependencies {
  readonly calendars: Calendars;
  /** Returns a stored index. @throws Refusal INDEX_NOT_FOUND, DOCUMENT_UNREADABLE */
  readonly readIndex: (indexId: string) => Promise<IndexDocument>;
  /** Returns the latest run of an index; undefined if the index was never run. */
  readonly findIndexRun: (indexId: string) => Promise<RunDocument | undefined>;
}

/** Schedule of an index, with the members of the schedule view. */
export interface StoredSchedule extends IndexSchedule {
  readonly frequency: RebalanceSpec['frequency'];
}

/**
 * Creates the schedules of indices. A rule-based or derived index has its own schedule. An overlay has the schedules of
 * its underlying indices, and a blend has both. Rebalances that a breach triggered in the latest run are included.
 */
export function createIndexSchedules({ calendars, readIndex, findIndexRun }: IndexSchedulesDependencies) {
  const createCadence = (document: IndexDocument, rebalance: RebalanceSpec): Cadence => {
    const calendar = calendars.get(document.calendar);
    if (calendar === undefined)
      throw new Error(`the index ${document.id} uses the calendar ${document.calendar}, which is not known`);
    return { rebalance, calendar };
  };

  /**
   * Returns the review schedules of an index: those of its original text and those of each amended text. Each schedule
   * covers the dates on which the index follows the text.
   */
  function listReviewCadences(index: IndexDocument): Cadence[] {
    const texts = listTexts(index);
    return texts.flatMap(({ document, from, amendment }, k) => {
      const span = { from, until: texts[k + 1]?.from ?? Infinity };
      const reviews = listReviews(document).map(({ id, document: { rebalance } }) => ({
        ...createCadence(document, rebalance),
        isFurther: id !== DEFAULT_REVIEW,
        ...(texts.length === 1 ? {} : span),
      }));
      return amendment?.rebalance === true
        ? [...reviews, createDateCadence(document, amendment.effective_from)]
        : reviews;
    });
  }

  /**
   * Returns the schedule of an amendment that takes effect at once and does not wait for a review. It has only the date
   * of the amendment.
   */
  function createDateCadence(document: IndexDocument, date: string): Cadence {
    const { effective_lag } = document.rebalance;
    const rebalance = RebalanceSpec.parse({ frequency: 'custom', dates: [date], effective_lag, roll: 'following' });
    return { ...createCadence(document, rebalance), isFurther: true };
  }

  /**
   * Returns the rebalances that breaches triggered, if the definition permits them. If an underlying index was never
   * run, they come from the run of the index that contains it.
   */
  async function readCalledRebalances(document: IndexDocument, topId: string): Promise<readonly TriggeredRebalance[]> {
    const rule = findBreachRule(document.pipeline?.treatment);
    if (rule === null) return [];
    const run = (await findIndexRun(document.id)) ?? (await findIndexRun(topId));
    return (run?.called ?? []).map(({ decision, effective }) => ({
      decision: parseValidDay(decision),
      effective: parseValidDay(effective),
      rule,
    }));
  }

  /** Returns the schedule of an index. @throws Refusal INDEX_NOT_FOUND, DOCUMENT_UNREADABLE for an underlying index */
  return async function scheduleOf(document: IndexDocument): Promise<StoredSchedule> {
    const cadences: Cadence[] = [];
    const triggeredRebalances: TriggeredRebalance[] = [];
    const visitedIds = new Set<string>();
    let baseDate = document.base_date;
    async function visitIndex(index: IndexDocument): Promise<void> {
      if (visitedIds.has(index.id)) return;
      visitedIds.add(index.id);
      if (index.base_date > baseDate) baseDate = index.base_date;
      if (!isOverlayDocument(index)) {
        cadences.push(...listReviewCadences(index));
        triggeredRebalances.push(...(await readCalledRebalances(index, document.id)));
        return;
      }
      if (index.overlay.type === 'blend') cadences.push(createCadence(index, index.overlay.rebalance));
      for (const id of listSources(index)) await visitIndex(await readIndex(id));
    }
    await visitIndex(document);
    if (cadences.length === 0) cadences.push(createCadence(document, document.rebalance));
    return {
      baseDay: parseValidDay(baseDate),
      cadences,
      called: triggeredRebalances,
      frequency: cadences[0]!.rebalance.frequency,
    };
  };
}
