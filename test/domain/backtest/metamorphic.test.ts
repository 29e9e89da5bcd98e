import { fc } from '../../fast-check.js';
import { expect, describe, test } from 'vitest';
import type { Book } from '#domain/books/book.js';
import type { Run } from '#domain/backtest/run.js';
import { createRunColumns, createRunFiles, openColumns } from '#domain/backtest/run-file/columns.js';
import { formatDay } from '#domain/base/time.js';
import type { IndexDocument } from '#domain/definition/index-document.js';
import { compareText } from '#domain/base/findings.js';
import type { CorporateAction, MarketData } from '#domain/market/market-data.js';
import { createRunMemory } from '#workers/output/task-outputs.js';
import { readContent, cut as rowsUpTo, openExtended } from './extend/extended.js';
import { randomMarket } from './random-market.js';
import { joinBytes } from '#base/bytes.js';
import { randomDecider, randomDocument, randomRequest, tryRun } from './random-run.js';
import { runRecordJson, runResultJson } from './run-texts.js';

const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 20);

/** Random request for a run. It contains the function that decides the index weights. */
const randomSignedRequest = fc
  .tuple(randomRequest, randomDecider)
  .map(([request, createDecider]) => ({ ...request, createDecider }));

/** Returns the rows of a market up to a position. Includes only the actions that take effect within these rows. */
function truncateMarket(market: MarketData, rows: number): MarketData {
  return { ...rowsUpTo(market, rows), actions: market.actions.filter(({ exDay }) => exDay <= market.dates[rows - 1]!) };
}

function renameSecurities(market: MarketData, rename: (identifier: string) => string): MarketData {
  const order = [...market.identifiers.keys()].toSorted((a, b) =>
    compareText(rename(market.identifiers[a]!), rename(market.identifiers[b]!)),
  );
  const names = order.length;
  return {
    ...market,
    contentHash: `${market.contentHash}-renamed`,
    identifiers: order.map((column) => rename(market.identifiers[column]!)),
    fields: new Map(
      [...market.fields].map(([name, panel]) => [
        name,
        panel.map((_, i) => panel[i - (i % names) + order[i % names]!]!),
      ]),
    ),
    reference: {
      ...market.reference,
      rows: new Map([...market.reference.rows].map(([identifier, rows]) => [rename(identifier), rows])),
    },
    actions: market.actions
      .map((action): CorporateAction => ({
        ...action,
        identifier: rename(action.identifier),
        related: action.related === null ? null : rename(action.related),
      }))
      .toSorted((a, b) => compareText(a.identifier, b.identifier) || a.exDay - b.exDay || compareText(a.type, b.type)),
  };
}

/** Returns the weights of a book on a date by identifier, excluding securities with a weight of zero. */
function listHeldWeights({ sm, columns, weights }: Book, row: number): [string, number][] {
  return [...columns].flatMap((column, slot): [string, number][] => {
    const weight = weights[row * columns.length + slot]!;
    return weight !== 0 ? [[sm.identifiers[column]!, weight]] : [];
  });
}

/** Returns all values of a run that are known on a date, unrounded: levels, weights, divisor, compositions. */
function listKnownValues(run: Run, day: number) {
  const { index, portfolio, rebalances } = run;
  const countSessions = (book: Book): number =>
    book.sm.sessions.subarray(book.from, book.from + book.length).filter((session) => session <= day).length;
  const count = countSessions(index.book);
  const tradedCount = countSessions(portfolio);
  return {
    index: [...index.book.value.subarray(0, count)],
    divisor: [...index.book.divisor.subarray(0, count)],
    weights: Array.from({ length: count }, (_, row) => listHeldWeights(index.book, row)),
    value: [...portfolio.value.subarray(0, tradedCount)],
    cash: [...portfolio.cash.subarray(0, tradedCount)],
    portfolio: Array.from({ length: tradedCount }, (_, row) => listHeldWeights(portfolio, row)),
    rebalances: rebalances
      .filter(({ session }) => run.portfolio.sm.sessions[session]! <= day)
      .map(({ date, columns, weights, uncapped, announced }) => ({
        date,
        names: [...columns].map((column) => portfolio.sm.identifiers[column]),
        weights: [...weights],
        uncapped: [...uncapped],
        announced,
      })),
    gaps: run.gaps
      .filter(({ session }) => portfolio.sm.sessions[session]! <= day)
      .map(({ session, column }) => [session, portfolio.sm.identifiers[column]]),
  };
}

