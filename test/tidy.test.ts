import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';
import { expect, test } from 'vitest';

/** Returns the source files of a room. The tests check rules that a linter cannot check. */
function listSources(room: string): string[] {
  if (!existsSync(room)) return [];
  const files = readdirSync(room, { recursive: true, encoding: 'utf8' }).map((name) => `${room}/${name}`);
  return files.filter((file) => /\.(c?ts|tsx)$/.test(file) && !file.endsWith('.d.ts')).toSorted();
}

const MODULE_FOLDERS: Record<string, string> = { kernels: 'kernels', workers: 'workers' };

/**
 * Returns the source files to which a file refers. It refers to a file by an import, or by the path of a module that it
 * starts in another thread or process.
 */
function listReferences(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  const specifiers = [
    ...text.matchAll(/(?<![\w/-])(?:from|import)\s*\(?\s*'([^']+)'/g),
    ...text.matchAll(/new URL\(\s*'([^']+)'/g),
    ...text.matchAll(/\bfindBundlePath\([^)]*\) \?\? '([^']+)'/g),
  ].map((match) => match[1]!);
  const paths = specifiers
    .flatMap((specifier) => {
      const match = /^#([a-z]+)\/(.*)$/.exec(specifier);
      if (match !== null) return [`${MODULE_FOLDERS[match[1]!] ?? `src/${match[1]}`}/${match[2]}`];
      if (specifier === '#bundle') return ['src/bundle.ts'];
      if (specifier === '#artifact-writer') return ['src/store/artifact-writer.ts'];
      return specifier.startsWith('.') ? [normalize(join(dirname(file), specifier))] : [];
    })
    .map((path) => path.replace(/\.(c?)js$/, '.$1ts'));
  return paths.map((path) => (existsSync(path) ? path : path.replace(/\.ts$/, '.tsx')));
}

const programFiles = ['src', 'kernels', 'workers']
  .flatMap(listSources)
  .filter((file) => !file.startsWith('kernels/wasm/'));
const graph = new Map(programFiles.map((file) => [file, listReferences(file)]));

function listReachable(roots: readonly string[]): Set<string> {
  const seenFiles = new Set<string>();
  const openFiles = [...roots];
  for (let file = openFiles.pop(); file !== undefined; file = openFiles.pop()) {
    if (seenFiles.has(file)) continue;
    seenFiles.add(file);
    openFiles.push(...(graph.get(file) ?? []));
  }
  return seenFiles;
}

test('every file is imported from the command, the workers, the package or the console', () => {
  const entryPoints = ['src/main.ts', 'workers/tasks.ts', 'src/clients/typescript/divisor.ts', 'src/console/main.tsx'];
  // Each of these files replaces a module of Node in the build of the engine.
  const embeddedSources = listSources('src/engine/embedded').filter((file) =>
    EMBEDDED_FILES.includes(basename(file, '.ts')),
  );
  entryPoints.push(
    'src/engine/main.ts',
    'src/engine/verify-worker.ts',
    'src/engine/page-worker.ts',
    ...embeddedSources,
  );
  const reachedFiles = listReachable(entryPoints);
  expect(programFiles.filter((file) => !reachedFiles.has(file))).toEqual([]);
});

/** Highest figures of the division into modules. A change that improves one lowers its ceiling here. */
const CEILINGS = {
  importsPerThousandLines: 25.1,
  smallWithOneImporter: 16,
  oneImporterPercent: 18.9,
  below40LinesPercent: 4.9,
  namesExportedTwice: 52,
};

/** Part of a ceiling by which a figure may be lower before the ceiling must follow. */
const CEILING_MARGIN = 0.1;

test('the division into modules becomes no finer', () => {
  const modules = programFiles.filter((file) => !file.startsWith('src/clients/'));
  const lines = new Map(modules.map((file) => [file, readFileSync(file, 'utf8').split('\n').length - 1]));
  const importers = new Map(modules.map((file) => [file, 0]));
  let edges = 0;
  for (const file of modules)
    for (const imported of new Set(graph.get(file))) {
      if (imported === file || !importers.has(imported)) continue;
      importers.set(imported, importers.get(imported)! + 1);
      edges++;
    }
  const total = [...lines.values()].reduce((sum, count) => sum + count, 0);
  const countFiles = (matches: (file: string) => boolean): number => modules.filter(matches).length;
  const figures = {
    importsPerThousandLines: (1000 * edges) / total,
    smallWithOneImporter: countFiles((file) => lines.get(file)! < 60 && importers.get(file) === 1),
    oneImporterPercent: (100 * countFiles((file) => importers.get(file) === 1)) / modules.length,
    below40LinesPercent: (100 * countFiles((file) => lines.get(file)! < 40)) / modules.length,
    namesExportedTwice: countNamesExportedTwice(modules),
  };
  for (const [name, ceiling] of Object.entries(CEILINGS)) {
    const figure = figures[name as keyof typeof figures];
    expect(figure, name).toBeLessThanOrEqual(ceiling);
    expect(figure, `${name}: lower its ceiling`).toBeGreaterThan(ceiling * (1 - CEILING_MARGIN) - 1);
  }
});

