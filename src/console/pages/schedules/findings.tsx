import { formatPercent } from '../../words/numbers.js';
import { listMoves, type DayFinding } from './day-states.js';

/** Maximum number of findings listed for an index. */
const FINDINGS_MAX = 12;

/** Renders the findings of an index: price moves in a table below their common limit, and the others as sentences. */
export function Findings({ findings }: { readonly findings: readonly DayFinding[] }) {
  const { limit, moves, others } = listMoves(findings);
  const omittedCount = Math.max(0, moves.length - FINDINGS_MAX) + Math.max(0, others.length - FINDINGS_MAX);
  return (
    <>
      {moves.length > 0 && (
        <table class="day-moves">
          <caption>Unexplained moves, limit {formatPercent(limit)}</caption>
          <thead>
            <tr>
              <th scope="col">Security</th>
              <th scope="col">Move</th>
            </tr>
          </thead>
          <tbody>
            {moves.slice(0, FINDINGS_MAX).map(({ identifier, value }) => (
              <tr key={identifier}>
                <td>{identifier}</td>
                <td>{formatPercent(value)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
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
