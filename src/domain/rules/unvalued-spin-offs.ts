import { GROWTH_DATAPOINTS } from '../datapoints/datapoint-sources.js';
import { DEFAULT_WINDOW, isSessionReturn, type FieldRequest } from '../datapoints/field-request.js';
import { valueSpinOff } from '../index-mathematics/spin-offs.js';
import type { CorporateAction } from '../market/market-data.js';
import type { SessionMarket } from '../market/session-market.js';
import type { Finding } from '../refusals/findings.js';
import { formatDay } from '../time/days.js';

/**
 * Creates a function that reports spin-offs whose distributed security has no price on the ex-date, if a decision reads
 * the return of the parent on that date. Its value is unknown then, and the return counts as 0.
 * @param fields datapoints that the decision reads
 */
export function createSpinOffReport(
  sm: SessionMarket,
  fields: readonly FieldRequest[],
): (session: number, columns: Int32Array) => Finding[] {
  const growthFields = fields.filter(({ name }) => GROWTH_DATAPOINTS.has(name));
  const names = [...new Set(growthFields.map(({ name }) => name))].join(', ');
  const reach = Math.max(0, ...growthFields.map(countReturns));
  const isUnvalued = new Map<CorporateAction, boolean>();
  return (session, columns) => {
    if (reach === 0 || sm.market.adjustment === 'total') return [];
    const { all, starts } = sm.actions;
    const findings: Finding[] = [];
    for (let a = starts[Math.max(0, session - reach + 1)]!; a < starts[session + 1]!; a++) {
      const { action, column, session: at } = all[a]!;
      if (action.type !== 'SPIN_OFF' || !(action.value > 0) || !columns.includes(column)) continue;
      const unvalued = isUnvalued.get(action) ?? Number.isNaN(valueSpinOff(sm.market, action, sm.sessions[at]!));
      isUnvalued.set(action, unvalued);
      if (unvalued) findings.push(reportSpinOff(action, names));
    }
    return findings;
  };
}

/** Returns the number of sessions up to a decision whose returns a datapoint reads. */
function countReturns({ name, lag, window }: FieldRequest): number {
  return lag + (window ?? (isSessionReturn(name) ? 1 : DEFAULT_WINDOW));
}

function reportSpinOff({ identifier, related, exDay }: CorporateAction, names: string): Finding {
  const day = formatDay(exDay);
  const message = `${related ?? 'A security'}, spun off from ${identifier} on ${day}, has no price on that date. Its value is unknown, so the return of ${identifier} on that date counts as 0 (${names}).`;
  return { severity: 'warning', code: 'ACTION_WITHOUT_PRICE', message, path: '', places: [identifier] };
}
