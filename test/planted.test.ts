import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/**
 * A room of the table. The tests verify the linter's rules: for each rule, one violation is planted in a separate tree,
 * next to one import that the rule allows. The linter must report every violation and no allowed import.
 */
interface Room {
  readonly values: readonly string[];
  readonly types: readonly string[];
  readonly packages: readonly string[];
}

const table = (await import(pathToFileURL('test/rooms.mjs').href)) as {
  ROOMS: Record<string, Room>;
  ALCOVES: Record<string, { room: string; packages: string[] }>;
  FAMILIES: Record<string, readonly string[]>;
};
const rooms = Object.entries(table.ROOMS);
const nameOf = (room: string) => room.replace('src/', '');
const names = rooms.map(([room]) => nameOf(room));

interface Plant {
  readonly file: string;
  readonly text: string;
}

const importing = (specifier: string) => `import { thing } from '${specifier}';\nexport const seen = thing;\n`;
const knowing = (specifier: string) => `import type { Thing } from '${specifier}';\nexport type Seen = Thing;\n`;
/** Replaces a package pattern by the name of a module that it matches. */
const replaceMember = (pattern: string) => pattern.replace('node:*', 'node:path').replace('/**', '/inner');

const violations: Plant[] = rooms.flatMap(([room, { values, types, packages }]) => {
  const closed = names.filter((name) => name !== nameOf(room) && !values.includes(name) && !types.includes(name));
  return [
    ...closed.map((name) => ({ file: `${room}/closed-${name}.ts`, text: importing(`#${name}/thing.js`) })),
    ...closed.map((name) => ({ file: `${room}/deep/closed-type-${name}.ts`, text: knowing(`#${name}/thing.js`) })),
    ...types.map((name) => ({ file: `${room}/value-${name}.ts`, text: importing(`#${name}/thing.js`) })),
    { file: `${room}/package.ts`, text: importing('left-pad') },
    { file: `${room}/scoped.ts`, text: importing('@left/pad') },
    ...(packages.includes('node:*')
      ? []
      : [
          { file: `${room}/node.ts`, text: importing('node:fs') },
          { file: `${room}/node-promises.ts`, text: importing('node:fs/promises') },
        ]),
    { file: `${room}/climb.ts`, text: importing('../elsewhere/thing.js') },
    { file: `${room}/deep/climb.ts`, text: importing('../../elsewhere/thing.js') },
    { file: `${room}/deep/deeper/climb.ts`, text: importing('../../../elsewhere/thing.js') },
  ];
});

const isLoose = (family: string): boolean => /\.tsx?$/.test(family);

/**
 * Violations of family order: a family must not import later families of its room, by path or by name, values or types,
 * at any depth.
 */
const against: Plant[] = Object.entries(table.FAMILIES).flatMap(([room, families]) =>
  families.slice(0, -1).flatMap((family, i) => {
    const later = families[i + 1]!;
    const target = isLoose(later) ? later.replace(/\.tsx?$/, '.js') : `${later}/thing.js`;
    if (isLoose(family)) return [{ file: `${room}/${family}`, text: importing(`./${target}`) }];
    return [
      { file: `${room}/${family}/against.ts`, text: importing(`../${target}`) },
      { file: `${room}/${family}/against-type.ts`, text: knowing(`../${target}`) },
      { file: `${room}/${family}/against-name.ts`, text: importing(`#${nameOf(room)}/${target}`) },
      { file: `${room}/${family}/deep/against.ts`, text: importing(`../../${target}`) },
    ];
  }),
);
const along: Plant[] = Object.entries(table.FAMILIES).flatMap(([room, families]) => {
  const folders = families.filter((family) => !isLoose(family));
  return folders.slice(1).flatMap((family, i) => [
    { file: `${room}/${family}/along.ts`, text: importing(`../${folders[i]}/thing.js`) },
    { file: `${room}/${family}/deep/along.ts`, text: knowing(`../../${folders[i]}/thing.js`) },
    // A subfolder of a family may have the name of a later family.
    { file: `${room}/${folders[i]}/deep/inside.ts`, text: importing(`../${family}/thing.js`) },
  ]);
});

const allowed: Plant[] = [
  ...along,
  ...rooms.flatMap(([room, { values, types, packages }]) => [
    ...values.map((name) => ({ file: `${room}/may-${name}.ts`, text: importing(`#${name}/thing.js`) })),
    ...types.map((name) => ({ file: `${room}/knows-${name}.ts`, text: knowing(`#${name}/thing.js`) })),
    ...packages.map((name, i) => ({ file: `${room}/uses-${i}.ts`, text: importing(replaceMember(name)) })),
    { file: `${room}/beside.ts`, text: importing('./thing.js') },
    { file: `${room}/deep/beside.ts`, text: importing('../thing.js') },
  ]),
  ...Object.entries(table.ALCOVES).flatMap(([folder, { packages }]) =>
    packages.map((name, i) => ({ file: `${folder}/uses-${i}.ts`, text: importing(replaceMember(name)) })),
  ),
];

const manners: Plant[] = [
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
 * Violations of design rules that are stated independently of the table, so that changing the table cannot drop a rule
 * unnoticed.
 */
const designed: Plant[] = [
  { file: 'kernels/of-domain.ts', text: importing('#domain/refusals/refusal.js') },
  { file: 'src/domain/of-store.ts', text: importing('#store/port.js') },
  { file: 'src/services/of-http.ts', text: importing('#http/app.js') },
  { file: 'src/services/of-framework.ts', text: importing('hono') },
  { file: 'src/services/of-numerics.ts', text: importing('#kernels/algebra/gemm.js') },
  { file: 'src/http/of-jobs.ts', text: importing('#jobs/create-job-system.js') },
  { file: 'src/jobs/of-workers.ts', text: importing('#workers/main.js') },
  { file: 'workers/of-store.ts', text: importing('#store/port.js') },
];

let house: string;
let report: readonly string[] = [];

beforeAll(() => {
  house = mkdtempSync(join(tmpdir(), 'planted-'));
  cpSync('.oxlintrc.json', join(house, '.oxlintrc.json'));
  for (const { file, text } of [...violations, ...against, ...allowed, ...manners, ...designed]) {
    mkdirSync(dirname(join(house, file)), { recursive: true });
    writeFileSync(join(house, file), text);
  }
  report = lint(house);
});

afterAll(() => rmSync(house, { recursive: true }));

function lint(folder: string): string[] {
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

const complaints = (file: string) => report.filter((line) => line.startsWith(`${file}:`)).length;

describe('planted violations', () => {
  test.each(rooms.map(([room]) => room))('%s: each is caught once', (room) => {
    const planted = violations.filter(({ file }) => file.startsWith(`${room}/`));
    expect(planted.length).toBeGreaterThan(0);
    expect(planted.filter(({ file }) => complaints(file) !== 1).map(({ file }) => file)).toEqual([]);
  });

  test.each(Object.keys(table.FAMILIES))('%s: an import against the order of its families is caught once', (room) => {
    const planted = against.filter(({ file }) => file.startsWith(`${room}/`));
    expect(planted.length).toBeGreaterThan(0);
    expect(planted.filter(({ file }) => complaints(file) !== 1).map(({ file }) => file)).toEqual([]);
  });

  test('of style and design are caught', () => {
    expect([...manners, ...designed].filter(({ file }) => complaints(file) === 0).map(({ file }) => file)).toEqual([]);
  });
});

test('imports that the table allows pass', () => {
  expect(allowed.filter(({ file }) => complaints(file) > 0).map(({ file }) => file)).toEqual([]);
});
