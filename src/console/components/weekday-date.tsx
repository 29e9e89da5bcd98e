import { formatWeekday } from '../words/dates.js';

/** Renders a date with its day of the week. */
export const WeekdayDate = ({ date }: { readonly date: string }) => (
  <>
    {date} <span class="quiet">{formatWeekday(date)}</span>
  </>
);
