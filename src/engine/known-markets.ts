import type { DatedMarkets } from '#domain/books/decision-seats.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { Finding } from '#domain/refusals/findings.js';
import { refuseWithFindings } from '#domain/refusals/refusal.js';
import { parseDay, type Day } from '#domain/time/days.js';
import { computeContentChange } from '#market/versions/content-change.js';
import { createDatedMarkets } from '#market/versions/known-markets.js';
import type * as Api from './api.js';
import { readMarket } from './market-input.js';

/**
 * Reads the contents of the market known at each decision. Returns undefined without earlier contents. @throws Refusal
 * VALIDATION_FAILED
 */
export async function readKnownMarkets(
  last: MarketData,
  { known_on: knownOn, earlier }: Pick<Api.EngineOptions, 'known_on' | 'earlier'>,
): Promise<DatedMarkets | undefined> {
  if (earlier === undefined && knownOn === undefined) return undefined;
  const days = [...(earlier ?? []).map(({ known_on: on }) => on), knownOn];
  const findings: Finding[] = days.flatMap((text, i): Finding[] => {
    const path = i === days.length - 1 ? 'known_on' : `earlier[${i}].known_on`;
    const day = text === undefined ? undefined : parseDay(text);
    if (day === undefined)
      return [{ severity: 'error', code: 'BAD_DATE', path, message: `${path} is not a day YYYY-MM-DD.` }];
    const before = i === 0 ? undefined : parseDay(days[i - 1] ?? '');
    if (before === undefined || before < day) return [];
    return [{ severity: 'error', code: 'INVALID_RANGE', path, message: `${path} is not after the previous date.` }];
  });
  if (findings.length > 0) throw refuseWithFindings('market', findings);
  const contents: { readonly knownOn: Day; readonly market: MarketData }[] = [];
  for (const { known_on: on, market } of earlier ?? [])
    contents.push({ knownOn: parseDay(on)!, market: (await readMarket(market)).market });
  const after = [...contents.slice(1).map(({ market }) => market), last];
  const changes = contents.map(({ knownOn: on, market }, i) => ({
    knownOn: i === 0 ? BEFORE_HISTORY : on,
    change: computeContentChange(market, after[i]!),
  }));
  const lastKnown = contents.length === 0 ? BEFORE_HISTORY : parseDay(knownOn!)!;
  return createDatedMarkets(last, { knownOn: lastKnown, earlier: changes.toReversed() });
}

/** The first content counts as known from the beginning, like that of a data store. */
const BEFORE_HISTORY: Day = -(2 ** 31);
