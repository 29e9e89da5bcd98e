import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { API } from '#contract/api.js';
import { SETTINGS } from '#cli/settings/settings.js';
import { EXIT_TEMPORARY } from '#store/start-refusal.js';
import { runHere } from './process.js';

interface Container {
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value: string }[];
  readonly envFrom: readonly Readonly<Record<string, { readonly name: string }>>[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly readinessProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly securityContext?: object;
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
}
interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}
interface Pod {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: {
    readonly terminationGracePeriodSeconds?: number;
    readonly serviceAccountName?: string;
    readonly securityContext?: object;
    readonly containers: readonly Container[];
    readonly volumes?: readonly { readonly name: string; readonly emptyDir?: object }[];
  };
}
interface Item {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly stringData?: Readonly<Record<string, string>>;
  readonly spec?: { readonly [field: string]: unknown; readonly template?: Pod };
}

const { items } = JSON.parse(readFileSync('data/deploy/kubernetes.json', 'utf8')) as {
  readonly items: readonly Item[];
};
const composeText = readFileSync('data/deploy/compose.yaml', 'utf8');
const createItem = (kind: string, name: string): Item =>
  items.find((each) => each.kind === kind && each.metadata.name === name)!;
const pods = items.flatMap(({ spec }) => (spec?.template === undefined ? [] : [spec.template]));
const containers = pods.flatMap(({ spec }) => spec.containers);

/** Commands with which both deployment files start the image. */
const commands = [
  ...containers.map(({ args }) => args),
  ...[...composeText.matchAll(/^ {4}command: (\[.*\])$/gm)].map(([, words]) => JSON.parse(words!) as string[]),
];
const flags = new Set(Object.values(SETTINGS).map((setting) => ('flag' in setting ? `--${setting.flag}` : '')));
const variables = new Set<string>(Object.values(SETTINGS).map(({ variable }) => variable));

test('deployment files start commands of this version with settings that exist in this version', () => {
  expect([...new Set(commands.map(([verb]) => verb))].toSorted()).toEqual(['migrate', 'serve', 'worker']);
  for (const [verb, ...words] of commands) {
    const usedFlags = words.filter((word) => word.startsWith('--'));
    expect(
      usedFlags.filter((flag) => !flags.has(flag)),
      verb,
    ).toEqual([]);
  }
  const inEnvironment = new Set(
    containers.flatMap(({ envFrom }) => envFrom.flatMap((from) => Object.values(from).map(({ name }) => name))),
  );
  const namedVariables = [
    ...items
      .filter(({ metadata }) => inEnvironment.has(metadata.name))
      .flatMap(({ data = {}, stringData = {} }) => [...Object.keys(data), ...Object.keys(stringData)]),
    ...containers.flatMap(({ env = [] }) => env.map(({ name }) => name)),
  ];
  expect(namedVariables.filter((name) => !variables.has(name))).toEqual([]);
  expect(namedVariables).toEqual(expect.arrayContaining(['DATABASE_URL', 'DIVISOR_ARTIFACTS']));
});

test('deployment files run the image of this version, and Kubernetes migrates by a job with the version in its name', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  const images = [...composeText.matchAll(/image: (divisor\S*)/g)].map(([, image]) => image);
  expect(new Set(images)).toEqual(new Set([`divisor:${version}`]));
  // The digest is a placeholder: a digest exists only after a push to a registry.
  const placeholder = `registry.example/divisor:${version}@sha256:${'0'.repeat(64)}`;
  expect(new Set(containers.map(({ image }) => image))).toEqual(new Set([placeholder]));
  const jobs = items.filter(({ kind }) => kind === 'Job').map(({ metadata }) => metadata.name);
  expect(jobs).toEqual([`divisor-migrate-${version.replaceAll('.', '-')}`]);
});

test('images that are not built here are named by their digest', () => {
  const dockerfile = readFileSync('Dockerfile', 'utf8');
  const baseImages = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image);
  expect(new Set(baseImages)).toEqual(new Set(['${NODE_IMAGE}']));
  const otherImages = [
    /^ARG NODE_IMAGE=(\S+)$/m.exec(dockerfile)![1]!,
    ...[...composeText.matchAll(/image: (?!divisor:)(\S+)/g)].map(([, image]) => image!),
  ];
  expect(otherImages).toHaveLength(2);
  for (const image of otherImages) expect(image).toMatch(/^[a-z]+:[\w.-]+@sha256:[0-9a-f]{64}$/);
});

