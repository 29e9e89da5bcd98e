import { randomBytes } from 'node:crypto';
import { createAuthenticate } from '#http/authentication.js';
import { createSessions } from '#http/oidc/sessions.js';
import { createSignIn } from '#http/oidc/sign-in.js';
import { createTokens } from '#http/oidc/tokens.js';
import { createAccessHandlers } from '#http/routes/access.js';
import { formatSessionCookieName, createSignInHandlers } from '#http/routes/sign-in.js';
import { AUDITED_READS, createAuditNotes } from '#services/history/audit-notes.js';
import { createAuditSender, createAuditPush } from '#services/history/audit-push.js';
import { createAccess } from '#services/operations/access.js';
import { createEndedSessions } from '#services/operations/ended-sessions.js';
import type { Keys } from '#services/operations/keys.js';
import { EXIT_CONFIGURATION, StartRefusal } from '#store/start-refusal.js';
import { formatTimestamp } from '#store/timestamp.js';
import { readTlsFiles } from '../security-settings.js';
import type { Closable, Core } from './core.js';

/** Composes the authentication of clients, their permissions, and the audit log. */
export async function composeAccountability(core: Core, keys: Keys, resources: Closable[]) {
  const { documents, settings, log, now } = core;
  const access = createAccess({ documents, isHidden: settings.tenancy === 'prefix' });
  const auditNotes = createAuditNotes({
    documents,
    timestamp: () => formatTimestamp(now()),
    monotonicMs: () => performance.now(),
    loggedReads: new Set(settings.auditReads.flatMap((readGroup) => AUDITED_READS[readGroup])),
    onFailure: (cause) => log.warn({ err: cause }, 'an entry of the audit log could not be written'),
  });
  const { auditPush, auditPushToken } = settings;
  if (auditPush !== undefined && !settings.readOnly) {
    const onFailure = (cause: unknown) => log.warn({ err: cause }, 'the receiver of the audit log accepts no entries');
    const auditForwarder = createAuditPush({
      documents,
      send: createAuditSender(auditPush, auditPushToken),
      onFailure,
    });
    resources.push(auditForwarder);
    auditForwarder.start();
  }
  const signInComponents = await composeSignIn(core);
  return {
    notes: auditNotes,
    findReach: access.findReach,
    authenticate: createAuthenticate(keys, signInComponents),
    handlers: createAccessHandlers(access),
    signIn: signInComponents.handlers,
    hasProvider: signInComponents.tokens !== undefined,
  };
}

async function composeSignIn({ documents, settings, log, secrets, now }: Core) {
  const { oidcIssuer: issuer, oidcAudience: audience, oidcClientId: clientId, publicUrl } = settings;
  const isSecure = readTlsFiles(settings) !== undefined;
  const isHttps = isSecure || publicUrl?.startsWith('https:') === true;
  if (issuer !== undefined && audience === undefined)
    throw new StartRefusal(EXIT_CONFIGURATION, 'Tokens of --oidc-issuer need --oidc-audience.');
  const grants = settings.oidcScopes;
  const onFailure = (cause: unknown) => log.warn({ err: cause }, 'the OpenID provider does not answer');
  const tokens = issuer && audience ? createTokens({ issuer, audience, grants, onFailure }) : undefined;
  // Processes with the same key accept each other's sessions. A session keeps the scopes that it had when it began.
  // Other grants therefore give another key, and earlier sessions become invalid.
  const key = secrets.derive(`sessions of subjects ${JSON.stringify([issuer, clientId, grants])}`) ?? randomBytes(32);
  const endedSessions = await createEndedSessions({ documents, isReadOnly: settings.readOnly, now });
  const sessions = createSessions({ key, ended: endedSessions, now });
  const { oidcClientSecret: clientSecret } = settings;
  const signIn = issuer && clientId ? createSignIn({ issuer, clientId, clientSecret, grants }) : undefined;
  return {
    tokens,
    sessions,
    cookie: formatSessionCookieName(isHttps),
    handlers: createSignInHandlers({ signIn, sessions, isSecure, publicUrl, now }),
  };
}
