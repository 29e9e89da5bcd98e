import type { Day } from '../../time/days.js';
import { readMember } from '../record/field.js';
import { readDescription, readRecord } from '../record/read.js';
import { SNAPSHOT, TRANSACTIONS, type Snapshot } from '../record/schema.js';
import type { RecordedOrder, TransactionRows } from '../record/rows.js';
import type { RunColumns } from './read.js';
import { openStoredNumbers } from './record.js';

/** Individual rebalances of a run's record, read without the other fields. */
export interface RecordedDecisions {
  /** Securities to which the columns of snapshots and trades refer. */
  readonly identifiers: readonly string[];
  /**
   * Returns the day of the data that decided the composition with effective date `effective`. If no other day is
   * recorded, returns `effective`. Returns undefined if the record lacks the composition.
   */
  decidedOn(effective: Day): Day | undefined;
  snapshot(effective: Day): Snapshot | undefined;
  /**
   * Returns every trade of the run.
   * @cost reads all trades
   */
  trades(): TransactionRows;
  readonly unfilled: readonly RecordedOrder[];
}

/**
 * Reads the decisions of a run. Returns undefined if its file has no record.
 * @throws Refusal DOCUMENT_UNREADABLE
 */
export function readDecisions(columns: RunColumns): RecordedDecisions | undefined {
  if (!columns.has('record')) return undefined;
  const { identifiers, plain, rest } = readDescription(columns.u8('record'));
  const reading = readRecord(openStoredNumbers(columns), [...identifiers]);
  const book = readMember(rest, 'optimised') ?? readMember(rest, 'target');
  const packedSnapshots = (readMember(book, 'snapshots') ?? []) as readonly unknown[]; // Written by packRecord or extendRecord.
  const byDay = new Map(packedSnapshots.map((one) => [readMember(one, 'date') as Day, one]));
  return {
    identifiers,
    decidedOn(effective) {
      const snapshot = byDay.get(effective);
      if (snapshot === undefined) return undefined;
      const announcementDay = readMember(snapshot, 'announced') as Day | null;
      return announcementDay === null
        ? effective
        : ((readMember(snapshot, 'reference') as Day | null | undefined) ?? announcementDay);
    },
    snapshot(effective) {
      const snapshot = byDay.get(effective);
      return snapshot === undefined ? undefined : SNAPSHOT.read(snapshot, reading);
    },
    trades: () => TRANSACTIONS.read(readMember(readMember(rest, 'portfolio'), 'transactions'), reading),
    unfilled: readMember(plain, 'unfilled') as readonly RecordedOrder[],
  };
}
