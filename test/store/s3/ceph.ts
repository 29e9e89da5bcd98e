import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { AwsClient } from 'aws4fetch';
import { freePort } from '../../free-port.js';

/** Programs of the Debian packages radosgw, ceph-common, ceph-mon and ceph-osd. */
const PROGRAMS = ['radosgw', 'radosgw-admin', 'ceph', 'monmaptool', 'ceph-mon', 'ceph-osd'];

/** Access to the gateway and its bucket, in the form of `TEST_S3`. */
export interface Ceph {
  readonly version: string;
  readonly url: string;
}

/** Returns the first program of Ceph that is not on the path. Returns undefined if Ceph can be started. */
export function findMissingProgram(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return PROGRAMS.find((program) => !folders.some((folder) => existsSync(join(folder, program))));
}

const BUCKET = 'results';
const KEYS = { accessKeyId: 'CEPH-OF-THE-TEST', secretAccessKey: 'secret-of-the-test' };
/** Maximum time of a start in ms. A start takes 15 s on a busy machine with two cores. */
const START_MS = 150_000;
const LOOK_MS = 100;

/**
 * Returns the only Ceph of this run of all tests. The first caller starts it, and it is stopped at the end of the run.
 * It has a monitor, an object store in memory and the gateway, all on loopback. Their files are in the folder of the
 * run.
 */
export async function openSharedCeph(): Promise<Ceph> {
  const runFolder = process.env['TEST_RUN_FOLDER']!; // set before the first test
  const folder = join(runFolder, 'ceph');
  const outcomePath = join(runFolder, 'ceph.json');
  try {
    mkdirSync(folder);
    const startOutcome = await startCeph(folder).catch((thrown: unknown) => ({
      failure: String(thrown).slice(0, 2000),
    }));
    writeFileSync(`${outcomePath}.new`, JSON.stringify(startOutcome));
    renameSync(`${outcomePath}.new`, outcomePath);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
  }
  while (!existsSync(outcomePath)) await sleep(LOOK_MS); // another process is starting Ceph
  const report = JSON.parse(readFileSync(outcomePath, 'utf8')) as Ceph | { readonly failure: string }; // the report that the code above writes
  if ('failure' in report) throw new Error(`Ceph did not start: ${report.failure}`);
  return report;
}

async function startCeph(folder: string): Promise<Ceph> {
  const [cluster, disk, configuration] = [randomUUID(), randomUUID(), join(folder, 'ceph.conf')];
  const monitorAddress = `v2:127.0.0.1:${await freePort()}`;
  writeFileSync(configuration, formatCephSettings({ folder, cluster, monitor: monitorAddress }));
  const processOptions = { env: { ...process.env, CEPH_CONF: configuration }, cwd: folder };

  /** Runs a program to its end. @returns its output */
  async function run(program: string, words: string): Promise<string> {
    return (await promisify(execFile)(program, words.split(' '), { ...processOptions, timeout: START_MS })).stdout;
  }

  /** Starts a program that continues after this process ends. At the end of the run it is stopped by its process id. */
  function launch(program: string, words: string): void {
    const output = openSync(join(folder, `${program}.out`), 'a');
    const child = spawn(program, words.split(' '), {
      ...processOptions,
      detached: true,
      stdio: ['ignore', output, output],
    });
    closeSync(output);
    child.on('error', () => {}); // the function that waits for the program reports the error
    child.unref();
    appendFileSync(join(folder, 'pids'), `${child.pid}\n`);
  }

  await run('monmaptool', `--create --fsid ${cluster} --addv a [${monitorAddress}] monmap`);
  await run('ceph-mon', '-i a --mkfs --monmap monmap --keyring /dev/null');
  launch('ceph-mon', '-f -i a');
  await run('ceph', `osd new ${disk}`);
  mkdirSync(join(folder, 'osd'));
  await run('ceph-osd', `-i 0 --mkfs --osd-uuid ${disk}`);
  launch('ceph-osd', '-f -i 0');
  const { accessKeyId, secretAccessKey } = KEYS;
  const keys = `--access-key ${accessKeyId} --secret-key ${secretAccessKey}`;
  await run('radosgw-admin', `user create --uid tester --display-name tester ${keys}`);
  const address = `127.0.0.1:${await freePort()}`;
  appendFileSync(configuration, `[client.gateway]\nrgw frontends = beast endpoint=${address}\n`);
  launch('radosgw', '-f -n client.gateway');
  await makeBucket(`http://${address}/${BUCKET}`);
  const version = /version (\S+)/.exec(await run('radosgw', '--version'))?.[1] ?? 'of an unknown version';
  return { version, url: `http://${accessKeyId}:${secretAccessKey}@${address}/${BUCKET}` };
}

interface Cluster {
  readonly folder: string;
  readonly cluster: string;
  readonly monitor: string;
}

/** Returns the configuration. Each object has a single copy in memory, and only the gateway authenticates. */
const formatCephSettings = ({ folder, cluster, monitor }: Cluster): string => `[global]
fsid = ${cluster}
mon host = [${monitor}]
public addr = 127.0.0.1
cluster addr = 127.0.0.1
auth cluster required = none
auth service required = none
auth client required = none
ms mon client mode = crc
mon data = ${folder}/mon
osd data = ${folder}/osd
rgw data = ${folder}/rgw
run dir = ${folder}
crash dir = ${folder}
log file = ${folder}/$name.log
mon cluster log file = ${folder}/cluster.log
admin socket =
osd objectstore = memstore
memstore device bytes = ${8 * 2 ** 30}
osd crush chooseleaf type = 0
osd crush initial weight = 1
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd pool default pg autoscale mode = off
rgw enable apis = s3
`;

/**
 * Creates a bucket. This is possible only through the protocol. The gateway responds after it has created its pools.
 */
async function makeBucket(url: string): Promise<void> {
  const client = new AwsClient({ ...KEYS, service: 's3', region: 'us-east-1', retries: 0 });
  const until = performance.now() + START_MS;
  for (;;) {
    // The check cannot be `instanceof Response`, because a service in this process replaces that class.
    const answer = await client.fetch(url, { method: 'PUT' }).catch((thrown: unknown) => thrown as Error);
    if (!(answer instanceof Error) && answer.ok) return;
    if (performance.now() > until)
      throw new Error(`its gateway makes no bucket: ${answer instanceof Error ? answer : await answer.text()}`);
    await sleep(LOOK_MS);
  }
}
