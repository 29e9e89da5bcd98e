import { requireWithholdingRates } from '../index-mathematics/withholding.js';
import { SESSIONS_PER_CALL, getValuePanel } from '#kernels/engines/value-panel.js';
import { listAbsences } from '../market/absences.js';
import { createExchangeRates, requireRatesAboveZero } from '../market/exchange-rates.js';
import { computeValueIndex } from '../index-mathematics/growth.js';
import { createEffectTable } from '../index-mathematics/session-effects.js';
import { holdsShares, toShortTerms } from '../index-mathematics/growth-terms.js';
import { findTreatment } from '../documents/treatment.js';
import { roundsAny } from '../documents/dated-rounding.js';
import { createGrowingFloats, createGrowingIntegers } from '#base/memory/growing-numbers.js';
import { allocateRetainedFloats } from '#base/memory/retained-memory.js';
import { RETURN_VARIANTS } from '../market/market-data.js';
import type { BookInput, BookResume } from './book.js';
import { listBookSecurities } from './book-securities.js';
import { createShareRecorder, recordShares, toShareTime } from './share-record.js';
import { openCounts } from './security-counts.js';
import { adoptCounts } from './share-changes.js';
import {
  type BookState,
  type Order,
  type TransferRecorder,
  copyPending,
  NO_COLUMNS,
  isOneRunOf,
} from './book-state.js';

/**
 * Creates the state of a book at its first session.
 * @throws Refusal NUMERIC_FAILURE for an exchange rate of 0 or less, NO_RATE if the withholding tax has no rate for the
 * dividends of a security
 */
export function openBook(input: BookInput): BookState {
  const { sm, from, to, growth, treatment, targets, indexTerms = growth } = input;
  const { resume } = input;
  const columns = resume
    ? listBookSecurities({ sm, targets: [...targets, resume], from: resume.first, to })
    : listBookSecurities({ sm, targets: [...targets, ...listPendingColumns(input)], from, to });
  requireRatesAboveZero(sm, columns, { currency: growth.currency, from, to });
  requireTaxes(input, columns);
  const slotByColumn = new Int32Array(sm.securityCount).fill(-1);
  columns.forEach((column, slot) => (slotByColumn[column] = slot));
  const H = columns.length;
  const shortTerms = toShortTerms(growth);
  const index = computeValueIndex(sm, indexTerms);
  const state: BookState = {
    input,
    sm,
    treatment: findTreatment(treatment, sm.sessions[from]!),
    growth,
    outside: input.outside,
    columns,
    slotOf: slotByColumn,
    rates: createExchangeRates(sm, growth.currency),
    index,
    panel: getValuePanel(index),
    effects: createEffectTable(sm, growth),
    ofShorts: createEffectTable(sm, shortTerms),
    inIndex: growth.reinvestment === 'index' || indexTerms === growth ? null : createEffectTable(sm, indexTerms),
    absences: listAbsences(sm),
    targetsOn: new Map(targets.map((entry) => [entry.session, entry])),
    ...allocateSessionArrays(input, H),
    events: [],
    gaps: [],
    silent: [],
    orders: [],
    waiting: [],
    ...allocateSlotArrays(H),
    shareCounts: openCounts(input, columns),
    shareRecorder: holdsShares(growth) ? createShareRecorder(input, H) : null,
    count: 0,
    periodCount: 0,
    isOneRun: false,
    periodValue: input.initialValue,
    periodLevel: 1,
    periodCash: 1,
    path: 1,
    carry: 1,
    reinvestedIncome: { total: 1, net: 1, ...input.followed?.shares?.levels.reinvested },
    stated: input.followed?.shares?.levels.stated ?? { marketValue: Number.NaN, divisor: 1, level: 1 },
    exactDivisor: allocateExactDivisor(input),
    transfers: createTransferRecorder(),
    ...allocateIncome(input),
    periods: 0,
    ahead: { from: 0, to: 0, period: -1, values: new Float64Array(SESSIONS_PER_CALL) },
    rowSession: from,
    ...createInitialState(),
    renamed: new Map(),
  };
  if (resume) resumeState(state, resume);
  else state.divisor[0] = input.followed?.shares?.divisor ?? input.baseDivisor ?? 1;
  return state;
}

const createTransferRecorder = (): TransferRecorder => ({
  at: createGrowingIntegers(),
  slot: createGrowingIntegers(),
  dividends: createGrowingFloats(),
  moved: createGrowingFloats(),
  keptAt: createGrowingIntegers(),
  kept: createGrowingFloats(),
});

const createInitialState = () => ({
  hasNewShares: false,
  holdsBasket: false,
  missing: NO_COLUMNS,
  children: [],
  droppedChildren: NO_COLUMNS,
  today: undefined,
});

function requireTaxes({ sm, growth, from, to }: BookInput, columns: Int32Array): void {
  const [first, last] = [sm.sessions[from]!, sm.sessions[to]!];
  const { amended = [] } = growth;
  const spans = [{ after: first - 1, withholdingTax: growth.withholdingTax }, ...amended];
  spans.forEach(({ after, withholdingTax }, k) => {
    const span = { from: Math.max(first, after + (k === 0 ? 1 : 0)), to: Math.min(last, amended[k]?.after ?? last) };
    if (span.from <= span.to) requireWithholdingRates(sm.market, withholdingTax, { columns, ...span });
  });
}

