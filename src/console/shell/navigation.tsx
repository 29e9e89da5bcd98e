import { consoleLocation } from '../state/location.js';
import { Icon, type IconName } from '../components/icon.js';

interface Entry {
  readonly path: string;
  readonly text: string;
  readonly icon: IconName;
  /** Address prefixes for which the entry is highlighted. */
  readonly own?: readonly string[];
}

const NAVIGATION_ENTRIES: readonly Entry[] = [
  { path: '/', text: 'Indices', icon: 'indices', own: ['/console/indices', '/console/strategies', '/console/plugins'] },
  { path: '/console/dashboard', text: 'Dashboard', icon: 'dashboard' },
  { path: '/console/calendar', text: 'Calendar', icon: 'calendar' },
  { path: '/console/compare', text: 'Compare', icon: 'compare' },
  { path: '/console/optimise', text: 'Optimise', icon: 'optimise', own: ['/console/risk-models'] },
  { path: '/console/batches', text: 'Personal indices', icon: 'person' },
  { path: '/console/sweeps', text: 'Sweeps', icon: 'sweeps' },
  { path: '/console/data', text: 'Data', icon: 'data', own: ['/console/names', '/console/watchlists'] },
  { path: '/console/reports', text: 'Reports', icon: 'reports' },
  { path: '/console/actions', text: 'Actions', icon: 'spark' },
  { path: '/console/schedules', text: 'Schedules', icon: 'schedules' },
  { path: '/console/approvals', text: 'Approvals', icon: 'approvals' },
  { path: '/console/governance', text: 'Governance', icon: 'governance' },
  { path: '/console/jobs', text: 'Jobs', icon: 'jobs' },
  { path: '/console/health', text: 'Health', icon: 'health' },
];

export function Navigation() {
  const { path } = consoleLocation.value;
  return (
    <nav aria-label="Pages">
      <ul class="rail-links">
        {NAVIGATION_ENTRIES.map(({ path: address, text, icon, own = [] }) => {
          const isHere =
            path === address ||
            [address, ...own].some((start) => start !== '/' && (path === start || path.startsWith(`${start}/`)));
          return (
            <li key={address}>
              <a href={address} aria-current={isHere ? 'page' : undefined}>
                <Icon name={icon} />
                {text}
              </a>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}
