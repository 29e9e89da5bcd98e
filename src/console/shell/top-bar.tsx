import { Badge } from '../components/badge.js';
import { Icon } from '../components/icon.js';
import { Progress } from '../components/progress.js';
import { getCheckKind, health, liveJobs } from '../state/live.js';
import { chooseTheme, theme, THEMES, type Theme } from '../state/theme.js';
import { storeAddress } from '../words/addresses.js';
import { countValues } from '../words/numbers.js';
import { ViewMenu } from './view-menu.js';

interface TopBarProps {
  readonly onMenu: () => void;
  readonly isMenuOpen: boolean;
  readonly onFind: () => void;
}

export function TopBar({ onMenu, isMenuOpen, onFind }: TopBarProps) {
  return (
    <header class="top-bar">
      <button
        type="button"
        class="bar-button menu-button"
        aria-expanded={isMenuOpen}
        aria-controls="rail"
        aria-label="Pages"
        onClick={onMenu}
      >
        <Icon name="menu" />
      </button>
      <button type="button" class="bar-button find-button" onClick={onFind}>
        <Icon name="search" />
        <span>Go to</span>
        <kbd>Ctrl K</kbd>
      </button>
      <div class="bar-state">
        <JobsState />
        <StoreState />
        <ViewMenu />
        <ThemeChoice />
      </div>
    </header>
  );
}

/** Renders a short state of the running jobs. It is a link to the page of jobs. */
function JobsState() {
  const jobs = liveJobs.value;
  if (jobs.length === 0) return null;
  const running = jobs.filter(({ status }) => status === 'running');
  const progress = running.reduce((sum, job) => sum + job.progress, 0) / Math.max(1, running.length);
  return (
    <a class="bar-jobs" href="/console/jobs">
      <span>{countValues(jobs.length, 'job')}</span>
      <Progress value={progress} label="Progress of running jobs" />
    </a>
  );
}

/** Renders the name of the served store and its last date, with the worst state of the health checks. */
function StoreState() {
  const { store, checks = [] } = health.value ?? {};
  if (store === undefined) return null;
  if (store.active === null)
    return (
      <a href="/console/data">
        <Badge kind="warning">no data served</Badge>
      </a>
    );
  const kinds = checks.map(getCheckKind);
  const worstKind = (['bad', 'warning'] as const).find((kind) => kinds.includes(kind)) ?? 'good';
  const remarks = checks.flatMap((check) => (getCheckKind(check) === 'good' ? [] : (check.message ?? check.name)));
  return (
    <a class="bar-store" href={storeAddress(store.active)} title={remarks.join('\n') || undefined}>
      <span class={`dot ${worstKind}`} aria-hidden="true" />
      <span class="quiet">Served</span>
      <span class="bar-store-name">{store.active}</span>
      <span class="quiet bar-store-end">{store.end ?? store.status}</span>
    </a>
  );
}

const THEME_WORDS: Readonly<Record<Theme, string>> = { system: 'system', light: 'light', dark: 'dark' };

function ThemeChoice() {
  const now = theme.value;
  const next = THEMES[(THEMES.indexOf(now) + 1) % THEMES.length]!; // the modulo keeps the position within the list
  return (
    <button
      type="button"
      class="bar-button"
      aria-label={`Theme: ${THEME_WORDS[now]}. Change to ${THEME_WORDS[next]}.`}
      title={`Theme: ${THEME_WORDS[now]}`}
      onClick={() => chooseTheme(next)}
    >
      <Icon name={now === 'dark' ? 'moon' : now === 'light' ? 'sun' : 'theme'} />
    </button>
  );
}