/** Returns the header of a column file without the positions of its blocks, followed by the bytes of each block. */
function listBlocks(bytes: Uint8Array): readonly unknown[] {
  const { header } = openColumns((start, end) => bytes.slice(start, end));
  const size = { f64: 8, i32: 4, u8: 1 };
  const blocks = Object.entries(header.blocks).map(([name, block]) => [
    name,
    Buffer.from(bytes.slice(block!.offset, block!.offset + block!.length * size[block!.type])).toString('base64'),
  ]);
  return [{ ...header, blocks: {} }, Object.fromEntries(blocks)];
}

describe('on random markets', () => {
  test('a store cut after a date changes nothing at or before it, bit for bit', () => {
    fc.assert(
      fc.property(
        randomMarket,
        randomDocument,
        randomSignedRequest,
        fc.integer({ min: 12, max: 24 }),
        ({ market }, document, request, rows) => {
          const wholeRun = tryRun(market, document, request);
          const cut = tryRun(truncateMarket(market, rows), document, request);
          if (!wholeRun || !cut) return;
          const day = market.dates[rows - 1]!;
          expect(listKnownValues(cut, day)).toEqual(listKnownValues(wholeRun, day));
        },
      ),
      { numRuns: RUNS },
    );
  });

  test('a later end leaves the earlier part unchanged, bit for bit', () => {
    fc.assert(
      fc.property(
        randomMarket,
        randomDocument,
        randomSignedRequest,
        fc.integer({ min: 12, max: 23 }),
        ({ market }, document, request, rows) => {
          const [end, later] = [market.dates[rows]!, market.dates[rows + 1]!];
          const shorterRun = tryRun(market, document, { ...request, end: formatDay(end) });
          const longerRun = tryRun(market, document, { ...request, end: formatDay(later) });
          if (!shorterRun || !longerRun) return;
          expect(listKnownValues(shorterRun, end)).toEqual(listKnownValues(longerRun, end));
        },
      ),
      { numRuns: RUNS },
    );
  });

  test('other securities in the same order, and the same request again, give the same bits', () => {
    fc.assert(
      fc.property(randomMarket, randomDocument, randomSignedRequest, ({ market }, document, request) => {
        const first = tryRun(market, document, request);
        const repeat = tryRun({ ...market, contentHash: 'again' }, document, request);
        const other = tryRun(
          renameSecurities(market, (identifier) => (identifier === 'EURUSD' ? identifier : `${identifier}X`)),
          document,
          request,
        );
        expect([repeat === undefined, other === undefined]).toEqual([first === undefined, first === undefined]);
        if (!first || !repeat || !other) return;
        expect(
          Buffer.compare(createRunColumns(repeat, { contentHash: 's' }), createRunColumns(first, { contentHash: 's' })),
        ).toBe(0);
        const stamp = { runAt: 't', runHash: 'h', storeContentHash: 's', engineVersion: '0' };
        expect(Buffer.compare(runResultJson(repeat, stamp), runResultJson(first, stamp))).toBe(0);
        expect(Buffer.compare(runRecordJson(repeat, stamp), runRecordJson(first, stamp))).toBe(0);
        expect(other.index.book.value).toEqual(first.index.book.value);
        expect(other.portfolio.value).toEqual(first.portfolio.value);
      }),
      { numRuns: RUNS },
    );
  });

  test('columns written around the weights, in the memory of the run before, have the blocks of columns written apart', () => {
    const memory = createRunMemory();
    let placedCount = 0;
    fc.assert(
      fc.property(randomMarket, randomDocument, randomSignedRequest, fc.boolean(), ({ market }, document, of, is) => {
        const separateRun = tryRun(market, document, of);
        const aroundRun = tryRun(market, document, { ...of, memory: memory.take, pricesApart: is });
        if (!separateRun || !aroundRun) return;
        const expected = createRunColumns(separateRun, { contentHash: 's' });
        const options = { contentHash: 's', inPlace: true, apartBytesMin: is ? 0 : Infinity };
        const { columns, prices } = createRunFiles(aroundRun, options);
        if (columns.buffer === aroundRun.portfolio.weights.buffer) placedCount++;
        if (prices)
          expect(readContent(openExtended(columns, [joinBytes(prices)]))).toEqual(readContent(openExtended(expected)));
        else expect(listBlocks(columns)).toEqual(listBlocks(expected));
        memory.giveBack();
      }),
      { numRuns: RUNS },
    );
    expect(placedCount).toBeGreaterThan(0);
  });

  test('the order of the securities in the store changes levels by rounding at most', () => {
    fc.assert(
      fc.property(randomMarket, randomDocument, ({ market }, document) => {
        const reverseIdentifier = (identifier: string) =>
          identifier === 'EURUSD'
            ? identifier
            : `${String.fromCharCode(90 - (identifier.charCodeAt(0) - 65))}${identifier}`;
        const first = tryRun(market, document);
        const other = tryRun(renameSecurities(market, reverseIdentifier), document);
        if (!first || !other) return;
        first.index.book.value.forEach((value, t) =>
          expect(Math.abs(other.index.book.value[t]! - value)).toBeLessThanOrEqual(1e-10 * value),
        );
      }),
      { numRuns: RUNS },
    );
  });

  test('a portfolio that a later suspension keeps from following its index was worth the same before, spun-off names and all, bit for bit', () => {
    const [spunOff, cutAt, suspendedFrom] = [12, 18, 20];
    const treatment = { spin_offs: 'zero_price', missing_prices: 'carry', max_stale_sessions: 5 } as const;
    let waitingCount = 0;
    fc.assert(
      fc.property(
        randomMarket,
        randomDocument,
        fc.double({ min: 0.1, max: 3, noNaN: true }),
        fc.integer({ min: 1, max: 9_999_999 }),
        ({ market }, document, value, capital) => {
          const names = market.identifiers.length;
          const suspendedColumn = market.identifiers.indexOf('AA');
          const close = market.fields
            .get('CLOSE')!
            .map((price, i) => (i % names === suspendedColumn && i >= suspendedFrom * names ? Number.NaN : price));
          const spinOff: CorporateAction = {
            identifier: 'BB',
            type: 'SPIN_OFF',
            value,
            exDay: market.dates[spunOff]!,
            payDay: null,
            status: 'paid',
            announcedDay: null,
            related: 'NEW',
            subscriptionPrice: null,
          };
          const stoppedMarket = {
            ...market,
            contentHash: `${market.contentHash}-stopped`,
            fields: new Map([...market.fields, ['CLOSE', close]]),
            actions: [spinOff],
          };
          const pipeline = document.pipeline!; // random documents always have a pipeline
          const daily: IndexDocument = {
            ...document,
            rebalance: { ...document.rebalance, frequency: 'daily' },
            pipeline: { ...pipeline, treatment: { ...pipeline.treatment, ...treatment } },
          };
          const wholeRun = tryRun(stoppedMarket, daily, { initial_capital: capital });
          const cut = tryRun(truncateMarket(stoppedMarket, cutAt), daily, { initial_capital: capital });
          if (!wholeRun || !cut) return;
          waitingCount += wholeRun.portfolio.unfilled.length;
          const day = stoppedMarket.dates[cutAt - 1]!;
          expect(listKnownValues(cut, day)).toEqual(listKnownValues(wholeRun, day));
        },
      ),
      { numRuns: 4 * RUNS },
    );
    expect(waitingCount).toBeGreaterThan(0);
  });

  test('prices, cash and capital twice as large change no level', () => {
    fc.assert(
      fc.property(randomMarket, randomDocument, randomSignedRequest, ({ market }, document, request) => {
        const eurusd = market.identifiers.indexOf('EURUSD');
        const names = market.identifiers.length;
        const close = market.fields.get('CLOSE')!.map((price, i) => (i % names === eurusd ? price : 2 * price));
        const perShare = new Set(['DIVIDEND', 'SPECIAL_DIVIDEND', 'RETURN_OF_CAPITAL', 'ACQUISITION', 'DELISTING']);
        const doubledMarket: MarketData = {
          ...market,
          contentHash: `${market.contentHash}-doubled`,
          fields: new Map([...market.fields, ['CLOSE', close]]),
          actions: market.actions.map((action) => ({
            ...action,
            value: perShare.has(action.type) ? 2 * action.value : action.value,
            subscriptionPrice: action.subscriptionPrice === null ? null : 2 * action.subscriptionPrice,
            ...(action.cash === undefined ? {} : { cash: 2 * action.cash }),
          })),
        };
        const first = tryRun(market, document, request);
        const other = tryRun(doubledMarket, document, request);
        expect(other === undefined).toBe(first === undefined);
        if (!first || !other) return;
        // Doubling is exact in binary arithmetic, so no values differ by rounding.
        expect(other.level).toEqual(first.level);
        expect(other.index.book.value).toEqual(first.index.book.value);
      }),
      { numRuns: RUNS },
    );
  });

  test('a fictitious split with matching prices changes no level', () => {
    fc.assert(
      fc.property(
        randomMarket,
        randomDocument,
        randomSignedRequest,
        fc.integer({ min: 5, max: 20 }),
        fc.nat(7),
        ({ market: drawn }, document, request, row, column) => {
          const market: MarketData = { ...drawn, adjustment: 'none' }; // adjusted prices would hide the split
          const names = market.identifiers.length;
          const identifier = market.identifiers[column]!;
          if (
            document.pipeline!.weighting.type === 'PriceWeight' || // holds one share, so a split changes its weights
            identifier === 'EURUSD' ||
            market.actions.some((action) => action.identifier === identifier || action.related === identifier)
          )
            return;
          const day = market.dates[row]!;
          const scalePanel = (panel: Float64Array, factor: number) =>
            panel.map((value, i) => (i % names === column && i >= row * names ? value * factor : value));
          const split: MarketData = {
            ...market,
            contentHash: `${market.contentHash}-split`,
            fields: new Map([
              ...market.fields,
              ['CLOSE', scalePanel(market.fields.get('CLOSE')!, 0.25)],
              ['SHARES_OUTSTANDING', scalePanel(market.fields.get('SHARES_OUTSTANDING')!, 4)],
            ]),
            actions: [
              ...market.actions,
              {
                identifier,
                type: 'SPLIT' as const,
                value: 4,
                exDay: day,
                payDay: null,
                status: null,
                announcedDay: null,
                related: null,
                subscriptionPrice: null,
              },
            ].toSorted(
              (a, b) => compareText(a.identifier, b.identifier) || a.exDay - b.exDay || compareText(a.type, b.type),
            ),
          };
          const first = tryRun(market, document, request);
          const other = tryRun(split, document, request);
          if (!first || !other) return;
          first.index.book.value.forEach((value, t) =>
            expect(Math.abs(other.index.book.value[t]! - value)).toBeLessThanOrEqual(1e-10 * value),
          );
        },
      ),
      { numRuns: RUNS },
    );
  });
});
