import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { expect, test } from 'vitest';
import { createMetrics } from '#services/shared/metrics.js';

const rulesText = readFileSync('data/deploy/prometheus-rules.yaml', 'utf8');
const dashboard = JSON.parse(readFileSync('data/deploy/grafana-dashboard.json', 'utf8')) as {
  readonly panels: readonly {
    readonly id: number;
    readonly title: string;
    readonly gridPos: Readonly<Record<'x' | 'y' | 'w' | 'h', number>>;
    readonly targets: readonly { readonly expr: string }[];
  }[];
};
const expressions = [
  ...[...rulesText.matchAll(/^ {8}expr: '(.*)'$/gm)].map(([, expression]) => expression!),
  ...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
];

/** Returns the names of all metrics that a service on a database exposes. */
async function listExposedNames(): Promise<ReadonlySet<string>> {
  const load = { waiting: 0, running: 0, places: 1, oldestSeconds: null };
  const metrics = createMetrics({
    measuresProcess: true,
    version: '1',
    commit: '1',
    jobs: async () => ({ pending: 0, running: 0 }),
    lanes: async () => ({ heavy: load, huge: load, light: load }),
    tasks: () => 0,
    backupAge: async () => 60,
    objectRequests: (call) => call({ method: 'GET', seconds: 0.01, isAnswered: true }),
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
  metrics.observe({ operation: 'getHealth', method: 'GET', status: 200, seconds: 0.01, keyId: null });
  metrics.jobEnded({ jobId: 'a', owner: '', kind: 'backtest', outcome: 'succeeded', seconds: 1, waitSeconds: 1 });
  metrics.threadLost('crashed');
  const { text } = await metrics.expose();
  return new Set([...text.matchAll(/^([a-z_0-9]+)[{ ]/gm)].map(([, name]) => name!));
}

test('every metric that a rule, the dashboard or the guide names is exposed', async () => {
  const names = await listExposedNames();
  const guideText = readFileSync('data/guide/operations.md', 'utf8') + readFileSync('data/guide/runbooks.md', 'utf8');
  const namedMetrics = [...expressions, guideText].flatMap((text) =>
    [...text.matchAll(/\b(?:divisor|process|nodejs)_[a-z0-9_]+/g)].map(([name]) => name),
  );
  expect(namedMetrics.length).toBeGreaterThan(40);
  const isExposed = (name: string): boolean => names.has(name) || names.has(`${name}_count`);
  expect(new Set(namedMetrics.filter((name) => !isExposed(name)))).toEqual(new Set());
});

test('each alert states the problem, its severity and the section of the runbooks', () => {
  const alerts = rulesText.split('- alert: ').slice(1);
  expect(alerts.length).toBeGreaterThanOrEqual(18);
  const formatSlug = (title: string): string =>
    title
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '-')
      .replaceAll(/^-|-$/g, '');
  const pageText = readFileSync('data/guide/runbooks.md', 'utf8');
  const sections = new Set([...pageText.matchAll(/^## (.*)$/gm)].map(([, title]) => formatSlug(title!)));
  for (const alert of alerts) {
    expect(alert).toMatch(/^ {8}for: \d+m$/m);
    expect(alert).toMatch(/severity: (?:warning|critical) /);
    expect(alert).toMatch(/summary: '[A-Z1].*\.'/);
    const [, section] = /runbook_url: 'https:\/\/divisor\.example\/docs\/guide\/runbooks#([a-z-]+)'/.exec(alert) ?? [];
    expect(sections).toContain(section);
  }
});

/** Members of the dashboard in Grafana's schema 39, and the members without which Grafana cannot draw a panel. */
const DASHBOARD_SCHEMA = {
  type: 'object',
  required: ['uid', 'title', 'schemaVersion', 'panels', 'templating', 'time'],
  additionalProperties: false,
  properties: {
    uid: { type: 'string', pattern: '^[\\w-]{1,40}$' },
    title: { type: 'string', minLength: 1 },
    schemaVersion: { const: 39 },
    version: { type: 'integer' },
    editable: { type: 'boolean' },
    refresh: { type: 'string', pattern: '^\\d+[smh]$' },
    tags: { type: 'array', items: { type: 'string' } },
    time: { type: 'object', required: ['from', 'to'] },
    templating: { type: 'object', required: ['list'], properties: { list: { type: 'array', minItems: 1 } } },
    panels: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        required: ['id', 'type', 'title', 'datasource', 'gridPos', 'fieldConfig', 'targets'],
        additionalProperties: false,
        properties: {
          id: { type: 'integer', minimum: 1 },
          type: { enum: ['timeseries', 'stat', 'gauge', 'table'] },
          title: { type: 'string', minLength: 1 },
          datasource: {
            type: 'object',
            properties: { type: { const: 'prometheus' }, uid: { const: '${datasource}' } },
            required: ['type', 'uid'],
            additionalProperties: false,
          },
          gridPos: {
            type: 'object',
            required: ['h', 'w', 'x', 'y'],
            additionalProperties: false,
            properties: {
              h: { type: 'integer', minimum: 1 },
              w: { type: 'integer', minimum: 1, maximum: 24 },
              x: { type: 'integer', minimum: 0, maximum: 23 },
              y: { type: 'integer', minimum: 0 },
            },
          },
          fieldConfig: {
            type: 'object',
            required: ['defaults', 'overrides'],
            properties: {
              defaults: { type: 'object', properties: { unit: { type: 'string' } }, required: ['unit'] },
              overrides: { type: 'array' },
            },
          },
          targets: {
            type: 'array',
            minItems: 1,
            items: {
              type: 'object',
              required: ['refId', 'expr'],
              properties: { refId: { type: 'string' }, expr: { type: 'string', minLength: 1 } },
            },
          },
        },
      },
    },
  },
};

/**
 * Procedures of the runbooks. Each entry has the section, the test file that follows the procedure, and a text that
 * the file contains.
 */
const WALKS: readonly (readonly [section: string, file: string, title: string])[] = [
  ['Database failover', 'test/cli/cluster/silent-database.test.ts', 'serves again when the database answers'],
  ['Full disk', 'test/durability/full-disk.test.ts', 'a full volume refuses writes'],
  [
    'Unavailable results storage',
    'test/cli/cluster/cluster-commands.test.ts',
    'backup copies what services write, and restore',
  ],
  ['Stuck jobs', 'test/cli/cluster/stopped-workers.test.ts', 'restarts on another worker after the lease'],
  ['Failed jobs', 'test/cli/job-commands/retries.ts', "'jobs', 'retry', '--failed'"],
  ['Point-in-time recovery', 'test/cli/cluster/cloned-database.test.ts', 'adopt --take-over'],
  ['Key rotation', 'test/cli/serve.test.ts', "'keys', 'revoke'"],
  ['Upgrade and rollback', 'test/cli/cluster/rolling-upgrade.test.ts', 'migrate'],
];

test('every procedure of the runbooks has a test', () => {
  const pageText = readFileSync('data/guide/runbooks.md', 'utf8');
  for (const [section, file, title] of WALKS) {
    expect(pageText).toContain(`## ${section}\n`);
    expect([file, readFileSync(file, 'utf8').includes(title)]).toEqual([file, true]);
  }
});

test('the dashboard has the shape of its schema, and a panel without a query is refused', () => {
  const check = new Ajv({ allErrors: true }).compile(DASHBOARD_SCHEMA);
  expect([check(dashboard), check.errors]).toEqual([true, null]);
  const [{ targets: _, ...panel }] = structuredClone(dashboard.panels) as [(typeof dashboard.panels)[number]];
  expect(check({ ...dashboard, panels: [panel] })).toBe(false);
});

test('panels of the dashboard have unique titles and places', () => {
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
  expect(String(stdout)).toContain('18 rules found');
});
