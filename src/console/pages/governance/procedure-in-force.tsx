import { Badge } from '../../components/badge.js';
import { listVersions } from '../../components/versions/families.js';
import { useResource } from '../../state/resource.js';
import { formatGovernanceAddress } from '../../words/addresses.js';
import { formatMoment, formatToday } from '../../words/dates.js';
import { countValues, formatCount } from '../../words/numbers.js';
import type { JsonObject } from '../../words/paths.js';
import { isPublished, useGovernance } from './published-logs.js';

interface ProcedureInForceProps {
  readonly id: string;
  /** The stored procedure. */
  readonly document: JsonObject;
}

/** Renders the version, author, statements and review date of a stored procedure. */
export function ProcedureInForce({ id, document }: ProcedureInForceProps) {
  const versions = useResource(`versions procedure ${id}`, (signal) => listVersions({ kind: 'procedure', id }, signal));
  const newest = versions.data?.versions[0];
  return (
    <p>
      {newest !== undefined &&
        `Version ${newest.version}, ${newest.action} ${formatMoment(newest.at)} by ${newest.author} · `}
      <Statements indices={document['indices']} />
      <ReviewDate date={document['review_by']} />
    </p>
  );
}

/** Maximum number of indices that are named. If there are more, their number is shown. */
const NAMED_MAX = 3;

/** Renders the statements of published indices that contain a procedure. */
function Statements({ indices }: { readonly indices: unknown }) {
  const overview = useGovernance();
  if (overview.data === undefined) return null;
  const published = overview.data.statements.filter(isPublished).map(({ index_id: id }) => id);
  const coveredIds = published.filter((id) => !Array.isArray(indices) || indices.includes(id));
  if (coveredIds.length === 0) return <>in no statement of a published index · </>;
  return (
    <>
      in {coveredIds.length === 1 ? 'the statement' : 'the statements'} of{' '}
      {coveredIds.length <= NAMED_MAX &&
        coveredIds.map((id, k) => (
          <span key={id}>
            {k > 0 && ', '}
            <a href={formatGovernanceAddress('statements', id)}>{id}</a>
          </span>
        ))}
      {coveredIds.length < published.length || coveredIds.length > NAMED_MAX
        ? ` (${formatCount(coveredIds.length)} of ${countValues(published.length, 'published index', 'published indices')})`
        : ''}
      {' · '}
    </>
  );
}

/** Renders the date of the next review. A date in the past or a missing date is marked. */
function ReviewDate({ date }: { readonly date: unknown }) {
  if (typeof date !== 'string') return <Badge kind="warning">no review date</Badge>;
  return date < formatToday() ? <Badge kind="bad">review was due on {date}</Badge> : <>review by {date}</>;
}
