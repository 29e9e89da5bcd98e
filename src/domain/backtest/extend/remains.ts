import type { Finding } from '../../refusals/findings.js';
import type { ReturnVariant } from '../../market/market-data.js';
import { limitJumps } from '../price-jumps.js';
import { groupFindings, sortByRebalance } from '../run-findings.js';
import type { FindingGroups, RunEndState } from '../run.js';
import { readSecurityCurrency, type Book, type LevelsOnlyEnd } from '../../books/book.js';
import { extendStoredBook, type StoredBook } from '../../books/resumed-book.js';
import { countStale, type StaleFills } from '../../books/stale-fills.js';
import type { RunCheckpoint } from './checkpoint.js';
import type { Continuation, IndexContinuation } from './continuation.js';
import { isStoredOverlay, extendStoredIndex } from './overlay-state.js';

/** Returns the end state of a stored run after the new sessions. */
export function createRemains(
  checkpoint: RunCheckpoint,
  continuation: Continuation,
  staleFills: ReadonlyMap<number, StaleFills>,
): RunEndState {
  const { index, portfolio, variants, uncapped, solves } = continuation;
  const { findings, stale, decisionsBeneath } = checkpoint.remains;
  const underlyingFindings = decisionsBeneath && appendDecisions(decisionsBeneath, index);
  const findingGroups = groupFindings({
    decisions: index.findings,
    solves: solves.findings,
    index: index.book,
    portfolio,
    currency: readSecurityCurrency(index.book, index.document),
  });
  const groups = Object.fromEntries(
    Object.entries(findings).map(([group, storedFindings]) => [
      group,
      [...storedFindings, ...findingGroups[group as keyof FindingGroups]],
    ]),
  );
  return {
    ...listVariantEnds(checkpoint, variants),
    uncapped: uncapped && createBriefEnd(createSeparateBook(checkpoint), uncapped),
    stale: countStale(staleFills, stale),
    solves: solves.memory,
    // Object.fromEntries loses the key type: every group is among the entries.
    findings: {
      ...(groups as unknown as FindingGroups),
      jumps: limitJumps(groups.jumps!),
      decisions: sortByRebalance(underlyingFindings?.flat() ?? [...findings.decisions, ...index.findings]),
    },
    ...(underlyingFindings ? { decisionsBeneath: underlyingFindings } : {}),
  };
}

/** Appends the findings of new decisions on underlying indices to those of the stored run, index by index. */
function appendDecisions(
  storedFindings: readonly (readonly Finding[])[],
  index: IndexContinuation,
): readonly (readonly Finding[])[] {
  const collectFindings = (indexContinuation: IndexContinuation): (readonly Finding[])[] =>
    indexContinuation.beneath?.flatMap(collectFindings) ?? [indexContinuation.findings];
  const addedFindings = collectFindings(index);
  return storedFindings.map((findings, k) => [...findings, ...addedFindings[k]!]);
}

type VariantEnds = Pick<RunEndState, 'variants' | 'overlays'>;

/**
 * Returns the end state of the index in each return variant of `variants`. For an overlay, this is the state of the
 * overlay.
 */
function listVariantEnds(checkpoint: RunCheckpoint, variants: Continuation['variants']): VariantEnds {
  const { overlays } = checkpoint.remains;
  const books = Object.entries(variants) as [ReturnVariant, Book][];
  if (overlays !== undefined) {
    const overlayStates = books.map(
      ([variant, book]) => [variant, extendStoredIndex(overlays[variant]!, book)] as const,
    );
    return { variants: {}, overlays: Object.fromEntries(overlayStates) };
  }
  const variantEnds = books.map(
    ([variant, book]) => [variant, createBriefEnd(createSeparateBook(checkpoint), book)] as const,
  );
  return { variants: Object.fromEntries(variantEnds) };
}

function createSeparateBook({ index }: RunCheckpoint): StoredBook {
  if (isStoredOverlay(index)) throw new Error('an overlay has no separate book');
  return index;
}

function createBriefEnd(before: StoredBook, book: Book): LevelsOnlyEnd {
  const { end, orders } = extendStoredBook(before, book);
  return { end, orders };
}
