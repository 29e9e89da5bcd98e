import type { JobCommand } from '../job-command.js';
import { account } from './account.js';
import { backtest } from './backtest.js';
import { batch } from './batch.js';
import { backtests } from './backtests.js';
import { importMarket } from './import.js';
import { importRisk } from './import-risk.js';
import { inspectData } from './inspect.js';
import { optimise } from './optimise.js';
import { report } from './report.js';
import { risk } from './risk.js';
import { rerun } from './rerun.js';
import { study } from './study.js';
import { sweep } from './sweep.js';
import { validateRisk } from './validate-risk.js';

/** Commands that submit work to the service and follow it, by name. Each has its own type of result. */
export const JOB_COMMANDS: Readonly<Record<string, JobCommand<unknown>>> = {
  import: importMarket,
  inspect: inspectData,
  backtest,
  backtests,
  rerun,
  sweep,
  batch,
  account,
  optimise,
  study,
  risk,
  'import-risk': importRisk,
  'validate-risk': validateRisk,
  report,
};