interface PolicyPeer {
  readonly podSelector?: object;
  readonly namespaceSelector?: object;
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] };
}
interface PolicyRule {
  readonly from?: readonly PolicyPeer[];
  readonly to?: readonly PolicyPeer[];
  readonly ports?: readonly { readonly port: number | string }[];
}
interface Policy {
  readonly podSelector: { readonly matchLabels: Readonly<Record<string, string>> };
  readonly policyTypes: readonly string[];
  readonly ingress?: readonly PolicyRule[];
  readonly egress?: readonly PolicyRule[];
}

test('pods of Kubernetes accept and open no connection that a network policy does not name', () => {
  const policies = items.filter(({ kind }) => kind === 'NetworkPolicy').map(({ spec }) => spec as unknown as Policy);
  for (const { metadata } of pods)
    for (const type of ['Ingress', 'Egress'])
      expect(
        policies.some(
          ({ podSelector, policyTypes, ingress, egress }) =>
            policyTypes.includes(type) &&
            ingress === undefined &&
            egress === undefined &&
            Object.entries(podSelector.matchLabels).every(([name, value]) => metadata.labels[name] === value),
        ),
        `${metadata.labels['part']} ${type}`,
      ).toBe(true);
  const rules = policies.flatMap(({ ingress = [], egress = [] }) => [...ingress, ...egress]);
  for (const { from, to, ports } of rules) {
    expect(ports?.length).toBeGreaterThan(0);
    expect((from ?? to)?.length).toBeGreaterThan(0);
  }
  const blocks = rules.flatMap(({ to = [] }) => to.flatMap(({ ipBlock }) => ipBlock ?? []));
  const wide = blocks.filter(({ cidr }) => !cidr.endsWith('/32'));
  expect(wide.map(({ cidr }) => cidr)).toEqual(['0.0.0.0/0', '2000::/3']);
  // Private networks and the metadata of the machine are not reached. IPv6 has them outside 2000::/3.
  for (const range of [
    '10.0.0.0/8',
    '172.16.0.0/12',
    '192.168.0.0/16',
    '127.0.0.0/8',
    '169.254.0.0/16',
    '100.64.0.0/10',
  ])
    expect(wide[0]!.except).toContain(range);
});

