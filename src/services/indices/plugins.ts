import type { Plugin, PluginCollection, PluginUpsert } from '#contract/plugins.js';
import { checkTree } from '#domain/datapoints/expressions/check.js';
import { readExpression } from '#domain/datapoints/expressions/read-text.js';
import { indicesIn } from '#domain/datapoints/expressions/reads.js';
import type { ExpressionNode } from '#domain/datapoints/expressions/tree.js';
import { parameterProblem, pluginCode } from '#domain/documents/plugin-code.js';
import { PluginDocument, programOf } from '#domain/documents/plugin-document.js';
import type { Authorship } from '#domain/documents/version-document.js';
import type { Finding } from '#domain/refusals/findings.js';
import { refuseWithFindings } from '#domain/refusals/refusal.js';
import type { Jobs } from '#jobs/job-kind.js';
import type { DocumentStore } from '#store/port.js';
import type { Precondition } from '../shared/preconditions.js';
import { storedFamily, type PageQuery } from '../shared/stored-family.js';

export interface PluginsDependencies {
  readonly documents: DocumentStore;
  readonly jobs: Pick<Jobs, 'query'>;
}

export interface StoredPlugin {
  readonly plugin: Plugin;
  readonly etag: string;
}

export interface Plugins {
  list(query: PageQuery): Promise<PluginCollection>;
  /** @throws Refusal PLUGIN_NOT_FOUND, DOCUMENT_UNREADABLE */
  get(id: string): Promise<StoredPlugin>;
  /** Creates or replaces. @throws Refusal VALIDATION_FAILED, PRECONDITION_FAILED, OVERLOADED */
  put(id: string, body: PluginUpsert, ifMatch: Precondition | undefined, by?: Authorship): Promise<StoredPlugin>;
  /** @throws Refusal PLUGIN_NOT_FOUND, PRECONDITION_FAILED */
  remove(id: string, ifMatch: Precondition | undefined, by?: Authorship): Promise<void>;
}

/** Rules and datapoints that clients write as programs. */
export function createPlugins({ documents, jobs }: PluginsDependencies): Plugins {
  const family = storedFamily(documents, {
    kind: 'plugin',
    word: 'plug-in',
    read: (body) => PluginDocument.safeParse(body).data,
  });

  async function get(id: string): Promise<StoredPlugin> {
    const { document, etag, updatedAt } = await family.get(id);
    return { plugin: { plugin_id: id, ...document, sha256: etag, updated_at: updatedAt }, etag };
  }

  return {
    get,
    async list(query) {
      const { shown: plugins, ...skipped } = await family.page(query, async (id) => (await get(id)).plugin);
      return { plugins, ...skipped };
    },
    async put(id, body, ifMatch, by) {
      const document = stated(body);
      const findings = [...inputFindings(document), ...parameterFindings(document)];
      if (findings.length > 0) throw refuseWithFindings('plug-in', findings);
      const { fault } = await jobs.query('check-plugin', { program: programOf(pluginCode(document, {}, '')) });
      if (fault !== null) throw refuseWithFindings('plug-in', [faultFinding(fault)]);
      await family.put(id, document, ifMatch, by);
      return get(id);
    },
    remove: family.remove,
  };
}

const faultFinding = (fault: string): Finding => ({
  severity: 'error',
  code: 'PLUGIN_FAULT',
  path: 'source',
  message: `The source ${fault}.`,
});

/** A plug-in with all that it leaves out. */
function stated({ inputs, parameters, ...rest }: PluginUpsert): PluginDocument {
  return {
    ...rest,
    inputs: Object.fromEntries(
      Object.entries(inputs).map(([name, input]) => [
        name,
        typeof input === 'string' ? { expression: input, sessions: 1 } : input,
      ]),
    ),
    parameters: Object.fromEntries(
      Object.entries(parameters).map(([name, terms]) => [
        name,
        typeof terms === 'object' ? terms : { default: terms, minimum: null, maximum: null, help: null },
      ]),
    ),
  };
}

function inputFindings({ inputs }: PluginDocument): Finding[] {
  return Object.entries(inputs).flatMap(([name, { expression, sessions }]): Finding[] => {
    const path = `inputs.${name}.expression`;
    const { tree, problems } = readExpression(expression, 'number');
    if (tree === undefined || problems.length > 0)
      return problems.map((problem) => ({ severity: 'error', path, ...problem }));
    const [asked] = indicesIn(tree, new Map());
    if (asked !== undefined) {
      const message = `${path} asks about the index ${asked}; a plug-in reads columns of the store.`;
      return [{ severity: 'error', code: 'NOT_IN_CHOICES', path, message, value: asked }];
    }
    if (sessions === 1) return [];
    const window: ExpressionNode = { node: 'function', name: 'mean', operands: [tree], window: sessions };
    return checkTree(window, 'number').problems.map(({ code, message }) => ({
      severity: 'error',
      code,
      path,
      message: `${path} ${message}.`,
    }));
  });
}

function parameterFindings({ parameters }: PluginDocument): Finding[] {
  return Object.entries(parameters).flatMap(([name, terms]): Finding[] => {
    const path = `parameters.${name}.default`;
    const problem = parameterProblem(terms.default, terms);
    if (problem === undefined) return [];
    return [{ severity: 'error', code: 'OUT_OF_RANGE', path, message: `${path} ${problem}.`, value: terms.default }];
  });
}
