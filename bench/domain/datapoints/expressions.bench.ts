import { daysCalendar } from '#domain/calendars/days-calendar.js';
import { parseExpression } from '#domain/datapoints/expressions/parse.js';
import type { DatapointExpression } from '#domain/datapoints/expressions/tree.js';
import { requestLatest } from '#domain/datapoints/field-request.js';
import { TreatmentSpec } from '#domain/documents/index-document.js';
import { alignMarket } from '#domain/market/session-market.js';
import { crossSectionsOf } from '#domain/rules/decide.js';
import { openCalendars } from '#market/serving/calendar-files.js';
import { seededMarket } from '../seeded-market.js';

/**
 * Expressions compared with built-in datapoints with the same reads: 3,000 securities on 60 monthly decisions,
 * processor time of the fastest of five rounds. Goal: at most 1.3 times the built-in datapoint.
 */
const NAMES = 3000;
const ROUNDS = 5;
const GOAL = 1.3;

const calendars = openCalendars();
const market = seededMarket(calendars, { names: NAMES, sessions: 1600 });
const sm = alignMarket({ market, calendar: daysCalendar(market.dates), calendars });
const columns = Int32Array.from(market.identifiers.keys());
const sessions = Array.from({ length: 60 }, (_, i) => 300 + 21 * i);

const tree = (text: string): DatapointExpression => parseExpression(text).tree;
const PAIRS: readonly (readonly [built: DatapointExpression, text: string])[] = [
  [requestLatest('MARKET_CAP'), 'CLOSE * SHARES_OUTSTANDING'],
  [requestLatest('MARKET_CAP', { transform: 'zscore' }), 'zscore(CLOSE * SHARES_OUTSTANDING)'],
  [requestLatest('MARKET_CAP', { aggregate: 'mean', window: 60 }), 'mean(CLOSE * SHARES_OUTSTANDING, window=60)'],
  [requestLatest('MARKET_CAP', { aggregate: 'median', window: 252 }), 'median(CLOSE * SHARES_OUTSTANDING, window=252)'],
  [requestLatest('RETURN', { aggregate: 'std', window: 252 }), 'std(RETURN, window=252)'],
  [requestLatest('MOMENTUM', { transform: 'percentile' }), 'percentile(MOMENTUM)'],
];

for (const [built, text] of PAIRS) {
  const expression = tree(text);
  const times = { built: Infinity, expression: Infinity };
  for (let round = 0; round < ROUNDS; round++) {
    times.built = Math.min(times.built, timed(built));
    times.expression = Math.min(times.expression, timed(expression));
  }
  const ratio = times.expression / times.built;
  console.log(
    `${text}: ${times.expression.toFixed(1)} ms, built in ${times.built.toFixed(1)} ms, ratio ${ratio.toFixed(2)}, goal ${GOAL}`,
  );
}

/** Processor time of all decisions, in milliseconds. */
function timed(field: DatapointExpression): number {
  const sections = crossSectionsOf({ market: sm, treatment: TreatmentSpec.parse({}), currency: '' });
  sections.at(sessions[0]!, columns).numbers(field, columns);
  const begin = process.cpuUsage();
  for (const session of sessions) sections.at(session, columns).numbers(field, columns);
  const { user, system } = process.cpuUsage(begin);
  return (user + system) / 1000;
}
