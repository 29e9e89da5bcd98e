import type { BenchmarkStatement } from '#clients/typescript/divisor.js';
import { Metrics } from '../../components/metrics.js';
import { formatCount, MISSING_TEXT } from '../../words/numbers.js';
import { KIND_TEXTS } from './open-work.js';

/** Maximum number of errors in a statement; the register contains all of them. */
const ERRORS_MAX = 50;

/** Renders the counts of the published closes, restatements, errors and procedures. */
export function StatementFigures({ statement }: { readonly statement: BenchmarkStatement }) {
  const { version, calendar, publication } = statement;
  return (
    <Metrics
      label="Figures of the statement"
      metrics={[
        {
          term: 'Published closes',
          value: publication === null ? 'none' : formatCount(publication.closes),
          note: publication === null ? undefined : `${publication.first} to ${publication.through}`,
        },
        {
          term: 'Restated closes',
          value: publication === null ? MISSING_TEXT : formatCount(publication.restatements),
          note: publication === null ? undefined : 'published again after an error',
        },
        {
          term: 'Errors',
          value: formatCount(statement.errors.length),
          note: describeErrorCount(statement.errors.length),
        },
        {
          term: 'Procedures',
          value: formatCount(statement.procedures.length),
          note: `${new Set(statement.procedures.map(({ kind }) => kind)).size} of ${Object.keys(KIND_TEXTS).length} kinds`,
        },
        { term: 'Definition', value: `version ${version}` },
        { term: 'Calendar', value: calendar.code, note: `sessions known to ${calendar.covered_to}` },
      ]}
    />
  );
}

/** Describes the number of errors. An error can concern many closes, all of which are restated. */
function describeErrorCount(count: number): string {
  if (count === 0) return 'in published closes';
  return count < ERRORS_MAX ? 'each of one or more closes' : `the newest ${ERRORS_MAX}`;
}
