import { listClosures } from '#domain/calendars/closures.js';
import type { Book } from '#domain/books/book.js';
import { findCompositionInForce } from '#domain/books/compositions.js';
import { createComposer } from '#domain/books/create-composer.js';
import { createIndexDeciders } from '#domain/backtest/index-decider.js';
import { simulateIndexBook } from '#domain/books/index-run.js';
import { formatDay, type Day } from '#domain/time/days.js';
import type { MarketData } from '#domain/market/market-data.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { findLastAtMost } from '#domain/numbers/search.js';
import type { ComparedWith } from '#jobs/tasks/views.js';
import type { Engine } from '#kernels/engines/engine.js';
import { openCachedCalendars } from '../input/opened-calendars.js';
import { openModels } from '../input/opened-models.js';

export interface BenchmarkInput {
  readonly indexId: string;
  readonly documents: ComparedWith['documents'];
  readonly models?: ComparedWith['models'];
  readonly market: MarketData | null;
  readonly day: Day;
  /** Called at intervals during the run. */
  readonly onPart?: (() => void) | undefined;
}

/**
 * Maximum number of books (holdings of an index by day) that a thread caches per market. The second value limits the
 * bytes of weights of one book.
 */
const BOOKS_MAX = 2;
const BOOK_BYTES_MAX = 64 * 2 ** 20;

/**
 * Books up to the last session of their market. The book whose last use is oldest comes first. The books are released
 * with the market.
 */
const booksByMarket = new WeakMap<MarketData, Map<string, Book>>();

/**
 * Runs an index from its definition and returns a book (its holdings by day) that reaches a day. Later data does not
 * change earlier days, so that one book serves every requested day.
 * @throws Refusal NO_DATA_SOURCE, NO_DATA_AT_DATE, and the refusals of the index run
 * @cost of running the index, once per definition and market
 */
export function runBenchmarkBook(engine: Engine, input: BenchmarkInput): Book {
  const market = requireMarket(input);
  const books = getBooks(market);
  const key = JSON.stringify([input.indexId, input.documents, input.models]);
  const cachedBook = books.get(key);
  const book = cachedBook ?? findWholeBook(engine, { ...input, market }) ?? runBookUntil(engine, { ...input, market });
  books.delete(key);
  const isWhole = book.from + book.length === book.sm.sessions.length;
  if (isWhole && book.weights.byteLength <= BOOK_BYTES_MAX) books.set(key, book);
  if (books.size > BOOKS_MAX) books.delete(books.keys().next().value!);
  if (book.from > findLastAtMost(book.sm.sessions, input.day))
    throw refuseTooEarly(input, formatDay(book.sm.sessions[book.from]!));
  return book;
}

/** Returns the weights of an index on a day. @throws Refusal like `runBenchmarkBook` */
export function computeBenchmarkWeights(engine: Engine, input: BenchmarkInput): ReadonlyMap<string, number> {
  const { sm, columns, weights, from } = runBenchmarkBook(engine, input);
  const row = (findLastAtMost(sm.sessions, input.day) - from) * columns.length;
  return new Map(
    [...columns].flatMap((column, slot): [string, number][] =>
      weights[row + slot] !== 0 ? [[sm.identifiers[column]!, weights[row + slot]!]] : [],
    ),
  );
}

interface ServedInput extends BenchmarkInput {
  readonly market: MarketData;
}

/**
 * Returns the book up to the end of the market. Undefined if the rules refuse an event: it may be later than the
 * requested day, so the caller computes the book only up to that day.
 */
function findWholeBook(engine: Engine, input: ServedInput): Book | undefined {
  try {
    return runBookUntil(engine, { ...input, day: input.market.dates.at(-1)! });
  } catch (thrown) {
    if (thrown instanceof Refusal) return undefined;
    throw thrown;
  }
}

function runBookUntil(engine: Engine, input: ServedInput): Book {
  const { indexId, documents, models, market, day, onPart = () => {} } = input;
  const composer = createComposer({
    market,
    calendars: openCachedCalendars(listClosures(documents)),
    documents,
    models: openModels(models),
    until: day,
    createDecider: createIndexDeciders(engine),
  });
  const compositions = composer.compositions(indexId);
  const session = findLastAtMost(compositions.sm.sessions, day);
  if (!findCompositionInForce(compositions.list, session)) throw refuseTooEarly(input, documents[indexId]!.base_date);
  onPart();
  return simulateIndexBook({ compositions, to: session, tick: onPart });
}

function refuseTooEarly({ indexId, day }: BenchmarkInput, begins: string): Refusal {
  return new Refusal(
    'NO_DATA_AT_DATE',
    `The benchmark ${indexId} begins on ${begins}; it has no holdings on ${formatDay(day)}.`,
  );
}

function requireMarket({ market }: BenchmarkInput): MarketData {
  if (!market) throw new Refusal('NO_DATA_SOURCE', 'No data store is active to run the benchmark on.');
  return market;
}

function getBooks(market: MarketData): Map<string, Book> {
  const cachedBook = booksByMarket.get(market) ?? new Map<string, Book>();
  booksByMarket.set(market, cachedBook);
  return cachedBook;
}
