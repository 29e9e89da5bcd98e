import { resolve } from 'node:path';
import { z } from 'zod';
import { parseHostPort } from '#base/addresses.js';
import { LIMITS } from '#domain/base/limits.js';
import {
  APPROVAL_ACTION_NAMES,
  type ApprovalAction,
  type ApprovalRules,
  PERSONS_MAX,
} from '#domain/definition/approvals.js';
import { isLocalIssuer, parseClaimGrant } from '#http/oidc/tokens.js';
import type { TlsFiles } from '#http/server.js';
import { computeMemoryBudget } from '#jobs/node-limits.js';
import { PROCESS_MEGABYTES, QUERY_MEMORY, ROWS_BYTES_MAX } from '#market/serve/process-pool.js';
import { isAddressRange } from '#services/keys/keys.js';
import { parseSecretKeys } from '#store/secret-box.js';
import { EXIT_CONFIGURATION, StartRefusal } from '#store/start-refusal.js';
import { createListSchema, createWholeNumber, declareSetting, PANEL_MEGABYTES } from './setting.js';

const RULE_PATTERN = /^([a-z]+)=(\d)(?::([^,+]+(?:\+[^,+]+)*))?$/;
const RULE_SYNTAX = `must be ACTION=PERSONS or ACTION=PERSONS:name+name, with ${APPROVAL_ACTION_NAMES.join(', ')} and up to ${PERSONS_MAX} persons`;

const isAction = (word: string): word is ApprovalAction => (APPROVAL_ACTION_NAMES as readonly string[]).includes(word);

/**
 * Parses rules such as `publish=2,restate=3:ada+ben`. With a rule for one person, no second person is needed. If
 * restatements have no rule, the rule for publications applies, because a restatement publishes.
 */
const approvalRules = createListSchema(',').transform((texts, context): ApprovalRules => {
  const rules: { [A in ApprovalAction]?: ApprovalRules[A] } = {};
  const statedActions = new Set<string>();
  for (const text of texts) {
    const [, action = '', count = '', names] = RULE_PATTERN.exec(text) ?? [];
    const personCount = Number(count);
    if (!isAction(action) || personCount < 1 || personCount > PERSONS_MAX) {
      context.addIssue({ code: 'custom', message: RULE_SYNTAX, input: text });
      return z.NEVER;
    }
    statedActions.add(action);
    if (personCount > 1)
      rules[action] = { persons: personCount, approvers: names === undefined ? null : names.split('+') };
    else delete rules[action];
  }
  if (!statedActions.has('restate') && rules.publish !== undefined) rules.restate = rules.publish;
  return rules;
});

/** Settings of changes that need a second person. */
export const APPROVAL_SETTINGS = {
  approvals: declareSetting({
    flag: 'approvals',
    variable: 'DIVISOR_APPROVALS',
    otherwise: () => '',
    help: `Changes that need the agreement of several people, separated by commas. With publish=2, a second person must approve the request; publish=2:ada+ben limits who can approve. The rule of publish applies to restatements if restate has no rule; with restate=1, one person can restate. Actions: ${APPROVAL_ACTION_NAMES.join(', ')}.`,
    schema: approvalRules,
  }),
  approvalHours: declareSetting({
    flag: 'approval-hours',
    variable: 'DIVISOR_APPROVAL_HOURS',
    otherwise: () => '72',
    help: 'Number of hours after which a request for approval expires.',
    schema: createWholeNumber(1, 8760),
  }),
};

/**
 * Memory in MiB that a reader process needs without panels. It is used by the heap, and by the memory, code and threads
 * of DuckDB.
 */
const READER_BASE_MEGABYTES = 3072;
/** Maximum number of copies of a store in a reader process: one while it is read, and one while it is passed on. */
const PANELS_IN_READER = 2;
const READER_SHARE_MAX = 0.75;

function computeReaderMegabytes(): number {
  const budgetMegabytes = computeMemoryBudget(READER_SHARE_MAX) / 2 ** 20;
  return Math.floor(
    Math.max(
      1024,
      Math.min(budgetMegabytes, READER_BASE_MEGABYTES + PANELS_IN_READER * Number(PANEL_MEGABYTES.otherwise())),
    ),
  );
}

/** Declares the setting of a file path. Default: undefined. */
const declareOptionalFile = (flag: string, variable: string, help: string) =>
  declareSetting({
    flag,
    variable,
    otherwise: () => '',
    help,
    schema: z.string().transform((path) => (path === '' ? undefined : resolve(path))),
  });

const isReceiver = (text: string): boolean =>
  text.startsWith('syslog://')
    ? parseHostPort(text.slice('syslog://'.length).replace(/\/$/, ''), 1) !== undefined
    : /^https?:\/\//.test(text) && URL.canParse(text);

/** Declares a text setting. Default: undefined. */
const declareOptionalText = (flag: string, variable: string, help: string) =>
  declareSetting({
    flag,
    variable,
    otherwise: () => '',
    help,
    schema: z.string().transform((text) => (text === '' ? undefined : text)),
  });

