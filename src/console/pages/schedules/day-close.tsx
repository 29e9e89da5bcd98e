import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatChange, formatDecimal } from '../../words/numbers.js';
import { subtractDays } from '../../words/dates.js';
import { listLevels } from './close-levels.js';

/** Days before a session in which its previous close is searched. Exchanges close for at most ten days. */
const SEARCHED_DAYS = 14;

interface DayCloseProps {
  readonly index: string;
  /** Session of the close. */
  readonly date: string;
}

/** Renders the published levels of an index on a session with their changes. Renders nothing without such a close. */
export function DayClose({ index, date }: DayCloseProps) {
  const log = useResource(`close ${index} ${date}`, (signal) =>
    service.value.call('getPublished', {
      params: { index_id: index },
      query: { start: subtractDays(date, SEARCHED_DAYS), end: date },
      signal,
    }),
  );
  const levels = listLevels(log.data?.entries ?? [], date);
  if (levels.length === 0) return null;
  return (
    <span class="day-close">
      {levels.map(({ variant, level, change }) => (
        <span key={variant}>
          {variant} <span class="number">{formatDecimal(level)}</span>
          {change !== null && <span class="number"> {formatChange(change)}</span>}
        </span>
      ))}
    </span>
  );
}
