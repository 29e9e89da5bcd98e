import type { JobCommand } from '../job-command.js';
import { attribution, compare, levels, performance, rebalances, rolling, runs, weights } from './analytics.js';
import { view } from './any-view.js';
import { confirmAction, deskAction, deskActions, rejectAction, reopenAction } from './action-desk.js';
import { approvals, approve, comment, reject, showApproval, withdraw } from './approvals.js';
import { amend } from './amend.js';
import { activate, jobs, refresh, putWatchlist, renders, repair, stores, watchlists } from './data.js';
import { clients, deliveries, putClient, showClient } from './clients.js';
import { actions as indexActions, events, rebalancePack } from './desk.js';
import { plugins, putPlugin } from './plugins.js';
import { deleteDocument, documentDifference, restoreDocument, listVersionsCommand } from './documents.js';
import { overridePrice, overrides, withdrawOverride } from './overrides.js';
import { closures, recordClosures, showClosures } from './closures.js';
import {
  methodologyChanges,
  procedures,
  publishedErrors,
  putProcedure,
  showProcedure,
  statement,
} from './governance.js';
import { diff, explain, list, methodology, preview, put, restore, show, versions } from './indices.js';
import { actions, fields, names, prices, reference, series } from './market.js';
import { jobKinds, pauseKind, resumeKind } from './job-kinds.js';
import { publish, publishedKeys, rotateKey } from './publication.js';
import { retryJobs } from './retry-jobs.js';
import {
  backfillSchedule,
  judgements,
  putSchedule,
  showSchedule,
  runSchedule,
  schedules,
  scheduleStatus,
  skipSchedule,
  waiveSchedule,
} from './schedules.js';
import { putStrategy, strategies } from './strategies.js';
import { create, templates } from './templates.js';
import { dataDifference, dataVersions, removeIndex, runDifference } from './versions.js';
import { factorRisk, limits, termStructure, totalRisk } from './watch.js';

/**
 * Commands that show or change one resource of the service, by name. A name of two words belongs to a family of
 * commands.
 */
export const VIEW_COMMANDS: Readonly<Record<string, JobCommand<unknown>>> = {
  stores,
  activate,
  refresh,
  repair,
  jobs,
  'jobs retry': retryJobs,
  'jobs kinds': jobKinds,
  'jobs pause': pauseKind,
  'jobs resume': resumeKind,
  renders,
  'index list': list,
  'index templates': templates,
  'index new': create,
  'index show': show,
  'index put': put,
  'index amend': amend,
  'index diff': diff,
  'index versions': versions,
  'index restore': restore,
  'index delete': removeIndex,
  'index preview': preview,
  'index explain': explain,
  'index methodology': methodology,
  'index statement': statement,
  'index changes': methodologyChanges,
  versions: listVersionsCommand,
  'document diff': documentDifference,
  'document restore': restoreDocument,
  'document delete': deleteDocument,
  runs,
  'run diff': runDifference,
  levels,
  weights,
  rebalances,
  attribution,
  rolling,
  performance,
  view,
  'watchlist list': watchlists,
  'watchlist put': putWatchlist,
  'plugin list': plugins,
  'plugin put': putPlugin,
  compare,
  limits,
  'factor-risk': factorRisk,
  'total-risk': totalRisk,
  'term-structure': termStructure,
  events,
  actions: indexActions,
  'rebalance-pack': rebalancePack,
  'data names': names,
  'data prices': prices,
  'data reference': reference,
  'data actions': actions,
  'data series': series,
  'data fields': fields,
  'data versions': dataVersions,
  'data diff': dataDifference,
  'strategy list': strategies,
  'strategy put': putStrategy,
  'schedule list': schedules,
  'schedule put': putSchedule,
  'schedule show': showSchedule,
  'schedule status': scheduleStatus,
  'schedule run': runSchedule,
  'schedule skip': skipSchedule,
  'schedule waive': waiveSchedule,
  'schedule backfill': backfillSchedule,
  'schedule judgements': judgements,
  'client list': clients,
  'client show': showClient,
  'client put': putClient,
  'client deliveries': deliveries,
  'action list': deskActions,
  'action show': deskAction,
  'action confirm': confirmAction,
  'action reject': rejectAction,
  'action reopen': reopenAction,
  'approval list': approvals,
  'approval show': showApproval,
  'approval approve': approve,
  'approval reject': reject,
  'approval withdraw': withdraw,
  'approval comment': comment,
  publish,
  'override list': overrides,
  'override put': overridePrice,
  'override withdraw': withdrawOverride,
  'closure list': closures,
  'closure show': showClosures,
  'closure put': recordClosures,
  'procedure list': procedures,
  'procedure show': showProcedure,
  'procedure put': putProcedure,
  'publication errors': publishedErrors,
  'publication keys': publishedKeys,
  'publication rotate': rotateKey,
};
