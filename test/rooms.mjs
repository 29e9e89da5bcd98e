// The import rule: what each folder ("room") of the code may import. `node test/rooms.mjs` writes .oxlintrc.json from
// this table. `node test/rooms.mjs --check` fails if the file differs from the table.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Rooms, each with the rooms whose values it may import, the rooms whose types it may import, and its packages. */
export const ROOMS = {
  kernels: { values: [], types: [], packages: [] },
  /** Code that any program needs, such as memory and text. It contains no index theory. */
  'src/base': { values: ['kernels'], types: [], packages: [] },
  'src/domain': { values: ['base', 'kernels'], types: [], packages: ['zod'] },
  'src/contract': { values: ['base', 'domain'], types: [], packages: ['zod'] },
  'src/store': { values: ['base', 'domain'], types: [], packages: ['lmdb', 'lru-cache', 'node:*'] },
  'src/market': {
    values: ['base', 'domain', 'kernels'],
    types: [],
    packages:
      '@duckdb/node-api @duckdb/node-bindings apache-arrow pg pg-copy-streams node-sqlite3-wasm yauzl hucre/** node:* #bundle'.split(
        ' ',
      ),
  },
  'src/jobs': {
    values: ['base', 'domain', 'store'],
    types: ['market', 'contract'],
    packages: ['piscina', 'node:*', '#bundle'],
  },
  'src/views': {
    values: ['base', 'domain', 'kernels'],
    types: ['contract'],
    packages: ['apache-arrow', 'hucre', 'hucre/**', 'pdfkit', 'node:*'],
  },
  workers: {
    values: ['base', 'kernels', 'domain', 'market', 'views', 'contract'],
    types: ['jobs', 'store'],
    packages: ['piscina', 'node:*', '#artifact-writer'],
  },
  'src/services': {
    values: ['base', 'domain', 'store', 'market', 'jobs'],
    types: ['contract'],
    packages: ['lru-cache', 'prom-client', 'node:*'],
  },
  'src/http': {
    values: ['base', 'contract', 'services', 'views', 'domain'],
    types: ['jobs'],
    packages: ['hono', 'hono/**', '@hono/node-server', '@hono/node-server/**', 'pino', 'zod', 'node:*'],
  },
  /** The index engine as a library, for Node and browsers: no thread, no store, no network. */
  'src/engine': {
    values: ['base', 'contract', 'domain', 'kernels', 'market', 'store', 'views'],
    types: ['clients'],
    packages: ['apache-arrow', 'zod', 'node:*'],
  },
  /** Code that is copied into other programs, so it has no dependencies. */
  'src/clients': { values: [], types: [], packages: [] },
  /** Code that runs in browsers. It reaches the service only through the client of the service. */
  'src/console': {
    values: ['base', 'clients'],
    types: [],
    packages: ['preact', 'preact/**', '@preact/signals', 'uplot', 'uplot/**'],
  },
  'src/cli': {
    values: 'base contract domain market store jobs services views http kernels engine clients'.split(' '),
    types: [],
    packages: ['pino', 'zod', 'node:*', '#bundle'],
  },
};

/** Folders with a package that other code of their room must not import. */
export const ALCOVES = {
  'kernels/engines': { room: 'kernels', packages: ['koffi', '@tensorflow/**', 'node:*'] },
  'src/engine/embedded': { room: 'src/engine', packages: ['@jitl/**', 'zod', 'node:*'] },
  'src/base/sandbox': { room: 'src/base', packages: ['@jitl/**', 'node:*'] },
  'kernels/memory': { room: 'kernels', packages: ['koffi', 'node:*'] },
  'src/base/tracing': { room: 'src/base', packages: ['node:*'] },
  'src/http/mcp': { room: 'src/http', packages: ['@modelcontextprotocol/sdk/**', 'zod', 'node:*', '#bundle'] },
  'src/http/oidc': { room: 'src/http', packages: ['hono/**', 'jose', 'openid-client', 'zod', 'node:*'] },
  'src/services/delivery': { room: 'src/services', packages: ['ssh2', 'nodemailer', 'node:*', '#bundle'] },
  'src/store/postgres': { room: 'src/store', packages: ['pg', 'node:*'] },
  'src/store/s3': { room: 'src/store', packages: ['aws4fetch', 'node:*'] },
};

/** Families of a room, lowest first. Each family imports only earlier families. A name with an extension is a file. */
export const FAMILIES = {
  'src/domain': [
    'base',
    'calendars',
    'market',
    'analytics',
    'datapoints',
    'risk',
    'definition',
    'books',
    'decide',
    'optimisation',
    'backtest',
    'studies',
    'personal',
    'outputs',
  ],
  'src/market': ['tables', 'formats', 'panels', 'content', 'mapping', 'judge', 'synthetic', 'read', 'serve'],
  'src/services': [
    'keys',
    'shared',
    'stores',
    'indices',
    'runs',
    'risk',
    'reports',
    'optimise',
    'publication',
    'delivery',
    'daily-plans',
    'governance',
  ],
  'src/store': [
    'start-refusal.ts',
    'port.ts',
    'reach.ts',
    'secret-box.ts',
    'artifacts',
    's3',
    'ownership',
    'history',
    'stored-forms.ts',
    'lmdb',
    'postgres',
    'artifact-writer.ts',
    'home',
    'open-store.ts',
  ],
  workers: [
    'run-files.ts',
    'output',
    'input',
    'views',
    'risk',
    'runs',
    'market',
    'indices',
    'optimisation',
    'personal',
    'reports',
    'sql',
    'tasks.ts',
  ],
  'src/console': ['style', 'words', 'state', 'components', 'pages', 'shell', 'main.tsx'],
};

