// The import rule: what each room may import. `node test/rooms.mjs` writes .oxlintrc.json from this table,
// `node test/rooms.mjs --check` fails when the written file is not what the table says.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** room -> the rooms whose values it may import, the rooms it may know as types only, the packages it may use. */
export const ROOMS = {
  kernels: { values: [], types: [], packages: [] },
  'src/domain': { values: ['kernels'], types: [], packages: ['zod'] },
  'src/contract': { values: ['domain'], types: [], packages: ['zod'] },
  'src/store': { values: ['domain'], types: [], packages: ['lmdb', 'node:*'] },
  'src/market': {
    values: ['domain', 'kernels'],
    types: [],
    packages: [
      '@duckdb/node-api',
      '@duckdb/node-bindings',
      'apache-arrow',
      'pg',
      'pg-copy-streams',
      'node-sqlite3-wasm',
      'yauzl',
      'ipaddr.js',
      'node:*',
      '#bundle',
    ],
  },
  'src/jobs': { values: ['domain', 'store'], types: ['market'], packages: ['piscina', 'node:*'] },
  'src/views': {
    values: ['domain', 'kernels'],
    types: ['contract'],
    packages: ['apache-arrow', 'hucre', 'hucre/**', 'pdfkit', 'node:*'],
  },
  workers: {
    values: ['kernels', 'domain', 'market', 'views'],
    types: ['jobs', 'store'],
    packages: ['piscina', 'node:*', '#bundle', '#artifact-writer'],
  },
  'src/services': { values: ['domain', 'store', 'market', 'jobs'], types: ['contract'], packages: ['node:*'] },
  'src/http': {
    values: ['contract', 'services', 'views', 'domain'],
    types: ['jobs'],
    packages: ['hono', 'hono/**', '@hono/node-server', '@hono/node-server/**', 'pino', 'prom-client', 'zod', 'node:*'],
  },
  /** Copied into programs of others: it may need nothing. */
  'src/clients': { values: [], types: [], packages: [] },
  /** Runs in browsers: it knows the service by its client alone. */
  'src/console': {
    values: ['clients'],
    types: [],
    packages: ['preact', 'preact/**', '@preact/signals', 'uplot', 'uplot/**'],
  },
  'src/cli': {
    values: ['contract', 'domain', 'market', 'store', 'jobs', 'services', 'views', 'http', 'kernels', 'clients'],
    types: [],
    packages: ['pino', 'zod', 'node:*'],
  },
};

/** Folders inside a room that need a package the rest of the room must not have. */
export const ALCOVES = {
  'kernels/engines': { room: 'kernels', packages: ['koffi', '@tensorflow/**', 'node:*'] },
  'kernels/memory': { room: 'kernels', packages: ['koffi', 'node:*'] },
  'src/http/oidc': { room: 'src/http', packages: ['jose', 'openid-client', 'node:*'] },
  'src/store/postgres': { room: 'src/store', packages: ['pg', 'node:*'] },
  'src/store/s3': { room: 'src/store', packages: ['aws4fetch', 'node:*'] },
};

/** Node's modules have folders of their own (`node:fs/promises`), which one star does not match. */
const allow = (name) => (name === 'node:*' ? ['!node:*', '!node:*/**'] : [`!${name}`]);

const nameOf = (room) => room.replace('src/', '');
const NAMES = Object.keys(ROOMS).map(nameOf);
/** A relative path may not climb out of its room: from a folder `depth` levels inside, that takes one step more. */
const byRelativePath = (depth) => ({
  regex: `^(\\.\\./){${depth + 1}}`,
  message: 'Cross into a room by its name, #room/file.js.',
});
const anyOf = (names) => `^#(${names.join('|')})/`;

function patternsOf(room, packages, depth) {
  const { values, types } = ROOMS[room];
  const self = nameOf(room);
  const closed = NAMES.filter((name) => name !== self && !values.includes(name) && !types.includes(name));
  return [
    byRelativePath(depth),
    ...(closed.length > 0
      ? [{ regex: anyOf(closed), message: `${room} may import ${values.concat(types).join(', ') || 'no other room'}.` }]
      : []),
    ...types.map((name) => ({
      regex: anyOf([name]),
      allowTypeImports: true,
      message: `${room} knows ${name} as types only.`,
    })),
    {
      group: ['*', '*/**', '!#*/**', '!./**', '!../**', ...packages.flatMap(allow)],
      message: `${room} may use ${packages.join(', ') || 'no package'}.`,
    },
  ];
}

/** Folders nest no deeper than this inside a room. */
const DEPTH_MAX = 4;

/** One override per depth of a folder that lies `above` levels inside its room. */
const restrict = (folder, room, packages, above = 0) =>
  Array.from({ length: DEPTH_MAX }, (_, depth) => ({
    files: [`${folder}/${'*/'.repeat(depth)}*`],
    rules: { 'typescript/no-restricted-imports': ['error', { patterns: patternsOf(room, packages, depth + above) }] },
  }));

const config = {
  plugins: ['import', 'typescript', 'unicorn', 'oxc'],
  categories: { correctness: 'error', suspicious: 'error' },
  rules: {
    'import/no-cycle': ['error', { ignoreTypes: false }],
    'import/no-default-export': 'error',
    'typescript/no-explicit-any': 'error',
    'no-await-in-loop': 'off',
    'no-underscore-dangle': 'off',
    'no-shadow': 'off',
    'import/no-named-as-default-member': 'off',
    'unicorn/no-array-sort': 'off',
    'unicorn/no-array-reverse': 'off',
    'unicorn/consistent-function-scoping': 'off',
  },
  ignorePatterns: ['dist/**', 'kernels/wasm/**'],
  overrides: [
    ...Object.keys(ROOMS).flatMap((room) => restrict(room, room, ROOMS[room].packages)),
    { files: ['src/console/**'], rules: { 'import/no-unassigned-import': ['error', { allow: ['**/*.css'] }] } },
    ...Object.entries(ALCOVES).flatMap(([folder, { room, packages }]) => restrict(folder, room, packages, 1)),
    {
      files: ['workers/main.ts', 'test/**/*-worker.ts', 'test/own-lines.mjs', '**/*.config.ts'],
      rules: { 'import/no-default-export': 'off' },
    },
  ],
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const target = new URL('../.oxlintrc.json', import.meta.url);
  const text = `${JSON.stringify(config, null, 2)}\n`;
  if (!process.argv.includes('--check')) {
    writeFileSync(target, text);
  } else if (readFileSync(target, 'utf8') !== text) {
    console.error('.oxlintrc.json is not what test/rooms.mjs says: run `node test/rooms.mjs`.');
    process.exit(1);
  }
}
