import { formatAddress } from '../../state/location.js';
import {
  formatApprovalAddress,
  formatClosuresAddress,
  formatGovernanceAddress,
  formatIndexAddress,
  formatPluginAddress,
  formatRiskModelAddress,
  formatScheduleAddress,
  formatStrategyAddress,
  formatTemplateAddress,
  formatWatchlistAddress,
  storeAddress,
} from '../../words/addresses.js';

/** Returns the address of a document of the audit log. Returns null if the document has no page. */
export function formatDocumentAddress(kind: string, id: string): string | null {
  const [owner = '', entry = ''] = id.split('/');
  switch (kind) {
    case 'index':
    case 'run':
      return formatIndexAddress(id);
    case 'publication':
      return formatAddress(formatIndexAddress(owner), { tab: 'publication' });
    case 'publication-error':
      return formatAddress(formatGovernanceAddress('errors'), { entry: `${owner} ${Number(entry)}` });
    case 'strategy':
      return formatStrategyAddress(id);
    case 'plugin':
      return formatPluginAddress(id);
    case 'template':
      return formatTemplateAddress(id);
    case 'render':
      return formatAddress('/console/reports', { render: id });
    case 'risk-model':
      return formatRiskModelAddress(id);
    case 'optimisation-run':
      return `/console/optimise/runs/${encodeURIComponent(id)}`;
    case 'store':
      return storeAddress(id);
    case 'data-version':
      return formatAddress(storeAddress(id), { tab: 'versions' });
    case 'watchlist':
      return formatWatchlistAddress(id);
    case 'closures':
      return formatClosuresAddress(id);
    case 'client':
    case 'procedure':
      return formatGovernanceAddress(`${kind}s`, id);
    case 'schedule':
      return formatScheduleAddress(id);
    case 'judgement':
      return formatAddress(formatGovernanceAddress('judgements'), { entry: `${owner} ${Number(entry)}` });
    case 'action-decision':
      return formatAddress('/console/actions', { action: id });
    case 'approval':
      return formatApprovalAddress(Number(entry));
    default:
      return null;
  }
}