const isLoose = (family) => /\.tsx?$/.test(family);

/** Modules of Node.js may have folders (`node:fs/promises`), which a single star does not match. */
const allow = (name) => (name === 'node:*' ? ['!node:*', '!node:*/**'] : [`!${name}`]);

const nameOf = (room) => room.replace('src/', '');
const NAMES = Object.keys(ROOMS).map(nameOf);
/**
 * A relative path must not leave its room. From a folder `depth` levels inside, one more step up is needed to leave it.
 */
const createRelativeRule = (depth) => ({
  regex: `^(\\.\\./){${depth + 1}}`,
  message: 'Cross into a room by its name, #room/file.js.',
});
const formatImportPattern = (names) => `^#(${names.join('|')})/`;

function listPatterns(room, packages, depth) {
  const { values, types } = ROOMS[room];
  const self = nameOf(room);
  const closed = NAMES.filter((name) => name !== self && !values.includes(name) && !types.includes(name));
  return [
    createRelativeRule(depth),
    ...(closed.length > 0
      ? [
          {
            regex: formatImportPattern(closed),
            message: `${room} may import ${values.concat(types).join(', ') || 'no other room'}.`,
          },
        ]
      : []),
    ...types.map((name) => ({
      regex: formatImportPattern([name]),
      allowTypeImports: true,
      message: `${room} knows ${name} as types only.`,
    })),
    {
      group: ['*', '*/**', '!#*/**', '!./**', '!../**', ...packages.flatMap(allow)],
      message: `${room} may use ${packages.join(', ') || 'no package'}.`,
    },
  ];
}

/** Maximum depth of folders in a room. */
const DEPTH_MAX = 4;

/** Returns one override for each depth of a folder. The folder is `above` levels inside its room. */
const restrict = (folder, room, packages, above = 0) =>
  Array.from({ length: DEPTH_MAX }, (_, depth) => ({
    files: [`${folder}/${'*/'.repeat(depth)}*`],
    rules: { 'typescript/no-restricted-imports': ['error', { patterns: listPatterns(room, packages, depth + above) }] },
  }));

/** Returns a pattern of import specifiers that lead from a file `depth` folders inside a room to given families. */
function listRoutesTo(room, families, depth) {
  const targets = families.map((name) => (isLoose(name) ? name.replace(/\.tsx?$/, '\\.js$') : `${name}/`));
  const up = depth === 0 ? '\\./' : `(\\.\\./){${depth}}`;
  return `^(${up}|#${nameOf(room)}/)(${targets.join('|')})`;
}

/** Returns one override per family and file depth. It forbids imports of families that are later in the table. */
const orderOf = (room) =>
  FAMILIES[room].flatMap((family, at) => {
    const closed = FAMILIES[room].slice(at + 1);
    if (closed.length === 0) return [];
    const depths = isLoose(family) ? [0] : Array.from({ length: DEPTH_MAX - 1 }, (_, depth) => depth + 1);
    return depths.map((depth) => ({
      files: [`${room}/${family}${depth === 0 ? '' : `/${'*/'.repeat(depth - 1)}*`}`],
      rules: {
        'no-restricted-imports': [
          'error',
          {
            patterns: [
              {
                regex: listRoutesTo(room, closed, depth),
                message: `${room}/${family} may import only families that come before it in test/rooms.mjs.`,
              },
            ],
          },
        ],
      },
    }));
  });

/**
 * Returns folders and files of a room that are missing from the table. Also returns entries of the table that do not
 * exist.
 */
export function listMisplaced(room) {
  const all = readdirSync(new URL(`../${room}`, import.meta.url), { withFileTypes: true });
  const entries = all.filter((entry) => entry.isDirectory() || isLoose(entry.name)).map(({ name }) => name);
  const table = FAMILIES[room];
  return [...entries.filter((name) => !table.includes(name)), ...table.filter((name) => !entries.includes(name))];
}

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
  ignorePatterns: ['dist/**', 'kernels/wasm/**', 'kernels/native/**'],
  overrides: [
    ...Object.keys(ROOMS).flatMap((room) => restrict(room, room, ROOMS[room].packages)),
    { files: ['src/console/**'], rules: { 'import/no-unassigned-import': ['error', { allow: ['**/*.css'] }] } },
    ...Object.entries(ALCOVES).flatMap(([folder, { room, packages }]) => restrict(folder, room, packages, 1)),
    ...Object.keys(FAMILIES).flatMap(orderOf),
    {
      files: ['test/own-lines.mjs', '**/*.config.ts'],
      rules: { 'import/no-default-export': 'off' },
    },
  ],
};

/** Returns the configuration with one override per line, because hundreds of overrides differ only in a name. */
function formatConfig() {
  const { overrides, ...rest } = config;
  const head = JSON.stringify(rest, null, 2).replace(/\n\}$/, '');
  return `${head},\n  "overrides": [\n${overrides.map((override) => `    ${JSON.stringify(override)}`).join(',\n')}\n  ]\n}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const target = new URL('../.oxlintrc.json', import.meta.url);
  if (!process.argv.includes('--check')) {
    writeFileSync(target, formatConfig());
  } else if (readFileSync(target, 'utf8') !== formatConfig()) {
    console.error('.oxlintrc.json differs from test/rooms.mjs: run `node test/rooms.mjs`.');
    process.exit(1);
  }
  for (const room of Object.keys(FAMILIES)) {
    const differing = listMisplaced(room).join(', ');
    if (differing !== '') console.error(`${room} and its families in test/rooms.mjs differ: ${differing}.`);
    if (differing !== '') process.exitCode = 1;
  }
}
