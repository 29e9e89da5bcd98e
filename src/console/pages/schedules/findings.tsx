import { useNames } from '../../state/names.js';
import { formatChange, formatDecimal, formatPercent } from '../../words/numbers.js';
import { listMoves, type DayFinding } from './day-states.js';

/** Maximum number of findings listed for an index. */
const FINDINGS_MAX = 12;

interface FindingsProps {
  readonly findings: readonly DayFinding[];
  /** Session of the findings. */
  readonly date: string;
}

/** Renders the findings of an index: price moves in a table below their common limit, and the others as sentences. */
export function Findings({ findings, date }: FindingsProps) {
  const { limit, moves, others } = listMoves(findings);
  const omittedCount = Math.max(0, moves.length - FINDINGS_MAX) + Math.max(0, others.length - FINDINGS_MAX);
  return (
    <>
      {moves.length > 0 && <Moves moves={moves.slice(0, FINDINGS_MAX)} limit={limit} date={date} />}
      {others.length > 0 && (
        <ul>
          {others.slice(0, FINDINGS_MAX).map(({ key, message }) => (
            <li key={key}>{message}</li>
          ))}
        </ul>
      )}
      {omittedCount > 0 && <p>and {omittedCount} others</p>}
    </>
  );
}

type MovesProps = Pick<ReturnType<typeof listMoves>, 'moves' | 'limit'> & Pick<FindingsProps, 'date'>;

/** Renders price moves with the names and weights of their securities and the closes before and after the move. */
function Moves({ moves, limit, date }: MovesProps) {
  const names = useNames(
    moves.map(({ identifier }) => identifier),
    date,
  );
  const previous = moves.find(({ evidence }) => evidence !== undefined)?.evidence?.previous_date;
  return (
    <table class="day-moves">
      <caption>
        Unexplained moves{previous !== undefined && ` since the close of ${previous}`}, limit {formatPercent(limit)}
      </caption>
      <thead>
        <tr>
          <th scope="col">Security</th>
          {previous !== undefined && (
            <>
              <th scope="col">Weight</th>
              <th scope="col">Previous</th>
              <th scope="col">Close</th>
            </>
          )}
          <th scope="col">Move</th>
        </tr>
      </thead>
      <tbody>
        {moves.map(({ identifier, value, evidence }) => (
          <tr key={identifier}>
            <td>
              <strong>{identifier}</strong> <span class="quiet">{names.get(identifier)?.name}</span>
            </td>
            {previous !== undefined && (
              <>
                <td>{formatPercent(evidence?.weight)}</td>
                <td>{formatDecimal(evidence?.previous_close)}</td>
                <td>{formatDecimal(evidence?.close)}</td>
              </>
            )}
            <td>{formatChange(value)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