test('volumes of Kubernetes and /tmp of Compose have a size limit', () => {
  for (const { metadata, spec } of pods)
    for (const { name, emptyDir } of spec.volumes ?? [])
      if (emptyDir !== undefined)
        expect([metadata.labels['part'], name, emptyDir]).toEqual([
          metadata.labels['part'],
          name,
          expect.objectContaining({ sizeLimit: expect.stringMatching(/^\d+Gi$/) }),
        ]);
  for (const [, options] of composeText.matchAll(/tmpfs: \["([^"]+)"\]/g)) expect(options).toMatch(/^\/tmp:size=\d+g$/);
});

/** Services of the Compose file by name, each merged with the block that it extends. */
const services = Object.fromEntries(
  composeText
    .slice(composeText.indexOf('services:\n'), composeText.search(/^volumes:/m))
    .split(/^ {2}(?=\S)/m)
    .slice(1)
    .map((block) => [/^[\w-]+/.exec(block)![0], block] as const)
    .map(([name, block], _, blocks) => {
      const anchor = /<<: \*(\w+)/.exec(block)?.[1];
      return [name, block + (blocks.find(([, other]) => other.includes(`&${anchor}\n`))?.[1] ?? '')];
    }),
);

test('services of Compose refer to existing parts, and restart in any order after a reboot', () => {
  const listTopLevel = (name: string) => [
    ...new RegExp(`^${name}: \\{(.*)\\}$`, 'm').exec(composeText)![1]!.matchAll(/(\w+): \{/g),
  ];
  const volumes = listTopLevel('volumes').map(([, name]) => name);
  expect(Object.keys(services)).toEqual(['postgres', 'migrate', 'front-a', 'front-b', 'worker']);
  for (const [name, block] of Object.entries(services)) {
    expect([name, /restart: (\S+)/.exec(block)?.[1]]).toEqual([
      name,
      name === 'migrate' ? 'on-failure' : 'unless-stopped',
    ]);
    for (const [, volume] of block.matchAll(/volumes: \["(\w+):/g)) expect(volumes).toContain(volume);
    for (const [, needed, condition] of block.matchAll(/depends_on: \{ ([\w-]+): \{ condition: (\w+) \}/g)) {
      expect(Object.keys(services)).toContain(needed);
      if (condition === 'service_healthy') expect(services[needed!]).toContain('healthcheck:');
    }
  }
  // A command that runs in place of `migrate` uses the same storage. The command that creates the first key is an
  // example.
  expect(services['migrate']).toContain(/volumes: .*/.exec(services['front-a']!)![0]);
  // A new volume's folder belongs to the user of the image.
  const mounts = [...composeText.matchAll(/"results:([^"]+)"/g)].map(([, folder]) => folder!);
  for (const folder of mounts)
    expect(readFileSync('Dockerfile', 'utf8')).toMatch(new RegExp(`install .*--owner=divisor.* ${folder}`));
});

test('services of Compose listen only on this machine, without privileges and with a read-only file system', () => {
  for (const [name, block] of Object.entries(services)) {
    expect([name, block]).toEqual([name, expect.stringContaining('cap_drop: [ALL]')]);
    expect([name, block]).toEqual([name, expect.stringContaining('security_opt: ["no-new-privileges:true"]')]);
    if (name !== 'postgres') expect([name, block]).toEqual([name, expect.stringContaining('read_only: true')]);
  }
  const ports = [...composeText.matchAll(/ports: \["([^"]+)"\]/g)].map(([, port]) => port);
  expect(ports).toEqual(['127.0.0.1:8081:8080', '127.0.0.1:8082:8080']);
});

test('commands of Compose exit with a temporary status while the database is unavailable', async () => {
  const home = join(tmpdir(), 'divisor-never-opened');
  const environment = { DATABASE_URL: 'postgres://divisor@127.0.0.1:1/divisor', DIVISOR_ARTIFACTS: 'file:///nowhere' };
  for (const verb of ['migrate', 'serve', 'worker']) {
    const words = verb === 'migrate' ? [verb] : [verb, '--home', home, '--port', '0'];
    expect([verb, (await runHere(words, environment)).status]).toEqual([verb, EXIT_TEMPORARY]);
  }
  await rm(home, { recursive: true, force: true });
});

test('pods of Kubernetes refer to existing labels, volumes, ports and configurations', () => {
  for (const { metadata, spec } of pods) {
    const volumes = (spec.volumes ?? []).map(({ name }) => name);
    for (const container of spec.containers) {
      for (const { name } of container.volumeMounts ?? []) expect(volumes).toContain(name);
      for (const from of container.envFrom)
        for (const [kind, { name }] of Object.entries(from))
          expect(createItem(kind === 'secretRef' ? 'Secret' : 'ConfigMap', name)).toBeDefined();
    }
    expect(metadata.labels).toMatchObject({ app: 'divisor' });
    const account = spec.serviceAccountName;
    if (account !== undefined) expect(createItem('ServiceAccount', account)).toBeDefined();
  }
  for (const name of ['divisor-front', 'divisor-worker']) {
    const { spec } = createItem('Deployment', name);
    expect(spec?.['selector']).toEqual({ matchLabels: spec?.template?.metadata.labels });
  }
  const frontLabels = createItem('Deployment', 'divisor-front').spec!.template!.metadata.labels;
  expect(createItem('Service', 'divisor').spec).toMatchObject({
    selector: frontLabels,
    ports: [{ targetPort: 'http' }],
  });
  expect(createItem('PodDisruptionBudget', 'divisor-front').spec).toMatchObject({
    selector: { matchLabels: frontLabels },
  });
});

test('pods of Kubernetes check the health of both roles, and let a stop complete', () => {
  const paths = Object.values(API).map(({ path }) => path as string);
  for (const name of ['divisor-front', 'divisor-worker']) {
    const { spec } = createItem('Deployment', name).spec!.template!;
    expect(spec.terminationGracePeriodSeconds).toBeGreaterThan(25);
    for (const { readinessProbe, livenessProbe, ports, args } of spec.containers) {
      expect(readinessProbe!.httpGet).toEqual({ path: '/health/ready', port: ports![0]!.name });
      expect(livenessProbe!.httpGet).toEqual({ path: '/health/live', port: ports![0]!.name });
      expect(args.slice(1)).toEqual(['--host', '0.0.0.0', '--port', String(ports![0]!.containerPort)]);
      for (const { httpGet } of [readinessProbe!, livenessProbe!]) expect(paths).toContain(httpGet.path);
    }
  }
});

test('pods of Kubernetes write only to volumes, as the user of the image', () => {
  const user = Number(/useradd .*--uid (\d+)/.exec(readFileSync('Dockerfile', 'utf8'))![1]);
  for (const { spec } of pods) {
    expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: user, fsGroup: user });
    for (const { securityContext, volumeMounts = [] } of spec.containers) {
      expect(securityContext).toMatchObject({ readOnlyRootFilesystem: true, allowPrivilegeEscalation: false });
      const folders = volumeMounts.map(({ mountPath }) => mountPath);
      expect(folders).toEqual(expect.arrayContaining(['/tmp', '/var/lib/divisor']));
      expect(createItem('ConfigMap', 'divisor').data!['DIVISOR_HOME']).toMatch(/^\/var\/lib\/divisor\//);
      for (const secret of ['divisor', 'divisor-migrate']) {
        const { DATABASE_URL: url } = createItem('Secret', secret).stringData!;
        expect(folders).toContain(/sslrootcert=([^&]+)\/[^/]+$/.exec(url!)![1]);
      }
    }
  }
});

test('secrets of Kubernetes give the role that owns the tables only to the migration', () => {
  const listSecrets = (part: string) =>
    containers
      .filter(({ args }) => args[0] === part)
      .flatMap(({ envFrom }) => envFrom.flatMap((from) => from['secretRef']?.name ?? []));
  expect(['migrate', 'serve', 'worker'].map(listSecrets)).toEqual([['divisor-migrate'], ['divisor'], ['divisor']]);
  const roles = ['divisor-migrate', 'divisor'].map(
    (name) => new URL(createItem('Secret', name).stringData!['DATABASE_URL']!).username,
  );
  expect(roles).toEqual(['owner', 'app']);
  expect(readFileSync('data/guide/homes.md', 'utf8').replace(/\s+/g, ' ')).toContain(
    '`owner` runs `divisor migrate` and `app` runs the service',
  );
});

test('Kubernetes scales workers by the largest of several metrics of every process', () => {
  const { scaleTargetRef, metrics } = createItem('HorizontalPodAutoscaler', 'divisor-worker').spec as unknown as {
    scaleTargetRef: { kind: string; name: string };
    metrics: { external: { metric: { name: string; selector: { matchLabels: Record<string, string> } } } }[];
  };
  expect(createItem(scaleTargetRef.kind, scaleTargetRef.name).spec).not.toHaveProperty('replicas');
  const metricsSource = readFileSync('src/services/shared/metrics.ts', 'utf8');
  const adapterText = readFileSync('data/deploy/prometheus-adapter.yaml', 'utf8');
  expect(metrics).toHaveLength(2);
  for (const { external } of metrics) {
    expect(metricsSource).toContain(`'${external.metric.name}'`);
    expect(adapterText).toContain(`seriesQuery: '${external.metric.name}'\n`);
    expect(external.metric.selector.matchLabels).toEqual({ lane: 'heavy' });
  }
  // The adapter reads these members. Without `namespaced: false` it would request each metric per namespace.
  expect(adapterText).toMatch(/^externalRules:\n {2}- seriesQuery:/m);
  expect(adapterText.match(/^ {4}resources: \{ namespaced: false \}$/gm)).toHaveLength(2);
  expect(adapterText.match(/metricsQuery: '\w+/g)).toEqual(["metricsQuery: 'max", "metricsQuery: 'max"]);
});