function allocateExactDivisor({ rounding, growth, from, to }: BookInput): BookState['exactDivisor'] {
  const isRounded = roundsAny(rounding, 'divisor') && holdsShares(growth);
  return isRounded ? new Float64Array(to - from + 1).fill(1) : null;
}

/** Allocates the values of a book by session, and the weights. */
function allocateSessionArrays({ from, to, growth, isBrief = false, roomForWeights }: BookInput, H: number) {
  const length = to - from + 1;
  const memory = allocateRetainedFloats(7 * length);
  const hasDividends = holdsShares(growth) && growth.variant !== 'price';
  const weights = roomForWeights?.(length * H) ?? new Float64Array((isBrief ? 1 : length) * H);
  weights.fill(0, 0, H); // each further row is cleared before it is written
  const sliceSeries = (place: number): Float64Array => memory.subarray(place * length, (place + 1) * length);
  const gross = sliceSeries(1).fill(1);
  return {
    value: sliceSeries(0),
    gross,
    drift: hasDividends ? sliceSeries(6).fill(1) : gross,
    paths: sliceSeries(2).fill(1),
    begins: new Uint8Array(length),
    divisor: sliceSeries(3).fill(1),
    costs: sliceSeries(4),
    weights,
    cash: sliceSeries(5),
    counts: new Int32Array(length),
  };
}

/** Allocates the levels and dividend points of a book whose units are shares. Returns null for other books. */
function allocateIncome(input: BookInput): Pick<BookState, 'reinvested'> {
  const { growth, followed, initialValue, from, to } = input;
  if (!holdsShares(growth)) return { reinvested: null };
  const length = to - from + 1;
  const memory = allocateRetainedFloats(5 * length);
  const sliceSeries = (place: number): Float64Array => memory.subarray(place * length, (place + 1) * length);
  const levels = { price: sliceSeries(0), total: sliceSeries(1), net: sliceSeries(2) };
  for (const variant of RETURN_VARIANTS) levels[variant][0] = followed?.shares?.levels[variant] ?? initialValue;
  return { reinvested: { levels, points: sliceSeries(3), netPoints: sliceSeries(4) } };
}

/** Allocates the values of a book by security. */
function allocateSlotArrays(H: number) {
  return {
    everHeld: new Uint8Array(H),
    heldSlots: new Int32Array(H),
    isHeld: new Uint8Array(H),
    units: new Float64Array(H),
    heldColumns: new Int32Array(H),
    places: new Int32Array(H),
    targetWeights: new Float64Array(H),
    before: new Float64Array(H),
    expectedShares: new Float64Array(H),
    slots: new Int32Array(H),
  };
}

/** Sets the state to the end state of the resumed book. */
function resumeState(state: BookState, { end, orders }: BookResume): void {
  const { input, slotOf, columns, weights, heldSlots, heldColumns, places, units, isHeld, everHeld } = state;
  state.count = end.held.length;
  for (let k = 0; k < end.held.length; k++) {
    const slot = slotOf[end.held[k]!]!;
    heldSlots[k] = slot;
    heldColumns[k] = columns[slot]!;
    places[slot] = k;
    units[k] = end.units[k]!;
    if (state.shareRecorder !== null) recordShares(state.shareRecorder, toShareTime(0, 'after'), slot, end.units[k]!);
    weights[slot] = end.weights[k]!;
    isHeld[slot] = 1;
    everHeld[slot] = 1;
  }
  state.periodCount = state.count;
  state.isOneRun = isOneRunOf(heldColumns, state.count);
  adoptCounts(state, { columns: end.held, ...(end.counts ? { counts: end.counts } : {}) });
  state.value[0] = end.value;
  state.cash[0] = end.cash;
  state.divisor[0] = end.divisor;
  state.counts[0] = state.count;
  state.periodValue = end.stretchValue;
  state.periodCash = end.stretchCash;
  state.path = end.path;
  state.carry = end.carry;
  state.holdsBasket = end.holdsBasket;
  if (state.exactDivisor) state.exactDivisor[0] = end.exactDivisor ?? 1;
  state.paths[0] = end.path * end.carry;
  if (state.reinvested && end.levels) {
    const { levels } = state.reinvested;
    levels.price[0] = end.levels.price;
    levels.total[0] = end.levels.total;
    levels.net[0] = end.levels.net;
    state.stated = end.levels.stated;
    Object.assign(state.reinvestedIncome, end.levels.reinvested);
    state.periodLevel = end.levels.atStretchStart;
  }
  copyPending(state, end);
  state.orders.push(...orders.map((order): Order => ({ ...order, slot: slotOf[order.slot]! })));
  state.waiting = end.waiting.map((position) => state.orders[position]!);
  state.rowSession = input.from;
}

function listPendingColumns({ followed: pending }: BookInput): { readonly columns: readonly number[] }[] {
  return pending
    ? [{ columns: [...pending.children.map(({ column }) => column), ...pending.renamed.map(([, into]) => into)] }]
    : [];
}
