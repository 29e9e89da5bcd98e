import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/**
 * A folder of the table that has import rules. The tests verify the rules of the linter. For each rule, they write one
 * violation and one allowed import into a separate tree. The linter must report every violation and no allowed import.
 */
interface RoomImports {
  readonly values: readonly string[];
  readonly types: readonly string[];
  readonly packages: readonly string[];
}

const table = (await import(pathToFileURL('test/rooms.mjs').href)) as {
  ROOMS: Record<string, RoomImports>;
  ALCOVES: Record<string, { room: string; packages: string[] }>;
  FAMILIES: Record<string, readonly string[]>;
};
const modules = Object.entries(table.ROOMS);
const formatRoom = (room: string) => room.replace('src/', '');
const names = modules.map(([room]) => formatRoom(room));

interface Plant {
  readonly file: string;
  readonly text: string;
}

const formatImport = (specifier: string) => `import { thing } from '${specifier}';\nexport const seen = thing;\n`;
const formatTypeImport = (specifier: string) =>
  `import type { Thing } from '${specifier}';\nexport type Seen = Thing;\n`;
/** Replaces a package pattern by the name of a module that it matches. */
const replaceMember = (pattern: string) => pattern.replace('node:*', 'node:path').replace('/**', '/inner');

const violations: Plant[] = modules.flatMap(([room, { values, types, packages }]) => {
  const closedModules = names.filter(
    (name) => name !== formatRoom(room) && !values.includes(name) && !types.includes(name),
  );
  return [
    ...closedModules.map((name) => ({ file: `${room}/closed-${name}.ts`, text: formatImport(`#${name}/thing.js`) })),
    ...closedModules.map((name) => ({
      file: `${room}/deep/closed-type-${name}.ts`,
      text: formatTypeImport(`#${name}/thing.js`),
    })),
    ...types.map((name) => ({ file: `${room}/value-${name}.ts`, text: formatImport(`#${name}/thing.js`) })),
    { file: `${room}/package.ts`, text: formatImport('left-pad') },
    { file: `${room}/scoped.ts`, text: formatImport('@left/pad') },
    ...(packages.includes('node:*')
      ? []
      : [
          { file: `${room}/node.ts`, text: formatImport('node:fs') },
          { file: `${room}/node-promises.ts`, text: formatImport('node:fs/promises') },
        ]),
    { file: `${room}/climb.ts`, text: formatImport('../elsewhere/thing.js') },
    { file: `${room}/deep/climb.ts`, text: formatImport('../../elsewhere/thing.js') },
    { file: `${room}/deep/deeper/climb.ts`, text: formatImport('../../../elsewhere/thing.js') },
  ];
});

const isLoose = (family: string): boolean => /\.tsx?$/.test(family);

/**
 * Violations of the order of families. A family must not import later families of its folder, by path or by name, as
 * values or as types, at any depth.
 */
const backEdges: Plant[] = Object.entries(table.FAMILIES).flatMap(([room, families]) =>
  families.slice(0, -1).flatMap((family, i) => {
    const laterFamily = families[i + 1]!;
    const target = isLoose(laterFamily) ? laterFamily.replace(/\.tsx?$/, '.js') : `${laterFamily}/thing.js`;
    if (isLoose(family)) return [{ file: `${room}/${family}`, text: formatImport(`./${target}`) }];
    return [
      { file: `${room}/${family}/against.ts`, text: formatImport(`../${target}`) },
      { file: `${room}/${family}/against-type.ts`, text: formatTypeImport(`../${target}`) },
      { file: `${room}/${family}/against-name.ts`, text: formatImport(`#${formatRoom(room)}/${target}`) },
      { file: `${room}/${family}/deep/against.ts`, text: formatImport(`../../${target}`) },
    ];
  }),
);
const forwardEdges: Plant[] = Object.entries(table.FAMILIES).flatMap(([room, families]) => {
  const folders = families.filter((family) => !isLoose(family));
  return folders.slice(1).flatMap((family, i) => [
    { file: `${room}/${family}/along.ts`, text: formatImport(`../${folders[i]}/thing.js`) },
    { file: `${room}/${family}/deep/along.ts`, text: formatTypeImport(`../../${folders[i]}/thing.js`) },
    // A subfolder of a family may have the name of a later family.
    { file: `${room}/${folders[i]}/deep/inside.ts`, text: formatImport(`../${family}/thing.js`) },
  ]);
});

