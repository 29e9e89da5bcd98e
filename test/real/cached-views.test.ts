import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { IS_SOAK } from '../soak.js';
import { openLiveService, type LiveService } from './live.js';
import { serveRagged, listSessions, type RaggedMarket } from './ragged-market.js';

const [FIRST, LAST] = ['2021-01-04', '2023-03-31'];
const MARKET: RaggedMarket = { seed: 3 };
const CHANGED_MARKET: RaggedMarket = { seed: 3, hasOtherSectors: true };
/** Dates of requests: one shortly after a base date, and two on both sides of a month end. The soak has more. */
const DATES = ['2021-11-10', '2022-08-30', '2022-09-01', ...(IS_SOAK ? ['2022-03-15', '2023-03-31'] : [])];
const FACTORS = IS_SOAK ? [1, 4, 20] : [1, 20];
/** Ids of the indices. The first two hold the same securities over different dates. */
const RUNS = ['ALL', 'LATER', 'SOME'] as const;

/**
 * Worker threads and the service cache measurements of securities. Still, a response must not depend on earlier
 * requests.
 */
describe('a figure computed for one request', () => {
  let askedService: LiveService;
  let fresh: LiveService;
  let sessions: string[];

  beforeAll(async () => {
    askedService = await openLiveService(['--workers', '2']);
    fresh = await openLiveService(['--workers', '1']);
    sessions = await listSessions(fresh, FIRST, LAST);
    await makeRuns(askedService);
    await makeRuns(fresh);
    await serveRagged(fresh, sessions, CHANGED_MARKET);
  });
  afterAll(async () => {
    await askedService?.close();
    await fresh?.close();
  });

  test('answers no other request: runs, dates, models, benchmarks and versions of a store, together and separately', async () => {
    const questions = listQuestions();
    const jointViews = await Promise.all(questions.map(async (path) => askedService.ok('GET', path)));
    await serveRagged(askedService, sessions, CHANGED_MARKET);
    // Responses of another service. It receives only requests for the changed store, in reverse order.
    const ownViews = new Map<string, unknown>();
    for (const path of questions.toReversed()) ownViews.set(path, await fresh.ok('GET', path));
    const changedViews = await Promise.all(questions.map(async (path) => askedService.ok('GET', path)));
    questions.forEach((path, k) => expect(removeRuns(changedViews[k]), path).toEqual(removeRuns(ownViews.get(path))));

    await serveRagged(askedService, sessions, MARKET);
    const repeatedViews: unknown[] = [];
    for (const path of questions.toReversed()) repeatedViews.unshift(await askedService.ok('GET', path));
    questions.forEach((path, k) => expect(repeatedViews[k], path).toEqual(jointViews[k]));
    for (const view of changedViews) expect(JSON.stringify(view)).toContain('"stale":{"definition":false,"data":true,');
    const differingQuestions = questions.filter((_, k) => removeState(jointViews[k]) !== removeState(changedViews[k]));
    // Only these views read sectors.
    expect(differingQuestions.sort()).toEqual(
      questions.filter((path) => path.includes('market_sector') || path.includes('by=SECTOR')).sort(),
    );
    expect(new Set(jointViews.map((view) => JSON.stringify(view))).size).toBe(questions.length);
  });

  async function makeRuns(service: LiveService): Promise<void> {
    await serveRagged(service, sessions, MARKET);
    const createIndexBody = (
      id: string,
      baseDate: string,
      count: number | null,
      weighting = 'EqualWeight',
    ): object => ({
      id,
      name: id,
      calendar: 'XNYS',
      base_date: baseDate,
      rebalance: { frequency: 'quarterly', anchor: 'third_friday' },
      pipeline: {
        selection: count === null ? [] : [{ id: 'largest', type: 'TopN', params: { count } }],
        weighting: { type: weighting },
      },
    });
    for (const document of [
      createIndexBody('ALL', FIRST, null),
      createIndexBody('LATER', '2021-10-01', null, 'MarketCapWeight'),
      createIndexBody('SOME', FIRST, 9),
    ])
      await service.ok('POST', '/indices', document);
    for (const id of RUNS) expect((await service.job(`/analytics/${id}/backtest`)).error).toBeNull();
  }
});

/** Returns a comparison without its run ids, which are random. */
function removeRuns(view: unknown): unknown {
  return JSON.parse(JSON.stringify(view, (key, value: unknown) => (key === 'run_id' ? undefined : value)));
}

/**
 * Returns a view without the members that depend on the data that is served now: the state of its run, and share
 * counts, which may be missing.
 */
function removeState(view: unknown): string {
  const removedMembers = new Set(['stale', 'shares_outstanding']);
  return JSON.stringify(view, (key, value: unknown) => (removedMembers.has(key) ? undefined : value));
}

function listQuestions(): string[] {
  return RUNS.flatMap((id, k) => {
    const of = `/analytics/${id}`;
    return RUNS.filter((benchmark) => benchmark !== id)
      .flatMap((benchmark) => [
        ...DATES.flatMap((date) => [
          `${of}/factor-risk?benchmark=${benchmark}&model=market_sector&as_of=${date}`,
          ...FACTORS.map(
            (factors) => `${of}/factor-risk?benchmark=${benchmark}&model=statistical&factors=${factors}&as_of=${date}`,
          ),
          `${of}/weights?risk=true&benchmark=${benchmark}&as_of=${date}`,
        ]),
        `${of}/attribution/groups?by=SECTOR&benchmark=${benchmark}&start=2021-11-01`,
        `${of}/attribution/groups?by=COUNTRY&benchmark=${benchmark}&start=2022-02-01`,
        `/analytics/compare?ids=${id},${benchmark}`,
      ])
      .concat(
        `${of}/weights?risk=true&as_of=${DATES[k]!}`,
        `${of}/rolling?window=${20 + k}`,
        `${of}/rolling?half_life=20`,
      );
  });
}