/** Settings of access and secrets, and limits of processes that read data. */
export const SECURITY_SETTINGS = {
  readerMegabytes: declareSetting({
    flag: 'reader-memory-mb',
    variable: 'DIVISOR_READER_MEMORY_MB',
    otherwise: () => String(computeReaderMegabytes()),
    otherwiseHelp:
      '3072 and twice the default of --panel-memory-mb, at most three quarters of the memory, at least 1024',
    help: `Limit of the private memory of each reader process, in MiB, enforced by the operating system (Linux). A process that reads no whole store, such as an inspection, uses at most ${ROWS_BYTES_MAX / 2 ** 20}.`,
    schema: createWholeNumber(256, 100_000_000),
  }),
  sqlSeconds: declareSetting({
    flag: 'sql-seconds',
    variable: 'DIVISOR_SQL_SECONDS',
    otherwise: () => String(LIMITS.MAX_SQL_SECONDS),
    help: 'Time limit of a SQL query, in seconds. Pauses do not count.',
    schema: createWholeNumber(1, 600),
  }),
  sqlMegabytes: declareSetting({
    flag: 'sql-memory-mb',
    variable: 'DIVISOR_SQL_MEMORY_MB',
    otherwise: () => String(QUERY_MEMORY.query / 2 ** 20),
    help: `Memory of a SQL query, in MiB, which other queries cannot take away. DuckDB uses at most ${PROCESS_MEGABYTES} less, and the process of the query the rest.`,
    schema: createWholeNumber(2 * PROCESS_MEGABYTES, 100_000_000),
  }),
  sqlProcessMegabytes: declareSetting({
    flag: 'sql-process-memory-mb',
    variable: 'DIVISOR_SQL_PROCESS_MEMORY_MB',
    otherwise: () => String(QUERY_MEMORY.process / 2 ** 20),
    help: 'Limit of the private memory of the process of a SQL query, in MiB, enforced by the operating system (Linux). It includes memory that DuckDB does not count towards its own limit, such as that of some functions.',
    schema: createWholeNumber(512, 100_000_000),
  }),
  sqlTotalMegabytes: declareSetting({
    flag: 'sql-total-memory-mb',
    variable: 'DIVISOR_SQL_TOTAL_MEMORY_MB',
    otherwise: () => String(QUERY_MEMORY.all / 2 ** 20),
    help: 'Limit of the resident memory of all processes of SQL queries together, in MiB (Linux). One key can use at most this minus --sql-memory-mb. Beyond it, the largest process is ended.',
    schema: createWholeNumber(512, 100_000_000),
  }),
  readerCgroup: declareOptionalFile(
    'reader-cgroup',
    'DIVISOR_READER_CGROUP',
    'Folder of a cgroup (version 2) that is delegated to the service. Each reader process gets a group with its memory limit, which then includes shared memory and cached files.',
  ),
  idleWriteSeconds: declareSetting({
    flag: 'idle-write-seconds',
    variable: 'DIVISOR_IDLE_WRITE_SECONDS',
    otherwise: () => String(LIMITS.MAX_IDLE_WRITE_SECONDS),
    help: 'Time without progress after which a response is aborted, because its client does not read it, in seconds.',
    schema: createWholeNumber(1, 3600),
  }),
  tenancy: declareSetting({
    flag: 'tenancy',
    variable: 'DIVISOR_TENANCY',
    otherwise: () => 'none',
    help: 'Response for ids outside the prefixes of a key: none returns 403, prefix returns 404 as for ids that do not exist.',
    schema: z.enum(['none', 'prefix']),
  }),
  oidcIssuer: declareSetting({
    flag: 'oidc-issuer',
    variable: 'DIVISOR_OIDC_ISSUER',
    otherwise: () => '',
    help: 'Address of an OpenID provider. Its tokens are accepted in addition to keys. It must be https:// unless it is on this machine.',
    schema: z
      .string()
      .refine(
        (text) => text === '' || isLocalIssuer(text) || (text.startsWith('https://') && URL.canParse(text)),
        'must be https://..., or http:// of a loopback address',
      )
      .transform((text) => (text === '' ? undefined : text)),
  }),
  oidcAudience: declareOptionalText('oidc-audience', 'DIVISOR_OIDC_AUDIENCE', 'Audience that the tokens must contain.'),
  oidcClientId: declareOptionalText(
    'oidc-client-id',
    'DIVISOR_OIDC_CLIENT_ID',
    'Client id of this service at the provider. It enables sign-in in browsers at /auth/login.',
  ),
  oidcClientSecret: declareSetting({
    variable: 'DIVISOR_OIDC_CLIENT_SECRET',
    otherwise: () => '',
    help: 'Secret of a confidential client.',
    schema: z.string().transform((text) => (text === '' ? undefined : text)),
    isSecret: true,
  }),
  oidcScopes: declareSetting({
    flag: 'oidc-scopes',
    variable: 'DIVISOR_OIDC_SCOPES',
    otherwise: () => '',
    help: 'Scopes that claims grant: claim=value:scope+scope. Append :prefix+prefix to limit ids. For several claims, repeat the flag or separate them by commas.',
    schema: createListSchema(',').pipe(
      z.array(
        z.string().transform((text, context) => {
          const grant = parseClaimGrant(text);
          if (grant !== undefined) return grant;
          context.addIssue({ code: 'custom', message: 'must be claim=value:scope+scope', input: text });
          return z.NEVER;
        }),
      ),
    ),
  }),
  publicUrl: declareOptionalText(
    'public-url',
    'DIVISOR_PUBLIC_URL',
    'Address of the service for browsers, behind a proxy. Default: the address in the request.',
  ),
  secretKeyFile: declareOptionalFile(
    'secret-key-file',
    'DIVISOR_SECRET_KEY_FILE',
    'File with a key of 32 bytes in base64 or hexadecimal digits, which encrypts stored signing keys and passwords of sources. Further lines contain earlier keys, which only decrypt.',
  ),
  secretKey: declareSetting({
    variable: 'DIVISOR_SECRET_KEY',
    otherwise: () => '',
    help: 'The keys of the file as text.',
    schema: z
      .string()
      .refine(
        (text) => text === '' || parseSecretKeys(text) !== undefined,
        'must be keys of 32 bytes in base64 or hexadecimal digits',
      ),
    isSecret: true,
  }),
  tlsCert: declareOptionalFile(
    'tls-cert',
    'DIVISOR_TLS_CERT',
    'PEM file of the certificate chain. It enables HTTPS. The service reloads the file when it changes.',
  ),
  tlsKey: declareOptionalFile('tls-key', 'DIVISOR_TLS_KEY', 'PEM file of the private key of the certificate.'),
  tlsClientCa: declareOptionalFile(
    'tls-client-ca',
    'DIVISOR_TLS_CLIENT_CA',
    'PEM file of certificate authorities. Every client then needs a certificate from one of them.',
  ),
  keyQuotaMegabytes: declareSetting({
    flag: 'key-quota-mb',
    variable: 'DIVISOR_KEY_QUOTA_MB',
    otherwise: () => String(LIMITS.MAX_KEY_STORED_BYTES / 2 ** 20),
    help: 'Maximum size of the documents and versions of one key, in MiB. Purging documents frees space.',
    schema: createWholeNumber(1, 100_000_000),
  }),
  auditPush: declareSetting({
    flag: 'audit-push',
    variable: 'DIVISOR_AUDIT_PUSH',
    otherwise: () => '',
    help: 'Receiver of audit log entries, each sent at least once: https://host/path as JSON lines, or syslog://host:port over TCP.',
    schema: z
      .string()
      .refine(
        (text) => text === '' || isReceiver(text),
        'must be https://host/path, http://host/path or syslog://host:port',
      )
      .transform((text) => (text === '' ? undefined : text)),
  }),
  auditPushToken: declareSetting({
    variable: 'DIVISOR_AUDIT_PUSH_TOKEN',
    otherwise: () => '',
    help: 'Bearer token for the receiver of the audit log.',
    schema: z.string().transform((text) => (text === '' ? undefined : text)),
    isSecret: true,
  }),
  auditReads: declareSetting({
    flag: 'audit-reads',
    variable: 'DIVISOR_AUDIT_READS',
    otherwise: () => '',
    help: 'Reads that the audit log records in addition to writes: exports, keys, or both separated by a comma.',
    schema: createListSchema(',').pipe(z.array(z.enum(['exports', 'keys']))),
  }),
  trustedProxies: declareSetting({
    flag: 'trusted-proxies',
    variable: 'DIVISOR_TRUSTED_PROXIES',
    otherwise: () => '',
    help: 'Addresses and ranges of trusted reverse proxies, separated by commas. The service reads the client address from their X-Forwarded-For, and does not limit their connections.',
    schema: createListSchema(',').pipe(
      z.array(z.string().refine(isAddressRange, 'must be an address or a range as 10.0.0.0/8')),
    ),
  }),
};

/**
 * Returns the files of an HTTPS service. Returns undefined for plain HTTP. @throws StartRefusal if only one of
 * certificate and key is given
 */
export function readTlsFiles({
  tlsCert: cert,
  tlsKey: key,
  tlsClientCa: clientCa,
}: {
  readonly tlsCert: string | undefined;
  readonly tlsKey: string | undefined;
  readonly tlsClientCa: string | undefined;
}): TlsFiles | undefined {
  if (cert !== undefined && key !== undefined) return { cert, key, clientCa };
  if (cert === undefined && key === undefined && clientCa === undefined) return undefined;
  throw new StartRefusal(EXIT_CONFIGURATION, 'HTTPS needs both --tls-cert and --tls-key.');
}
