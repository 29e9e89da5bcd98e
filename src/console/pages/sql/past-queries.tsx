import { Menu } from '../../components/menu.js';
import { formatDuration, formatMoment } from '../../words/dates.js';
import { countValues } from '../../words/numbers.js';
import { forgetQueries, pastQueries } from './history.js';

/** Renders a menu of the queries run in this browser, newest first. */
export function PastQueries({ onChoose }: { readonly onChoose: (query: string) => void }) {
  const queries = pastQueries.value.toReversed();
  if (queries.length === 0) return null;
  return (
    <div class="sql-history">
      <Menu label="History of queries" title="History">
        {queries.map(({ query, at, rows, seconds }) => (
          <li key={at}>
            <button type="button" title={query} onClick={() => onChoose(query)}>
              <code>{query.replaceAll(/\s+/g, ' ')}</code>
              <span class="quiet">
                {formatMoment(at)} · {countValues(rows, 'row')} in {formatDuration(seconds)}
              </span>
            </button>
          </li>
        ))}
        <li>
          <button type="button" onClick={forgetQueries}>
            Clear the history
          </button>
        </li>
      </Menu>
    </div>
  );
}