const allowedPlants: Plant[] = [
  ...forwardEdges,
  ...modules.flatMap(([room, { values, types, packages }]) => [
    ...values.map((name) => ({ file: `${room}/may-${name}.ts`, text: formatImport(`#${name}/thing.js`) })),
    ...types.map((name) => ({ file: `${room}/knows-${name}.ts`, text: formatTypeImport(`#${name}/thing.js`) })),
    ...packages.map((name, i) => ({ file: `${room}/uses-${i}.ts`, text: formatImport(replaceMember(name)) })),
    { file: `${room}/beside.ts`, text: formatImport('./thing.js') },
    { file: `${room}/deep/beside.ts`, text: formatImport('../thing.js') },
  ]),
  ...Object.entries(table.ALCOVES).flatMap(([folder, { packages }]) =>
    packages.map((name, i) => ({ file: `${folder}/uses-${i}.ts`, text: formatImport(replaceMember(name)) })),
  ),
];

const stylePlants: Plant[] = [
  { file: 'src/domain/default-export.ts', text: 'export default 1;\n' },
  { file: 'src/domain/any.ts', text: 'export const seen = (thing: any) => thing;\n' },
  { file: 'src/domain/cycle-a.ts', text: `import { b } from './cycle-b.js';\nexport const a = () => b;\n` },
  { file: 'src/domain/cycle-b.ts', text: `import { a } from './cycle-a.js';\nexport const b = () => a;\n` },
  {
    file: 'src/domain/type-cycle-a.ts',
    text: `import type { B } from './type-cycle-b.js';\nexport interface A { readonly b: B }\n`,
  },
  {
    file: 'src/domain/type-cycle-b.ts',
    text: `import type { A } from './type-cycle-a.js';\nexport interface B { readonly a: A | null }\n`,
  },
];

/**
 * Violations of design rules. The rules are stated here independently of the table. So nobody can drop a rule unnoticed
 * by changing the table.
 */
const designPlants: Plant[] = [
  { file: 'kernels/of-domain.ts', text: formatImport('#domain/base/refusals.js') },
  { file: 'src/domain/of-store.ts', text: formatImport('#store/port.js') },
  { file: 'src/services/of-http.ts', text: formatImport('#http/app.js') },
  { file: 'src/services/of-framework.ts', text: formatImport('hono') },
  { file: 'src/services/of-numerics.ts', text: formatImport('#kernels/algebra/products.js') },
  { file: 'src/http/of-jobs.ts', text: formatImport('#jobs/job-system.js') },
  { file: 'src/jobs/of-workers.ts', text: formatImport('#workers/tasks.js') },
  { file: 'workers/of-store.ts', text: formatImport('#store/port.js') },
];

let plantedFolder: string;
let reportLines: readonly string[] = [];

beforeAll(() => {
  plantedFolder = mkdtempSync(join(tmpdir(), 'planted-'));
  cpSync('.oxlintrc.json', join(plantedFolder, '.oxlintrc.json'));
  for (const { file, text } of [...violations, ...backEdges, ...allowedPlants, ...stylePlants, ...designPlants]) {
    mkdirSync(dirname(join(plantedFolder, file)), { recursive: true });
    writeFileSync(join(plantedFolder, file), text);
  }
  reportLines = listLintLines(plantedFolder);
});

afterAll(() => rmSync(plantedFolder, { recursive: true }));

function listLintLines(folder: string): string[] {
  try {
    return execFileSync(resolve('node_modules/.bin/oxlint'), ['--format', 'unix', '.'], {
      cwd: folder,
      encoding: 'utf8',
      stdio: 'pipe',
    }).split('\n');
  } catch (failure) {
    return (failure as { stdout: string }).stdout.split('\n');
  }
}

const listComplaints = (file: string) => reportLines.filter((line) => line.startsWith(`${file}:`)).length;

describe('planted violations', () => {
  test.each(modules.map(([room]) => room))('%s: each is caught once', (room) => {
    const plantedViolations = violations.filter(({ file }) => file.startsWith(`${room}/`));
    expect(plantedViolations.length).toBeGreaterThan(0);
    expect(plantedViolations.filter(({ file }) => listComplaints(file) !== 1).map(({ file }) => file)).toEqual([]);
  });

  test.each(Object.keys(table.FAMILIES))('%s: an import against the order of its families is caught once', (room) => {
    const plantedEdges = backEdges.filter(({ file }) => file.startsWith(`${room}/`));
    expect(plantedEdges.length).toBeGreaterThan(0);
    expect(plantedEdges.filter(({ file }) => listComplaints(file) !== 1).map(({ file }) => file)).toEqual([]);
  });

  test('of style and design are caught', () => {
    expect(
      [...stylePlants, ...designPlants].filter(({ file }) => listComplaints(file) === 0).map(({ file }) => file),
    ).toEqual([]);
  });
});

test('imports that the table allows pass', () => {
  expect(allowedPlants.filter(({ file }) => listComplaints(file) > 0).map(({ file }) => file)).toEqual([]);
});
