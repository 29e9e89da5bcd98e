import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createMetrics } from '#http/metrics.js';

const rules = readFileSync('data/deploy/prometheus-rules.yaml', 'utf8');
const dashboard = JSON.parse(readFileSync('data/deploy/grafana-dashboard.json', 'utf8')) as {
  readonly panels: readonly {
    readonly id: number;
    readonly title: string;
    readonly gridPos: Readonly<Record<'x' | 'y' | 'w' | 'h', number>>;
    readonly targets: readonly { readonly expr: string }[];
  }[];
};
const expressions = [
  ...[...rules.matchAll(/^ {8}expr: '(.*)'$/gm)].map(([, expression]) => expression!),
  ...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
];

/** Names of everything that a service on a database exposes. */
async function exposedNames(): Promise<ReadonlySet<string>> {
  const load = { waiting: 0, running: 0, places: 1, oldestSeconds: null };
  const metrics = createMetrics({
    version: '1',
    commit: '1',
    jobs: async () => ({ pending: 0, running: 0 }),
    lanes: async () => ({ heavy: load, huge: load, light: load }),
    tasks: () => 0,
    homeBytes: async () => ({ documents: 1 }),
    freeBytes: async () => 1,
    shared: () => ({ databaseBytes: 1, results: 1, resultBytes: 1 }),
    database: {
      onStatement: (call) => call(0.1, true),
      connections: () => ({ open: 1, idle: 1, waiting: 0 }),
      isSilent: () => false,
      clockOffset: () => 0,
      nodes: async () => ({ live: 1, lost: 0 }),
    },
  });
  metrics.observe({ operation: 'getHealth', method: 'GET', status: 200, seconds: 0.01 });
  metrics.jobEnded({ jobId: 'a', kind: 'backtest', outcome: 'succeeded', seconds: 1, waitSeconds: 1 });
  metrics.threadLost('crashed');
  const { text } = await metrics.expose();
  return new Set([...text.matchAll(/^([a-z_0-9]+)[{ ]/gm)].map(([, name]) => name!));
}

test('every metric that a rule, the dashboard or the guide names is exposed', async () => {
  const names = await exposedNames();
  const guide = readFileSync('data/guide/operations.md', 'utf8') + readFileSync('data/guide/runbooks.md', 'utf8');
  const named = [...expressions, guide].flatMap((text) =>
    [...text.matchAll(/\b(?:divisor|process|nodejs)_[a-z0-9_]+/g)].map(([name]) => name),
  );
  expect(named.length).toBeGreaterThan(40);
  const isExposed = (name: string): boolean => names.has(name) || names.has(`${name}_count`);
  expect(new Set(named.filter((name) => !isExposed(name)))).toEqual(new Set());
});

test('each alert says what is wrong, how bad it is, and which section of the runbooks to read', () => {
  const alerts = rules.split('- alert: ').slice(1);
  expect(alerts.length).toBeGreaterThanOrEqual(15);
  const slugOf = (title: string): string =>
    title
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '-')
      .replaceAll(/^-|-$/g, '');
  const page = readFileSync('data/guide/runbooks.md', 'utf8');
  const sections = new Set([...page.matchAll(/^## (.*)$/gm)].map(([, title]) => slugOf(title!)));
  for (const alert of alerts) {
    expect(alert).toMatch(/^ {8}for: \d+m$/m);
    expect(alert).toMatch(/severity: (?:warning|critical) /);
    expect(alert).toMatch(/summary: '[A-Z1].*\.'/);
    const [, section] = /runbook_url: 'https:\/\/divisor\.example\/docs\/guide\/runbooks#([a-z-]+)'/.exec(alert) ?? [];
    expect(sections).toContain(section);
  }
});

test('panels of the dashboard have titles and places of their own', () => {
  const { panels } = dashboard;
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length);
  expect(new Set(panels.map(({ gridPos: { x, y } }) => `${x}/${y}`)).size).toBe(panels.length);
  for (const { gridPos } of panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
});

const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
if (!hasPromtool) process.stdout.write('skipped: the check of the alert rules by promtool, which is not installed\n');

test.runIf(hasPromtool)('promtool accepts the rules', () => {
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', 'data/deploy/prometheus-rules.yaml']);
  expect([status, String(stderr)]).toEqual([0, '']);
  expect(String(stdout)).toContain('15 rules found');
});