function countNamesExportedTwice(modules: readonly string[]): number {
  const exporters = new Map<string, Set<string>>();
  for (const file of modules)
    for (const [, name] of readFileSync(file, 'utf8').matchAll(EXPORTED_NAME))
      exporters.set(name!, (exporters.get(name!) ?? new Set()).add(file));
  return [...exporters.values()].filter(({ size }) => size > 1).length;
}

const EXPORTED_NAME = /^export\s+(?:async\s+)?(?:function\*?|const|class|interface|type)\s+(\w+)/gm;

const EMBEDDED_FILES = [
  ...readFileSync('scripts/engine.mjs', 'utf8').matchAll(/'(?:[\w/.-]+\.js|node:[\w/]+)': '([\w-]+)'/g),
].map((match) => match[1]!);

/** Kernels that other rooms call. All other kernels are parts of these. Engines and memory contain no formulas. */
const calledKernels = [
  ...new Set(programFiles.filter((file) => !file.startsWith('kernels/')).flatMap((file) => graph.get(file) ?? [])),
]
  .filter(
    (file) =>
      file.startsWith('kernels/') &&
      !file.startsWith('kernels/wasm/') &&
      /^export function/m.test(existsSync(file) ? readFileSync(file, 'utf8') : ''),
  )
  .filter((file) => file !== 'kernels/assert.ts' && !/^kernels\/(engines|memory)\//.test(file))
  .toSorted();

const testedKernels = new Set(listSources('test/kernels').flatMap(listReferences));

test.each(calledKernels)('%s is tested, and documents its cost and its source', (file) => {
  const text = readFileSync(file, 'utf8');
  const missing = [
    testedKernels.has(file) ? [] : ['a test in test/kernels'],
    ...['@cost', '@source'].map((tag) => (text.includes(tag) ? [] : [tag])),
  ];
  expect(missing.flat()).toEqual([]);
});

test('no test is exclusive, none is disabled without a condition', () => {
  const pattern = /\b(?:it|test|describe)\.(?:only|todo)\b|^(?:it|test|describe)\.skip\b/m;
  expect(listSources('test').filter((file) => pattern.test(readFileSync(file, 'utf8')))).toEqual([]);
});

test('no source contains a to-do comment', () => {
  const promisingFiles = programFiles.filter((file) => /\b(?:TODO|FIXME|XXX)\b/.test(readFileSync(file, 'utf8')));
  expect(promisingFiles).toEqual([]);
});

test('a benchmark is in the folder of the code that it measures', () => {
  const benches = listSources('bench').filter((file) => file.endsWith('.bench.ts'));
  const misplacedBenches = benches.filter((file) => {
    const relativePath = file.replace('bench/', '').replace('.bench.ts', '');
    const folder = dirname(relativePath);
    return !existsSync(folder) && !existsSync(`src/${folder}`);
  });
  expect(misplacedBenches).toEqual([]);
});

test('properties are drawn alike in every run: only one file imports fast-check itself', () => {
  const directSources = listSources('test').filter((file) =>
    /^import .*from 'fast-check'/m.test(readFileSync(file, 'utf8')),
  );
  expect(directSources).toEqual(['test/draws.ts']);
});

/**
 * Matches comments, strings, and powers that are exact on every platform. These are powers of two, squares, and powers
 * of bigints.
 */
const NO_OTHER_POWER = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'[^'\n]*'|`[^`]*`|(?<![\w.])2 \*\*|\*\* 2\b(?!\.)|\d+n \*\*/g;

test('powers come from a kernel, because those of V8 differ between versions', () => {
  const modulePattern = /^(kernels|workers|src\/(domain|market|services|views))\//;
  // The texts of report templates are Markdown.
  const numericFiles = programFiles.filter(
    (file) => modulePattern.test(file) && file !== 'src/domain/outputs/report-templates.ts',
  );
  const removeNamedFragments = (file: string): string => readFileSync(file, 'utf8').replace(NO_OTHER_POWER, '');
  expect(numericFiles.filter((file) => /\*\*|Math\.pow/.test(removeNamedFragments(file)))).toEqual([
    'kernels/power.ts',
  ]);
});

