// Builds the console into dist/console: a page, and assets named by a hash of their content, each also compressed.
//
//   node scripts/console.mjs            the build
//   node scripts/console.mjs --watch    a Vite server that passes requests of the API on to a running service
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build, createServer } from 'vite';
import { createModuleCollector, writePackages } from './bundled-packages.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const OUT = join(ROOT, 'dist/console');

/** Modules that pages share. */
const isShared = (id) =>
  /rolldown\/runtime|node_modules\/(@?preact)\/|src\/(clients|console\/(main\.tsx|state|words|shell|style|components\/(?!table\/)))/.test(
    id,
  );

/** Returns the modules that some modules import statically, themselves included, by a test of their path. */
function createReach(paths) {
  let found;
  return (id, graph) => {
    if (found === undefined) {
      found = new Set(paths.map((path) => join(ROOT, 'src/console', path)));
      for (const each of found)
        for (const imported of graph.getModuleInfo(each)?.importedIds ?? []) found.add(imported);
    }
    return found.has(id);
  };
}

/** The frame of the console and the first page: what the browser needs before it shows the first page. */
const isFirst = createReach(['main.tsx', 'pages/home/home.tsx']);
/** The search, which every page loads after it is shown, and the first tab of an index, whose components most pages use. */
const isCommon = createReach(['shell/palette.tsx', 'shell/view-parts.tsx', 'pages/index/index-page.tsx']);

/** Fields of most forms; fields that only few pages use are loaded with these pages. */
const isForm = (id) => /components\/form\/(?!row-list|any-field)/.test(id);

const nameCore = (id, graph) => (id.includes('rolldown/runtime') || isFirst(id, graph) ? 'core' : null);
const nameView = (id, graph) => (isCommon(id, graph) || isForm(id) ? 'view' : null);

/** The editor of source texts, without its languages. */
const isEditor = (id) =>
  /node_modules\/(@codemirror\/(?!lang-)|@lezer\/(?!javascript)|style-mod|crelt|w3c-keyname|@marijn\/)|components\/code\/code-mirror/.test(
    id,
  );

const config = {
  configFile: false,
  root: join(ROOT, 'src/console'),
  base: '/console/',
  publicDir: false,
  logLevel: 'warn',
  resolve: { alias: [{ find: /^#(base|clients)\//, replacement: join(ROOT, 'src/$1/') }] },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: OUT,
    emptyOutDir: true,
    target: 'es2022',
    // The content security policy of the pages allows no `data:` URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // One style sheet for all pages, and few scripts: on a slow link the cost of a request exceeds the savings by
    // smaller files.
    cssCodeSplit: false,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: 'chart', test: /node_modules\/uplot|components\/chart\/(?!chart-file)/, priority: 1 },
            { name: 'table', test: /@tanstack\/|components\/table\//, priority: 1 },
            { name: nameCore, debugName: 'core', test: isShared, priority: 4 },
            {
              name: 'home',
              test: /pages\/home\/(?!first-steps)|calendar\/coming/,
              priority: 3,
            },
            { name: nameView, debugName: 'view', test: /src\/console\/(?!components\/(chart|table)\/)/, priority: 1 },
            { name: 'code', test: isEditor, priority: 1 },
          ],
        },
      },
    },
  },
};

/** Rewrites the origin of requests, because a service without keys accepts only same-origin writes. */
const rewriteOrigin = (proxy) =>
  proxy.on('proxyReq', (request) => request.getHeader('origin') !== undefined && request.setHeader('origin', SERVICE));

const SERVICE = 'http://127.0.0.1:8080';
const FAMILIES =
  '^/(analytics|changelog|data|derivatives|docs|health|indices|jobs|metrics|openapi|optimise|reports|risk-models|strategies)';

if (process.argv.includes('--watch')) {
  const server = await createServer({
    ...config,
    logLevel: 'info',
    server: { proxy: { [FAMILIES]: { target: SERVICE, changeOrigin: true, configure: rewriteOrigin } } },
  });
  await server.listen();
  server.printUrls();
} else {
  const collector = createModuleCollector();
  await build({ ...config, plugins: [collector.plugin] });
  writePackages(OUT, collector.ids, 'assets/licences.txt');
  compress();
}

/** Compresses assets except fonts and pictures, which are compressed already. */
function compress() {
  const files = readdirSync(OUT, { recursive: true }).filter((file) => /\.(?:html|m?js|css|svg|txt)$/.test(file));
  for (const file of files.map((name) => join(OUT, name))) {
    const bytes = readFileSync(file);
    const params = {
      [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
      [constants.BROTLI_PARAM_QUALITY]: 11,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    };
    writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params }));
    writeFileSync(`${file}.gzip`, gzipSync(bytes, { level: 9 }));
  }
}
