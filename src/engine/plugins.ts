import { createHash } from 'node:crypto';
import { requireSandbox, SandboxError } from '#base/sandbox/sandbox.js';
import { PluginUpsert } from '#contract/plugins.js';
import type { StoredPluginCode } from '#domain/checks/fill-plugins.js';
import { checkPlugin, createSourceFinding, addPluginDefaults } from '#domain/checks/validate-plugin.js';
import { resolvePluginCode } from '#domain/documents/plugin-code.js';
import { createProgram, type PluginDocument } from '#domain/documents/plugin-document.js';
import { toCanonicalJson } from '#domain/json/canonical-json.js';
import type { Finding } from '#domain/refusals/findings.js';
import { refuseWithFindings } from '#domain/refusals/refusal.js';
import { checkShape } from '#domain/schema/shape.js';
import type * as Api from './api.js';

/** Reads plug-ins by id, as the service stores them. Loads the sandbox. @throws Refusal VALIDATION_FAILED */
export async function readPlugins(
  inputs: NonNullable<Api.EngineOptions['plugins']>,
): Promise<ReadonlyMap<string, StoredPluginCode>> {
  const { loadPluginSandbox } = await import('#domain/datapoints/plugin-sandbox.js');
  await loadPluginSandbox();
  const findings: Finding[] = [];
  const plugins = new Map<string, StoredPluginCode>();
  for (const [id, body] of Object.entries(inputs)) {
    const { plugin, wrong } = readPlugin(body);
    findings.push(...wrong.map((finding) => ({ ...finding, path: `plugins.${id}.${finding.path}` })));
    if (plugin !== undefined) plugins.set(id, { plugin, sha256: computeSha256(toCanonicalJson(plugin)) });
  }
  if (findings.length > 0) throw refuseWithFindings('plug-ins', findings);
  return plugins;
}

const computeSha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

function readPlugin(body: unknown): { readonly plugin?: PluginDocument; readonly wrong: readonly Finding[] } {
  const { value, findings } = checkShape(PluginUpsert, body);
  if (value === undefined) return { wrong: findings };
  const plugin = addPluginDefaults(value);
  const pluginFindings = checkPlugin(plugin);
  if (pluginFindings.length > 0) return { wrong: pluginFindings };
  try {
    requireSandbox().check(createProgram(resolvePluginCode(plugin, {}, '')));
    return { plugin, wrong: [] };
  } catch (error) {
    if (error instanceof SandboxError) return { wrong: [createSourceFinding(error.message)] };
    throw error;
  }
}
