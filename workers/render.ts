import { readFileSync } from 'node:fs';
import type { MarketHandle } from '#domain/market/handle.js';
import { Refusal } from '#domain/refusal.js';
import { needsRisk } from '#domain/reports/block-kinds.js';
import type { Task } from '#jobs/tasks.js';
import type { RenderInput } from '#jobs/tasks/outputs.js';
import { createRunFigures, type RiskFound, type RunFigures } from '#views/report/figures.js';
import { renderReport } from '#views/report/render-report.js';
import { openFonts, type FontShelf } from '#views/report/text/fonts.js';
import { measureRisk, readHeld } from './held-risk.js';
import { onEngine } from './numerics.js';
import { openedMarket } from './open-markets.js';
import { withRunFile } from './run-file.js';
import { outputContent, writeOutputs } from './task-outputs.js';

type StoredRun = RenderInput['runs'][number];

let fonts: FontShelf | undefined;

/** A report drawn from stored runs, whose columns stay open while it is. Fonts are read once per thread. */
export const render: Task<'render'> = async ({ template, runs, renderedAt, market, outputs }, control) => {
  const risks = new Map<string, RiskFound>();
  for (const run of runs)
    risks.set(run.indexId, needsRisk(template, run.indexId) ? await riskOf(run, market) : NOT_ASKED);
  fonts ??= openFonts();
  const shelf = fonts;
  const { bytes, pages } = withRuns(runs, { risks, opened: new Map() }, (figures) =>
    renderReport({
      template,
      figures,
      renderedAt,
      fonts: shelf,
      report: (fraction, message) => control.report(fraction, message),
    }),
  );
  return { ...(await writeOutputs(outputs, { pdf: outputContent(bytes) })), pages };
};

const NOT_ASKED: RiskFound = { missing: 'No risk was estimated.' };

/** A figure that cannot be estimated says so in the report, which is drawn all the same. */
async function riskOf({ columns, isOtherDataset }: StoredRun, handle: MarketHandle | null): Promise<RiskFound> {
  if (handle === null) return { missing: 'Risk is estimated from the data store being served; none is.' };
  if (isOtherDataset)
    return {
      missing: `Risk is estimated from the data store being served, ${handle.datasetId}; the run was made on another.`,
    };
  const held = withRunFile(columns, (run) => readHeld(run, null));
  try {
    return {
      measured: await onEngine(
        (engine) => measureRisk(engine, { held, market: openedMarket(handle), benchmark: null }).risk,
      ),
    };
  } catch (failure) {
    if (failure instanceof Refusal) return { missing: failure.message };
    throw failure;
  }
}

interface Opening {
  readonly risks: ReadonlyMap<string, RiskFound>;
  readonly opened: ReadonlyMap<string, RunFigures>;
}

/** Opens several runs at once. */
function withRuns<T>(
  runs: readonly StoredRun[],
  { risks, opened }: Opening,
  use: (figures: ReadonlyMap<string, RunFigures>) => T,
): T {
  const [first, ...rest] = runs;
  if (first === undefined) return use(opened);
  return withRunFile(first.columns, (columns) => {
    const figures = createRunFigures({
      columns,
      overview: readOverview(first.overview),
      risk: risks.get(first.indexId) ?? NOT_ASKED,
      terms: first.terms,
      stale: first.stale,
    });
    return withRuns(rest, { risks, opened: new Map([...opened, [first.indexId, figures]]) }, use);
  });
}

function readOverview(path: string): Uint8Array {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new Refusal('DOCUMENT_UNREADABLE', 'The stored run cannot be read: its file is not there.', null, { cause });
  }
}
