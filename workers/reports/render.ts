import { Refusal } from '#domain/base/refusals.js';
import { openMarketOn, type SessionMarket } from '#domain/market/session-market.js';
import { needsMarket, needsRisk } from '#domain/outputs/report-templates.js';
import type { Task } from '#jobs/tasks/catalogue.js';
import type { RenderInput } from '#jobs/tasks/runs.js';
import { createRunFigures, type Missing, type RiskResult, type RunFigures } from '#views/report/figures.js';
import { renderReport } from '#views/report/render-report.js';
import { type FontShelf, openFonts } from '#views/report/text.js';
import { formatOverview } from '../runs/stored-runs.js';
import { measureRisk, readHoldings } from '../views/run-holdings.js';
import { openCachedCalendars, openCachedMarket, runOnEngine } from '../input/inputs.js';
import { useRunFile } from '../run-files.js';
import { copyOutput, writeOutputs } from '../output/task-outputs.js';

type StoredRun = RenderInput['runs'][number];

let fonts: FontShelf | undefined;

/** Creates a report from stored runs. The columns of the runs stay open meanwhile. Fonts are read once per thread. */
export const render: Task<'render'> = async ({ template, runs, renderedAt, creator, outputs }, control) => {
  const risks = new Map<string, RiskResult>();
  const markets = new Map<string, SessionMarket | Missing>();
  for (const run of runs) {
    if (needsMarket(template, run.indexId)) markets.set(run.indexId, openMarket(run));
    risks.set(run.indexId, needsRisk(template, run.indexId) ? await estimateRisk(run) : NO_RISK);
  }
  fonts ??= openFonts();
  const fontShelf = fonts;
  const { bytes, pages } = addRuns(runs, { risks, markets, opened: new Map() }, (figures) =>
    renderReport({
      template,
      figures,
      renderedAt,
      creator,
      fonts: fontShelf,
      report: (fraction, message) => control.report(fraction, message),
    }),
  );
  return { ...(await writeOutputs(outputs, { pdf: copyOutput(bytes) })), pages };
};

const NO_RISK: RiskResult = { missing: 'No risk was estimated.' };

/** Returns the market on the calendar of a run, or the reason why it is unavailable. */
function openMarket({ columns, market: handle }: StoredRun): SessionMarket | Missing {
  if (handle === null) return { missing: 'This needs the data store of the run, which cannot be read.' };
  const { calendar: code, closures } = useRunFile(columns, ({ header }) => header);
  return openMarketOn({ market: openCachedMarket(handle), calendars: openCachedCalendars(closures), code });
}

/** Estimates risk. If risk cannot be estimated, the report states this and is still created. */
async function estimateRisk({ columns, market: handle }: StoredRun): Promise<RiskResult> {
  if (handle === null) return { missing: 'Risk estimates need the data store of the run, which cannot be read.' };
  const runHoldings = useRunFile(columns, (run) => readHoldings(run, null));
  try {
    return {
      measured: await runOnEngine(
        (engine) => measureRisk(engine, { runHoldings, market: openCachedMarket(handle), benchmark: null }).risk,
      ),
    };
  } catch (failure) {
    if (failure instanceof Refusal) return { missing: failure.message };
    throw failure;
  }
}

interface OpenedRuns {
  readonly risks: ReadonlyMap<string, RiskResult>;
  readonly markets: ReadonlyMap<string, SessionMarket | Missing>;
  readonly opened: ReadonlyMap<string, RunFigures>;
}

/** Opens several runs and passes them to a function. Closes them after the function has ended. */
function addRuns<T>(
  runs: readonly StoredRun[],
  { risks, markets, opened }: OpenedRuns,
  use: (figures: ReadonlyMap<string, RunFigures>) => T,
): T {
  const [first, ...remainingRenderedRuns] = runs;
  if (first === undefined) return use(opened);
  const market = markets.get(first.indexId);
  return useRunFile(first.columns, (columns) => {
    const figures = createRunFigures({
      columns,
      overview: formatOverview(columns, first.overview),
      risk: risks.get(first.indexId) ?? NO_RISK,
      terms: first.terms,
      difference: first.difference,
      ...(market === undefined ? {} : { market }),
      stale: first.stale,
    });
    return addRuns(
      remainingRenderedRuns,
      { risks, markets, opened: new Map([...opened, [first.indexId, figures]]) },
      use,
    );
  });
}