/** Folders whose pages are for developers. The guide and the changelog also mention files of users. */
const PAGE_FOLDERS = ['src', 'kernels', 'workers', 'test', 'bench', 'scripts', 'docs'];
const treeFiles = [
  ...PAGE_FOLDERS.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`),
  ),
  ...readdirSync('.'),
];
const pages = treeFiles.filter((file) => file.endsWith('.md') && file !== 'CHANGELOG.md');

/** Files that exist only in an example. */
const EXAMPLE_FILES = ['selection/drawdown-filter.ts'];

/**
 * Returns true if a mentioned file exists. A bare file name may be in any folder. A path is relative to the root, to
 * `src/`, to the page, or to a folder below the page.
 */
function isThere(mentioned: string, page: string): boolean {
  const path = normalize(mentioned).replace(/\/$/, '');
  const isBare = !mentioned.includes('/');
  const ownFolder = /^(src|kernels)\//.test(page) ? dirname(page) : '';
  return (
    [join(dirname(page), path), path, join('src', path)].some((file) => existsSync(file)) ||
    treeFiles.some((file) => (isBare || file.startsWith(ownFolder)) && file.endsWith(`/${path}`))
  );
}

test.each(pages)('%s names only existing files', (page) => {
  const text = readFileSync(page, 'utf8').replace(/^```[\s\S]*?^```$/gm, '');
  const mentionedPaths = [...text.matchAll(/`([\w.@/-]+(?:\.(?:ts|tsx|mjs|py)|\/))`/g)].map((match) => match[1]!);
  const linkedPaths = [...text.matchAll(/\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)/g)].map((match) => match[1]!);
  expect(mentionedPaths.filter((name) => !EXAMPLE_FILES.includes(name) && !isThere(name, page))).toEqual([]);
  expect(linkedPaths.filter((path) => !existsSync(join(dirname(page), path)))).toEqual([]);
});

test('the table of rooms in ARCHITECTURE equals that of the linter', async () => {
  const { ROOMS } = (await import(pathToFileURL('test/rooms.mjs').href)) as {
    ROOMS: Record<string, { values: string[]; types: string[] }>;
  };
  const splitCell = (cell: string): string[] => cell.split(',').flatMap((name) => name.trim() || []);
  const section = readFileSync('docs/ARCHITECTURE.md', 'utf8')
    .split(/^## /m)
    .find((part) => part.startsWith('Rooms'))!;
  const rows = [...section.matchAll(/^\| `([\w/]+)\/` \| [^|]* \| ([^|]*)\| ([^|]*)\|$/gm)].map(
    ([, room, values, types]) => [room!, { values: splitCell(values!), types: splitCell(types!) }] as const,
  );
  const sortTable = ({ values, types }: { values: string[]; types: string[] }) => [values.toSorted(), types.toSorted()];
  expect(Object.fromEntries(rows.map(([room, row]) => [room, sortTable(row)]))).toEqual(
    Object.fromEntries(Object.entries(ROOMS).map(([room, row]) => [room, sortTable(row)])),
  );
});

test('imports of the package resolve to sources in tools without settings, and to compiled files in Node', async () => {
  const { imports } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    imports: Record<string, { readonly 'node-addons': string; readonly default: string }>;
  };
  const misplacedImports = Object.entries(imports).filter(
    ([, { 'node-addons': compiled, default: source }]) =>
      !existsSync(source.replace('/*.ts', '')) || compiled !== source.replace('./', './dist/').replace(/\.ts$/, '.js'),
  );
  expect(misplacedImports).toEqual([]);
  expect(import.meta.resolve('#domain/base/time.js')).toBe(pathToFileURL('dist/src/domain/base/time.js').href);
  const bundle = await rolldown({ input: 'src/domain/market/growth.ts', platform: 'browser', external: /^node:/ });
  const { output } = await bundle.generate();
  await bundle.close();
  const bundledFiles = output[0].moduleIds.map((id) => relative('.', id)).filter((id) => !id.startsWith('\0'));
  expect(bundledFiles).toContain('src/domain/market/growth.ts');
  expect(bundledFiles.length).toBeGreaterThan(5);
  expect(bundledFiles.filter((id) => !/^(src|kernels)\//.test(id))).toEqual([]);
});

test('every timing belongs to an existing test file', () => {
  const timedFiles = Object.keys(JSON.parse(readFileSync('test/timings.json', 'utf8')) as Record<string, number>);
  expect(timedFiles.length).toBeGreaterThan(0);
  expect(timedFiles.filter((file) => !existsSync(`test/${file}`))).toEqual([]);
});

test('a module that several test files import registers no hook on load: workers load it once', () => {
  const testFiles = listSources('test');
  const imports = new Map(testFiles.map((file) => [file, listReferences(file)]));
  const registeringTests = testFiles.filter(
    (file) => !file.endsWith('.test.ts') && /^(?:before|after)(?:All|Each)\(/m.test(readFileSync(file, 'utf8')),
  );
  const listImporters = (module: string): string[] => {
    const importers = new Set([module]);
    for (const file of importers) for (const [other, of] of imports) if (of.includes(file)) importers.add(other);
    return [...importers].filter((file) => file.endsWith('.test.ts'));
  };
  expect(registeringTests.length).toBeGreaterThan(0);
  expect(registeringTests.filter((file) => listImporters(file).length > 1)).toEqual([]);
});
