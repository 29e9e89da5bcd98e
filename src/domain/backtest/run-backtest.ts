import { formatDay } from '../time/days.js';
import { isDerivedDocument } from '../documents/index-document.js';
import { findLastAtMost } from '../numbers/search.js';
import { listRunAssumptions } from './run-assumptions.js';
import { runBenchmark } from '../books/benchmark.js';
import { readSecurityCurrency, type Book } from '../books/book.js';
import type { Composer, Compositions } from '../books/compositions.js';
import { simulateIndexBook, isCapped, type IndexRun } from '../books/index-run.js';
import { countStale, groupFillsByRebalance, reportStaleFills } from '../books/stale-fills.js';
import { listTrades } from '../books/trades.js';
import { groupFindings, selectReportedFindings, reportPartialLastSession } from './run-findings.js';
import { listGaps } from '../books/gaps.js';
import { computeVariants } from './return-variants.js';
import { shortenBookEnd } from '../books/resumed-book.js';
import { computeRun, runIndex } from './compute-run.js';
import type { Run, RunInput } from './run.js';

/**
 * Runs a backtest: simulates the index from its definition, the portfolio that follows the index, and the benchmark.
 * The run is deterministic: two runs on one market and plan have bit-identical results.
 * @throws Refusal of every kind that a definition, a range or a market can cause
 */
export function runBacktest(input: RunInput): Run {
  const { plan, report } = input;
  const { request } = plan;
  const computedRun = computeRun(input);
  const { composer, document, index, portfolio, days, level, indexLevel, rebalances, range, from, to } = computedRun;
  const { compositions } = index;
  report(0.7, 'measuring');
  const benchmark =
    request.benchmark &&
    runBenchmark({
      composer,
      reference: request.benchmark,
      compositions,
      level: { days, values: level },
      from,
      to,
      range,
    });
  const parent = isDerivedDocument(document)
    ? runParent(composer, document.derivation.source_index_id, days.at(-1)!)
    : null;
  const findings = groupFindings({
    decisions: compositions.findings,
    solves: computedRun.warnings,
    index: index.book,
    portfolio,
    currency: readSecurityCurrency(index.book, document),
  });
  const staleFills = groupFillsByRebalance(portfolio, rebalances);
  const stale = countStale(staleFills);
  const assumptions = [
    ...listRunAssumptions(input, { ...compositions, document }, days, benchmark && benchmark.relative.days),
    ...reportStaleFills(stale),
    ...reportPartialLastSession(portfolio),
  ];
  const { variants, ends } = computeVariants(index, to);
  const rawBook = simulateUncapped(compositions, to);
  return {
    plan,
    document,
    days,
    level,
    indexLevel,
    portfolio,
    index,
    parent,
    benchmark,
    rebalances,
    staleFills,
    reached: composer.composed(),
    trades: listTrades(portfolio),
    metrics: computedRun.metrics,
    totalCosts: computedRun.totalCosts,
    rebalancesWithin: rebalances.filter(({ session }) => session >= from).length,
    gaps: listGaps([index.book, portfolio], from),
    findings: selectReportedFindings(findings, { assumptions, since: formatDay(rebalances[0]!.date) }),
    variants,
    uncapped: rawBook && rawBook.value,
    remains: { ...ends, uncapped: rawBook && shortenBookEnd(rawBook), findings, stale, solves: computedRun.solves },
  };
}

/** Simulates the index without caps and floor. Returns null if its weighting has neither. */
function simulateUncapped(compositions: Compositions, to: number): Book | null {
  return isCapped(compositions) ? simulateIndexBook({ compositions, to, uncapped: true, isBrief: true }) : null;
}

function runParent(composer: Composer, parentId: string, end: number): IndexRun {
  const compositions = composer.compositions(parentId);
  return runIndex(compositions, { to: findLastAtMost(compositions.sm.sessions, end), coverage: null });
}
