import type { Calendar } from '#domain/calendars/calendar.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import { findLastAtMost } from '#domain/numbers/search.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { parseValidDay } from '#domain/time/days.js';
import type { Jobs } from '#jobs/job-kind.js';
import type { ViewMaker } from '../runs/view-maker.js';
import type { Closes } from './disagreements.js';
import { findPartialCloses } from './partial-closes.js';
import type { PublishableCloses } from './statements.js';

interface ClosesDependencies {
  readonly jobs: Pick<Jobs, 'query'>;
  readonly maker: Pick<ViewMaker, 'readColumns'>;
}

interface ClosesTerms {
  readonly through: string | undefined;
  readonly calendar: Calendar | undefined;
  readonly signal: AbortSignal;
}

/** Returns the closes of a run up to a date. @throws Refusal NO_DATA_IN_RANGE */
export async function readCloses(
  { jobs, maker }: ClosesDependencies,
  run: RunDocument,
  { through, calendar, signal }: ClosesTerms,
): Promise<PublishableCloses> {
  const { bytes } = await jobs.query('view-run', { view: 'closes', columns: await maker.readColumns(run) }, signal);
  const closes = JSON.parse(new TextDecoder().decode(bytes)) as Closes; // the engine wrote this JSON
  if (through !== undefined) assertReached(closes.dates, through, calendar);
  const end = through === undefined ? closes.dates.length : closes.dates.findLastIndex((date) => date <= through) + 1;
  const truncate = <T>(values: readonly T[]): readonly T[] => values.slice(0, end);
  return {
    dates: truncate(closes.dates),
    price: truncate(closes.price),
    total: truncate(closes.total),
    net: truncate(closes.net),
    divisor: truncate(closes.divisor),
    composition_hash: truncate(closes.composition_hash),
    held: truncate(closes.held),
    without_bar: truncate(closes.without_bar),
    partial: findPartialCloses(closes),
  };
}

/**
 * Refuses a last date that the run does not reach: a session up to that date has no close, or the first close is later.
 * @throws Refusal NO_DATA_IN_RANGE
 */
function assertReached(dates: readonly string[], through: string, calendar: Calendar | undefined): void {
  const [first, last] = [dates[0]!, dates.at(-1)!];
  const detail = { through, first, last };
  if (through < first)
    throw new Refusal('NO_DATA_IN_RANGE', `through ${through} is before the first close of the run, ${first}.`, detail);
  const { sessions } = calendar ?? {};
  const next = sessions?.[findLastAtMost(sessions, parseValidDay(last)) + 1];
  // On a closed day after the last session, no close is missing.
  if (through <= last || (next !== undefined && next > parseValidDay(through))) return;
  const message = `through ${through} is after the last close of the run, ${last}: run the index up to it first, or publish through ${last}.`;
  throw new Refusal('NO_DATA_IN_RANGE', message, detail);
}
